//===- CostModel.cpp - Seconds of computation on a cluster ----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/CostModel/CostModel.h"
#include "parplan/CostModel/OpCost.h"
#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace parplan;

namespace {

/// Thread-block tiles of a matrix product, with the share of the full rate
/// that each reaches.
struct Tile {
  int64_t rows, columns;
  double relativeRate;
};
constexpr Tile tiles[] = {
    {256, 128, 1.0}, {128, 128, 0.93}, {128, 64, 0.80}, {64, 64, 0.62}};
/// Share of the memory bandwidth that products reach on their operands.
constexpr double productMemoryShare = 0.9;
/// The least contracted length of a piece when a product is split along it.
constexpr int64_t leastSplit = 512;

} // namespace

/// Of so many independent standard normals (Blom's approximation).
static double getExpectedMaximum(int64_t count) {
  if (count <= 1)
    return 0;
  auto number = static_cast<double>(count);
  double share = (number - 0.375) / (number + 0.25);
  double low = 0, high = 10;
  for (int step = 0; step < 60; ++step) {
    double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < share ? low : high) = middle;
  }
  return low;
}

CostModel::CostModel(Cluster cluster, Precision precision)
    : cluster(std::move(cluster)), precision(precision),
      stragglerFactor(1 + this->cluster.description.stragglerDeviation *
                              getExpectedMaximum(this->cluster.deviceCount)) {}

double CostModel::getMatrixSeconds(const OpCost &cost, Waves waves) const {
  const Device &device = cluster.getDevice();
  double rate = device.getMatrixPeak(precision) * device.matrixEfficiency;
  double memorySeconds =
      static_cast<double>(cost.bytesRead + cost.bytesWritten) /
      (productMemoryShare * device.memoryBytesPerSecond);
  bool hasShape = cost.rows > 0 && cost.columns > 0 && cost.contracted > 0 &&
                  cost.batch > 0;
  if (!hasShape)
    return std::max(cost.flops / rate, memorySeconds);
  if (device.multiprocessors <= 1) {
    double more = 1;
    int64_t sizes[] = {cost.rows, cost.columns, cost.contracted};
    for (auto [size, overhead] : llvm::zip(sizes, device.productOverhead))
      more *= 1 + overhead / static_cast<double>(size);
    return std::max(more * cost.flops / rate, memorySeconds);
  }

  // All multiprocessors work on tiles, wave after wave.
  double ratePerMultiprocessor =
      rate / static_cast<double>(device.multiprocessors);
  double best = 0;
  for (const Tile &tile : tiles) {
    int64_t count = ceilDivide(cost.rows, tile.rows) *
                    ceilDivide(cost.columns, tile.columns) * cost.batch;
    int64_t split = 1;
    double tilesInTurn = static_cast<double>(count) /
                         static_cast<double>(device.multiprocessors);
    if (waves == Waves::whole) {
      split = std::max<int64_t>(1, std::min(device.multiprocessors / count,
                                            cost.contracted / leastSplit));
      tilesInTurn = static_cast<double>(
          ceilDivide(count * split, device.multiprocessors));
    }
    double tileFlops =
        2.0 * static_cast<double>(tile.rows * tile.columns) *
        (static_cast<double>(ceilDivide(cost.contracted, split)) +
         device.tileOverhead);
    double seconds =
        tilesInTurn * tileFlops / (ratePerMultiprocessor * tile.relativeRate);
    if (best == 0 || seconds < best)
      best = seconds;
  }
  // Parts of a product may be aligned where the whole is not.
  if (!cost.isAligned && waves == Waves::whole)
    best /= device.unalignedEfficiency;
  return std::max(best, memorySeconds);
}

/// A processor has one kernel for all experts; a GPU three for each: rows are
/// gathered, multiplied, and scattered, or two operands gathered.
double CostModel::getExpertMatrixSeconds(const OpCost &cost,
                                         Waves waves) const {
  const Device &device = cluster.getDevice();
  if (device.multiprocessors <= 1)
    return device.kernelGapSeconds + getMatrixSeconds(cost, waves);
  constexpr int kernelsPerExpert = 3;
  int64_t experts = std::max<int64_t>(cost.batch, 1);
  OpCost each = cost;
  each.batch = 1;
  each.flops /= static_cast<double>(experts);
  each.bytesRead /= experts;
  each.bytesWritten /= experts;
  return static_cast<double>(experts) *
         (kernelsPerExpert * device.kernelGapSeconds +
          getMatrixSeconds(each, waves));
}

double CostModel::getFusedAttentionSeconds(const OpCost &cost) const {
  const Device &device = cluster.getDevice();
  double efficiency = cost.kind == WorkKind::attention
                          ? device.attentionEfficiency
                          : device.attentionGradientEfficiency;
  // Short rows of scores do not fill a kernel.
  double fill =
      1 + 256 / static_cast<double>(std::max<int64_t>(cost.columns, 1));
  double bytes = static_cast<double>(cost.bytesRead + cost.bytesWritten);
  return device.kernelGapSeconds +
         std::max(fill * cost.flops /
                      (device.getMatrixPeak(precision) * efficiency),
                  bytes / (productMemoryShare * device.memoryBytesPerSecond));
}

/// Blocks of scores stay in the caches: products and what is done to each score
/// follow each other.
double CostModel::getProcessorAttentionSeconds(const OpCost &cost,
                                               Waves waves) const {
  const Device &device = cluster.getDevice();
  bool isGradient = cost.kind == WorkKind::attentionGradient;
  double scoresPerSecond = isGradient ? device.attentionGradientScoresPerSecond
                                      : device.attentionScoresPerSecond;
  if (scoresPerSecond == 0)
    return getMatrixSeconds(cost, waves);
  double efficiency = isGradient ? device.attentionGradientEfficiency
                                 : device.attentionEfficiency;
  return cost.flops / (device.getMatrixPeak(precision) * efficiency) +
         cost.transcendentals / scoresPerSecond;
}

