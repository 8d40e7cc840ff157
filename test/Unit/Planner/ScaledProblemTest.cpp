//===- ScaledProblemTest.cpp - One step, any number of micro-batches ------===//

#include "TestProblems.h"

#include "parplan/Planner/ProblemFile.h"
#include "parplan/Planner/ScaledProblem.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// A step of a model, as extraction would make it. Steps of single samples lack
/// the norm of the input.
PlanningProblem makeStep(int64_t microBatches, int64_t samples) {
  ProblemBuilder builder;
  builder.problem.microBatches = microBatches;
  int input = builder.addInput({samples * 4, 16});
  if (samples > 1)
    input = builder.addNorm({input});
  int hidden = builder.addProduct(input, builder.addParameter({16, 32}));
  builder.markOutput(builder.addAccumulate(
      builder.addProduct(hidden, builder.addParameter({32, 16}))));
  builder.problem.ops.front().work.transcendentals = {
      {static_cast<double>(3 * samples - 1), {0}}};
  return std::move(builder.problem);
}

class Asked {
public:
  ScaledProblem make(std::vector<int64_t> counts, bool isFree = true) {
    return ScaledProblem(24, std::move(counts), isFree,
                         [this](int64_t count, int64_t samples) {
                           asked.push_back({count, samples});
                           return std::optional(makeStep(count, samples));
                         });
  }
  std::vector<std::pair<int64_t, int64_t>> asked;
};

std::optional<std::string> compare(ScaledProblem &problem, int64_t count) {
  auto scaled = problem.get(count);
  return scaled ? findDifference(*scaled->get(),
                                 makeStep(count, problem.getSamples(count)))
                : "there is none";
}

TEST(ScaledProblem, EqualsExtractionForEveryCount) {
  Asked asked;
  ScaledProblem problem = asked.make({1, 2, 3, 4, 6, 8, 12, 24});
  for (int64_t count : problem.getCounts())
    EXPECT_EQ(compare(problem, count), std::nullopt) << count;
  EXPECT_EQ(problem.getObstacle(), std::nullopt);
}

TEST(ScaledProblem, GivesPartsTheOpsOfSeveralSamples) {
  Asked asked;
  ScaledProblem problem = asked.make({1, 2, 3, 4, 6, 8, 12, 24});
  size_t ops = problem.get(12)->get()->ops.size();
  EXPECT_LT(problem.get(24)->get()->ops.size(), ops);
  std::optional<StepProblem> step = problem.getPart(24);
  ASSERT_TRUE(step);
  PlanningProblem part = *step->get();
  EXPECT_EQ(part.ops.size(), ops);
  EXPECT_EQ(part.microBatches, 24);
  EXPECT_EQ(part.values.front().shape.front(), 4);
}

TEST(ScaledProblem, HasNoPartsOfWhatIsExtractedOneByOne) {
  Asked asked;
  ScaledProblem problem = asked.make({1, 24});
  EXPECT_FALSE(problem.getPart(1));
}

TEST(ScaledProblem, ExtractsTwoStepsForAllButTheEnds) {
  Asked asked;
  ScaledProblem problem = asked.make({1, 2, 3, 4, 6, 8, 12, 24});
  for (int64_t count : {2, 3, 4, 6, 8, 12})
    EXPECT_TRUE(problem.get(count));
  EXPECT_EQ(asked.asked.size(), 2u);
  for (int round = 0; round < 2; ++round)
    for (int64_t count : {1, 24})
      EXPECT_TRUE(problem.get(count));
  EXPECT_EQ(asked.asked.size(), 4u);
}

TEST(ScaledProblem, KeepsToItsCountsWhereTheBatchIsFixed) {
  Asked asked;
  ScaledProblem problem = asked.make({2, 3, 4, 12}, /*isFree=*/false);
  for (int64_t count : problem.getCounts())
    EXPECT_EQ(compare(problem, count), std::nullopt) << count;
  EXPECT_EQ(asked.asked,
            (std::vector<std::pair<int64_t, int64_t>>{{12, 2}, {4, 6}}));
}

TEST(ScaledProblem, ExtractsOneByOneWhatCanBeCutInFewWays) {
  Asked asked;
  ScaledProblem problem = asked.make({12, 24}, /*isFree=*/false);
  for (int64_t count : problem.getCounts())
    EXPECT_EQ(compare(problem, count), std::nullopt) << count;
  EXPECT_EQ(problem.getObstacle(), "the batch can be cut in too few ways");
}

} // namespace
