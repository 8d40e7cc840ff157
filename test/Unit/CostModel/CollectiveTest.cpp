//===- CollectiveTest.cpp - Seconds of communication on clusters ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/Presets.h"
#include "parplan/CostModel/CostModel.h"

#include <gtest/gtest.h>

#include <string>

using namespace parplan;

namespace {

CostModel makeModel(const std::string &preset, int64_t devices) {
  DiagnosticEngine engine;
  return {*makeCluster(*findPreset(preset), devices, engine), Precision::bf16};
}

constexpr int64_t mebi = 1 << 20;

} // namespace

TEST(Collective, namesReadBack) {
  for (CollectiveKind kind : allCollectiveKinds)
    EXPECT_EQ(parseCollectiveKind(stringifyCollectiveKind(kind)), kind);
  EXPECT_EQ(parseCollectiveKind("gather"), std::nullopt);
}

TEST(Collective, oneRankOrNoBytesCostNothing) {
  CostModel model = makeModel("dgx-h100", 8);
  for (CollectiveKind kind : allCollectiveKinds) {
    EXPECT_EQ(model.getCollectiveSeconds(kind, {1, 1, 1}, mebi), 0);
    EXPECT_EQ(model.getCollectiveSeconds(kind, {8, 8, 1}, 0), 0);
  }
}

TEST(Collective, inANodeItIsTheTunersTimeOnTheMeasuredCurve) {
  CostModel model = makeModel("dgx-h100", 8);
  NcclModel tuner({8, 1, 90, 370.8, 1, 0, false, false});
  double microseconds =
      tuner.choose(CollectiveKind::allReduce, 64 * mebi).microseconds;
  EXPECT_NEAR(model.getCollectiveSeconds(CollectiveKind::allReduce, {8, 8, 1},
                                         64 * mebi),
              1.08e-6 * microseconds + 25e-6, 1e-12);
}

TEST(Collective, a100AllReducesComeNearMeasurements) {
  // 8 GPUs, nccl-tests: 64 MiB in about 0.55 ms (235 GB/s on the bus at most).
  CostModel model = makeModel("dgx-a100-40g", 8);
  double seconds = model.getCollectiveSeconds(CollectiveKind::allReduce,
                                              {8, 8, 1}, 64 * mebi);
  EXPECT_GT(seconds, 0.50e-3);
  EXPECT_LT(seconds, 0.65e-3);
}

TEST(Collective, callsInPartsTakeNoLess) {
  // Bounds of steps in more micro-batches follow from that.
  constexpr int64_t nodes = 4;
  for (const ClusterDescription &preset : getPresets()) {
    int64_t inNode = preset.node.devices > 0 ? preset.node.devices : 8;
    int64_t count = preset.network ? nodes : 1;
    CostModel model = makeModel(preset.name, inNode * count);
    std::vector<RankGroup> groups;
    if (preset.network)
      groups = {{inNode * nodes, inNode, nodes}, {nodes, 1, nodes}};
    if (inNode > 1)
      groups.push_back({inNode, inNode, 1});
    for (RankGroup group : groups)
      for (CollectiveKind kind : allCollectiveKinds)
        for (int64_t bytes = 1 << 10; bytes < int64_t(1) << 36;
             bytes += bytes / 8 * 3)
          for (int64_t parts : {2, 3, 4, 8, 16}) {
            double whole = model.getCollectiveSeconds(kind, group, bytes);
            double part = model.getCollectiveSeconds(
                kind, group, (bytes + parts - 1) / parts);
            EXPECT_GE(static_cast<double>(parts) * part, whole * (1 - 1e-9))
                << preset.name << ", " << stringifyCollectiveKind(kind)
                << " of " << bytes << " B over " << group.size << " ranks, "
                << group.nodes << " nodes, in " << parts;
          }
  }
}

TEST(Collective, moreBytesNeverCostLess) {
  for (const char *preset :
       {"dgx-a100-40g", "dgx-h100", "dgx-b200", "4x4090", "p3.16xlarge"}) {
    CostModel model = makeModel(preset, 64);
    int64_t inNode = model.getCluster().getDevicesPerNode();
    for (RankGroup group :
         {RankGroup{2, 2, 1}, RankGroup{inNode, inNode, 1}, RankGroup{8, 1, 8},
          RankGroup{64, inNode, 64 / inNode}})
      for (CollectiveKind kind :
           {CollectiveKind::allGather, CollectiveKind::reduceScatter,
            CollectiveKind::broadcast, CollectiveKind::reduce,
            CollectiveKind::allToAll, CollectiveKind::send}) {
        double last = 0;
        for (int64_t bytes = 1024; bytes <= int64_t{1} << 32; bytes *= 4) {
          double seconds = model.getCollectiveSeconds(kind, group, bytes);
          // The factor across nodes falls while bytes grow: 1 % of slack.
          EXPECT_GE(seconds, 0.99 * last)
              << preset << " " << stringifyCollectiveKind(kind) << " "
              << group.devicesPerNode << "x" << group.nodes << " " << bytes;
          last = seconds;
        }
      }
  }
}

