//===- Meetings.cpp - Calls in which ranks meet, and never do -------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "lib/Simulator/Meetings.h"

#include "lib/Simulator/IssuedStatements.h"

#include "parplan/Simulator/Simulator.h"
#include "parplan/Support/Check.h"

#include <algorithm>
#include <array>
#include <vector>

using namespace parplan;

Meetings::Meetings(const Program &program) : program(program) {
  for (const RankClass &each : program.classes)
    firstRanks.insert(each.firstRank);
}

MeetingFinder::MeetingFinder(Meetings &meetings, const RankClass &rankClass)
    : meetings(meetings), own(meetings.program.getProgram(rankClass)),
      rank(rankClass.firstRank) {}

const MeetingFinder::Group &MeetingFinder::getGroup(int communicator) {
  auto [place, isNew] = groups.try_emplace(communicator);
  Group &group = place->second;
  if (!isNew)
    return group;
  const Program &program = meetings.program;
  llvm::SmallVector<int64_t> members = program.mesh.getGroup(
      rank, program.communicators[static_cast<size_t>(communicator)].axes);
  group.members.assign(members.begin(), members.end());
  group.first = *std::min_element(members.begin(), members.end());
  group.self =
      std::find(members.begin(), members.end(), rank) - members.begin();
  group.participants =
      std::count_if(members.begin(), members.end(), [&](int64_t member) {
        return meetings.firstRanks.count(member) > 0;
      });
  return group;
}

static bool isMessage(CollectiveKind kind) {
  return kind == CollectiveKind::send || kind == CollectiveKind::receive;
}

int64_t MeetingFinder::getPeer(const ProgramStatement &statement) {
  if (statement.peerList < 0)
    return statement.peer;
  auto self = static_cast<size_t>(getGroup(statement.communicator).self);
  return own.peerLists[static_cast<size_t>(statement.peerList)][self];
}

MeetingFinder::Stand MeetingFinder::makeStand(const ProgramStatement &statement,
                                              int64_t peer) {
  const Group &group = getGroup(statement.communicator);
  int64_t sender = -1, receiver = -1;
  if (isMessage(statement.collective)) {
    PARPLAN_CHECK(
        meetings.firstRanks.count(group.members[static_cast<size_t>(peer)]),
        "a message to a rank that another stands for");
    bool isSend = statement.collective == CollectiveKind::send;
    sender = isSend ? group.self : peer;
    receiver = isSend ? peer : group.self;
  }
  return {&meetings.numbers[{statement.communicator, group.first, sender,
                             receiver}],
          sender == -1 ? group.participants : 2};
}

int64_t MeetingFinder::find(const ProgramStatement &statement) {
  // All arrive at the same time.
  if (meetings.program.isSameForAllRanks())
    return meetings.add(/*count=*/1);
  bool isCollective = !isMessage(statement.collective);
  int64_t peer = isCollective ? -1 : getPeer(statement);
  std::tuple key{
      statement.communicator,
      isCollective ? CollectiveKind::allReduce : statement.collective, peer};
  auto place = stands.find(key);
  if (place == stands.end())
    place = stands.emplace(key, makeStand(statement, peer)).first;
  Stand &stand = place->second;
  if (stand.next == stand.numbers->size())
    stand.numbers->push_back(meetings.add(stand.participants));
  return (*stand.numbers)[stand.next++];
}

namespace {

/// Runs the streams of all ranks without time until nothing moves. What only
/// follows what is before it on its stream never stops one: of that nothing is
/// kept.
class Progress {
public:
  explicit Progress(const Program &program)
      : program(program), meetings(program), states(program.classes.size()) {
    for (auto [state, rankClass] : llvm::zip_equal(states, program.classes))
      addTasks(state, rankClass);
    missing = meetings.getParticipants();
  }

  std::optional<std::string> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (RankState &rank : states)
        for (Queue &queue : rank.queues)
          while (advance(rank, queue))
            moved = true;
    }
    return describe();
  }

