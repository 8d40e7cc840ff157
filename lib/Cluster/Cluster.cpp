//===- Cluster.cpp - Devices, links, nodes, clusters ----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/Cluster.h"
#include "parplan/Support/Check.h"

#include <algorithm>
#include <map>

using namespace parplan;

double Device::getMatrixPeak(Precision precision) const {
  switch (precision) {
  case Precision::fp32:
    return flopsPerSecond.fp32;
  case Precision::bf16:
    // Devices without bf16 emulate it in fp32.
    return flopsPerSecond.bf16 > 0 ? flopsPerSecond.bf16 : flopsPerSecond.fp32;
  case Precision::fp16:
    return flopsPerSecond.fp16 > 0 ? flopsPerSecond.fp16 : flopsPerSecond.fp32;
  }
  PARPLAN_UNREACHABLE("unknown precision");
}

int64_t Cluster::getDevicesPerNode() const {
  return description.node.devices ? description.node.devices : deviceCount;
}

int64_t Cluster::getNodeCount() const {
  int64_t perNode = getDevicesPerNode();
  return deviceCount / perNode + (deviceCount % perNode != 0);
}

RankGroup Cluster::getGroup(const std::vector<int64_t> &ranks) const {
  std::map<int64_t, int64_t> members;
  int64_t perNode = getDevicesPerNode();
  for (int64_t rank : ranks) {
    PARPLAN_CHECK(rank >= 0 && rank < deviceCount, "rank ", rank, " of ",
                  deviceCount);
    ++members[rank / perNode];
  }
  RankGroup group;
  group.size = std::max<int64_t>(1, static_cast<int64_t>(ranks.size()));
  group.nodes = std::max<int64_t>(1, static_cast<int64_t>(members.size()));
  for (const auto &[node, count] : members)
    group.devicesPerNode = std::max(group.devicesPerNode, count);
  return group;
}

RankGroup Cluster::getGroup(const std::vector<int64_t> &axisSizes,
                            const std::vector<int> &axes) const {
  std::vector<int64_t> strides(axisSizes.size());
  int64_t rankCount = 1;
  for (size_t axis = axisSizes.size(); axis-- > 0;) {
    strides[axis] = rankCount;
    rankCount *= axisSizes[axis];
  }
  PARPLAN_CHECK(rankCount <= deviceCount, "a mesh of ", rankCount, " ranks on ",
                deviceCount, " devices");

  // Ranks of the group of rank 0, and the first rank of every group.
  std::vector<int64_t> offsets = {0}, firsts = {0};
  for (size_t axis = 0; axis < axisSizes.size(); ++axis) {
    bool inGroup = std::find(axes.begin(), axes.end(),
                             static_cast<int>(axis)) != axes.end();
    std::vector<int64_t> &list = inGroup ? offsets : firsts;
    size_t count = list.size();
    for (int64_t index = 1; index < axisSizes[axis]; ++index)
      for (size_t i = 0; i < count; ++i)
        list.push_back(list[i] + index * strides[axis]);
  }
  RankGroup worst;
  worst.size = static_cast<int64_t>(offsets.size());
  if (getNodeCount() == 1) {
    worst.devicesPerNode = worst.size;
    return worst;
  }
  std::vector<int64_t> ranks(offsets.size());
  for (int64_t first : firsts) {
    for (size_t i = 0; i < offsets.size(); ++i)
      ranks[i] = first + offsets[i];
    RankGroup group = getGroup(ranks);
    if (group.nodes > worst.nodes ||
        (group.nodes == worst.nodes &&
         group.devicesPerNode > worst.devicesPerNode))
      worst = group;
  }
  return worst;
}

std::string parplan::getTierName(const RankGroup &group) {
  if (group.size <= 1)
    return "device";
  return group.nodes > 1 ? "network" : "node";
}
