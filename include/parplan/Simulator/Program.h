//===- Program.h - What ranks do, as a plain value --------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SIMULATOR_PROGRAM_H
#define PARPLAN_SIMULATOR_PROGRAM_H

#include "parplan/CostModel/Collective.h"
#include "parplan/CostModel/MemoryTier.h"
#include "parplan/CostModel/OpCost.h"
#include "parplan/Sharding/Mesh.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace parplan {

/// A group of ranks that differ only in their coordinates on `axes`.
struct ProgramCommunicator {
  /// As the order of communication prints it.
  std::string name;
  /// Positions in the mesh, major to minor; more than one rank.
  AxisList axes;
};

enum class BufferUse { parameter, gradient, optimizer, activation, workspace };

/// A range of the arena of a tier.
struct ProgramBuffer {
  BufferUse use = BufferUse::activation;
  int64_t offset = 0;
  int64_t bytes = 0;
  /// Parameters, inputs and outputs: touched by the runtime itself, whether a
  /// statement uses them or not.
  bool isResident = false;
  MemoryTier tier = MemoryTier::device;
};

/// Queues of work of one rank, as they are numbered in programs.
struct ProgramStream {
  static constexpr int compute = 0;
  static constexpr int communication = 1;
  static constexpr int pointToPoint = 2;
  /// From the device to the host, and back.
  static constexpr int download = 3;
  static constexpr int upload = 4;
  /// Launches on the host.
  static constexpr int host = 5;
  /// Between the host and NVMe.
  static constexpr int storage = 6;
  static constexpr int count = 7;
};

enum class StatementKind {
  /// Work of `cost` on the stream.
  launch,
  /// A call of `communicator`; all members take part in the order of the
  /// program. A send or receive meets the one of its `peer`.
  communicate,
  /// Copies `bytes` from one tier to another.
  transfer,
  /// `event` completes when all before it on the stream has.
  record,
  /// What follows on the stream starts after the last record of `event` before
  /// the wait in the order of the program.
  wait,
};

struct ProgramStatement {
  StatementKind kind = StatementKind::launch;
  /// One of ProgramStream.
  int stream = 0;
  /// launch; the host's where the stream is
  OpCost cost;
  /// launch: what follows, on all streams, may be issued only when it has
  /// ended.
  bool holdsIssue = false;
  /// communicate
  CollectiveKind collective = CollectiveKind::allReduce;
  int communicator = -1;
  /// In the counting of CollectiveKind.
  int64_t bytes = 0;
  /// transfer
  MemoryTier from = MemoryTier::device;
  MemoryTier to = MemoryTier::device;
  /// Send and receive: the other one's number in the group; -1: see `peerList`.
  int64_t peer = -1;
  /// Sends and receives of an exchange, which have no `peer`: the one of
  /// `RankProgram::peerLists` that says it for each member; else -1.
  int peerList = -1;
  /// Statements that follow each other on a stream with the same group, not -1,
  /// are issued together. What is left out does not come between them.
  int group = -1;
  /// record, wait
  int event = -1;
  /// Indices of the buffers that it touches.
  std::vector<int> buffers;
};

/// What ranks run; some may leave out a part.
struct RankProgram {
  std::vector<ProgramBuffer> buffers;
  /// In the order of issue.
  std::vector<ProgramStatement> statements;
  /// By a rank's number in its group.
  std::vector<std::vector<int64_t>> peerLists;
  /// Of each tier, by MemoryTier: bytes below which no packing of the buffers
  /// is; 0 where nobody says.
  std::array<int64_t, 3> arenaBounds = {};
};

/// Ranks that do the same, as many of a position of a pipeline do. They differ
/// in their coordinates on other axes than messages go along, and run at the
/// same time.
struct RankClass {
  /// One of `Program::programs`.
  int64_t program = 0;
  /// The first of them: it stands for all.
  int64_t firstRank = 0;
  /// The statements of it that others run, by their indices in ascending order;
  /// no events.
  std::vector<int64_t> leftOut;
};

/// The step of a plan. Serves simulation only: it says nothing about values.
struct Program {
  Mesh mesh;
  std::vector<ProgramCommunicator> communicators;
  std::vector<RankProgram> programs;
  std::vector<RankClass> classes;
  /// Of each rank its class. Empty: there is one class, of all.
  std::vector<int64_t> classOf;

  const RankProgram &getProgram(const RankClass &rankClass) const {
    return programs[static_cast<size_t>(rankClass.program)];
  }
  bool isSameForAllRanks() const { return classes.size() == 1; }
};

} // namespace parplan

#endif // PARPLAN_SIMULATOR_PROGRAM_H
