//===- PlanDifferenceTest.cpp - What differs between two plans ------------===//

#include "lib/Driver/PlanDifference.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

Json makeOp(const std::string &node, const std::string &role,
            const std::string &algorithm, double compute, double data = 0) {
  return {
      {"node", node},
      {"op", "MatMul"},
      {"role", role},
      {"stage", 0},
      {"algorithm", algorithm},
      {"factors", {{"n", {"x"}}}},
      {"recompute", "keep"},
      {"flops", 100},
      {"breakdown_s", {{"compute", compute}, {"data_communication", data}}}};
}

Json makePlan(double step, std::vector<Json> operators,
              const std::string &role = "tensor") {
  return {{"mesh", {{"axes", {{{"name", "x"}, {"role", role}, {"size", 2}}}}}},
          {"config", {{"micro_batches", 1}}},
          {"operators", std::move(operators)},
          {"predicted", {{"step_time_s", step}}}};
}

TEST(PlanDifference, PutsNodesTogetherThatAreTreatedInTheSameTwoWays) {
  Json before = makePlan(10, {makeOp("h.0.up", "forward", "row", 2),
                              makeOp("h.1.up", "forward", "row", 2),
                              makeOp("h.1.up", "weight_gradient", "row", 1, 1),
                              makeOp("h.2.up", "forward", "row", 4)});
  Json after = makePlan(9, {makeOp("h.0.up", "forward", "column", 1),
                            makeOp("h.1.up", "forward", "column", 1),
                            makeOp("h.1.up", "weight_gradient", "column", 3),
                            makeOp("h.2.up", "forward", "row", 4)});
  PlanDifference difference =
      findDifference(PlanField(before), PlanField(after));
  ASSERT_EQ(difference.operators.size(), 1u);
  const OperatorDifference &group = difference.operators.front();
  EXPECT_EQ(group.name, "h.*.up");
  EXPECT_EQ(group.count, 2);
  EXPECT_EQ(group.before, "row (n over x=2)");
  EXPECT_EQ(group.after, "column (n over x=2)");
  EXPECT_DOUBLE_EQ(group.costSeconds, -1);
  EXPECT_DOUBLE_EQ(group.breakdown.at("compute"), 0);
  EXPECT_DOUBLE_EQ(group.breakdown.at("data_communication"), -1);
  EXPECT_DOUBLE_EQ(*difference.restSeconds, 0);
  EXPECT_TRUE(difference.settings.empty());
}

TEST(PlanDifference, CountsAPositionOfAPipelineOnAverage) {
  Json before = makePlan(3, {makeOp("up", "forward", "row", 2)});
  Json after = makePlan(4, {makeOp("up", "forward", "row", 2)}, "pipeline");
  PlanDifference difference =
      findDifference(PlanField(before), PlanField(after));
  ASSERT_EQ(difference.operators.size(), 1u);
  EXPECT_DOUBLE_EQ(difference.operators.front().costSeconds, -1);
  EXPECT_DOUBLE_EQ(*difference.restSeconds, 2);
}

TEST(PlanDifference, SaysWhatOnlyOnePlanHas) {
  Json before = makePlan(3, {makeOp("up", "forward", "row", 2)});
  Json after = makePlan(4, {makeOp("up", "forward", "row", 2),
                            makeOp("sum", "gradient_sum", "local", 1)});
  after["config"]["micro_batches"] = 2;
  PlanDifference difference =
      findDifference(PlanField(before), PlanField(after));
  ASSERT_EQ(difference.operators.size(), 1u);
  EXPECT_EQ(difference.operators.front().before, "absent");
  ASSERT_EQ(difference.settings.size(), 1u);
  EXPECT_EQ(difference.settings.front().name, "micro-batches");
  EXPECT_EQ(difference.settings.front().before, "1");
  EXPECT_EQ(difference.settings.front().after, "2");
}

TEST(PlanDifference, CountsParametersThatAreKeptOtherwise) {
  auto makeParameter = [](const std::string &name, int stage) {
    return Json{{"name", name},
                {"zero_stage", stage},
                {"tier", "hbm"},
                {"optimizer_tier", stage ? "cpu" : "hbm"}};
  };
  Json before = makePlan(1, {}), after = before;
  before["parameters"] = {makeParameter("a", 0), makeParameter("b", 0)};
  after["parameters"] = {makeParameter("a", 1), makeParameter("b", 1)};
  PlanDifference difference =
      findDifference(PlanField(before), PlanField(after));
  ASSERT_EQ(difference.counts.size(), 1u);
  EXPECT_EQ(difference.counts.front().name, "2 parameters");
  EXPECT_EQ(difference.counts.front().before, "ZeRO stage 0");
  EXPECT_EQ(difference.counts.front().after,
            "ZeRO stage 1, states on the host");
}

TEST(PlanDifference, KnowsNoCostsThatAPlanDoesNotSay) {
  Json before = makePlan(3, {makeOp("up", "forward", "row", 2)});
  before["operators"][0].erase("breakdown_s");
  EXPECT_FALSE(
      findDifference(PlanField(before), PlanField(before)).restSeconds);
}

TEST(PlanDifference, ReadsPlansThatLackEverything) {
  Json nothing = Json::object();
  PlanDifference difference =
      findDifference(PlanField(nothing), PlanField(nothing));
  EXPECT_TRUE(difference.settings.empty());
  EXPECT_TRUE(difference.operators.empty());
}

} // namespace
