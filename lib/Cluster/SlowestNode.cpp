//===- SlowestNode.cpp - Nodes that wait for each other -------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/Cluster.h"

#include <algorithm>

using namespace parplan;

namespace {

/// The lower rate of both after their efficiencies, over the lower efficiency.
void joinRates(double &rate, double efficiency, double otherRate,
               double otherEfficiency) {
  rate = std::min(rate * efficiency, otherRate * otherEfficiency) /
         std::min(efficiency, otherEfficiency);
}

void takeLower(double &value, double other) { value = std::min(value, other); }
void takeLower(int64_t &value, int64_t other) {
  value = std::min(value, other);
}
void takeHigher(double &value, double other) { value = std::max(value, other); }

/// The share of the joined peak that the slower of two rates is.
double joinShare(double share, double peak, double otherShare, double otherPeak,
                 double joinedPeak) {
  double rate = std::min(share * peak, otherShare * otherPeak);
  return joinedPeak > 0 ? std::min(1.0, rate / joinedPeak)
                        : std::min(share, otherShare);
}

Device join(const Device &one, const Device &other) {
  Device device = one;
  if (one.name != other.name)
    device.name += " + " + other.name;
  for (double PeakRates::*rate :
       {&PeakRates::fp64, &PeakRates::fp32, &PeakRates::tf32, &PeakRates::fp16,
        &PeakRates::bf16, &PeakRates::fp8})
    joinRates(device.flopsPerSecond.*rate, one.matrixEfficiency,
              other.flopsPerSecond.*rate, other.matrixEfficiency);
  takeLower(device.matrixEfficiency, other.matrixEfficiency);
  joinRates(device.memoryBytesPerSecond, one.memoryEfficiency,
            other.memoryBytesPerSecond, other.memoryEfficiency);
  takeLower(device.memoryEfficiency, other.memoryEfficiency);
  double peak = one.getMatrixPeak(Precision::fp16);
  double otherPeak = other.getMatrixPeak(Precision::fp16);
  double joinedPeak = device.getMatrixPeak(Precision::fp16);
  for (double Device::*share :
       {&Device::attentionEfficiency, &Device::attentionGradientEfficiency})
    device.*share =
        joinShare(one.*share, peak, other.*share, otherPeak, joinedPeak);
  takeLower(device.computeCapability, other.computeCapability);
  takeLower(device.multiprocessors, other.multiprocessors);
  takeLower(device.memoryBytes, other.memoryBytes);
  takeLower(device.transcendentalsPerSecond, other.transcendentalsPerSecond);
  takeHigher(device.tileOverhead, other.tileOverhead);
  takeLower(device.unalignedEfficiency, other.unalignedEfficiency);
  takeHigher(device.kernelGapSeconds, other.kernelGapSeconds);
  device.canEmit = one.canEmit && other.canEmit;
  return device;
}

Link join(const Link &one, const Link &other) {
  Link link = one;
  takeLower(link.bytesPerSecond, other.bytesPerSecond);
  takeHigher(link.latencySeconds, other.latencySeconds);
  if (link.kind != other.kind)
    link.kind = LinkKind::pcie;
  // Between as many devices; the rate of any number where only one lists them.
  const std::vector<double> &rates = other.bytesPerSecondByDevices;
  if (link.bytesPerSecondByDevices.empty())
    link.bytesPerSecondByDevices = rates;
  for (size_t index = 0; index < link.bytesPerSecondByDevices.size(); ++index)
    takeLower(link.bytesPerSecondByDevices[index],
              std::min(one.bytesPerSecondByDevices.empty()
                           ? one.bytesPerSecond
                           : link.bytesPerSecondByDevices[index],
                       rates.empty()
                           ? other.bytesPerSecond
                           : rates[std::min(index, rates.size() - 1)]));
  return link;
}

Node join(const Node &one, const Node &other) {
  Node node = one;
  node.link = join(one.link, other.link);
  node.hasAmdCpu = one.hasAmdCpu || other.hasAmdCpu;
  takeLower(node.hostMemoryBytes, other.hostMemoryBytes);
  takeLower(node.hostMemoryBytesPerSecond, other.hostMemoryBytesPerSecond);
  takeLower(node.deviceHostBytesPerSecond, other.deviceHostBytesPerSecond);
  if (!other.nvme)
    node.nvme.reset();
  if (node.nvme) {
    takeLower(node.nvme->bytes, other.nvme->bytes);
    takeLower(node.nvme->readBytesPerSecond, other.nvme->readBytesPerSecond);
    takeLower(node.nvme->writeBytesPerSecond, other.nvme->writeBytesPerSecond);
  }
  return node;
}

} // namespace

ClusterDescription parplan::getSlowest(const ClusterDescription &description,
                                       int64_t nodes) {
  ClusterDescription slowest = description;
  slowest.nodes.reset();
  slowest.otherNodes.clear();
  int64_t first = description.nodes.value_or(nodes);
  for (const NodeGroup &group : description.otherNodes) {
    if (first >= nodes)
      break;
    slowest.device = join(slowest.device, group.device);
    slowest.node = join(slowest.node, group.node);
    first += group.nodes;
  }
  return slowest;
}
