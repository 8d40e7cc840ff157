//===- Meetings.h - Calls in which ranks meet -------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_SIMULATOR_MEETINGS_H
#define PARPLAN_LIB_SIMULATOR_MEETINGS_H

#include "parplan/Simulator/Program.h"

#include <map>
#include <set>
#include <tuple>
#include <vector>

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
  /// Of the first rank that runs `own` of the programs; of those that run one
  /// only the first takes part.
  MeetingFinder(const Program &program, size_t own);

  /// `index` is a statement that communicates.
  MeetingPlace find(int64_t index);

private:
  /// The ranks with which a rank shares a communicator.
  struct Group {
    std::vector<int64_t> members;
    int64_t first, self, participants;
  };
  const Group &getGroup(int communicator);

  const Program &program;
  const std::vector<ProgramStatement> &statements;
  int64_t rank;
  std::set<int64_t> firstRanks;
  std::map<int, Group> groups;
  std::map<MeetingKey, int64_t> counts;
};

} // namespace parplan

#endif // PARPLAN_LIB_SIMULATOR_MEETINGS_H
