//===- UnitModelTest.cpp - Steps on a line as rows of units ---------------===//

#include "Residual.h"

#include "parplan/Planner/ProblemFile.h"
#include "parplan/Planner/UnitModel.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int64_t microBatches = 4;

PlanningProblem makeStep(int64_t samples) {
  ResidualShape shape{.hidden = {32, 32, 64, 32}};
  shape.microBatches = microBatches;
  shape.samples = samples;
  return Residual(shape).makeTraining();
}

/// Four blocks of a constant, then as many of the samples: in the step of two
/// samples all are equal.
PlanningProblem makeStepWithConstant(int64_t samples) {
  ProblemBuilder builder;
  builder.problem.microBatches = microBatches;
  for (int64_t rows : {int64_t(2), samples}) {
    int current = builder.addInput({rows, 16});
    for (int layer = 0; layer < 4 * 3; ++layer)
      current = builder.addProduct(builder.addNorm({current}),
                                   builder.addParameter({16, 16}));
    builder.markOutput(builder.addAccumulate(current));
  }
  return std::move(builder.problem);
}

using MakeStep = PlanningProblem (*)(int64_t samples);

std::shared_ptr<const AffineProblem> makeLine(MakeStep make) {
  std::string reason;
  auto line = AffineProblem::make(make(2), 2, make(3), 3, reason);
  EXPECT_TRUE(line) << reason;
  return std::make_shared<AffineProblem>(std::move(*line));
}

void expectThatOfTheStepAlone(MakeStep make, int64_t samples) {
  SCOPED_TRACE(std::to_string(samples) + " samples");
  auto line = makeLine(make);
  auto units = makeUnitLine(line);
  PlanningProblem problem = make(samples);
  UnitModel alone(problem, /*line=*/nullptr);
  UnitModel ofLine(StepProblem(line, samples, microBatches), units.get());
  EXPECT_EQ(findDifference(ofLine.getSample(), alone.getSample()),
            std::nullopt);
  EXPECT_EQ(ofLine.getSampleCounts(), alone.getSampleCounts());
  EXPECT_EQ(ofLine.getUnitOfOp(), alone.getUnitOfOp());
  EXPECT_EQ(ofLine.getBlockCount(), alone.getBlockCount());
  EXPECT_EQ(ofLine.getMeeting(), alone.getMeeting());
  EXPECT_EQ(ofLine.isTraining(), alone.isTraining());
  EXPECT_EQ(ofLine.getLeastMessageBytes(/*ranks=*/2),
            alone.getLeastMessageBytes(/*ranks=*/2));
  EXPECT_EQ(findDifference(ofLine.getProblem(), problem), std::nullopt);
}

TEST(UnitModel, OfALineIsThatOfTheStepAlone) {
  // Sixteen is also how wide the model is.
  for (int64_t samples : {2, 3, 8, 16})
    expectThatOfTheStepAlone(makeStep, samples);
}

TEST(UnitModel, OfALineTellsApartWhatIsEqualInItsBaseAlone) {
  for (int64_t samples : {3, 5})
    expectThatOfTheStepAlone(makeStepWithConstant, samples);
}

TEST(UnitModel, HasEveryOpOfAUnitInItsSample) {
  UnitModel model(makeStep(8), /*line=*/nullptr);
  int64_t counted = 0;
  for (int64_t count : model.getSampleCounts())
    counted += count;
  EXPECT_EQ(counted, llvm::count_if(model.getUnitOfOp(),
                                    [](int unit) { return unit >= 0; }));
}

} // namespace
