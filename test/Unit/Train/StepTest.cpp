//===- StepTest.cpp - Gradients of whole steps ----------------------------===//
//
// Part of parplan.
//
// A step of gradient descent with rate 1 subtracts the gradient: it is compared
// with finite differences of the loss of the model's outputs.
//
//===----------------------------------------------------------------------===//

#include "StepFixture.h"

#include "dialects/parplan/ParplanOps.h"

#include <cmath>

namespace parplan::test {
namespace {

/// A language model: a table that is the last projection too, a merged
/// projection, positions that are read in part, a norm.
const char *languageModel = R"(
parplan.initializer @table "table" : tensor<7x4xf64> in "" at 0 length 0
parplan.initializer @positions "positions" : tensor<5x4xf64> in "" at 0 length 0
parplan.initializer @merged "merged" : tensor<4x12xf64> in "" at 0 length 0
parplan.initializer @bias "bias" : tensor<12xf64> in "" at 0 length 0
parplan.initializer @scale "scale" : tensor<4xf64> in "" at 0 length 0
func.func @main(%ids: tensor<4x3xi64> {parplan.batch, parplan.name = "ids"}) -> (tensor<4x3x7xf64> {parplan.name = "logits"}) {
  %table = parplan.parameter @table : tensor<7x4xf64>
  %e = parplan.embedding %ids, %table : tensor<4x3xi64>, tensor<7x4xf64>
  %p = parplan.parameter @positions view <offset = 0, strides = [1, 4, 1]> : tensor<1x3x4xf64>
  %x = parplan.add %e, %p : tensor<4x3x4xf64>, tensor<1x3x4xf64>
  %scale = parplan.parameter @scale : tensor<4xf64>
  %n = parplan.rms_norm %x scale %scale : tensor<4xf64> dim 2 epsilon 1.0e-5 : tensor<4x3x4xf64>
  %wq = parplan.parameter @merged view <offset = 0, strides = [12, 1]> : tensor<4x4xf64>
  %wk = parplan.parameter @merged view <offset = 4, strides = [12, 1]> : tensor<4x4xf64>
  %wv = parplan.parameter @merged view <offset = 8, strides = [12, 1]> : tensor<4x4xf64>
  %bq = parplan.parameter @bias view <offset = 0, strides = [1]> : tensor<4xf64>
  %bk = parplan.parameter @bias view <offset = 4, strides = [1]> : tensor<4xf64>
  %bv = parplan.parameter @bias view <offset = 8, strides = [1]> : tensor<4xf64>
  %q0 = parplan.matmul "bsk,kn->bsn" %n, %wq : tensor<4x3x4xf64>, tensor<4x4xf64>
  %k0 = parplan.matmul "bsk,kn->bsn" %n, %wk : tensor<4x3x4xf64>, tensor<4x4xf64>
  %v0 = parplan.matmul "bsk,kn->bsn" %n, %wv : tensor<4x3x4xf64>, tensor<4x4xf64>
  %q1 = parplan.add %q0, %bq : tensor<4x3x4xf64>, tensor<4xf64>
  %k1 = parplan.add %k0, %bk : tensor<4x3x4xf64>, tensor<4xf64>
  %v1 = parplan.add %v0, %bv : tensor<4x3x4xf64>, tensor<4xf64>
  %q = parplan.reshape %q1 : tensor<4x3x4xf64> to tensor<4x3x2x2xf64>
  %k = parplan.reshape %k1 : tensor<4x3x4xf64> to tensor<4x3x2x2xf64>
  %v = parplan.reshape %v1 : tensor<4x3x4xf64> to tensor<4x3x2x2xf64>
  %a = parplan.attention %q, %k, %v scale 7.0e-1 causal : tensor<4x3x2x2xf64>, tensor<4x3x2x2xf64>, tensor<4x3x2x2xf64>
  %f = parplan.reshape %a : tensor<4x3x2x2xf64> to tensor<4x3x4xf64>
  %h = parplan.add %x, %f : tensor<4x3x4xf64>, tensor<4x3x4xf64>
  %t = parplan.parameter @table view <offset = 0, strides = [1, 4]> : tensor<4x7xf64>
  %y = parplan.matmul "bsk,kn->bsn" %h, %t : tensor<4x3x4xf64>, tensor<4x7xf64>
  return %y : tensor<4x3x7xf64>
}
)";

/// Runs one step and compares what it subtracts.
void checkGradients(Training &training, const std::function<double()> &loss) {
  std::map<std::string, Numbers> expected, before;
  for (const std::string &name : training.getInitializers()) {
    expected[name] = differentiateNumerically(training, name, loss);
    before[name] = training.get(name);
  }
  double value = loss();
  std::map<std::string, double> results =
      training.run({{"learning_rate", 1},
                    {"loss_scale", 64},
                    {"inverse_loss_scale", 1.0 / 64}});
  EXPECT_NEAR(results["loss"], value, 1e-9);
  double squares = 0;
  for (const std::string &name : training.getInitializers()) {
    Numbers after = training.get(name);
    for (size_t index = 0; index < after.size(); ++index) {
      squares += expected[name][index] * expected[name][index];
      EXPECT_NEAR(before[name][index] - after[index], expected[name][index],
                  1e-7)
          << name << "[" << index << "]";
    }
  }
  EXPECT_NEAR(results.at("gradient_norm"), std::sqrt(squares), 1e-6);
  EXPECT_EQ(results["overflow"], 0);
}

TrainingOptions makeOptions(LossKind loss, int64_t microBatches,
                            int64_t batch) {
  TrainingOptions options;
  options.loss = loss;
  options.optimizer.kind = OptimizerRule::sgd;
  options.optimizer.weightDecay = 0;
  options.reportGradientNorm = true;
  options.microBatches = microBatches;
  options.microBatchSize = batch;
  return options;
}

class LanguageModel : public testing::TestWithParam<int64_t> {};

TEST_P(LanguageModel, MatchesFiniteDifferences) {
  TrainingOptions options =
      makeOptions(LossKind::crossEntropy, GetParam(), 4 / GetParam());
  Training training(languageModel, options);
  unsigned seed = 1;
  for (const std::string &name : training.getInitializers())
    training.set(name, makeNumbers(training.get(name).size(), seed++));
  training.setInput("ids", {0, 6, 2, 2, 3, 1, 5, 5, 4, 1, 0, 6});
  // The samples have 3, 0, 1 and 2 labels.
  Numbers labels = {6, 0, 3, -100, -100, -100, -100, 2, -100, 1, 5, -100};
  training.setInput("labels", labels);
  checkGradients(training,
                 [&] { return getCrossEntropy(training.forward(), labels); });
}

INSTANTIATE_TEST_SUITE_P(MicroBatches, LanguageModel, testing::Values(1, 2, 4));

const char *regression = R"(
parplan.initializer @w "w" : tensor<3x2xf64> in "" at 0 length 0
parplan.initializer @b "b" : tensor<2xf64> in "" at 0 length 0
func.func @main(%x: tensor<4x3xf64> {parplan.batch, parplan.name = "x"}) -> (tensor<4x2xf64> {parplan.name = "y"}) {
  %w = parplan.parameter @w : tensor<3x2xf64>
  %p = parplan.matmul "sk,kn->sn" %x, %w : tensor<4x3xf64>, tensor<3x2xf64>
  %b = parplan.parameter @b : tensor<2xf64>
  %y = parplan.add %p, %b : tensor<4x2xf64>, tensor<2xf64>
  return %y : tensor<4x2xf64>
}
)";

