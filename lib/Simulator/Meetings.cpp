//===- Meetings.cpp - Calls in which ranks meet, and never do -------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "lib/Simulator/Meetings.h"

#include "parplan/Simulator/Simulator.h"
#include "parplan/Support/Check.h"

#include <algorithm>
#include <array>
#include <vector>

using namespace parplan;

int64_t Program::getFirstRank(size_t program) const {
  auto number = static_cast<int64_t>(program);
  if (programOf.empty())
    return number;
  return std::find(programOf.begin(), programOf.end(), number) -
         programOf.begin();
}

MeetingFinder::MeetingFinder(const Program &program, size_t own)
    : program(program), statements(program.ranks[own].statements),
      rank(program.getFirstRank(own)) {
  if (program.programOf.empty())
    for (size_t each = 0; each < program.ranks.size(); ++each)
      firstRanks.insert(static_cast<int64_t>(each));
  std::vector<bool> isKnown(program.ranks.size(), false);
  for (auto [each, of] : llvm::enumerate(program.programOf))
    if (!isKnown[of]) {
      isKnown[of] = true;
      firstRanks.insert(static_cast<int64_t>(each));
    }
}

const MeetingFinder::Group &MeetingFinder::getGroup(int communicator) {
  auto [place, isNew] = groups.try_emplace(communicator);
  Group &group = place->second;
  if (!isNew)
    return group;
  llvm::SmallVector<int64_t> members = program.mesh.getGroup(
      rank, program.communicators[static_cast<size_t>(communicator)].axes);
  group.members.assign(members.begin(), members.end());
  group.first = *std::min_element(members.begin(), members.end());
  group.self =
      std::find(members.begin(), members.end(), rank) - members.begin();
  group.participants =
      std::count_if(members.begin(), members.end(),
                    [&](int64_t member) { return firstRanks.count(member); });
  return group;
}

MeetingPlace MeetingFinder::find(int64_t index) {
  const ProgramStatement &statement = statements[static_cast<size_t>(index)];
  // All arrive at the same time.
  if (program.isSameForAllRanks())
    return {{statement.communicator, 0, -1, -1, index}, /*participants=*/1};
  bool isSend = statement.collective == CollectiveKind::send;
  bool isReceive = statement.collective == CollectiveKind::receive;
  const Group &group = getGroup(statement.communicator);
  int64_t sender = -1, receiver = -1;
  if (isSend || isReceive) {
    PARPLAN_CHECK(
        firstRanks.count(group.members[static_cast<size_t>(statement.peer)]),
        "a message to a rank that another stands for");
    sender = isSend ? group.self : statement.peer;
    receiver = isSend ? statement.peer : group.self;
  }
  int64_t &count =
      counts[{statement.communicator, group.first, sender, receiver, 0}];
  MeetingKey key{statement.communicator, group.first, sender, receiver,
                 count++};
  return {key, sender == -1 ? group.participants : 2};
}

namespace {

/// Runs the streams of all ranks without time until nothing moves.
class Progress {
public:
  explicit Progress(const Program &program)
      : program(program), states(program.ranks.size()) {
    for (size_t rank = 0; rank < states.size(); ++rank)
      addTasks(rank);
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
  struct Task {
    int64_t statement = -1;
    /// Calls that are issued together.
    std::vector<MeetingKey> calls;
    /// Statement of the record that a wait is for.
    int64_t record = -1;
    bool hasArrived = false;
  };
  struct Queue {
    std::vector<Task> tasks;
    size_t next = 0;
  };
  struct RankState {
    std::array<Queue, ProgramStream::count> queues;
    std::vector<bool> isDone;
  };

  void addTasks(size_t rank) {
    const std::vector<ProgramStatement> &statements =
        program.ranks[rank].statements;
    RankState &state = states[rank];
    state.isDone.resize(statements.size());
    MeetingFinder meetings(program, rank);
    std::map<int, int64_t> lastRecord;
    std::array<int, ProgramStream::count> openGroup;
    openGroup.fill(-1);
    for (size_t i = 0; i < statements.size(); ++i) {
      const ProgramStatement &statement = statements[i];
      auto stream = static_cast<size_t>(statement.stream);
      auto index = static_cast<int64_t>(i);
      std::vector<Task> &tasks = state.queues[stream].tasks;
      bool joins =
          statement.group != -1 && statement.group == openGroup[stream];
      openGroup[stream] = statement.group;
      Task &task = joins ? tasks.back() : tasks.emplace_back();
      task.statement = index;
      if (statement.kind == StatementKind::communicate) {
        MeetingPlace place = meetings.find(index);
        missing.try_emplace(place.key, place.participants);
        task.calls.push_back(place.key);
      } else if (statement.kind == StatementKind::record) {
        lastRecord[statement.event] = index;
      } else if (statement.kind == StatementKind::wait) {
        task.record = lastRecord.at(statement.event);
      }
    }
  }

  bool advance(RankState &rank, Queue &queue) {
    if (queue.next == queue.tasks.size())
      return false;
    Task &task = queue.tasks[queue.next];
    if (task.record >= 0 && !rank.isDone[static_cast<size_t>(task.record)])
      return false;
    bool moved = !task.calls.empty() && !task.hasArrived;
    if (moved)
      for (const MeetingKey &key : task.calls)
        --missing.at(key);
    task.hasArrived = true;
    for (const MeetingKey &key : task.calls)
      if (missing.at(key) > 0)
        return moved;
    rank.isDone[static_cast<size_t>(task.statement)] = true;
    ++queue.next;
    return true;
  }

  /// Where ranks stand that have not come to their end.
  std::optional<std::string> describe() const {
    std::string text;
    int named = 0;
    for (size_t rank = 0; rank < states.size(); ++rank)
      for (const Queue &queue : states[rank].queues) {
        if (queue.next == queue.tasks.size() ||
            queue.tasks[queue.next].calls.empty() || named == 4)
          continue;
        int64_t index = queue.tasks[queue.next].statement;
        const ProgramStatement &statement =
            program.ranks[rank].statements[static_cast<size_t>(index)];
        text += concat(
            named++ ? ", " : "", "rank ", program.getFirstRank(rank), " in ",
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
  std::vector<RankState> states;
  std::map<MeetingKey, int64_t> missing;
};

} // namespace

std::optional<std::string> parplan::findDeadlock(const Program &program) {
  return Progress(program).run();
}
