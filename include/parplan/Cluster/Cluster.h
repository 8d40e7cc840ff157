//===- Cluster.h - Devices, links, nodes, clusters --------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// Hardware is data: everything that distinguishes two clusters is in these
// values, and all of it can be said in a cluster file
// (docs/schema/cluster.schema.json).
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_CLUSTER_CLUSTER_H
#define PARPLAN_CLUSTER_CLUSTER_H

#include "parplan/Cluster/Stack.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace parplan {

/// Data type that products are computed in.
enum class Precision { fp32, bf16, fp16 };

/// Dense peak rates, floating-point operations per second; 0: not supported.
struct PeakRates {
  double fp64 = 0;
  double fp32 = 0;
  double tf32 = 0;
  double fp16 = 0;
  double bf16 = 0;
  double fp8 = 0;

  bool operator==(const PeakRates &other) const = default;
};

struct Device {
  std::string name;
  /// CUDA compute capability times ten (90 for 9.0); 0 for a host rank and for
  /// devices without CUDA.
  int64_t computeCapability = 0;
  /// Streaming multiprocessors; 1 switches tile and wave quantisation off.
  int64_t multiprocessors = 1;
  /// False for presets that can only be planned for.
  bool canEmit = true;
  int64_t memoryBytes = 0;
  double memoryBytesPerSecond = 0;
  PeakRates flopsPerSecond;
  double transcendentalsPerSecond = 0;
  /// Share of the dense peak that a large matrix product reaches.
  double matrixEfficiency = 1;
  /// Share of the memory bandwidth that element-wise loops reach.
  double memoryEfficiency = 1;
  /// Prologue and epilogue of a tile of a matrix product, as contracted
  /// elements.
  double tileOverhead = 105;
  /// Share of the rate of products that is left where rows of 16-bit elements
  /// begin anywhere.
  double unalignedEfficiency = 1;
  /// What a product on a processor takes as if it had so many rows, columns and
  /// contracted elements more.
  std::array<double, 3> productOverhead = {};
  /// Share of the dense peak that one kernel for attention reaches on long
  /// sequences, and the one for its gradients.
  double attentionEfficiency = 0.54;
  double attentionGradientEfficiency = 0.25;
  /// Of a processor: what the scores themselves take, beside the products; 0:
  /// nobody knows, and attention is a product.
  double attentionScoresPerSecond = 0;
  double attentionGradientScoresPerSecond = 0;
  /// Time between two launches that no work hides.
  double kernelGapSeconds = 0;

  /// Dense peak for matrix products at `precision`; fp32 means fp32, not tf32.
  double getMatrixPeak(Precision precision) const;

  bool operator==(const Device &other) const = default;
};

/// What connects the devices of a node.
enum class LinkKind { nvlink, pcie, sharedMemory };

struct Link {
  LinkKind kind = LinkKind::nvlink;
  /// One direction, per device, as the collective library reaches it. Shared
  /// memory: of all ranks together.
  double bytesPerSecond = 0;
  /// Meshes without a switch: the rate between 2, 3, ... devices. Empty: the
  /// rate does not depend on the number.
  std::vector<double> bytesPerSecondByDevices;
  /// Of a message between two devices.
  double latencySeconds = 0;

  bool operator==(const Link &other) const = default;
};

/// What lies above the switches that some nodes share.
struct Spine {
  /// Nodes that reach each other without it.
  int64_t nodes = 1;
  /// Share of the rate of all NICs that passes it at once.
  double share = 1;

  bool operator==(const Spine &other) const = default;
};

/// NICs of a node, each with its own rail.
struct Network {
  int64_t nics = 0;
  /// One direction of one NIC.
  double bytesPerSecond = 0;
  double latencySeconds = 0;
  /// Share of that rate that messages between two devices reach.
  double messageEfficiency = 0.8;
  /// None: all nodes reach each other at the rate of their NICs.
  std::optional<Spine> spine;

  bool operator==(const Network &other) const = default;
};

struct Nvme {
  int64_t bytes = 0;
  double readBytesPerSecond = 0;
  double writeBytesPerSecond = 0;

