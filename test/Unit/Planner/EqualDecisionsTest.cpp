//===- EqualDecisionsTest.cpp - What may be done is found once ------------===//

#include "Residual.h"

#include "parplan/Planner/Decisions.h"
#include "parplan/Planner/SearchSpace.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

using namespace parplan;
using namespace parplan::test;

namespace {

using Allowed = std::vector<std::vector<FactorAssignment>>;

/// With every decision looked at by itself.
Allowed getEach(const PlanningProblem &problem, const PlanRequest &request,
                const PlanSpace &space) {
  Decisions decisions = getDecisions(problem);
  std::vector<int> itself(decisions.all.size());
  std::iota(itself.begin(), itself.end(), 0);
  std::optional<std::string> refusal;
  return getAllowedAssignments(problem, decisions, itself, request, space,
                               refusal);
}

Allowed getShared(const PlanningProblem &problem, const PlanRequest &request,
                  const PlanSpace &space) {
  std::optional<std::string> refusal;
  return getAllowedAssignments(problem, request, space, refusal);
}

TEST(EqualDecisions, AreThoseOfEqualBlocks) {
  ResidualShape shape;
  shape.hidden = {32, 32, 32, 64};
  PlanningProblem problem = Residual(shape).makeTraining();
  Decisions decisions = getDecisions(problem);
  std::vector<int> first = findFirstEqual(problem, decisions);
  std::set<int> different(first.begin(), first.end());
  EXPECT_LT(different.size(), decisions.all.size() / 2);
  for (int number : different)
    EXPECT_EQ(first[number], number);
}

TEST(EqualDecisions, MayDoTheSame) {
  for (int64_t microBatches : {1, 2}) {
    ResidualShape shape;
    shape.hidden = {32, 32, 32, 64};
    shape.microBatches = microBatches;
    PlanningProblem problem = Residual(shape).makeTraining();
    for (auto [data, tensor] : {std::pair(2, 4), std::pair(1, 8)}) {
      PlanSpace space{makeMesh(data, tensor), {}};
      PlanRequest open;
      open.deviceCount = 8;
      std::vector<PlanRequest> requests(6, open);
      requests[1].tensorSize = tensor;
      requests[2].sequenceParallel = false;
      for (int stage = 1; stage <= 3; ++stage)
        requests[stage + 2].zeroStage = stage;
      for (const PlanRequest &request : requests)
        EXPECT_EQ(getShared(problem, request, space),
                  getEach(problem, request, space));
    }
  }
}

TEST(EqualDecisions, DifferWhereOneIsForcedByName) {
  ProblemBuilder builder;
  int x = builder.addInput({8, 16});
  int y = builder.addProduct(x, builder.addParameter({16, 16}), "up");
  builder.markOutput(
      builder.addProduct(y, builder.addParameter({16, 16}), "down"));
  PlanRequest request;
  request.deviceCount = 4;
  request.forcedAlgorithms = {{"up", Algorithm::column}};
  PlanSpace space{makeMesh(1, 4), {}};
  Allowed allowed = getShared(builder.problem, request, space);
  EXPECT_EQ(allowed, getEach(builder.problem, request, space));
  EXPECT_LT(allowed[0].size(), allowed[1].size());
}

} // namespace
