//===- OpCostTest.cpp - Seconds of work on a device -----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/CostModel/OpCost.h"
#include "parplan/Cluster/Presets.h"
#include "parplan/CostModel/CostModel.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

CostModel makeModel(const char *preset, Precision precision) {
  DiagnosticEngine engine;
  return {*makeCluster(*findPreset(preset), 1, engine), precision};
}

OpCost makeProduct(int64_t rows, int64_t columns, int64_t contracted,
                   int64_t batch = 1, int64_t elementBytes = 2) {
  OpCost cost;
  cost.kind = WorkKind::matrix;
  cost.rows = rows;
  cost.columns = columns;
  cost.contracted = contracted;
  cost.batch = batch;
  cost.flops = 2.0 * static_cast<double>(rows * columns * contracted * batch);
  cost.bytesRead = (rows + columns) * contracted * batch * elementBytes;
  cost.bytesWritten = rows * columns * batch * elementBytes;
  return cost;
}

double getFlopsPerSecond(const CostModel &model, const OpCost &cost) {
  return cost.flops / model.getOpSeconds(cost);
}

} // namespace

TEST(OpCost, largeProductsReachTheEfficientRate) {
  CostModel model = makeModel("dgx-a100-80g", Precision::bf16);
  double rate = getFlopsPerSecond(model, makeProduct(16384, 16384, 16384));
  EXPECT_GT(rate, 0.95 * 312e12 * 0.846);
  EXPECT_LT(rate, 312e12 * 0.847);
}

TEST(OpCost, fp32ProductsDoNotUseTensorCores) {
  CostModel model = makeModel("dgx-a100-80g", Precision::fp32);
  EXPECT_LT(getFlopsPerSecond(model, makeProduct(16384, 16384, 16384, 1, 4)),
            19.5e12);
}

TEST(OpCost, aPartialWaveCostsAWholeOne) {
  CostModel model = makeModel("dgx-a100-80g", Precision::bf16);
  // 108 multiprocessors: 108 tiles of 256 x 128 are one wave, 109 are two.
  double one = model.getOpSeconds(makeProduct(256, 128 * 108, 8192));
  double more = model.getOpSeconds(makeProduct(256, 128 * 108 + 1, 8192));
  EXPECT_GT(more, 1.05 * one);
}

TEST(OpCost, rowsThatBeginAnywhereSlowTensorCores) {
  CostModel model = makeModel("dgx-h100", Precision::bf16);
  OpCost cost = makeProduct(8192, 50257, 768);
  double aligned = model.getOpSeconds(cost),
         least = model.getLeastOpSeconds(cost);
  cost.isAligned = false;
  EXPECT_GT(model.getOpSeconds(cost), 5 * aligned);
  // A part of it may be aligned.
  EXPECT_EQ(model.getLeastOpSeconds(cost), least);
}

TEST(OpCost, thinLongProductsAreSplitAlongTheContraction) {
  CostModel model = makeModel("dgx-a100-80g", Precision::bf16);
  double one = model.getOpSeconds(makeProduct(256, 128, 512));
  double longer = model.getOpSeconds(makeProduct(256, 128, 512 * 64));
  EXPECT_LT(longer, 8 * one);
}

TEST(OpCost, vectorsAreBoundByMemory) {
  CostModel model = makeModel("dgx-a100-80g", Precision::bf16);
  OpCost cost = makeProduct(1, 16384, 16384);
  double bytes = static_cast<double>(cost.bytesRead + cost.bytesWritten);
  EXPECT_NEAR(model.getOpSeconds(cost), bytes / (0.9 * 2039e9) + 2.5e-6, 1e-7);
}

TEST(OpCost, elementwiseWorkIsTheSlowestOfBytesFlopsAndFunctions) {
  CostModel model = makeModel("dgx-h100", Precision::bf16);
  OpCost cost;
  cost.kind = WorkKind::elementwise;
  cost.bytesRead = cost.bytesWritten = 1 << 30;
  double memory = 2.0 * (1 << 30) / (0.724 * 3350e9) + 2.5e-6;
  EXPECT_NEAR(model.getOpSeconds(cost), memory, 1e-9);
  cost.flops = 66.9e12;
  EXPECT_NEAR(model.getOpSeconds(cost), 1 + 2.5e-6, 1e-9);
  cost.transcendentals = 2 * 3865e9;
  EXPECT_NEAR(model.getOpSeconds(cost), 2 + 2.5e-6, 1e-2);
}