TEST(Step, AveragesSquaredErrorsOverTheStep) {
  for (int64_t microBatches : {1, 2}) {
    TrainingOptions options =
        makeOptions(LossKind::meanSquaredError, microBatches, 4 / microBatches);
    Training training(regression, options);
    training.set("w", makeNumbers(6, 1));
    training.set("b", makeNumbers(2, 2));
    Numbers labels = makeNumbers(8, 3);
    training.setInput("x", makeNumbers(12, 4));
    training.setInput("labels", labels);
    checkGradients(training, [&] {
      Numbers outputs = training.forward();
      double total = 0;
      for (size_t index = 0; index < outputs.size(); ++index)
        total += std::pow(outputs[index] - labels[index], 2);
      return total / double(outputs.size());
    });
  }
}

TEST(Step, UnscalesGradientsOfAScaledLoss) {
  TrainingOptions options =
      makeOptions(LossKind::crossEntropy, /*microBatches=*/2, /*batch=*/2);
  options.scalesLoss = true;
  Training training(regression, options);
  training.set("w", makeNumbers(6, 1));
  training.set("b", makeNumbers(2, 2));
  Numbers labels = {0, 1, -100, 1};
  training.setInput("x", makeNumbers(12, 4));
  training.setInput("labels", labels);
  checkGradients(training,
                 [&] { return getCrossEntropy(training.forward(), labels); });
}

/// The loss is an output and depends on a parameter also without the batch.
const char *ownLoss = R"(
parplan.initializer @w "w" : tensor<3xf64> in "" at 0 length 0
parplan.initializer @b "b" : tensor<f64> in "" at 0 length 0
func.func @main(%x: tensor<4x3xf64> {parplan.batch, parplan.name = "x"}) -> (tensor<f64> {parplan.name = "loss"}) {
  %w = parplan.parameter @w : tensor<3xf64>
  %p = parplan.mul %x, %w : tensor<4x3xf64>, tensor<3xf64>
  %e = parplan.exp %p : tensor<4x3xf64>
  %s = parplan.reduce sum %e dims [0, 1] : tensor<4x3xf64>
  %q = parplan.mul %w, %w : tensor<3xf64>, tensor<3xf64>
  %r = parplan.reduce sum %q dims [0] : tensor<3xf64>
  %t = parplan.add %s, %r : tensor<f64>, tensor<f64>
  %b = parplan.parameter @b : tensor<f64>
  %y = parplan.add %t, %b : tensor<f64>, tensor<f64>
  return %y : tensor<f64>
}
)";

TEST(Step, AveragesALossOfTheModelOverMicroBatches) {
  // Two micro-batches of four samples: equal ones give the loss of one.
  for (int64_t microBatches : {1, 2}) {
    Training training(ownLoss, makeOptions(LossKind::output, microBatches, 4));
    training.set("w", makeNumbers(3, 1));
    training.set("b", {0.5});
    Numbers samples = makeNumbers(12, 4);
    training.setInput("x", samples);
    auto loss = [&] { return training.forward().front(); };
    std::map<std::string, Numbers> expected, before;
    for (const std::string &name : training.getInitializers()) {
      expected[name] = differentiateNumerically(training, name, loss);
      before[name] = training.get(name);
    }
    double value = loss();
    Numbers repeated;
    for (int64_t index = 0; index < microBatches; ++index)
      repeated.insert(repeated.end(), samples.begin(), samples.end());
    training.setInput("x", repeated);
    EXPECT_NEAR(training.run({{"learning_rate", 1}})["loss"], value, 1e-9);
    for (const std::string &name : training.getInitializers())
      for (size_t index = 0; index < before[name].size(); ++index)
        EXPECT_NEAR(before[name][index] - training.get(name)[index],
                    expected[name][index], 1e-7)
            << name << "[" << index << "]";
  }
}

} // namespace
} // namespace parplan::test