  bool operator==(const Nvme &other) const = default;
};

struct Node {
  /// 0: as many as the cluster has; there is one node then.
  int64_t devices = 0;
  Link link;
  bool hasAmdCpu = false;
  int64_t hostMemoryBytes = 0;
  double hostMemoryBytesPerSecond = 0;
  /// Between one device and host memory, one direction.
  double deviceHostBytesPerSecond = 0;
  std::optional<Nvme> nvme;
  /// Processors that the devices of the node share, where these are ranks on
  /// processors; 0: each has its own.
  int64_t cores = 0;

  bool operator==(const Node &other) const = default;
};

enum class CollectiveModel {
  /// Algorithms and protocols of NCCL's tuner.
  nccl,
  /// All traffic over one memory bus.
  sharedMemory,
};

/// Measured seconds of one collective on one kind of group; they win over the
/// formula.
struct MeasuredCollective {
  std::string kind;
  int64_t devicesPerNode = 0;
  int64_t nodes = 1;
  /// Ascending, with the seconds of each.
  std::vector<double> bytes;
  std::vector<double> seconds;

  bool operator==(const MeasuredCollective &other) const = default;
};

/// From the tuner's formula t to what is measured: factor * t + offset, and
/// across nodes another factor that depends on the message.
struct CollectiveCurve {
  CollectiveModel model = CollectiveModel::nccl;
  double factor = 1.08;
  double offsetSeconds = 25e-6;
  /// Ascending message sizes with their factors; log-linear in between,
  /// constant beyond the ends.
  std::vector<double> networkBytes;
  std::vector<double> networkFactors;
  /// Share of the time that a collective runs beside computation which it costs
  /// after all.
  double interference = 0.25;
  std::vector<MeasuredCollective> measured;

  bool operator==(const CollectiveCurve &other) const = default;
};

/// So many nodes of one kind.
struct NodeGroup {
  int64_t nodes = 1;
  Device device;
  Node node;

  bool operator==(const NodeGroup &other) const = default;
};

/// A kind of cluster, of any size.
struct ClusterDescription {
  std::string name;
  std::string title;
  Device device;
  Node node;
  /// How many nodes are of that kind; unset: all.
  std::optional<int64_t> nodes;
  /// Nodes of other kinds behind these, with as many devices each.
  std::vector<NodeGroup> otherNodes;
  /// None: a single node.
  std::optional<Network> network;
  CollectiveCurve collectives;
  /// Of the time of a step from device to device; all wait for the slowest.
  double stragglerDeviation = 0;
  Stack stack;
  /// Where the figures are from.
  std::vector<std::string> sources;

  bool operator==(const ClusterDescription &other) const = default;
};

/// The cluster in which every node is as slow, and as small, as the slowest and
/// smallest of the first `nodes` nodes: what ranks that all do the same work
/// and wait for each other get of nodes that differ.
ClusterDescription getSlowest(const ClusterDescription &description,
                              int64_t nodes);

/// Members of a communicator as the hardware sees them.
struct RankGroup {
  int64_t size = 1;
  /// The most members in one node.
  int64_t devicesPerNode = 1;
  int64_t nodes = 1;

  auto operator<=>(const RankGroup &other) const = default;
};

/// `description` with a number of devices. Ranks fill nodes one after the
/// other; the last node may be partly used.
struct Cluster {
  ClusterDescription description;
  int64_t deviceCount = 1;

  const Device &getDevice() const { return description.device; }
  int64_t getDevicesPerNode() const;
  int64_t getNodeCount() const;

  /// The group of ranks that differ on the axes `axes` of a mesh with
  /// `axisSizes` (the last axis varies fastest) on the first devices. Where
  /// groups differ, the one over the most nodes.
  RankGroup getGroup(const std::vector<int64_t> &axisSizes,
                     const std::vector<int> &axes) const;
  RankGroup getGroup(const std::vector<int64_t> &ranks) const;
};

/// "device", "node" or "network": the widest tier that a group crosses.
std::string getTierName(const RankGroup &group);

} // namespace parplan

#endif // PARPLAN_CLUSTER_CLUSTER_H