TEST(OpCost, copiesReadAndWrite) {
  CostModel model = makeModel("dgx-h100", Precision::bf16);
  EXPECT_NEAR(model.getCopySeconds(1 << 30),
              2.0 * (1 << 30) / (0.724 * 3350e9) + 2.5e-6, 1e-9);
}

TEST(OpCost, whatLaunchesNothingCostsNothing) {
  CostModel model = makeModel("dgx-h100", Precision::bf16);
  OpCost cost;
  cost.kind = WorkKind::none;
  cost.bytesRead = 1 << 30;
  EXPECT_EQ(model.getOpSeconds(cost), 0);
}

namespace {

/// A product and so many equal parts of each of its dimensions.
void expectPartsTakeNoLess(const CostModel &model, const OpCost &whole,
                           int64_t parts) {
  double least = model.getLeastOpSeconds(whole);
  EXPECT_LE(least, model.getOpSeconds(whole));
  for (auto dimension :
       {&OpCost::rows, &OpCost::columns, &OpCost::contracted, &OpCost::batch}) {
    OpCost part = whole;
    part.*dimension = ceilDivide(whole.*dimension, parts);
    OpCost sized =
        makeProduct(part.rows, part.columns, part.contracted, part.batch);
    sized.kind = whole.kind;
    sized.transcendentals = static_cast<double>(part.rows * part.columns);
    EXPECT_LE(least, static_cast<double>(parts) * model.getOpSeconds(sized))
        << whole.rows << " x " << whole.columns << " x " << whole.contracted
        << ", " << whole.batch << " times, in " << parts << " parts";
  }
}

} // namespace

TEST(OpCost, partsTakeTogetherAtLeastWhatTheWholeMust) {
  for (auto [preset, kernels] :
       {std::pair("dgx-a100-80g", AttentionKernels::unfused),
        std::pair("dgx-h100", AttentionKernels::fused),
        std::pair("host", AttentionKernels::fused)}) {
    DiagnosticEngine engine;
    ClusterDescription description = *findPreset(preset);
    description.stack.attention = kernels;
    CostModel model(*makeCluster(description, 1, engine), Precision::bf16);
    for (int64_t rows : {1, 96, 1000, 8192})
      for (int64_t columns : {64, 640, 5000})
        for (int64_t contracted : {32, 1024, 20000})
          for (int64_t batch : {1, 24})
            for (int64_t parts : {2, 3, 16})
              for (WorkKind kind :
                   {WorkKind::matrix, WorkKind::attention,
                    WorkKind::attentionGradient, WorkKind::elementwise,
                    WorkKind::reduction, WorkKind::copy}) {
                OpCost whole = makeProduct(rows, columns, contracted, batch);
                whole.kind = kind;
                whole.transcendentals = static_cast<double>(rows * columns);
                expectPartsTakeNoLess(model, whole, parts);
              }
  }
}

TEST(OpCost, aProductOfWholeWavesTakesWhatItMust) {
  CostModel model = makeModel("dgx-a100-80g", Precision::bf16);
  OpCost whole = makeProduct(256 * 9, 128 * 12, 8192);
  EXPECT_NEAR(model.getLeastOpSeconds(whole), model.getOpSeconds(whole), 1e-9);
  // A wave and a half.
  OpCost half = makeProduct(256 * 9, 128 * 18, 8192);
  EXPECT_LT(model.getLeastOpSeconds(half), 0.95 * model.getOpSeconds(half));
}

TEST(OpCost, hostProductsFollowThePlainRoofline) {
  CostModel model = makeModel("host", Precision::fp32);
  OpCost cost = makeProduct(1000, 1000, 1000, 1, 4);
  EXPECT_NEAR(model.getOpSeconds(cost), 2e9 / (120e9 * 0.85) + 1e-6, 1e-9);
}

