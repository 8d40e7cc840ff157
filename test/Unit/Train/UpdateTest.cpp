//===- UpdateTest.cpp - Optimizers over several steps ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "StepFixture.h"

#include "dialects/parplan/ParplanOps.h"

#include <cmath>

namespace parplan::test {
namespace {

/// The loss is the sum of w x: its gradient is x.
const char *model = R"(
parplan.initializer @w "w" : tensor<3xf64> in "" at 0 length 0
parplan.initializer @frozen "frozen" : tensor<3xf64> in "" at 0 length 0
func.func @main(%x: tensor<1x3xf64> {parplan.batch, parplan.name = "x"}) -> (tensor<f64> {parplan.name = "loss"}) {
  %w = parplan.parameter @w : tensor<3xf64>
  %f = parplan.parameter @frozen : tensor<3xf64>
  %p = parplan.mul %x, %w : tensor<1x3xf64>, tensor<3xf64>
  %q = parplan.add %p, %f : tensor<1x3xf64>, tensor<3xf64>
  %y = parplan.reduce sum %q dims [0, 1] : tensor<1x3xf64>
  return %y : tensor<f64>
}
)";

constexpr double rate = 0.1, decay = 0.01;

TrainingOptions makeOptions(OptimizerRule kind) {
  TrainingOptions options;
  options.loss = LossKind::output;
  options.optimizer.kind = kind;
  options.optimizer.weightDecay = decay;
  options.frozen = {"fro*"};
  return options;
}

/// What PyTorch does to one element.
struct Element {
  double value, first = 0, second = 0;

  void update(OptimizerRule kind, double gradient, int step) {
    double bias1 = 1 - std::pow(0.9, step), bias2 = 1 - std::pow(0.999, step);
    if (kind == OptimizerRule::adamw)
      value *= 1 - rate * decay;
    else
      gradient += decay * value;
    switch (kind) {
    case OptimizerRule::sgd:
      value -= rate * gradient;
      return;
    case OptimizerRule::momentum:
      first = step == 1 ? gradient : 0.9 * first + gradient;
      value -= rate * first;
      return;
    case OptimizerRule::adam:
    case OptimizerRule::adamw:
      first += (gradient - first) * (1 - 0.9);
      second = 0.999 * second + (1 - 0.999) * gradient * gradient;
      value -=
          rate / bias1 * first / (std::sqrt(second) / std::sqrt(bias2) + 1e-8);
    }
  }
};

class Optimizers : public testing::TestWithParam<OptimizerRule> {};

TEST_P(Optimizers, FollowPyTorchOverSteps) {
  for (std::optional<double> clip :
       {std::optional<double>(), std::optional<double>(0.5)}) {
    TrainingOptions options = makeOptions(GetParam());
    options.clipNorm = clip;
    Training training(model, options);
    training.set("w", {1, -2, 0.5});
    training.set("frozen", {1, 2, 3});
    std::vector<Element> elements = {{1}, {-2}, {0.5}};
    for (int step = 1; step <= 3; ++step) {
      Numbers gradient = makeNumbers(3, unsigned(step));
      double squares = 0;
      for (double number : gradient)
        squares += number * number;
      double norm = std::sqrt(squares);
      training.setInput("x", gradient);
      auto results = training.run(
          {{"learning_rate", rate},
           {"step_size", rate / (1 - std::pow(0.9, step))},
           {"bias_correction2_sqrt", std::sqrt(1 - std::pow(0.999, step))}});
      EXPECT_EQ(results.count("gradient_norm"), clip ? 1u : 0u);
      double scale = 1;
      if (clip) {
        EXPECT_NEAR(results["gradient_norm"], norm, 1e-12);
        scale = std::min(1.0, *clip / (norm + 1e-6));
      }
      for (size_t index = 0; index < 3; ++index) {
        elements[index].update(GetParam(), gradient[index] * scale, step);
        EXPECT_NEAR(training.get("w")[index], elements[index].value, 1e-12);
      }
    }
    EXPECT_EQ(training.get("frozen"), Numbers({1, 2, 3}));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Optimizers,
                         testing::Values(OptimizerRule::sgd,
                                         OptimizerRule::momentum,
                                         OptimizerRule::adam,
                                         OptimizerRule::adamw));

TEST(Update, SkipsAStepThatOverflows) {
  TrainingOptions options = makeOptions(OptimizerRule::momentum);
  options.scalesLoss = true;
  Training training(model, options);
  training.set("w", {1, -2, 0.5});
  Schedule schedule = {
      {"learning_rate", rate}, {"loss_scale", 2}, {"inverse_loss_scale", 0.5}};
  training.setInput("x", {1, 2, 3});
  EXPECT_EQ(training.run(schedule)["overflow"], 0);
  Numbers before = training.get("w");
  Numbers state = training.get(getSlotName("w", "momentum_buffer"));
  training.setInput("x", {1, HUGE_VAL, 3});
  EXPECT_EQ(training.run(schedule)["overflow"], 1);
  EXPECT_EQ(training.get("w"), before);
  EXPECT_EQ(training.get(getSlotName("w", "momentum_buffer")), state);
}

} // namespace
} // namespace parplan::test
