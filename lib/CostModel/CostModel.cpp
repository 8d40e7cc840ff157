//===- CostModel.cpp - Seconds of work on a cluster -----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/CostModel/CostModel.h"
#include "parplan/CostModel/OpCost.h"
#include "parplan/Support/Check.h"

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
/// Prologue and epilogue of a tile, as contracted elements. Fitted.
constexpr double tileOverhead = 105;
/// Share of the memory bandwidth that products reach on their operands.
constexpr double productMemoryShare = 0.9;
/// The least contracted length of a piece when a product is split along it.
constexpr int64_t leastSplit = 512;
/// Share of a NIC that point-to-point messages reach.
constexpr double networkShare = 0.9;

/// Interpolates `values` over the logarithm of ascending `sizes`; constant
/// beyond the ends.
double interpolate(const std::vector<double> &sizes,
                   const std::vector<double> &values, double size,
                   bool inLogarithms) {
  if (size <= sizes.front())
    return values.front();
  if (size >= sizes.back())
    return values.back();
  size_t upper = static_cast<size_t>(
      std::upper_bound(sizes.begin(), sizes.end(), size) - sizes.begin());
  double share = std::log(size / sizes[upper - 1]) /
                 std::log(sizes[upper] / sizes[upper - 1]);
  double left = values[upper - 1], right = values[upper];
  if (inLogarithms && left > 0 && right > 0)
    return left * std::pow(right / left, share);
  return left + share * (right - left);
}

std::optional<double> findMeasured(const CollectiveCurve &curve,
                                   CollectiveKind kind, const RankGroup &group,
                                   int64_t bytes) {
  for (const MeasuredCollective &entry : curve.measured) {
    if (entry.kind != stringifyCollectiveKind(kind) ||
        entry.devicesPerNode != group.devicesPerNode ||
        entry.nodes != group.nodes || entry.bytes.empty())
      continue;
    auto size = static_cast<double>(bytes);
    double seconds =
        interpolate(entry.bytes, entry.seconds, size, /*inLogarithms=*/true);
    // Beyond the largest measured message the rate stays.
    return size > entry.bytes.back() ? seconds * size / entry.bytes.back()
                                     : seconds;
  }
  return std::nullopt;
}

} // namespace

CostModel::CostModel(Cluster cluster, Precision precision)
    : cluster(std::move(cluster)), precision(precision) {}

double CostModel::getMatrixSeconds(const OpCost &cost) const {
  const Device &device = cluster.getDevice();
  double rate = device.getMatrixPeak(precision) * device.matrixEfficiency;
  double memorySeconds =
      static_cast<double>(cost.bytesRead + cost.bytesWritten) /
      (productMemoryShare * device.memoryBytesPerSecond);
  bool hasShape = cost.rows > 0 && cost.columns > 0 && cost.contracted > 0 &&
                  cost.batch > 0;
  if (!hasShape || device.multiprocessors <= 1)
    return std::max(cost.flops / rate, memorySeconds);

  // All multiprocessors work on tiles, wave after wave.
  double ratePerMultiprocessor =
      rate / static_cast<double>(device.multiprocessors);
  double best = 0;
  for (const Tile &tile : tiles) {
    int64_t count = ceilDivide(cost.rows, tile.rows) *
                    ceilDivide(cost.columns, tile.columns) * cost.batch;
    int64_t split =
        std::max<int64_t>(1, std::min(device.multiprocessors / count,
                                      cost.contracted / leastSplit));
    int64_t waves = ceilDivide(count * split, device.multiprocessors);
    double tileFlops =
        2.0 * static_cast<double>(tile.rows * tile.columns) *
        (static_cast<double>(ceilDivide(cost.contracted, split)) +
         tileOverhead);
    double seconds = static_cast<double>(waves) * tileFlops /
                     (ratePerMultiprocessor * tile.relativeRate);
    if (best == 0 || seconds < best)
      best = seconds;
  }
  return std::max(best, memorySeconds);
}