TEST(OpCost, expertsAreMultipliedOneByOne) {
  CostModel model = makeModel("dgx-a100-80g", Precision::bf16);
  OpCost one = makeProduct(512, 2048, 2048);
  OpCost all = makeProduct(512, 2048, 2048, 8);
  all.kind = WorkKind::expertMatrix;
  double gap = model.getCopySeconds(0);
  EXPECT_NEAR(model.getOpSeconds(all), 8 * (model.getOpSeconds(one) + 2 * gap),
              1e-9);
  // A processor has one kernel for all.
  CostModel host = makeModel("host", Precision::fp32);
  OpCost batch = makeProduct(64, 64, 64, 8, 4), rows = batch;
  rows.kind = WorkKind::expertMatrix;
  EXPECT_EQ(host.getOpSeconds(rows), host.getOpSeconds(batch));
}

TEST(OpCost, allDevicesWaitForTheSlowest) {
  DiagnosticEngine engine;
  OpCost cost = makeProduct(4096, 4096, 4096);
  auto getSeconds = [&](int64_t gpus) {
    CostModel model(*makeCluster(*findPreset("dgx-a100-80g"), gpus, engine),
                    Precision::bf16);
    return model.getOpSeconds(cost);
  };
  // The largest of so many normals is expected at 0.56, 1.42 and 3.24 of 1.2 %.
  EXPECT_NEAR(getSeconds(2) / getSeconds(1), 1.0068, 4e-4);
  EXPECT_NEAR(getSeconds(8) / getSeconds(1), 1.0171, 4e-4);
  EXPECT_NEAR(getSeconds(1024) / getSeconds(1), 1.0389, 4e-4);
}

TEST(OpCost, workFollowsFromTheLocalFactorSizes) {
  // mk,kn->mn with m split in two.
  ShardingRule rule;
  rule.factors = {{"m", 8, FactorKind::parallel},
                  {"n", 16, FactorKind::parallel},
                  {"k", 32, FactorKind::reduceSum}};
  rule.operands = {{{0}, {2}}, {{2}, {1}}};
  rule.results = {{{0}, {1}}};
  OpWork work;
  work.kind = WorkKind::matrix;
  work.flops = {{2, {0, 1, 2}}};
  work.rows = {0};
  work.columns = {1};
  work.contracted = {2};
  OpCost cost = evaluateWork(work, rule, {4, 16, 32}, {4, 2}, {4});
  EXPECT_EQ(cost.flops, 2.0 * 4 * 16 * 32);
  EXPECT_EQ(cost.bytesRead, 4 * 32 * 4 + 32 * 16 * 2);
  EXPECT_EQ(cost.bytesWritten, 4 * 16 * 4);
  EXPECT_EQ(cost.rows, 4);
  EXPECT_EQ(cost.columns, 16);
  EXPECT_EQ(cost.contracted, 32);
  EXPECT_EQ(cost.batch, 1);
}

TEST(OpCost, productsOfExpertsHaveAShareOfTheRows) {
  // etk,ekn->etn, each token with two of eight experts.
  ShardingRule rule;
  rule.factors = {{"e", 8, FactorKind::parallel},
                  {"t", 30, FactorKind::parallel},
                  {"k", 16, FactorKind::reduceSum},
                  {"n", 32, FactorKind::parallel}};
  rule.operands = {{{0}, {1}, {2}}, {{0}, {2}, {3}}};
  rule.results = {{{0}, {1}, {3}}};
  OpWork work;
  work.kind = WorkKind::matrix;
  work.flops = {{2 * 0.25, {0, 1, 2, 3}}};
  work.batch = {0};
  work.rows = {1};
  work.contracted = {2};
  work.columns = {3};
  work.rowShare = 0.25;
  OpCost cost = evaluateWork(work, rule, {4, 30, 16, 32}, {4, 4}, {4});
  EXPECT_EQ(cost.flops, 0.5 * 4 * 30 * 16 * 32);
  EXPECT_EQ(cost.rows, 8);
  EXPECT_EQ(cost.contracted, 16);
  // Rows of other tokens are zeros, which are there.
  EXPECT_EQ(cost.bytesWritten, 4 * 4 * 30 * 32);
  work.rowShare = 1;
  work.contractedShare = 0.25;
  cost = evaluateWork(work, rule, {4, 30, 16, 32}, {4, 4}, {4});
  EXPECT_EQ(cost.rows, 30);
  EXPECT_EQ(cost.contracted, 4);
}