TEST(Collective, theNetworkIsSlowerThanTheNode) {
  CostModel model = makeModel("dgx-h100", 64);
  for (CollectiveKind kind : allCollectiveKinds) {
    if (kind == CollectiveKind::receive)
      continue;
    EXPECT_GT(model.getCollectiveSeconds(kind, {8, 1, 8}, 64 * mebi),
              model.getCollectiveSeconds(kind, {8, 8, 1}, 64 * mebi))
        << stringifyCollectiveKind(kind);
  }
}

TEST(Collective, aGroupHasItsShareOfTheNics) {
  // Eight groups of one device per node share 8 NICs, or the one of p3.
  CostModel many = makeModel("dgx-h100", 64),
            one = makeModel("p3.16xlarge", 64);
  int64_t bytes = int64_t{1} << 30;
  auto getRate = [&](const CostModel &model) {
    return static_cast<double>(bytes) /
           model.getCollectiveSeconds(CollectiveKind::allGather, {8, 1, 8},
                                      bytes);
  };
  EXPECT_GT(getRate(many), 30e9);
  EXPECT_LT(getRate(one), 3.125e9 / 8 * 8 / 7);
}

TEST(Collective, smallMessagesAcrossNodesTakeLongerThanTheTunerSays) {
  CostModel model = makeModel("dgx-b200", 32);
  NcclModel tuner({8, 4, 100, 721.8, 8, 50, false, false});
  auto getFactor = [&](int64_t bytes) {
    return (model.getCollectiveSeconds(CollectiveKind::allReduce, {32, 8, 4},
                                       bytes) -
            25e-6) /
           (tuner.choose(CollectiveKind::allReduce, bytes).microseconds * 1e-6);
  };
  EXPECT_NEAR(getFactor(4 * mebi), 3.5 * 1.08, 1e-6);
  EXPECT_NEAR(getFactor(128 * mebi), 1.55 * 1.08, 1e-6);
  EXPECT_NEAR(getFactor(1024 * mebi), 1.08, 1e-6);
}

TEST(Collective, measuredTimesWin) {
  DiagnosticEngine engine;
  ClusterDescription description = *findPreset("dgx-h100");
  description.collectives.measured = {
      {"all_reduce", 8, 1, {1e6, 4e6}, {1e-3, 4e-3}}};
  CostModel model(*makeCluster(description, 8, engine), Precision::bf16);
  auto seconds = [&](int64_t bytes) {
    return model.getCollectiveSeconds(CollectiveKind::allReduce, {8, 8, 1},
                                      bytes);
  };
  EXPECT_NEAR(seconds(1000), 1e-3, 1e-12);
  EXPECT_NEAR(seconds(2000000), 2e-3, 1e-12);
  EXPECT_NEAR(seconds(8000000), 8e-3, 1e-12);
  // Other groups and kinds keep the formula.
  EXPECT_LT(
      model.getCollectiveSeconds(CollectiveKind::allReduce, {4, 4, 1}, 1000),
      1e-4);
  EXPECT_LT(
      model.getCollectiveSeconds(CollectiveKind::allGather, {8, 8, 1}, 1000),
      1e-4);
}

TEST(Collective, hostRanksShareOneBus) {
  // All-reduce of 1 MiB between Open MPI ranks of one machine.
  struct {
    int64_t ranks;
    double seconds;
  } measured[] = {{2, 184e-6}, {4, 527e-6}, {8, 1225e-6}, {16, 2653e-6}};
  for (auto [ranks, seconds] : measured)
    EXPECT_NEAR(makeModel("host", ranks)
                    .getCollectiveSeconds(CollectiveKind::allReduce,
                                          {ranks, ranks, 1}, mebi),
                seconds, 0.05 * seconds)
        << ranks;
  // Two groups at once move twice the bytes.
  EXPECT_GT(makeModel("host", 4).getCollectiveSeconds(CollectiveKind::allReduce,
                                                      {2, 2, 1}, mebi),
            1.8 * makeModel("host", 2).getCollectiveSeconds(
                      CollectiveKind::allReduce, {2, 2, 1}, mebi));
}

TEST(Collective, hostAllReduceIsWorthReduceScatterAndAllGather) {
  CostModel model = makeModel("host", 4);
  RankGroup group{4, 4, 1};
  double pair =
      model.getCollectiveSeconds(CollectiveKind::reduceScatter, group, mebi) +
      model.getCollectiveSeconds(CollectiveKind::allGather, group, mebi);
  EXPECT_NEAR(
      model.getCollectiveSeconds(CollectiveKind::allReduce, group, mebi), pair,
      1e-12);
}

TEST(Collective, aMessageIsPaidForWhereItIsSent) {
  CostModel model = makeModel("host", 2);
  EXPECT_GT(model.getCollectiveSeconds(CollectiveKind::send, {2, 2, 1}, mebi),
            0);
  EXPECT_EQ(
      model.getCollectiveSeconds(CollectiveKind::receive, {2, 2, 1}, mebi), 0);
}
