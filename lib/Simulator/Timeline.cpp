//===- Timeline.cpp - When statements run ---------------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "lib/Simulator/IssuedStatements.h"
#include "lib/Simulator/Meetings.h"

#include "parplan/Simulator/Simulator.h"
#include "parplan/Support/Check.h"

#include <algorithm>
#include <array>
#include <tuple>

using namespace parplan;

namespace {

struct Meeting {
  /// Ranks that are not there yet.
  int64_t missing = 0;
  double startSeconds = 0;
};

struct Call {
  int64_t statement;
  /// Number of the meeting.
  int64_t meeting;
  double seconds;
};

/// One statement, or a group of calls that are issued together.
struct Task {
  int64_t statement = -1;
  StatementKind kind = StatementKind::launch;
  double launchSeconds = 0;
  std::vector<Call> calls;
  /// Statement of the record that a wait is for.
  int64_t record = -1;
  bool hasArrived = false;
};

struct StreamState {
  std::vector<Task> tasks;
  size_t next = 0;
  double seconds = 0;

  bool isDone() const { return next == tasks.size(); }
};

struct RankState {
  std::array<StreamState, ProgramStream::count> streams;
  /// When the records that have been reached completed, by statement.
  std::map<int64_t, double> recorded;
};

/// Runs the streams of all ranks until nothing moves.
class Replay {
public:
  Replay(const Program &program, const CostModel &costs);

  /// False if not everything could run.
  bool run();
  double getSeconds(size_t rankClass) const;
  const std::vector<TimelineSpan> &getSpans() const { return spans; }

private:
  void addTasks(size_t rankClass);
  Call makeCall(const IssuedStatement &issued, MeetingFinder &finder);
  double getLaunchSeconds(const ProgramStatement &statement) const;
  /// Runs the next task of a stream, as far as it can; true if it moved.
  bool advance(size_t rankClass, int stream);
  bool communicate(size_t rankClass, int stream, Task &task);
  void addSpan(size_t rankClass, int stream, int64_t statement, double start,
               double end) {
    spans.push_back(
        {program.classes[rankClass].firstRank, stream, statement, start, end});
  }

  const Program &program;
  const CostModel &costs;
  std::vector<RankGroup> groups;
  std::vector<RankState> states;
  Meetings calls;
  /// By the numbers of `calls`.
  std::vector<Meeting> meetings;
  std::vector<TimelineSpan> spans;
};

Replay::Replay(const Program &program, const CostModel &costs)
    : program(program), costs(costs), states(program.classes.size()),
      calls(program) {
  std::vector<int64_t> axisSizes;
  for (const MeshAxis &axis : program.mesh.getAxes())
    axisSizes.push_back(axis.size);
  for (const ProgramCommunicator &communicator : program.communicators)
    groups.push_back(costs.getCluster().getGroup(
        axisSizes,
        std::vector<int>(communicator.axes.begin(), communicator.axes.end())));
  for (size_t rankClass = 0; rankClass < states.size(); ++rankClass)
    addTasks(rankClass);
  for (int64_t participants : calls.getParticipants())
    meetings.push_back({participants});
}

Call Replay::makeCall(const IssuedStatement &issued, MeetingFinder &finder) {
  const ProgramStatement &statement = issued.statement;
  auto communicator = static_cast<size_t>(statement.communicator);
  CollectiveKind kind = statement.collective;
  bool isReceive = kind == CollectiveKind::receive;
  // A message costs what its send costs, at both ends.
  double seconds =
      costs.getCollectiveSeconds(isReceive ? CollectiveKind::send : kind,
                                 groups[communicator], statement.bytes);
  return {issued.index, finder.find(statement), seconds};
}

double Replay::getLaunchSeconds(const ProgramStatement &statement) const {
  if (statement.kind == StatementKind::launch)
    return statement.stream == ProgramStream::host
               ? costs.getHostOpSeconds(statement.cost)
               : costs.getOpSeconds(statement.cost);
  bool isWrite = statement.to == MemoryTier::nvme;
  return isWrite || statement.from == MemoryTier::nvme
             ? costs.getNvmeSeconds(statement.bytes, isWrite)
             : costs.getHostCopySeconds(statement.bytes);
}

void Replay::addTasks(size_t rankClass) {
  MeetingFinder finder(calls, program.classes[rankClass]);
  auto add = [&](const IssuedStatement &issued) {
    const ProgramStatement &statement = issued.statement;
    auto stream = static_cast<size_t>(statement.stream);
    std::vector<Task> &tasks = states[rankClass].streams[stream].tasks;
    if (!issued.joins)
      tasks.push_back({issued.index,
                       statement.kind,
                       /*launchSeconds=*/0,
                       {},
                       issued.record});
    if (statement.kind == StatementKind::communicate)
      tasks.back().calls.push_back(makeCall(issued, finder));
    else if (statement.kind == StatementKind::launch ||
             statement.kind == StatementKind::transfer)
      tasks.back().launchSeconds = getLaunchSeconds(statement);
  };
  forEachIssued(program, program.classes[rankClass], add);
}

bool Replay::communicate(size_t rankClass, int stream, Task &task) {
  StreamState &state = states[rankClass].streams[static_cast<size_t>(stream)];
  bool moved = !task.hasArrived;
  if (!task.hasArrived) {
    task.hasArrived = true;
    for (const Call &call : task.calls) {
      Meeting &meeting = meetings[static_cast<size_t>(call.meeting)];
      --meeting.missing;
      meeting.startSeconds = std::max(meeting.startSeconds, state.seconds);
    }
  }
  double end = state.seconds;
  for (const Call &call : task.calls) {
    const Meeting &meeting = meetings[static_cast<size_t>(call.meeting)];
    if (meeting.missing > 0)
      return moved;
    end = std::max(end, meeting.startSeconds + call.seconds);
  }
  for (const Call &call : task.calls) {
    double start = meetings[static_cast<size_t>(call.meeting)].startSeconds;
    addSpan(rankClass, stream, call.statement, start, start + call.seconds);
  }
  state.seconds = end;
  ++state.next;
  return true;
}

bool Replay::advance(size_t rankClass, int stream) {
  RankState &rankState = states[rankClass];
  StreamState &state = rankState.streams[static_cast<size_t>(stream)];
  if (state.isDone())
    return false;
  Task &task = state.tasks[state.next];
  switch (task.kind) {
  case StatementKind::communicate:
    return communicate(rankClass, stream, task);
  case StatementKind::launch:
  case StatementKind::transfer:
    addSpan(rankClass, stream, task.statement, state.seconds,
            state.seconds + task.launchSeconds);
    state.seconds += task.launchSeconds;
    break;
  case StatementKind::record:
    rankState.recorded[task.statement] = state.seconds;
    break;
  case StatementKind::wait: {
    auto record = rankState.recorded.find(task.record);
    if (record == rankState.recorded.end())
      return false;
    state.seconds = std::max(state.seconds, record->second);
    break;
  }
  }
  ++state.next;
  return true;
}

bool Replay::run() {
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t rankClass = 0; rankClass < states.size(); ++rankClass)
      for (int stream = 0; stream < ProgramStream::count; ++stream)
        while (advance(rankClass, stream))
          moved = true;
  }
  for (const RankState &rank : states)
    for (const StreamState &stream : rank.streams)
      if (!stream.isDone())
        return false;
  return true;
}