TEST(OpCost, partsHaveNoFewerRowsThanTheWhole) {
  EXPECT_EQ(getMeanSize(100, 0.07), 7);
  EXPECT_EQ(getMeanSize(1, 0.07), 1);
  EXPECT_EQ(getMeanSize(0, 0.07), 0);
  for (int64_t size = 1; size < 2000; ++size)
    for (int64_t parts : {2, 3, 8})
      EXPECT_GE(parts * getMeanSize((size + parts - 1) / parts, 0.07),
                getMeanSize(size, 0.07));
}

TEST(OpCost, rowsOf16BitElementsSayWhetherAProductIsAligned) {
  // mk,kn->mn
  ShardingRule rule;
  rule.factors = {{"m", 9, FactorKind::parallel},
                  {"n", 40, FactorKind::parallel},
                  {"k", 32, FactorKind::reduceSum}};
  rule.operands = {{{0}, {2}}, {{2}, {1}}};
  rule.results = {{{0}, {1}}};
  OpWork work;
  work.kind = WorkKind::matrix;
  work.rows = {0};
  work.columns = {1};
  work.contracted = {2};
  auto isAligned = [&](std::vector<int64_t> sizes, int64_t elementBytes) {
    std::vector<int64_t> two(2, elementBytes), one(1, elementBytes);
    return evaluateWork(work, rule, sizes, two, one).isAligned;
  };
  EXPECT_TRUE(isAligned({9, 40, 32}, 2));
  // A part of the columns; the contracted dimension; other elements.
  EXPECT_FALSE(isAligned({9, 20, 32}, 2));
  EXPECT_FALSE(isAligned({9, 40, 30}, 2));
  EXPECT_TRUE(isAligned({9, 20, 30}, 4));
  // Rows of a window are none of the product's own dimensions.
  work.columns = {};
  work.rows = {0, 1};
  EXPECT_TRUE(isAligned({9, 20, 32}, 2));
}

TEST(OpCost, broadcastDimensionsAreReadOnce) {
  // add of (m, n) and (1, n).
  ShardingRule rule;
  rule.factors = {{"m", 8, FactorKind::parallel},
                  {"n", 16, FactorKind::parallel}};
  rule.operands = {{{0}, {1}}, {{}, {1}}};
  rule.results = {{{0}, {1}}};
  OpWork work;
  work.flops = {{1, {0, 1}}};
  OpCost cost = evaluateWork(work, rule, {8, 16}, {4, 4}, {4});
  EXPECT_EQ(cost.bytesRead, (8 * 16 + 16) * 4);
  EXPECT_EQ(cost.rows, 0);
}

TEST(OpCost, thinProductsOfProcessorsTakeAsIfTheyHadMore) {
  DiagnosticEngine engine;
  ClusterDescription description = *findPreset("host");
  description.device.memoryBytesPerSecond = 1e18;
  CostModel plain(*makeCluster(description, 1, engine), Precision::fp32);
  description.device.productOverhead = {0, 16, 0};
  CostModel model(*makeCluster(description, 1, engine), Precision::fp32);
  double gap = description.device.kernelGapSeconds;
  OpCost product = makeProduct(4096, 16, 4096, 1, 4);
  EXPECT_NEAR(model.getOpSeconds(product) - gap,
              2 * (plain.getOpSeconds(product) - gap), 1e-9);
}

TEST(OpCost, scoresOfAttentionOnProcessorsTakeTheirTime) {
  DiagnosticEngine engine;
  ClusterDescription description = *findPreset("host");
  description.device.attentionScoresPerSecond = 1e9;
  description.device.attentionEfficiency = 1;
  CostModel model(*makeCluster(description, 1, engine), Precision::fp32);
  OpCost attention;
  attention.kind = WorkKind::attention;
  attention.transcendentals = 1e6;
  EXPECT_NEAR(model.getOpSeconds(attention),
              description.device.kernelGapSeconds + 1e-3, 1e-9);
}
