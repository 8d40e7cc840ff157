//===- ContestTest.cpp - Reading and judging instances of the contest -----===//

#include "lib/BlockSolver/Random.h"
#include "parplan/BlockSolver/Solver.h"
#include "tools/parplan-iopddl/Instance.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace parplan;
using namespace parplan::contest;

namespace {

/// Two nodes that are live at the same time, and one after them.
const std::string small = R"({"problem": {"name": "small",
  "nodes": {"intervals": [[0, 4], [2, 6], [6, 7]],
            "costs": [[10, 3], [0, 7, 1000000000000000000], [5]],
            "usages": [[4, 8], [6, 1, 0], [10]]},
  "edges": {"nodes": [[0, 1], [1, 0]],
            "costs": [[0, 0, 0, 0, 2, 0], [1, 1, 1, 1, 1, 1]]},
  "usage_limit": 10}})";

std::optional<Task> read(std::string_view text, std::string *message) {
  DiagnosticEngine engine;
  std::optional<Task> task = readInstance(text, "a.json", engine);
  EXPECT_EQ(task.has_value(), !engine.hasErrors());
  *message = engine.render();
  if (!task) {
    EXPECT_EQ(engine.getExitCode(), ExitCode::badInput);
  }
  return task;
}

Task readSmall() {
  std::string message;
  std::optional<Task> task = read(small, &message);
  EXPECT_EQ(message, "");
  return *task;
}

TEST(Contest, CostsFollowTheRules) {
  Instance instance = readSmall().instance;
  EXPECT_EQ(getCost(instance, {0, 0, 0}), 10 + 0 + 5 + 0 + 1);
  EXPECT_EQ(getCost(instance, {1, 1, 0}), 3 + 7 + 5 + 2 + 1);
  // 8 and 6 bytes at times 2 and 3.
  EXPECT_EQ(getCost(instance, {1, 0, 0}), std::nullopt);
  EXPECT_EQ(getCost(instance, {0, 2, 0}), std::nullopt);
  EXPECT_EQ(getCost(instance, {0, 3, 0}), std::nullopt);
  EXPECT_EQ(getCost(instance, {0, 0}), std::nullopt);
}

TEST(Contest, WhatEndsLeavesBeforeWhatBeginsAtTheSameTime) {
  Instance instance = readSmall().instance;
  // Node 1 ends at 6, where node 2 takes all of the limit.
  EXPECT_NE(getCost(instance, {0, 0, 0}), std::nullopt);
  instance.usageLimit = 9;
  EXPECT_EQ(getCost(instance, {0, 0, 0}), std::nullopt);
}

TEST(Contest, TheSolverFindsTheBestStrategies) {
  Task task = readSmall();
  block::SolverOptions options;
  options.rounds = 1;
  block::Solution solution = block::solve(task.problem, options);
  EXPECT_EQ(getCost(task.instance, solution.choices), 16);
  EXPECT_EQ(solution.lowerBound, 16);
}

/// `small` with one part replaced.
std::string replace(const std::string &from, const std::string &to) {
  std::string text = small;
  size_t position = text.find(from);
  EXPECT_NE(position, std::string::npos);
  return text.replace(position, from.size(), to);
}

