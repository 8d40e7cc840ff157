//===- ProblemFileTest.cpp - Problems are read as they were written -------===//

#include "TestProblems.h"

#include "parplan/Planner/ProblemFile.h"

#include <gtest/gtest.h>

#include <random>

using namespace parplan;
using namespace parplan::test;

namespace {

/// Has no field that is as in a new entry.
PlanningProblem makeUnusual() {
  PlanningProblem problem;
  problem.microBatches = 4;
  problem.fixedBytes = 1000;
  PlanningValue &input = problem.values.emplace_back();
  input = {"x \"y\"\n", ValueKind::input, {6, 8}, 2, true, true, 0, 1, 1, -1};
  PlanningValue &weight = problem.values.emplace_back();
  weight.kind = ValueKind::state;
  weight.shape = {6};
  PlanningValue &result = problem.values.emplace_back();
  result.shape = {6};
  result.updates = 1;
  PlanningOp &op = problem.ops.emplace_back();
  op.node = "node";
  op.type = "Type";
  op.nodeIndex = 7;
  op.rule.factors = {{"m", 6, FactorKind::coupled, true},
                     {"n", 8, FactorKind::reduceMax, false}};
  op.rule.operands = {{{0}, {1}}};
  op.rule.results = {{{0}}};
  op.rule.linearity = Linearity::separately;
  op.rule.flat = true;
  op.rule.panelFactors = {1};
  op.work.kind = WorkKind::matrix;
  op.work.flops = {{1.0 / 3, {0, 1}}};
  op.work.transcendentals = {{1e300, {1}}};
  op.work.rows = {0};
  op.work.columns = {1};
  op.work.contracted = {1, 0};
  op.work.batch = {0};
  op.work.rowShare = 0.25;
  op.work.contractedShare = 0.5;
  op.operands = {0};
  op.results = {2};
  op.batchFactor = 0;
  op.sequenceFactor = 1;
  op.expertFactor = 0;
  op.experts = 8;
  op.expertsPerToken = 2;
  op.keyFactor = 1;
  op.headFactor = 0;
  op.zigzag = 2;
  op.block = 3;
  op.group = 5;
  op.role = OpRole::optimizer;
  op.perMicroBatch = true;
  op.accumulates = true;
  op.coupledReductions = 2;
  op.fusedReads = 1;
  return problem;
}

std::optional<std::string> findReadFault(const PlanningProblem &problem) {
  std::string fault;
  auto read = readProblem(printProblem(problem), fault);
  return read ? findDifference(problem, *read) : fault;
}

TEST(ProblemFile, KeepsEveryField) {
  EXPECT_EQ(findReadFault(makeUnusual()), std::nullopt);
  EXPECT_EQ(findReadFault(makeMlp(8, 16, 32)), std::nullopt);
  EXPECT_EQ(findReadFault(PlanningProblem()), std::nullopt);
}

TEST(ProblemFile, TellsTheFirstDifference) {
  PlanningProblem problem = makeUnusual(), other = makeUnusual();
  other.ops[0].work.columns = {0};
  EXPECT_EQ(findDifference(problem, problem), std::nullopt);
  EXPECT_NE(findDifference(problem, other)
                ->find("operator 0 'node' (Type): "
                       "work is"),
            std::string::npos);
  other = makeUnusual();
  other.values[1].elementBytes = 1;
  EXPECT_EQ(findDifference(problem, other),
            "value 1 '': element_bytes is 4 and 1");
  other = makeUnusual();
  other.ops.pop_back();
  EXPECT_EQ(findDifference(problem, other),
            "1 and 0 operators, 3 and 3 values");
}

TEST(ProblemFile, RefusesWhatIsNoProblem) {
  std::string fault;
  auto refuse = [&](const std::string &text) {
    fault.clear();
    EXPECT_FALSE(readProblem(text, fault));
    return fault;
  };
  EXPECT_NE(refuse("{"), "");
  EXPECT_EQ(refuse("{}"), "no document of parplan.problem/1");
  std::string text = printProblem(makeUnusual());
  auto replace = [&](const std::string &from, const std::string &to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  EXPECT_EQ(refuse(replace("\"micro_batches\": 4", "\"micro_batches\": -4")),
            "field 'micro_batches': missing, or not what it should be");
  EXPECT_EQ(refuse(replace("\"state\"", "\"stat\"")),
            "field 'values[1].kind': missing, or not what it should be");
  EXPECT_EQ(refuse(replace("\"node_index\"", "\"node_number\"")),
            "field 'ops[0].(an unknown one)': missing, or not what it should "
            "be");
  EXPECT_EQ(refuse(replace("\"form\":0", "\"form\":1")),
            "field 'ops': missing, or not what it should be");
  EXPECT_EQ(refuse(replace("\"batch_factor\":0", "\"batch_factor\":2")),
            "a factor, dimension or value does not exist");
  EXPECT_EQ(refuse(replace("\"experts\":8", "\"experts\":-1")),
            "a factor, dimension or value does not exist");
  for (const char *share : {"0", "2"})
    EXPECT_EQ(refuse(replace("\"row_share\":0.25",
                             std::string("\"row_share\":") + share)),
              "a factor, dimension or value does not exist");
  EXPECT_NE(refuse(replace("\"shape\":[6,8]", "\"shape\":[6,9]"))
                .find("its rule does not fit the shape"),
            std::string::npos);
}

TEST(ProblemFile, SurvivesRandomChanges) {
  std::string text = printProblem(makeUnusual());
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string changed = text, fault;
    for (int change = 0; change < 3; ++change)
      changed[random() % changed.size()] = text[random() % text.size()];
    if (!readProblem(changed, fault)) {
      EXPECT_NE(fault, "") << changed;
    }
  }
}

} // namespace
