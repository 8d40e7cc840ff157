//===- NcclModel.h - What NCCL's tuner expects ------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_COSTMODEL_NCCLMODEL_H
#define PARPLAN_COSTMODEL_NCCLMODEL_H

#include "parplan/CostModel/Collective.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace parplan {

enum class NcclAlgorithm { tree, ring, nvls, nvlsTree };
enum class NcclProtocol { ll, ll128, simple };

/// The machine as NCCL sees it from one communicator. Gigabytes are 10^9.
struct NcclTopology {
  int64_t devicesPerNode = 1;
  int64_t nodes = 1;
  /// Times ten, as Device::computeCapability.
  int64_t computeCapability = 90;
  /// Of one device into the switch.
  double linkGigabytesPerSecond = 0;
  /// NICs of a node that this communicator may use, and each one's rate.
  int64_t nics = 1;
  double nicGigabytesPerSecond = 0;
  bool hasAmdCpu = false;
  bool isPcie = false;
};

/// The algorithm and protocol model of NCCL 2.28.9 (its static tuner and the
/// channel counts of its topology search) for nodes with a switch and one NIC
/// per rail. It is what NCCL decides by, and the shape of the curve; CostModel
/// turns its time into what is measured.
class NcclModel {
public:
  struct Choice {
    double microseconds;
    NcclAlgorithm algorithm;
    NcclProtocol protocol;
  };

  explicit NcclModel(const NcclTopology &topology);

  /// The fastest algorithm and protocol. All-reduce, all-gather,
  /// reduce-scatter, broadcast and reduce only; `bytes` in the counting of
  /// CollectiveKind.
  Choice choose(CollectiveKind kind, int64_t bytes) const;

  /// None where NCCL does not offer the combination.
  std::optional<double> getMicroseconds(CollectiveKind kind,
                                        NcclAlgorithm algorithm,
                                        NcclProtocol protocol,
                                        int64_t bytes) const;

  int64_t getRingChannels() const { return ringChannels; }
  double getRingChannelRate() const { return ringChannelRate; }

private:
  struct Entry {
    /// 0: not offered.
    double gigabytesPerSecond = 0;
    double latencyMicroseconds = 0;
  };

  void findChannels();
  Entry tune(CollectiveKind kind, NcclAlgorithm algorithm,
             NcclProtocol protocol) const;
  double getLatency(CollectiveKind kind, NcclAlgorithm algorithm,
                    NcclProtocol protocol) const;

  NcclTopology topology;
  int64_t size;
  int64_t ringChannels = 1;
  double ringChannelRate = 0;
  int64_t nvlsChannels = 0;
  double nvlsChannelRate = 0;
  std::array<std::array<std::array<Entry, 3>, 4>, 5> entries{};
};

/// "Ring/LL128".
std::string printChoice(const NcclModel::Choice &choice);

} // namespace parplan

#endif // PARPLAN_COSTMODEL_NCCLMODEL_H