double CostModel::getUnfusedAttentionSeconds(const OpCost &cost,
                                             Waves waves) const {
  bool isGradient = cost.kind == WorkKind::attentionGradient;
  const Stack &stack = cluster.description.stack;
  int64_t elementBytes = precision == Precision::fp32 ? 4 : 2;
  double seconds = 0;
  auto addProduct = [&](int64_t rows, int64_t columns, int64_t contracted) {
    OpCost product;
    product.kind = WorkKind::matrix;
    product.rows = rows;
    product.columns = columns;
    product.contracted = contracted;
    product.batch = cost.batch;
    auto count = static_cast<double>(cost.batch);
    product.flops = 2 * count * static_cast<double>(rows) *
                    static_cast<double>(columns) *
                    static_cast<double>(contracted);
    product.bytesRead =
        (rows + columns) * contracted * cost.batch * elementBytes;
    product.bytesWritten = rows * columns * cost.batch * elementBytes;
    seconds += getMeanOpSeconds(product, waves);
  };
  double scores = static_cast<double>(cost.rows) *
                  static_cast<double>(cost.columns) *
                  static_cast<double>(cost.batch);
  auto addKernel = [&](double bytesPerScore) {
    OpCost kernel;
    kernel.bytesRead = static_cast<int64_t>(scores * bytesPerScore);
    seconds += getMeanOpSeconds(kernel, waves);
  };
  // Scores; or the gradients of both of their operands.
  for (int count = isGradient ? 2 : 1; count > 0; --count) {
    addProduct(cost.rows, cost.columns, cost.contracted);
    addProduct(cost.rows, cost.contracted, cost.columns);
  }
  // Softmax reads and writes scores, its gradient reads two of them; dropout
  // has a mask of one byte.
  auto element = static_cast<double>(elementBytes);
  addKernel((isGradient ? 3 : 2) * element);
  if (stack.hasDropout)
    addKernel(2 * element + 1);
  return seconds;
}

double CostModel::getMeanOpSeconds(const OpCost &cost, Waves waves) const {
  const Device &device = cluster.getDevice();
  double bytes = static_cast<double>(cost.bytesRead + cost.bytesWritten);
  if (cost.kind == WorkKind::reduction)
    bytes *= cluster.description.stack.normTraffic;
  double memorySeconds =
      bytes / (device.memoryEfficiency * device.memoryBytesPerSecond);
  double gapSeconds = cost.isInReader ? 0 : device.kernelGapSeconds;
  switch (cost.kind) {
  case WorkKind::none:
    return 0;
  case WorkKind::attention:
  case WorkKind::attentionGradient:
    if (device.multiprocessors <= 1)
      return device.kernelGapSeconds +
             getProcessorAttentionSeconds(cost, waves);
    return cluster.description.stack.attention == AttentionKernels::fused
               ? getFusedAttentionSeconds(cost)
               : getUnfusedAttentionSeconds(cost, waves);
  case WorkKind::expertMatrix:
    return getExpertMatrixSeconds(cost, waves);
  case WorkKind::matrix:
    return device.kernelGapSeconds + getMatrixSeconds(cost, waves);
  case WorkKind::elementwise:
  case WorkKind::reduction:
    return gapSeconds +
           std::max({memorySeconds, cost.flops / device.flopsPerSecond.fp32,
                     cost.transcendentals / device.transcendentalsPerSecond});
  case WorkKind::copy:
    return gapSeconds + memorySeconds;
  }
  PARPLAN_UNREACHABLE("unknown kind of work");
}

double CostModel::getOpSeconds(const OpCost &cost) const {
  return stragglerFactor * getMeanOpSeconds(cost, Waves::whole);
}

double CostModel::getLeastOpSeconds(const OpCost &cost) const {
  return stragglerFactor * getMeanOpSeconds(cost, Waves::shared);
}

double CostModel::getCopySeconds(int64_t bytes) const {
  OpCost cost;
  cost.kind = WorkKind::copy;
  cost.bytesRead = cost.bytesWritten = bytes;
  return getOpSeconds(cost);
}

/// Ranks of a full node share what the node has once.
static double getShare(const Cluster &cluster, double rateOfNode) {
  return rateOfNode / static_cast<double>(std::min(cluster.getDevicesPerNode(),
                                                   cluster.deviceCount));
}

double CostModel::getHostCopySeconds(int64_t bytes) const {
  const Node &node = cluster.description.node;
  double rate = std::min(node.deviceHostBytesPerSecond,
                         getShare(cluster, node.hostMemoryBytesPerSecond));
  return cluster.getDevice().kernelGapSeconds +
         static_cast<double>(bytes) / rate;
}

double CostModel::getNvmeSeconds(int64_t bytes, bool isWrite) const {
  const auto &nvme = cluster.description.node.nvme;
  PARPLAN_CHECK(nvme, "a node without NVMe transfers nothing to it");
  return static_cast<double>(bytes) /
         getShare(cluster, isWrite ? nvme->writeBytesPerSecond
                                   : nvme->readBytesPerSecond);
}

double CostModel::getHostOpSeconds(const OpCost &cost) const {
  return static_cast<double>(cost.bytesRead + cost.bytesWritten) /
         getShare(cluster, cluster.description.node.hostMemoryBytesPerSecond);
}
