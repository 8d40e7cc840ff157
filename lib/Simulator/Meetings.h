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

/// The calls of a program in which several ranks meet, numbered as they are
/// found.
class Meetings {
public:
  explicit Meetings(const Program &program);

  /// Of each meeting that was found, how many ranks take part. Of a class only
  /// the first one does.
  const std::vector<int64_t> &getParticipants() const { return participants; }

private:
  friend class MeetingFinder;

  /// Communicator, first rank of the group, sender and receiver (-1 for
  /// collectives): what is called there meets in this order.
  using Channel = std::tuple<int, int64_t, int64_t, int64_t>;

  /// The number of one more.
  int64_t add(int64_t count) {
    participants.push_back(count);
    return static_cast<int64_t>(participants.size()) - 1;
  }

  const Program &program;
  std::set<int64_t> firstRanks;
  std::map<Channel, std::vector<int64_t>> numbers;
  std::vector<int64_t> participants;
};

/// Finds where the calls of a rank meet those of others; asked in the order of
/// the rank's program.
class MeetingFinder {
public:
  /// Of the first rank of a class.
  MeetingFinder(Meetings &meetings, const RankClass &rankClass);

  /// The number of the meeting of a statement that communicates.
  int64_t find(const ProgramStatement &statement);

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
  Stand makeStand(const ProgramStatement &statement, int64_t peer);
  int64_t getPeer(const ProgramStatement &statement);

  Meetings &meetings;
  const RankProgram &own;
  int64_t rank;
  std::map<int, Group> groups;
  /// By communicator, kind of message (all-reduce for all collectives), and
  /// peer.
  std::map<std::tuple<int, CollectiveKind, int64_t>, Stand> stands;
};

} // namespace parplan

#endif // PARPLAN_LIB_SIMULATOR_MEETINGS_H
