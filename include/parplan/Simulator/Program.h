//===- Program.h - What ranks do, as a plain value --------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SIMULATOR_PROGRAM_H
#define PARPLAN_SIMULATOR_PROGRAM_H

#include "parplan/CostModel/Collective.h"
#include "parplan/CostModel/OpCost.h"
#include "parplan/Sharding/Mesh.h"

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

/// A range of the arena.
struct ProgramBuffer {
  BufferUse use = BufferUse::activation;
  int64_t offset = 0;
  int64_t bytes = 0;
  /// Parameters, inputs and outputs: touched by the runtime itself, whether a
  /// statement uses them or not.
  bool isResident = false;
};

enum class StatementKind {
  /// Work of `cost` on the stream.
  launch,
  /// A call of `communicator`; all members take part in the order of the
  /// program. A send or receive meets the one of its `peer`.
  communicate,
  /// `event` completes when all before it on the stream has.
  record,
  /// What follows on the stream starts after the last record of `event` before
  /// the wait in the order of the program.
  wait,
};

struct ProgramStatement {
  StatementKind kind = StatementKind::launch;
  /// 0: compute, 1: communication.
  int stream = 0;
  /// launch
  OpCost cost;
  /// communicate
  CollectiveKind collective = CollectiveKind::allReduce;
  int communicator = -1;
  /// In the counting of CollectiveKind.
  int64_t bytes = 0;
  /// Send and receive: the other one's number in the group.
  int64_t peer = -1;
  /// Statements that follow each other on a stream with the same group, not -1,
  /// are issued together.
  int group = -1;
  /// record, wait
  int event = -1;
  /// Indices of the buffers that it touches.
  std::vector<int> buffers;
};

/// The program of one rank.
struct RankProgram {
  std::vector<ProgramBuffer> buffers;
  /// In the order of issue.
  std::vector<ProgramStatement> statements;
};

/// The step of a plan. Serves simulation only: it says nothing about values.
struct Program {
  static constexpr int streamCount = 2;

  Mesh mesh;
  std::vector<ProgramCommunicator> communicators;
  /// One for all ranks, or one for each.
  std::vector<RankProgram> ranks;

  bool isSameForAllRanks() const { return ranks.size() == 1; }
};

} // namespace parplan

#endif // PARPLAN_SIMULATOR_PROGRAM_H
