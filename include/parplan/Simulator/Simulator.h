//===- Simulator.h - Replay of a program on a cluster -----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// Counts, order and memory are promises: the program measures the same,
// exactly. Time is a prediction.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SIMULATOR_SIMULATOR_H
#define PARPLAN_SIMULATOR_SIMULATOR_H

#include "parplan/CostModel/CostModel.h"
#include "parplan/Simulator/Program.h"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace parplan {

struct CommunicationCount {
  int64_t calls = 0;
  int64_t bytes = 0;

  bool operator==(const CommunicationCount &other) const = default;
};

/// Bytes at the moment when the peak is reached first. What lies between
/// buffers counts as activations.
struct MemoryByUse {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t activations = 0;
  int64_t workspace = 0;

  bool operator==(const MemoryByUse &other) const = default;
};

/// Bytes that transfers between tiers move.
struct OffloadCount {
  int64_t hostToDeviceBytes = 0;
  int64_t deviceToHostBytes = 0;
  int64_t nvmeReadBytes = 0;
  int64_t nvmeWriteBytes = 0;

  bool operator==(const OffloadCount &other) const = default;
};

/// What one rank measures in one step.
struct RankPrediction {
  /// The highest end of a buffer on the device, the host and NVMe that is
  /// touched.
  int64_t peakBytes = 0;
  int64_t hostPeakBytes = 0;
  int64_t nvmePeakBytes = 0;
  /// Of each tier, by MemoryTier: no order of buffers in the arena has a lower
  /// peak; 0 where nobody says.
  std::array<int64_t, 3> lowerBounds = {};
  OffloadCount offload;
  /// On the device.
  MemoryByUse memory;
  /// Kinds that occur.
  std::map<CollectiveKind, CommunicationCount> communication;
  /// SHA-256 over the lines `KIND COMMUNICATOR BYTES\n` in the order of issue.
  std::string orderDigest;
};

/// Parts of the step time of the slowest rank; they add up to it.
struct TimeBreakdown {
  double compute = 0;
  /// Communication that no computation hides, and what it costs where one
  /// does; by the role of the axes.
  double tensorCommunication = 0;
  double dataCommunication = 0;
  double pipelineCommunication = 0;
  /// Copies between tiers and work on the host, likewise.
  double offload = 0;
  /// Nothing runs: waiting for another rank.
  double idle = 0;
};

struct Prediction {
  double stepSeconds = 0;
  TimeBreakdown breakdown;
  int64_t rankCount = 1;
  /// One for all ranks, or one for each.
  std::vector<RankPrediction> ranks;

  const RankPrediction &getRank(int64_t rank) const {
    return ranks[ranks.size() == 1 ? 0 : static_cast<size_t>(rank)];
  }
  int64_t getPeakBytes() const;
};

/// A span of time that a statement takes on a stream of a rank.
struct TimelineSpan {
  /// The first one of its class.
  int64_t rank;
  int stream;
  /// Index into the statements of the program of its class.
  int64_t statement;
  double startSeconds, endSeconds;
};

/// What is wrong with a program: indices out of range, waits without a record,
/// communicators of one rank, lists of peers that are not of their group, ranks
/// without a class, events that a class leaves out; nullopt if nothing is.
std::optional<std::string> verifyProgram(const Program &program);

/// What keeps the streams of a verified program from running to their end if
/// every send waits for its receive: the statements that wait for each other;
/// nullopt if nothing does.
std::optional<std::string> findDeadlock(const Program &program);

/// Peak memory, counts and order of every rank. `program` is verified.
Prediction predictResources(const Program &program);

/// `predictResources`, and the time: the streams of every rank, events, and
/// collectives that start when their last member arrives. Nullopt if ranks wait
/// for each other in a circle; `timeline` takes the spans if it is given. The
/// mesh of the program fills the cluster of `costs`.
std::optional<Prediction>
simulate(const Program &program, const CostModel &costs,
         std::vector<TimelineSpan> *timeline = nullptr);

/// The keys `peak_memory_bytes`, `communication` and `offload` of `predicted`
/// in plan.json, one entry per rank, and `host_peak_memory_bytes` and
/// `nvme_peak_bytes` where something lies there.
nlohmann::ordered_json toJson(const Prediction &prediction);

} // namespace parplan

#endif // PARPLAN_SIMULATOR_SIMULATOR_H