private:
  /// Calls that are issued together, a record, a wait, or what holds the issue.
  struct Task {
    int64_t statement;
    /// Of those in `calls`, the first one and behind the last.
    int64_t firstCall, endCall;
    /// The record that a wait is for.
    int64_t record = -1;
    /// The statement that must have ended before this is issued.
    int64_t holder = -1;
    bool hasArrived = false;
  };
  struct Queue {
    std::vector<Task> tasks;
    /// The meetings of its calls.
    std::vector<int64_t> calls;
    size_t next = 0;
  };
  struct RankState {
    std::array<Queue, ProgramStream::count> queues;
    /// By the statement of a task.
    std::vector<bool> isDone;
  };

  void addTasks(RankState &state, const RankClass &rankClass) {
    const RankProgram &own = program.getProgram(rankClass);
    state.isDone.assign(own.statements.size(), false);
    MeetingFinder finder(meetings, rankClass);
    int64_t holder = -1;
    forEachIssued(program, rankClass, [&](const IssuedStatement &issued) {
      const ProgramStatement &statement = issued.statement;
      bool isCall = statement.kind == StatementKind::communicate;
      if (!isCall && statement.kind != StatementKind::record &&
          statement.kind != StatementKind::wait && !statement.holdsIssue)
        return;
      Queue &queue = state.queues[static_cast<size_t>(statement.stream)];
      auto calls = static_cast<int64_t>(queue.calls.size());
      if (!issued.joins)
        queue.tasks.push_back(
            {issued.index, calls, calls, issued.record, holder});
      if (statement.holdsIssue)
        holder = issued.index;
      if (isCall) {
        queue.calls.push_back(finder.find(statement));
        ++queue.tasks.back().endCall;
      }
    });
  }

  bool advance(RankState &rank, Queue &queue) {
    if (queue.next == queue.tasks.size())
      return false;
    Task &task = queue.tasks[queue.next];
    for (int64_t earlier : {task.record, task.holder})
      if (earlier >= 0 && !rank.isDone[static_cast<size_t>(earlier)])
        return false;
    auto countMissing = [&](int64_t call) -> int64_t & {
      return missing[static_cast<size_t>(
          queue.calls[static_cast<size_t>(call)])];
    };
    bool moved = task.firstCall != task.endCall && !task.hasArrived;
    if (moved)
      for (int64_t call = task.firstCall; call != task.endCall; ++call)
        --countMissing(call);
    task.hasArrived = true;
    for (int64_t call = task.firstCall; call != task.endCall; ++call)
      if (countMissing(call) > 0)
        return moved;
    rank.isDone[static_cast<size_t>(task.statement)] = true;
    ++queue.next;
    return true;
  }

  /// Where the first ranks of classes stand that have not come to their end.
  std::optional<std::string> describe() const {
    std::string text;
    int named = 0;
    for (auto [state, rankClass] : llvm::zip_equal(states, program.classes))
      for (const Queue &queue : state.queues) {
        if (queue.next == queue.tasks.size() || named == 4)
          continue;
        const Task &task = queue.tasks[queue.next];
        if (task.firstCall == task.endCall)
          continue;
        int64_t index = task.statement;
        const ProgramStatement &statement =
            program.getProgram(rankClass)
                .statements[static_cast<size_t>(index)];
        text += concat(
            named++ ? ", " : "", "rank ", rankClass.firstRank, " in ",
            stringifyCollectiveKind(statement.collective), " over ",
            program.communicators[static_cast<size_t>(statement.communicator)]
                .name,
            " (statement ", index, ")");
      }
    if (text.empty())
      return std::nullopt;
    return text;
  }

  const Program &program;
  Meetings meetings;
  std::vector<RankState> states;
  /// Of each meeting the ranks that are not there yet.
  std::vector<int64_t> missing;
};

} // namespace

std::optional<std::string> parplan::findDeadlock(const Program &program) {
  return Progress(program).run();
}
