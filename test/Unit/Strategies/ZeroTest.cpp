//===- ZeroTest.cpp - Stages 0 to 3 of optimizer sharding -----------------===//
//
// Part of parplan. One linear, trained with momentum over several micro-batches
// on p ranks. What a stage is follows from where gradient, state and parameter
// rest.
//
//===----------------------------------------------------------------------===//

#include "Measure.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace parplan;
using namespace parplan::test;

namespace {

struct Stage {
  int number;
  /// Layouts at rest.
  const char *parameter, *state;
  /// Where gradients of micro-batches and their sum lie.
  const char *gradient;
};

void PrintTo(const Stage &stage, std::ostream *stream) {
  *stream << "stage " << stage.number;
}

struct ZeroSizes {
  int64_t p, microBatches, m, k, n;
};

Step makeStep(const Stage &stage, const ZeroSizes &sizes, Random &random) {
  StepBuilder step(Mesh({{"p", sizes.p, AxisRole::data}}), random);
  auto [p, microBatches, m, k, n] = sizes;
  Value x = step.addBatch({m, k}, {"mk", "m:p"}, microBatches);
  Value gradient = step.addBatch({m, n}, {"mn", "m:p"}, microBatches);
  Value rate = step.addLearningRate();
  auto type = RankedTensorType::get({k, n}, step.builder.getF32Type());
  Layout parameter = {"kn", stage.parameter}, state = {"kn", stage.state};
  Value w = step.addParameter("w", type, parameter);
  Value momentum = step.addParameter("w", type, state, "momentum");

  auto y = step.add<MatmulOp>("m:p", {{"mn", "m:p"}}, roles::forward, x, w,
                              "mk,kn->mn");
  auto dx = step.add<MatmulOp>("m:p", {{"mk", "m:p"}}, roles::inputGradient,
                               gradient, w, "mn,kn->mk");
  auto dw = step.add<MatmulOp>("m:p", {{"kn", stage.gradient}},
                               roles::weightGradient, x, gradient, "mk,mn->kn");
  for (MatmulOp op : {y, dx, dw})
    step.runPerMicroBatch(op);
  auto sum =
      step.add<AccumulateOp>(stage.gradient, {state}, roles::gradientSum, dw);
  auto update = step.add<OptimizerUpdateOp>(
      stage.state, {state, state}, roles::optimizer, OptimizerKind::momentum, w,
      sum, ValueRange(momentum), rate, Value(), Value(), Value(), Value(),
      /*beta1=*/0.5, /*beta2=*/0.5, /*epsilon=*/0.0, /*weight_decay=*/1.0,
      /*momentum=*/2.0);
  for (MatmulOp op : {y, dx}) {
    Layout layout = {"mn", "m:p"};
    step.addResult(step.add<AccumulateOp>("d0:p", {layout}, roles::forward, op),
                   layout);
  }
  step.addNewValue(update.getNewParameter(), "w", parameter);
  step.addNewValue(update.getNewStates().front(), "w", state, "momentum");
  return step.finish();
}

/// What a rank sends for W elements, or W padded to p pieces.
Fraction getRing(int stage, const ZeroSizes &sizes) {
  int64_t p = sizes.p, u = sizes.microBatches, w = sizes.k * sizes.n;
  int64_t padded = p * ceilDivide(w, p);
  switch (stage) {
  case 0:
    return Fraction(2 * (p - 1) * w, p);
  case 1:
    return Fraction(2 * (p - 1) * padded, p);
  case 2:
    return Fraction((u + 1) * (p - 1) * padded, p);
  default:
    return Fraction(3 * u * (p - 1) * padded, p);
  }
}

std::map<CollectiveKind, int64_t> getElements(int stage,
                                              const ZeroSizes &sizes) {
  int64_t u = sizes.microBatches, w = sizes.k * sizes.n;
  int64_t padded = sizes.p * ceilDivide(w, sizes.p);
  switch (stage) {
  case 0:
    return {{CollectiveKind::allReduce, w}};
  case 1:
    return {{CollectiveKind::reduceScatter, padded},
            {CollectiveKind::allGather, padded}};
  case 2:
    return {{CollectiveKind::reduceScatter, u * padded},
            {CollectiveKind::allGather, padded}};
  default:
    return {{CollectiveKind::reduceScatter, u * padded},
            {CollectiveKind::allGather, 2 * u * padded}};
  }
}

class Zero : public testing::TestWithParam<Stage> {};

TEST_P(Zero, SumsOverMicroBatches) {
  const Stage &stage = GetParam();
  Random random(6);
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    ZeroSizes sizes = {draw(random, 2, 4), draw(random, 1, 4),
                       draw(random, 4, 9), draw(random, 4, 9),
                       draw(random, 4, 9)};
    Step step = makeStep(stage, sizes, random);
    std::string fault;
    LocalProgram program(step, fault);
    ASSERT_EQ(fault, "");
    EXPECT_EQ(program.compare(step, /*tolerance=*/0), "");
    Traffic traffic = program.schedule().traffic;
    EXPECT_EQ(traffic.elements, getElements(stage.number, sizes));
    EXPECT_EQ(traffic.ring, getRing(stage.number, sizes)) << traffic;

    int64_t w = sizes.k * sizes.n, piece = ceilDivide(w, sizes.p);
    EXPECT_EQ(program.getParameterSize("w"), stage.number == 3 ? piece : w);
    EXPECT_EQ(program.getResultSize(3), stage.number == 0 ? w : piece);
    if (sizes.microBatches > 1) {
      EXPECT_EQ(program.getGradientSumSize(), stage.number >= 2 ? piece : w);
    }
    if (HasFailure())
      FAIL() << program.print();
  }
}

constexpr Stage stages[] = {{0, "", "", "+p"},
                            {1, "", "/p", "+p"},
                            {2, "", "/p", "/p"},
                            {3, "/p", "/p", "/p"}};

INSTANTIATE_TEST_SUITE_P(Strategies, Zero, testing::ValuesIn(stages),
                         [](const testing::TestParamInfo<Stage> &info) {
                           return "Stage" + std::to_string(info.param.number);
                         });

} // namespace
