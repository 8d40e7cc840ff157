//===- RankGroupTest.cpp - Which nodes a group of ranks crosses -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/Presets.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

Cluster makeNodesOfEight(int64_t devices) {
  DiagnosticEngine engine;
  return *makeCluster(*findPreset("dgx-h100"), devices, engine);
}

} // namespace

TEST(RankGroup, lastAxisFillsNodesFirst) {
  Cluster cluster = makeNodesOfEight(32);
  // 4 x 8 ranks: the last axis is a node, the first crosses them.
  EXPECT_EQ(cluster.getGroup({4, 8}, {1}), (RankGroup{8, 8, 1}));
  EXPECT_EQ(cluster.getGroup({4, 8}, {0}), (RankGroup{4, 1, 4}));
  EXPECT_EQ(cluster.getGroup({4, 8}, {0, 1}), (RankGroup{32, 8, 4}));
  EXPECT_EQ(cluster.getGroup({4, 8}, std::vector<int>{}), (RankGroup{1, 1, 1}));
}

TEST(RankGroup, axesThatShareANode) {
  Cluster cluster = makeNodesOfEight(32);
  // 8 x 2 x 2: two axes of a node, an outer one of pairs in four nodes.
  EXPECT_EQ(cluster.getGroup({8, 2, 2}, {0}), (RankGroup{8, 2, 4}));
  EXPECT_EQ(cluster.getGroup({8, 2, 2}, {1}), (RankGroup{2, 2, 1}));
  EXPECT_EQ(cluster.getGroup({8, 2, 2}, {2, 1}), (RankGroup{4, 4, 1}));
  EXPECT_EQ(cluster.getGroup({2, 16}, {1}), (RankGroup{16, 8, 2}));
}

TEST(RankGroup, whereGroupsDifferTheWorstCounts) {
  // 5 groups of 3: one of them lies over the edge of a node.
  Cluster cluster = makeNodesOfEight(15);
  EXPECT_EQ(cluster.getGroup({5, 3}, {1}), (RankGroup{3, 2, 2}));
}

TEST(RankGroup, ranksMayBeGiven) {
  Cluster cluster = makeNodesOfEight(32);
  EXPECT_EQ(cluster.getGroup(std::vector<int64_t>{0, 7}), (RankGroup{2, 2, 1}));
  EXPECT_EQ(cluster.getGroup(std::vector<int64_t>{7, 8}), (RankGroup{2, 1, 2}));
}

TEST(RankGroup, hostIsOneNodeOfAnySize) {
  DiagnosticEngine engine;
  Cluster cluster = *makeCluster(*findPreset("host"), 12, engine);
  EXPECT_EQ(cluster.getGroup({3, 4}, {0, 1}), (RankGroup{12, 12, 1}));
}

TEST(RankGroup, tiers) {
  EXPECT_EQ(getTierName({1, 1, 1}), "device");
  EXPECT_EQ(getTierName({8, 8, 1}), "node");
  EXPECT_EQ(getTierName({4, 1, 4}), "network");
}

TEST(RankGroup, ofAMeshOnTheFirstDevices) {
  // The last 16 of the 32 devices are no ranks of the mesh.
  Cluster cluster = makeNodesOfEight(32);
  EXPECT_EQ(cluster.getGroup({4, 4}, {0, 1}), (RankGroup{16, 8, 2}));
}

TEST(RankGroupDeathTest, meshMustNotExceedTheCluster) {
  Cluster cluster = makeNodesOfEight(32);
  EXPECT_EXIT(cluster.getGroup({8, 8}, {0}), testing::ExitedWithCode(70),
              "a mesh of 64 ranks on 32 devices");
}
