//===- NcclModel.cpp - What the tuner of NCCL expects ---------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/CostModel/NcclModel.h"
#include "parplan/Support/Check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

using namespace parplan;

// Constants of NCCL 2.28.9 (src/graph/tuning.cc, search.cc, topo.h), in
// microseconds and GB/s. Rows by architecture: Volta, Ampere, Hopper,
// Blackwell; columns by nodes: 1, 2, more; triples by protocol.
namespace {

using Triple = std::array<double, 3>;

enum Medium { nvlink, pcie, network };

constexpr Triple baseLatency[4] = {
    {6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {0, 0, 0}, {0, 0, 0}};
/// Per hop, by medium and algorithm.
constexpr Triple hopLatency[3][4] = {
    {{.6, 1.25, 4.0}, {.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}},
    {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 0}, {0, 0, 0}},
    {{5.0, 8.5, 14}, {2.7, 4.0, 14.0}, {0, 0, 18}, {0, 0, 20.9}}};

constexpr Triple maxLlRate[4] = {{39.0, 39.0, 20.4},
                                 {87.7, 22.5, 19.0},
                                 {141.0, 45.0, 35.0},
                                 {282.0, 90.0, 70.0}};
constexpr Triple ringLl128ChannelRate[4] = {{20.0, 20.0, 20.0},
                                            {20.0, 20.0, 20.0},
                                            {36.7, 36.7, 36.7},
                                            {73.4, 34.6, 73.4}};
constexpr Triple treeLl128ChannelRate[4] = {{20.0, 20.0, 20.0},
                                            {20.0, 20.0, 20.0},
                                            {36.7, 36.7, 29.0},
                                            {55.6, 31.67, 20.0}};
constexpr Triple treeChannelRate[4] = {{26.5, 18.5, 10.0},
                                       {24.0, 23.6, 17.8},
                                       {38.7, 41.4, 36.0},
                                       {70.0, 42.8, 24.0}};
constexpr Triple nvlsTreeChannelRate[4] = {{26.5, 18.5, 10.0},
                                           {24.0, 23.6, 17.8},
                                           {0.0, 57.7, 45.5},
                                           {0.0, 96.0, 43.8}};
constexpr double nvlsEfficiency[4] = {0, 0, 0.85, 0.74};

/// Share of the tree's rate by log2(bytes / 64).
constexpr double treeCorrection[3][23] = {
    {1,  1,  1,  1,  .9, .8, .7, .7, .7, .7, .6, .5,
     .4, .4, .5, .6, .7, .8, .9, 1,  1,  1,  1},
    {1,  1,  1,  1,  1,  .9, .8, .8, .8, .7, .6, .6,
     .6, .6, .6, .6, .8, .9, .9, .9, .9, 1,  1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

/// Rates that the topology search tries for a channel, fastest first.
const std::vector<double> &getChannelRates(int architecture,
                                           bool crossesNodes) {
  static const std::vector<double> inside[3] = {
      {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3},
      {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3},
      {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18}};
  static const std::vector<double> across[3] = {
      {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24,
       .12},
      {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12},
      {96, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24,
       .12}};
  int row = std::max(0, architecture - 1);
  return crossesNodes ? across[row] : inside[row];
}

int getArchitecture(int64_t computeCapability) {
  if (computeCapability >= 100)
    return 3;
  if (computeCapability >= 90)
    return 2;
  return computeCapability >= 80 ? 1 : 0;
}

int floorLog2(int64_t value) {
  return value <= 0 ? 0 : std::bit_width(static_cast<uint64_t>(value)) - 1;
}

constexpr NcclAlgorithm algorithms[] = {
    NcclAlgorithm::tree, NcclAlgorithm::ring, NcclAlgorithm::nvls,
    NcclAlgorithm::nvlsTree};
constexpr NcclProtocol protocols[] = {NcclProtocol::ll, NcclProtocol::ll128,
                                      NcclProtocol::simple};

bool isGatherOrScatter(CollectiveKind kind) {
  return kind == CollectiveKind::allGather ||
         kind == CollectiveKind::reduceScatter;
}

} // namespace

NcclModel::NcclModel(const NcclTopology &topology)
    : topology(topology), size(topology.devicesPerNode * topology.nodes) {
  PARPLAN_CHECK(topology.devicesPerNode >= 1 && topology.nodes >= 1 &&
                    size >= 2,
                "a communicator of one device has no cost");
  findChannels();
  for (int kind = 0; kind < 5; ++kind)
    for (NcclAlgorithm algorithm : algorithms)
      for (NcclProtocol protocol : protocols)
        entries[kind][static_cast<int>(algorithm)][static_cast<int>(protocol)] =
            tune(static_cast<CollectiveKind>(kind), algorithm, protocol);
}

void NcclModel::findChannels() {
  bool crossesNodes = topology.nodes > 1;
  double linkRate = topology.linkGigabytesPerSecond;
  double nicRate = topology.nicGigabytesPerSecond;
  const std::vector<double> &rates = getChannelRates(
      getArchitecture(topology.computeCapability), crossesNodes);

  // The ring: as much rate as the links, and the NICs, carry.
  int64_t bestChannels = 0;
  double bestRate = 0;
  for (double rate : rates) {
    auto channels = static_cast<int64_t>(linkRate / rate);
    if (crossesNodes) {
      if (rate > nicRate)
        continue;
      channels = std::min(channels,
                          topology.nics * static_cast<int64_t>(nicRate / rate));
    }
    channels = std::min<int64_t>(channels, 32);
    if (static_cast<double>(channels) * rate >
        static_cast<double>(bestChannels) * bestRate) {
      bestChannels = channels;
      bestRate = rate;
    }
  }
  if (bestChannels == 0) {
    // Slower than every rate of the list.
    bestChannels = 1;
    bestRate = crossesNodes ? std::min(linkRate, nicRate) : linkRate;
  }
  // Fast channels are doubled.
  bool keeps = bestRate < 25 || (topology.computeCapability > 80 &&
                                 bestRate < 50 && bestChannels > 4);
  ringChannels = keeps ? bestChannels : 2 * bestChannels;
  ringChannelRate = keeps ? bestRate : bestRate / 2;

  // Reductions in the switch: every port carries one share per device, its own
  // twice.
  if (topology.computeCapability < 90 || topology.isPcie)
    return;
  for (double rate :
       getChannelRates(getArchitecture(topology.computeCapability), false))
    if (static_cast<double>(topology.devicesPerNode + 1) * rate <=
            linkRate + 1e-6 &&
        rate > nvlsChannelRate) {
      nvlsChannels = topology.devicesPerNode;
      nvlsChannelRate = rate;
    }
}

double NcclModel::getLatency(CollectiveKind kind, NcclAlgorithm algorithm,
                             NcclProtocol protocol) const {
  auto at = static_cast<int>(algorithm);
  auto in = static_cast<int>(protocol);
  bool crossesNodes = topology.nodes > 1;
  auto nodes = static_cast<double>(topology.nodes);
  Medium local = topology.isPcie ? pcie : nvlink;
  double base = baseLatency[at][in];
  double intra = hopLatency[local][at][in];
  // One device per node uses the tree's figure for every algorithm.
  double inter = hopLatency[network][topology.devicesPerNode == 1 ? 0 : at][in];
  switch (algorithm) {
  case NcclAlgorithm::tree:
    return base +
           2 * (static_cast<double>(topology.devicesPerNode - 1) * intra +
                floorLog2(topology.nodes) * inter);
  case NcclAlgorithm::ring: {
    if (kind == CollectiveKind::reduce || kind == CollectiveKind::broadcast)
      return base + hopLatency[crossesNodes ? network : local][at][in];
    int rounds = kind == CollectiveKind::allReduce ? 2 : 1;
    double steps = rounds * static_cast<double>(size - 1);
    double netSteps = crossesNodes ? rounds * (nodes - 1) : 0;
    if (crossesNodes) {
      double overhead = (topology.hasAmdCpu ? 2.0 : 1.0) *
                        (protocol == NcclProtocol::simple ? 3 : 1);
      intra = std::max(intra, overhead);
    }
    return base + (steps - netSteps) * intra + netSteps * inter;
  }
  case NcclAlgorithm::nvls:
    return intra + (crossesNodes ? inter : 0);
  case NcclAlgorithm::nvlsTree:
    return base + intra + 2 * floorLog2(topology.nodes) * inter;
  }
  PARPLAN_UNREACHABLE("unknown algorithm");
}

NcclModel::Entry NcclModel::tune(CollectiveKind kind, NcclAlgorithm algorithm,
                                 NcclProtocol protocol) const {
  bool isRing = algorithm == NcclAlgorithm::ring;
  bool isTree = algorithm == NcclAlgorithm::tree;
  bool isNvls = algorithm == NcclAlgorithm::nvls;
  bool isNvlsTree = algorithm == NcclAlgorithm::nvlsTree;
  bool isAllReduce = kind == CollectiveKind::allReduce;
  int architecture = getArchitecture(topology.computeCapability);
  auto column = static_cast<int>(std::min<int64_t>(topology.nodes, 3) - 1);

  // What NCCL offers.
  if (!isRing && !isAllReduce && !(isNvls && isGatherOrScatter(kind)))
    return {};
  if ((isNvlsTree && topology.nodes == 1) || (isNvls && topology.nodes > 1))
    return {};
  if ((isNvls || isNvlsTree) &&
      (protocol != NcclProtocol::simple || nvlsChannels < 2))
    return {};

  auto channels = static_cast<double>(ringChannels);
  double channelRate = ringChannelRate;
  if (isNvls || isNvlsTree) {
    channels = static_cast<double>(nvlsChannels);
    auto devices = static_cast<double>(topology.devicesPerNode);
    double intra = nvlsChannelRate * nvlsEfficiency[architecture] *
                   (channels - 1) / channels *
                   (isAllReduce ? 2.0 : (devices - 1) / devices);
    double inter = topology.nodes > 1 ? topology.nicGigabytesPerSecond : 1e9;
    if (isNvlsTree && topology.nodes <= 2)
      inter *= 2;
    channelRate = std::min(intra, inter);
    if (isNvlsTree)
      channelRate =
          std::min(channelRate, nvlsTreeChannelRate[architecture][column]);
  }

  double rate = channels * channelRate;
  // Across nodes the flag-based protocol is bound by the CPU's row.
  int llRow = topology.nodes == 1 ? architecture : (topology.hasAmdCpu ? 1 : 0);
  if (isRing && protocol == NcclProtocol::ll)
    rate = std::min(maxLlRate[llRow][column], rate * 0.5);
  if (isRing && protocol == NcclProtocol::ll128)
    rate = std::min(rate * 0.92,
                    channels * ringLl128ChannelRate[architecture][column]);
  if (isTree) {
    rate =
        std::min(rate * 0.92, channels * treeChannelRate[architecture][column]);
    if (protocol == NcclProtocol::ll)
      rate = std::min(rate / 3.8, maxLlRate[llRow][column]);
    if (protocol == NcclProtocol::ll128)
      rate = std::min(rate * (topology.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                      channels * treeLl128ChannelRate[architecture][column]);
  }

  // From the rate on the bus to bytes of the call per second.
  auto ranks = static_cast<double>(size);
  double steps = isAllReduce               ? 2 * (ranks - 1)
                 : isGatherOrScatter(kind) ? ranks - 1
                                           : ranks;
  if (isTree)
    rate *= 0.5;
  else if (isRing || isAllReduce)
    rate *= ranks / steps;
  return {rate, getLatency(kind, algorithm, protocol)};
}

std::optional<double> NcclModel::getMicroseconds(CollectiveKind kind,
                                                 NcclAlgorithm algorithm,
                                                 NcclProtocol protocol,
                                                 int64_t bytes) const {
  auto row = static_cast<int>(kind);
  PARPLAN_CHECK(row < 5, "NCCL's tuner has no ", stringifyCollectiveKind(kind));
  const Entry &entry =
      entries[row][static_cast<int>(algorithm)][static_cast<int>(protocol)];
  if (entry.gigabytesPerSecond <= 0)
    return std::nullopt;
  double rate = entry.gigabytesPerSecond;
  double latency = entry.latencyMicroseconds;
  int sizeClass = bytes >= 64 ? floorLog2(bytes / 64) : -1;
  bool isAllReduce = kind == CollectiveKind::allReduce;
  if (algorithm == NcclAlgorithm::tree && isAllReduce && sizeClass >= 0 &&
      sizeClass < 23)
    rate *= treeCorrection[static_cast<int>(protocol)][sizeClass];
  // The ring has a plateau across nodes once every channel has work.
  if (algorithm == NcclAlgorithm::ring && protocol == NcclProtocol::simple &&
      topology.nodes > 1 && isAllReduce &&
      static_cast<double>(bytes) / static_cast<double>(ringChannels * size) >=
          64)
    latency *= topology.computeCapability < 80 ? 1.9 : 1.4;
  return latency + static_cast<double>(bytes) / (1000 * rate);
}

NcclModel::Choice NcclModel::choose(CollectiveKind kind, int64_t bytes) const {
  std::optional<Choice> best;
  for (NcclAlgorithm algorithm : algorithms)
    for (NcclProtocol protocol : protocols) {
      std::optional<double> time =
          getMicroseconds(kind, algorithm, protocol, bytes);
      if (time && (!best || *time < best->microseconds))
        best = Choice{*time, algorithm, protocol};
    }
  PARPLAN_CHECK(best, "rings are always offered");
  return *best;
}

std::string parplan::printChoice(const NcclModel::Choice &choice) {
  static const char *const algorithmNames[] = {"Tree", "Ring", "NVLS",
                                               "NVLSTree"};
  static const char *const protocolNames[] = {"LL", "LL128", "Simple"};
  return concat(algorithmNames[static_cast<int>(choice.algorithm)], "/",
                protocolNames[static_cast<int>(choice.protocol)]);
}
