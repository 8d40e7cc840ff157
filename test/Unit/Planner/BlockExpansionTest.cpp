//===- BlockExpansionTest.cpp - More blocks are copies of one -------------===//

#include "Residual.h"

#include "parplan/Planner/BlockExpansion.h"
#include "parplan/Planner/ProblemFile.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// Without what says who made it: names, and groups in another order than that
/// of their leaders.
PlanningProblem strip(PlanningProblem problem) {
  for (PlanningValue &value : problem.values)
    value.name.clear();
  std::map<int64_t, int64_t> groups;
  for (const PlanningOp &op : problem.ops)
    if (op.group >= 0 && op.isLeader)
      groups.try_emplace(op.group, static_cast<int64_t>(groups.size()));
  for (PlanningOp &op : problem.ops)
    if (op.group >= 0)
      op.group = groups.at(op.group);
  return problem;
}

struct Expansion {
  std::optional<ExpandedProblem> expanded;
  std::string reason;
};

Expansion expand(const PlanningProblem &problem, int64_t count) {
  Expansion result;
  Folding folding = foldProblem(problem);
  result.expanded = expandBlocks(problem, folding, 0, count, result.reason);
  return result;
}

std::optional<std::string> compare(const PlanningProblem &fewer, int64_t count,
                                   const PlanningProblem &more) {
  Expansion result = expand(fewer, count);
  if (!result.expanded)
    return result.reason;
  if (auto fault = verifyProblem(result.expanded->problem))
    return fault;
  return findDifference(strip(result.expanded->problem), strip(more));
}

PlanningProblem makeForward(int blocks) {
  return Residual({.blocks = blocks}).makeForward();
}

PlanningProblem makeTraining(int blocks) {
  return Residual({.blocks = blocks, .microBatches = 4}).makeTraining();
}

TEST(BlockExpansion, MakesTheForwardPassOfMoreBlocks) {
  EXPECT_EQ(compare(makeForward(5), 1, makeForward(6)), std::nullopt);
  EXPECT_EQ(compare(makeForward(5), 95, makeForward(100)), std::nullopt);
}

TEST(BlockExpansion, MakesTheStepOfMoreBlocks) {
  for (int blocks : {5, 6, 8})
    for (int count : {0, 1, 2, 30})
      EXPECT_EQ(
          compare(makeTraining(blocks), count, makeTraining(blocks + count)),
          std::nullopt)
          << blocks << " and " << count;
}

TEST(BlockExpansion, SaysWhatEntriesAreCopiesOf) {
  PlanningProblem problem = makeTraining(5);
  Expansion result = expand(problem, 3);
  ASSERT_TRUE(result.expanded) << result.reason;
  const PlanningProblem &whole = result.expanded->problem;
  ASSERT_EQ(whole.ops.size(), result.expanded->ops.size());
  ASSERT_EQ(whole.values.size(), result.expanded->values.size());
  int64_t last = 0;
  std::vector<int> copies(problem.ops.size());
  for (auto [op, origin] : llvm::zip_equal(whole.ops, result.expanded->ops)) {
    EXPECT_EQ(op.type, problem.ops[origin.number].type);
    EXPECT_GE(origin.shift, 0);
    EXPECT_LE(origin.shift, 3);
    if (op.role == OpRole::forward) {
      EXPECT_TRUE(copies[origin.number] > 0 || origin.shift == 0 ||
                  origin.shift == 3);
      last = origin.shift;
    }
    ++copies[origin.number];
  }
  EXPECT_EQ(last, 3);
  for (int count : copies)
    EXPECT_TRUE(count == 1 || count == 4) << count;
}

TEST(BlockExpansion, RefusesFewBlocks) {
  EXPECT_EQ(expand(makeForward(4), 1).reason, "a run of too few blocks");
}

TEST(BlockExpansion, RefusesReadersOfOneOfManyBlocks) {
  PlanningProblem problem = makeForward(5);
  Folding folding = foldProblem(problem);
  int value = problem.ops[folding.blocks[2].ops.front()].results.front();
  ProblemBuilder builder(std::move(problem));
  builder.markOutput(builder.addNorm({value}));
  EXPECT_NE(expand(builder.problem, 1).reason, "");
}

TEST(BlockExpansion, MakesSharedWeightsOnceOrRefuses) {
  auto make = [](int blocks) {
    return Residual({.blocks = blocks, .isTied = true}).makeForward();
  };
  EXPECT_EQ(compare(make(5), 4, make(9)), std::nullopt);
}

} // namespace