TEST(Contest, EveryFaultIsReportedWhereItIs) {
  struct Case {
    std::string text;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"", "a.json:1:1: error[E4031]: expected '{'"},
      {"{}", "a.json: error[E4031]: there is no field 'problem'"},
      {replace("[10, 3]", "[10, 3.5]"),
       "a.json:3:28: error[E4031]: expected an integer, not a fraction"},
      {replace("[10, 3]", "[10, true]"), "expected an integer"},
      {replace("[[10, 3]", "[[10, 3"), "expected an integer"},
      {replace("[5]]", "[5 6]]"), "expected ']'"},
      {replace("[10, 3]", "[]"), "node 0 has no value"},
      {replace("[10, 3]", "[10, 3, 4]"), "node 0 has 3 costs and 2 usages"},
      {replace("[4, 8]", "[4, -8]"), "node 0 has a negative usage"},
      {replace("[4, 8]", "[4, 8000000000000000000]"), "a number beyond 10^18"},
      {replace("[0, 4]", "[0, 4, 5]"), "interval 0 is not of two numbers"},
      {replace(", [5]]", "]"),
       "3 intervals, 2 lists of costs and 3 lists of usages"},
      {replace("[1, 0]]", "[1, 3]]"), "edge 1 joins node 3 of 3"},
      {replace("[1, 0]]", "[1, -1]]"), "edge 1 joins node -1 of 3"},
      {replace("[1, 0]]", "[1]]"), "edge 1 is not of two nodes"},
      {replace(", [1, 0]]", "]"), "1 edges, and 2 lists of costs of edges"},
      {replace("[1, 1, 1, 1, 1, 1]", "[1]"), "edge 1 has 1 costs, not 6"},
      {replace("\"usage_limit\": 10", "\"usage_limit\": -1"),
       "the usage limit is -1"},
      {replace("\"usage_limit\"", "\"name\""), "field 'name' is given twice"},
      {replace("\"usage_limit\"", "\"limit\""),
       "there is no field 'problem.usage_limit'"},
      {small + "}", "the document goes on after its end"},
      {replace("small", "small\\"), "error[E4031]"},
      {replace("\"small\"", std::string(200, '[')), "nested too deeply"},
      // A name with a dot is no path.
      {replace("\"usage_limit\": 10}}",
               "\"limit\": 10}, \"problem.usage_limit\": 10}"),
       "there is no field 'problem.usage_limit'"},
      // Doubles hold whole numbers below 2^53, and so the sums of all costs.
      {replace("[10, 3]", "[10, 9007199254740995]"),
       "the costs up to node 0 are too large to add up"},
      {replace("[1, 1, 1, 1, 1, 1]", "[1, 1, 1, 1, 1, 9007199254740984]"),
       "the costs up to edge 1 are too large to add up"},
  };
  for (const Case &fault : cases) {
    std::string message;
    EXPECT_FALSE(read(fault.text, &message)) << fault.message;
    EXPECT_NE(message.find(fault.message), std::string::npos)
        << message << " lacks " << fault.message;
  }
}

TEST(Contest, DamagedFilesNeverCrash) {
  block::Random random(11);
  int readable = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = small;
    for (int change = random.below(3); change >= 0; --change) {
      size_t position = random.below(static_cast<int>(text.size()));
      switch (random.below(3)) {
      case 0:
        text[position] = "0123456789[]{},:\"-e \\"[random.below(21)];
        break;
      case 1:
        text.erase(position, 1 + random.below(5));
        break;
      default:
        text.insert(position, text.substr(random.below(300), 4));
      }
    }
    std::string message;
    std::optional<Task> task = read(text, &message);
    if (!task)
      continue;
    ++readable;
    block::SolverOptions options;
    options.rounds = 1;
    block::Solution solution = block::solve(task->problem, options);
    if (!solution.choices.empty()) {
      EXPECT_NE(getCost(task->instance, solution.choices), std::nullopt);
    }
  }
  EXPECT_GT(readable, 100);
}

TEST(Contest, FilesThatCannotBeReadOrUnpackedAreReported) {
  DiagnosticEngine engine;
  EXPECT_FALSE(readPackedFile("/nonexistent/a.json", engine));
  EXPECT_EQ(engine.getExitCode(), ExitCode::missingInput);
  EXPECT_NE(engine.render().find("error[E4030]"), std::string::npos);

  std::string path = testing::TempDir() + "/damaged.json.gz";
  FILE *file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  std::fputs("\x1f\x8b and nothing that gzip knows", file);
  std::fclose(file);
  DiagnosticEngine other;
  EXPECT_FALSE(readPackedFile(path, other));
  EXPECT_EQ(other.getExitCode(), ExitCode::badInput);
  EXPECT_NE(other.render().find("gzip"), std::string::npos);
  std::remove(path.c_str());
}

} // namespace
