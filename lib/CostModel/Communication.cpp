//===- Communication.cpp - Seconds of messages and collectives ------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/CostModel/CostModel.h"
#include "parplan/Support/Check.h"

#include <algorithm>
#include <cmath>

using namespace parplan;

namespace {

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

double CostModel::getExposedSeconds(double communication, double window) const {
  double hidden = std::min(communication, window);
  return communication -
         (1 - cluster.description.collectives.interference) * hidden;
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

double CostModel::getSpineShare(int64_t nodes) const {
  const std::optional<Network> &network = cluster.description.network;
  return network && network->spine && nodes > network->spine->nodes
             ? network->spine->share
             : 1;
}

double CostModel::getNetworkRatePerDevice(int64_t nodes) const {
  const std::optional<Network> &network = cluster.description.network;
  PARPLAN_CHECK(network, "a group across nodes without a network");
  double perDevice = network->bytesPerSecond *
                     static_cast<double>(network->nics) /
                     static_cast<double>(cluster.getDevicesPerNode());
  return std::min(network->bytesPerSecond, perDevice) *
         network->messageEfficiency * getSpineShare(nodes);
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
        std::min(1.0, nics / static_cast<double>(topology.nics)) *
        getSpineShare(group.nodes);
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
                               outside / getNetworkRatePerDevice(group.nodes));
}

double CostModel::getSendSeconds(const RankGroup &group, int64_t bytes) const {
  auto size = static_cast<double>(bytes);
  if (group.nodes == 1)
    return cluster.description.node.link.latencySeconds +
           size / getLinkRate(group.devicesPerNode);
  double rate = getNetworkRatePerDevice(group.nodes);
  return cluster.description.network->latencySeconds + size / rate;
}

double CostModel::getNcclSeconds(CollectiveKind kind, const RankGroup &group,
                                 int64_t bytes) const {
  // A call costs its offset whatever it moves, or sends would seem free.
  const CollectiveCurve &curve = cluster.description.collectives;
  if (kind == CollectiveKind::send)
    return getSendSeconds(group, bytes) + curve.offsetSeconds;
  double seconds =
      kind == CollectiveKind::allToAll
          ? getAllToAllSeconds(group, bytes)
          : getNcclModel(group).choose(kind, bytes).microseconds * 1e-6;
  double factor = curve.factor;
  if (group.nodes > 1 && !curve.networkBytes.empty())
    factor *= interpolate(curve.networkBytes, curve.networkFactors,
                          static_cast<double>(bytes), /*inLogarithms=*/false);
  return factor * seconds + curve.offsetSeconds;
}

double CostModel::getMessageSeconds(const RankGroup &group, int64_t bytes,
                                    int64_t holders) const {
  int64_t sharers = std::min(holders, cluster.getDevicesPerNode());
  auto divideUp = [](int64_t size, int64_t parts) {
    return (size + parts - 1) / parts;
  };
  if (sharers <= 1 || !cluster.description.stack.scattersMessages)
    return getCollectiveSeconds(CollectiveKind::send, group, bytes);
  return getCollectiveSeconds(CollectiveKind::send, group,
                              divideUp(bytes, sharers)) +
         getCollectiveSeconds(CollectiveKind::allGather, {sharers, sharers, 1},
                              bytes);
}
