//===- OperatorGroupsTest.cpp - Operators of a plan, blocks together ------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/OperatorGroups.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

Json makeOperator(const char *node, const char *role, const char *algorithm,
                  double flops) {
  return {{"node", node},
          {"op", "MatMul"},
          {"role", role},
          {"algorithm", algorithm},
          {"flops", flops},
          {"repeat", 2},
          {"collectives", Json::array()}};
}

TEST(GeneralizeName, ForgetsNumbers) {
  EXPECT_EQ(generalizeName("/h.12/mlp/up"), "/h.*/mlp/up");
  EXPECT_EQ(generalizeName("node_addmm_11"), "node_addmm");
  EXPECT_EQ(generalizeName("node_addmm"), "node_addmm");
  EXPECT_EQ(generalizeName("7"), "*");
}

TEST(GroupOperators, PutsBlocksTogetherThatDoTheSame) {
  Json reduced = makeOperator("h.1.up", "forward", "row", 10);
  reduced["collectives"].push_back({{"kind", "all_reduce"},
                                    {"axes", {"tp0"}},
                                    {"bytes", 1024},
                                    {"count", 3}});
  Json plan = {
      {"operators",
       {makeOperator("h.0.up", "forward", "column", 10),
        makeOperator("h.0.up", "input_gradient", "row", 20), std::move(reduced),
        makeOperator("h.2.up", "forward", "column", 10)}}};
  std::vector<OperatorGroup> groups = groupOperators(PlanField(plan));
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(describeGroup(groups[0], 100), "2 x column, 80 % of the work");
  EXPECT_EQ(describeGroup(groups[1], 100),
            "1 x row, 20 % of the work, all_reduce over tp0 3.00 KiB");
}

} // namespace