double CostModel::getOpSeconds(const OpCost &cost) const {
  const Device &device = cluster.getDevice();
  double memorySeconds =
      static_cast<double>(cost.bytesRead + cost.bytesWritten) /
      (device.memoryEfficiency * device.memoryBytesPerSecond);
  switch (cost.kind) {
  case WorkKind::none:
    return 0;
  case WorkKind::matrix:
    return device.kernelGapSeconds + getMatrixSeconds(cost);
  case WorkKind::elementwise:
  case WorkKind::reduction:
    return device.kernelGapSeconds +
           std::max({memorySeconds, cost.flops / device.flopsPerSecond.fp32,
                     cost.transcendentals / device.transcendentalsPerSecond});
  case WorkKind::copy:
    return device.kernelGapSeconds + memorySeconds;
  }
  PARPLAN_UNREACHABLE("unknown kind of work");
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

double CostModel::getCollectiveSeconds(CollectiveKind kind,
                                       const RankGroup &group,
                                       int64_t bytes) const {
  if (group.size <= 1 || bytes <= 0)
    return 0;
  // A message is paid for where it is sent.
  if (kind == CollectiveKind::receive)
    return 0;
  const CollectiveCurve &curve = cluster.description.collectives;
  if (std::optional<double> seconds = findMeasured(curve, kind, group, bytes))
    return *seconds;
  if (curve.model == CollectiveModel::sharedMemory)
    return getSharedMemorySeconds(kind, group, bytes);
  return getNcclSeconds(kind, group, bytes);
}

double CostModel::getSharedMemorySeconds(CollectiveKind kind,
                                         const RankGroup &group,
                                         int64_t bytes) const {
  const CollectiveCurve &curve = cluster.description.collectives;
  const Link &link = cluster.description.node.link;
  auto size = static_cast<double>(group.size);
  double rounds = std::ceil(std::log2(size));
  // Copies of the buffer that all members move together.
  double copies = size - 1;
  if (kind == CollectiveKind::allReduce) {
    rounds *= 2;
    copies *= 2;
  } else if (kind == CollectiveKind::send) {
    rounds = 1;
    copies = size;
  }
  // All groups move theirs at once over one bus.
  double groups =
      std::max(1.0, static_cast<double>(cluster.deviceCount) / size);
  double seconds =
      rounds * link.latencySeconds +
      groups * copies * static_cast<double>(bytes) / link.bytesPerSecond;
  return curve.factor * seconds + curve.offsetSeconds;
}

double CostModel::getLinkRate(int64_t devices) const {
  const Link &link = cluster.description.node.link;
  if (link.bytesPerSecondByDevices.empty() || devices < 2)
    return link.bytesPerSecond;
  size_t index = std::min(static_cast<size_t>(devices - 2),
                          link.bytesPerSecondByDevices.size() - 1);
  return link.bytesPerSecondByDevices[index];
}

double CostModel::getNetworkRatePerDevice() const {
  const std::optional<Network> &network = cluster.description.network;
  PARPLAN_CHECK(network, "a group across nodes without a network");
  double perDevice = network->bytesPerSecond *
                     static_cast<double>(network->nics) /
                     static_cast<double>(cluster.getDevicesPerNode());
  return std::min(network->bytesPerSecond, perDevice) * networkShare;
}

const NcclModel &CostModel::getNcclModel(const RankGroup &group) const {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<NcclModel> &model = ncclModels[group];
  if (model)
    return *model;
  const ClusterDescription &description = cluster.description;
  NcclTopology topology;
  topology.devicesPerNode = group.devicesPerNode;
  topology.nodes = group.nodes;
  topology.computeCapability = description.device.computeCapability;
  topology.linkGigabytesPerSecond = getLinkRate(group.devicesPerNode) / 1e9;
  topology.hasAmdCpu = description.node.hasAmdCpu;
  topology.isPcie = description.node.link.kind == LinkKind::pcie;
  if (description.network && group.nodes > 1) {
    // The other devices of the node are in groups that send at the same time:
    // this one has its share of the NICs.
    double nics = static_cast<double>(description.network->nics) *
                  static_cast<double>(group.devicesPerNode) /
                  static_cast<double>(cluster.getDevicesPerNode());
    topology.nics = std::max<int64_t>(1, static_cast<int64_t>(nics));
    topology.nicGigabytesPerSecond =
        description.network->bytesPerSecond / 1e9 *
        std::min(1.0, nics / static_cast<double>(topology.nics));
  }
  model = std::make_unique<NcclModel>(topology);
  return *model;
}

double CostModel::getAllToAllSeconds(const RankGroup &group,
                                     int64_t bytes) const {
  // Every member sends each other one a block, all at once.
  auto buffer = static_cast<double>(bytes);
  auto size = static_cast<double>(group.size);
  auto inNode = static_cast<double>(group.devicesPerNode);
  double inside = buffer * (inNode - 1) / size;
  double seconds = cluster.description.node.link.latencySeconds +
                   inside / getLinkRate(group.devicesPerNode);
  if (group.nodes == 1)
    return seconds;
  double outside = buffer * (size - inNode) / size;
  return std::max(seconds, cluster.description.network->latencySeconds +
                               outside / getNetworkRatePerDevice());
}

double CostModel::getSendSeconds(const RankGroup &group, int64_t bytes) const {
  auto size = static_cast<double>(bytes);
  if (group.nodes == 1)
    return cluster.description.node.link.latencySeconds +
           size / getLinkRate(group.devicesPerNode);
  double rate = getNetworkRatePerDevice();
  return cluster.description.network->latencySeconds + size / rate;
}

double CostModel::getNcclSeconds(CollectiveKind kind, const RankGroup &group,
                                 int64_t bytes) const {
  // A call costs its offset whatever it moves, or sends would seem free.
  const CollectiveCurve &curve = cluster.description.collectives;
  double seconds =
      kind == CollectiveKind::send ? getSendSeconds(group, bytes)
      : kind == CollectiveKind::allToAll
          ? getAllToAllSeconds(group, bytes)
          : getNcclModel(group).choose(kind, bytes).microseconds * 1e-6;
  double factor = curve.factor;
  if (group.nodes > 1 && !curve.networkBytes.empty())
    factor *= interpolate(curve.networkBytes, curve.networkFactors,
                          static_cast<double>(bytes), /*inLogarithms=*/false);
  return factor * seconds + curve.offsetSeconds;
}