double Replay::getSeconds(size_t rankClass) const {
  double seconds = 0;
  for (const StreamState &stream : states[rankClass].streams)
    seconds = std::max(seconds, stream.seconds);
  return seconds;
}

/// What a rank does, by what its time is counted under.
enum Activity { compute, tensor, data, pipeline, offload };
constexpr size_t activityCount = 5;

Activity getActivity(const ProgramStatement &statement,
                     const Program &program) {
  if (statement.kind == StatementKind::transfer ||
      statement.stream == ProgramStream::host)
    return offload;
  if (statement.kind != StatementKind::communicate)
    return compute;
  const AxisList &axes =
      program.communicators[static_cast<size_t>(statement.communicator)].axes;
  auto hasRole = [&](AxisRole role) {
    return
        [&, role](int axis) { return program.mesh.getAxis(axis).role == role; };
  };
  if (std::any_of(axes.begin(), axes.end(), hasRole(AxisRole::pipeline)))
    return pipeline;
  // Alone or with others, as ZeRO is over data and context axes.
  return std::any_of(axes.begin(), axes.end(), hasRole(AxisRole::data))
             ? data
             : tensor;
}

/// Splits the time of a class into parts that add up to it. A collective beside
/// computation costs the share `interference` of that time.
TimeBreakdown breakDown(const Program &program, size_t rankClass,
                        double endSeconds,
                        const std::vector<TimelineSpan> &spans,
                        double interference) {
  // Begin and end of every activity, in the order of time.
  std::vector<std::tuple<double, Activity, int>> changes;
  for (const TimelineSpan &span : spans) {
    if (span.rank != program.classes[rankClass].firstRank)
      continue;
    const ProgramStatement &statement =
        program.getProgram(program.classes[rankClass])
            .statements[static_cast<size_t>(span.statement)];
    Activity activity = getActivity(statement, program);
    changes.emplace_back(span.startSeconds, activity, 1);
    changes.emplace_back(span.endSeconds, activity, -1);
  }
  std::sort(changes.begin(), changes.end());

  TimeBreakdown parts;
  std::array<int, activityCount> active{};
  double last = 0;
  auto account = [&](double until) {
    double duration = until - last;
    last = until;
    double exposed = active[compute] ? interference * duration : duration;
    if (active[compute])
      parts.compute += duration;
    if (active[tensor])
      parts.tensorCommunication += exposed;
    else if (active[data])
      parts.dataCommunication += exposed;
    else if (active[pipeline])
      parts.pipelineCommunication += exposed;
    else if (active[offload])
      parts.offload += exposed;
    else if (!active[compute])
      parts.idle += duration;
  };
  for (auto [time, activity, change] : changes) {
    account(time);
    active[activity] += change;
  }
  account(endSeconds);
  return parts;
}

} // namespace

std::optional<Prediction>
parplan::simulate(const Program &program, const CostModel &costs,
                  std::vector<TimelineSpan> *timeline) {
  Prediction prediction = predictResources(program);
  Replay replay(program, costs);
  if (!replay.run())
    return std::nullopt;
  size_t slowest = 0;
  for (size_t rankClass = 1; rankClass < program.classes.size(); ++rankClass)
    if (replay.getSeconds(rankClass) > replay.getSeconds(slowest))
      slowest = rankClass;
  TimeBreakdown &parts = prediction.breakdown;
  parts =
      breakDown(program, slowest, replay.getSeconds(slowest), replay.getSpans(),
                costs.getCluster().description.collectives.interference);
  prediction.stepSeconds =
      parts.compute + parts.tensorCommunication + parts.dataCommunication +
      parts.pipelineCommunication + parts.offload + parts.idle;
  if (timeline)
    *timeline = replay.getSpans();
  return prediction;
}
