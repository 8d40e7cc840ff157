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

std::shared_ptr<const AffineProblem> makeLine() {
  std::string reason;
  auto line = AffineProblem::make(makeStep(2), 2, makeStep(3), 3, reason);
  EXPECT_TRUE(line) << reason;
  return std::make_shared<AffineProblem>(std::move(*line));
}

TEST(UnitModel, OfALineIsThatOfTheStepAlone) {
  auto line = makeLine();
  auto units = makeUnitLine(line);
  // Sixteen is also how wide the model is.
  for (int64_t samples : {2, 3, 8, 16}) {
    SCOPED_TRACE(std::to_string(samples) + " samples");
    PlanningProblem problem = makeStep(samples);
    UnitModel alone(problem, foldProblem(problem));
    UnitModel ofLine(StepProblem(line, samples, microBatches), units);
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
}

TEST(UnitModel, FindsTheUnitsOfALineWhereNobodyDid) {
  StepProblem step(makeLine(), 8, microBatches);
  EXPECT_EQ(UnitModel(step).getUnitCount(),
            UnitModel(StepProblem(step.get())).getUnitCount());
}

TEST(UnitModel, HasEveryOpOfAUnitInItsSample) {
  PlanningProblem problem = makeStep(8);
  UnitModel model(problem, foldProblem(problem));
  int64_t counted = 0;
  for (int64_t count : model.getSampleCounts())
    counted += count;
  EXPECT_EQ(counted, llvm::count_if(model.getUnitOfOp(),
                                    [](int unit) { return unit >= 0; }));
}

} // namespace
