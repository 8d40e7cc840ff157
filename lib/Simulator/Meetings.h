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

struct MeetingPlace {
  /// Of the meeting; from 0, in the order in which they are found.
  int64_t number;
  /// Ranks that take part.
  int64_t participants;
};

/// The calls of a program in which several ranks meet.
class Meetings {
private:
  friend class MeetingFinder;

  /// Communicator, first rank of the group, sender and receiver (-1 for
  /// collectives): what is called there meets in this order.
  using Channel = std::tuple<int, int64_t, int64_t, int64_t>;

  std::map<Channel, std::vector<int64_t>> numbers;
  int64_t count = 0;
};

/// Finds where the calls of a rank meet those of others; asked in the order of
/// the rank's program.
class MeetingFinder {
public:
  /// Of the first rank that runs `own` of the programs; of those that run one
  /// only the first takes part.
  MeetingFinder(const Program &program, size_t own, Meetings &meetings);

  /// `index` is a statement that communicates.
  MeetingPlace find(int64_t index);

private:
  /// The ranks with which a rank shares a communicator.
  struct Group {
    std::vector<int64_t> members;
    int64_t first, self, participants;
  };
  const Group &getGroup(int communicator);

  /// Where a rank is in the calls of a channel.
  struct Stand {
    std::vector<int64_t> *numbers;
    int64_t participants;
    size_t next = 0;
  };
  Stand makeStand(const ProgramStatement &statement);

  const Program &program;
  const std::vector<ProgramStatement> &statements;
  Meetings &meetings;
  int64_t rank;
  std::set<int64_t> firstRanks;
  std::map<int, Group> groups;
  /// By communicator, kind of message (collectives are one), and peer.
  std::map<std::tuple<int, CollectiveKind, int64_t>, Stand> stands;
};

} // namespace parplan

#endif // PARPLAN_LIB_SIMULATOR_MEETINGS_H
