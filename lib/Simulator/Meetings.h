//===- Meetings.h - Calls in which ranks meet -------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_SIMULATOR_MEETINGS_H
#define PARPLAN_LIB_SIMULATOR_MEETINGS_H

#include "parplan/Simulator/Program.h"

#include <map>
#include <tuple>

namespace parplan {

/// A call in which several ranks meet: communicator, first rank of the group,
/// sender and receiver (-1 for collectives), number among its equals.
using MeetingKey = std::tuple<int, int64_t, int64_t, int64_t, int64_t>;

struct MeetingPlace {
  MeetingKey key;
  /// Ranks that take part.
  int64_t participants;
};

/// Finds where the calls of a rank meet those of others; asked in the order of
/// the rank's program.
class MeetingFinder {
public:
  MeetingFinder(const Program &program, size_t rank)
      : program(program), rank(static_cast<int64_t>(rank)) {}

  /// `index` is a statement that communicates.
  MeetingPlace find(int64_t index);

private:
  const Program &program;
  int64_t rank;
  std::map<MeetingKey, int64_t> counts;
};

} // namespace parplan

#endif // PARPLAN_LIB_SIMULATOR_MEETINGS_H
