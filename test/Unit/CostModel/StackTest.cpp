//===- StackTest.cpp - What the software of a cluster changes -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/Presets.h"
#include "parplan/CostModel/CostModel.h"
#include "parplan/CostModel/OpCost.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

CostModel makeModel(const Stack &stack, int64_t devices = 1) {
  DiagnosticEngine engine;
  ClusterDescription description = *findPreset("dgx-a100-80g");
  description.stack = stack;
  description.stragglerDeviation = 0;
  return {*makeCluster(description, devices, engine), Precision::fp16};
}

/// Causal, 32 heads of 128.
OpCost makeAttention(int64_t length, bool isGradient = false) {
  OpCost cost;
  cost.kind = isGradient ? WorkKind::attentionGradient : WorkKind::attention;
  cost.rows = cost.columns = length;
  cost.contracted = 128;
  cost.batch = 32;
  cost.transcendentals = static_cast<double>(cost.batch * length * length) / 2;
  cost.flops = (isGradient ? 10 : 4) * cost.transcendentals * 128;
  return cost;
}

} // namespace

TEST(Stack, fusedAttentionFollowsTheRatesOfItsKernels) {
  CostModel model = makeModel({});
  const Device &device = model.getCluster().getDevice();
  OpCost cost = makeAttention(4096);
  double rate = cost.flops / model.getOpSeconds(cost);
  EXPECT_NEAR(rate, 312e12 * device.attentionEfficiency / (1 + 1.0 / 16),
              0.02 * rate);
  // Gradients: two and a half times the operations, at a lower rate.
  double ratio =
      model.getOpSeconds(makeAttention(4096, true)) / model.getOpSeconds(cost);
  EXPECT_NEAR(ratio,
              2.5 * device.attentionEfficiency /
                  device.attentionGradientEfficiency,
              0.02 * ratio);
}

TEST(Stack, shortSequencesDoNotFillFusedAttention) {
  CostModel model = makeModel({});
  OpCost one = makeAttention(512), other = makeAttention(8192);
  EXPECT_GT(other.flops / model.getOpSeconds(other),
            1.3 * one.flops / model.getOpSeconds(one));
}

TEST(Stack, unfusedAttentionMovesItsScores) {
  Stack stack;
  stack.attention = AttentionKernels::unfused;
  OpCost cost = makeAttention(2048);
  double scores = 32.0 * 2048 * 2048;
  double perByte = scores / (0.724 * 2039e9);
  double without = makeModel(stack).getOpSeconds(cost);
  EXPECT_GT(without, 4 * perByte);
  EXPECT_GT(without, makeModel({}).getOpSeconds(cost));
  stack.hasDropout = true;
  double with = makeModel(stack).getOpSeconds(cost);
  EXPECT_NEAR(with - without, 5 * perByte + 2.5e-6, 1e-7);
  OpCost gradient = makeAttention(2048, true);
  EXPECT_GT(makeModel(stack).getOpSeconds(gradient), 1.3 * with);
}

TEST(Stack, layersOfPublishedSizeTakeThePublishedTime) {
  // Korthikanti et al., Table 4: recomputing the attention of a 22B layer on
  // eight devices takes 1.3 ms.
  OpCost cost = makeAttention(2048);
  cost.contracted = 96;
  cost.flops = 4 * cost.transcendentals * 96;
  for (const Stack &stack : getStacks())
    if (stack.name == "megatron-2022") {
      EXPECT_NEAR(makeModel(stack, 8).getOpSeconds(cost), 1.3e-3, 0.13e-3);
    }
}

TEST(Stack, normsOfOldStacksMoveMore) {
  OpCost cost;
  cost.kind = WorkKind::reduction;
  cost.bytesRead = 1 << 30;
  Stack old;
  old.normTraffic = 1.5;
  double one = makeModel({}).getOpSeconds(cost);
  EXPECT_NEAR(makeModel(old).getOpSeconds(cost), 1.5 * one, 1e-5);
  cost.kind = WorkKind::elementwise;
  EXPECT_NEAR(makeModel(old).getOpSeconds(cost), one, 1e-9);
}

TEST(Stack, hiddenCommunicationIsNeverFree) {
  CostModel model = makeModel({});
  EXPECT_NEAR(model.getExposedSeconds(1, 0), 1, 1e-12);
  EXPECT_NEAR(model.getExposedSeconds(1, 10), 0.28, 1e-12);
  EXPECT_NEAR(model.getExposedSeconds(2, 1), 1.28, 1e-12);
}

TEST(Stack, devicesOfANodeSendPiecesOfWhatTheyAllHold) {
  Stack stack;
  stack.scattersMessages = true;
  CostModel whole = makeModel({}, 64), pieces = makeModel(stack, 64);
  RankGroup neighbours{2, 1, 2};
  int64_t bytes = 48 << 20;
  double send =
      whole.getCollectiveSeconds(CollectiveKind::send, neighbours, bytes);
  EXPECT_EQ(whole.getMessageSeconds(neighbours, bytes, 8), send);
  EXPECT_EQ(pieces.getMessageSeconds(neighbours, bytes, 1), send);
  EXPECT_NEAR(
      pieces.getMessageSeconds(neighbours, bytes, 8),
      pieces.getCollectiveSeconds(CollectiveKind::send, neighbours, bytes / 8) +
          pieces.getCollectiveSeconds(CollectiveKind::allGather, {8, 8, 1},
                                      bytes),
      1e-12);
  EXPECT_LT(pieces.getMessageSeconds(neighbours, bytes, 8), send / 2);
}

TEST(Stack, whatPassesASpineIsSlower) {
  DiagnosticEngine engine;
  ClusterDescription description = *findPreset("dgx-h100");
  CostModel flat(*makeCluster(description, 128, engine), Precision::bf16);
  description.network->spine = {4, 0.5};
  CostModel tiered(*makeCluster(description, 128, engine), Precision::bf16);
  int64_t bytes = int64_t{1} << 30;
  for (CollectiveKind kind : {CollectiveKind::allReduce, CollectiveKind::send,
                              CollectiveKind::allToAll}) {
    RankGroup near{4, 1, 4}, far{16, 1, 16};
    EXPECT_EQ(tiered.getCollectiveSeconds(kind, near, bytes),
              flat.getCollectiveSeconds(kind, near, bytes));
    EXPECT_GT(tiered.getCollectiveSeconds(kind, far, bytes),
              1.8 * flat.getCollectiveSeconds(kind, far, bytes));
  }
}
