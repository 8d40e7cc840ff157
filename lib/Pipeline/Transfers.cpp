//===- Transfers.cpp - One order of all messages --------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "PassTable.h"

#include "parplan/Pipeline/Transfers.h"

#include "parplan/Support/Check.h"

#include <algorithm>
#include <limits>
#include <tuple>

using namespace parplan;

std::vector<StageEdge> parplan::getChainEdges(const ScheduleShape &shape) {
  std::vector<StageEdge> edges;
  for (int64_t stage = 0; stage + 1 < shape.getStageCount(); ++stage) {
    edges.push_back({stage, stage + 1});
    if (hasBackward(shape.kind))
      edges.push_back({stage + 1, stage});
  }
  return edges;
}

/// Seconds of a message from one stage to another one: that of the boundary
/// next to the sender.
static double getMessageSeconds(const ScheduleShape &shape,
                                const Latencies &latencies, int64_t from,
                                int64_t to) {
  return latencies.get(shape, from < to ? from : from - 1);
}

std::vector<Transfer>
parplan::orderTransfers(const PipelineSchedule &schedule,
                        const Timeline &timeline,
                        const std::vector<StageEdge> &edges) {
  const ScheduleShape &shape = schedule.shape;
  PassTable table(schedule);
  auto getInterval = [&](int64_t position, int64_t pass) -> auto & {
    return timeline.passes[position][pass];
  };
  // In the order of all passes and messages, a pass stands at its start and a
  // message at the end of its producer; what is at the same time stands as it
  // was simulated.
  auto findAfter = [&](int64_t position, const Timeline::Interval &producer) {
    const std::vector<Timeline::Interval> &list = timeline.passes[position];
    auto isBefore = [&](const Timeline::Interval &pass) {
      return std::tie(pass.startSeconds, pass.order) <=
             std::tie(producer.endSeconds, producer.order);
    };
    return std::partition_point(list.begin(), list.end(), isBefore) -
           list.begin();
  };

  std::vector<Transfer> transfers;
  for (size_t edge = 0; edge != edges.size(); ++edge) {
    auto [from, to] = edges[edge];
    int64_t source = getPosition(shape, from);
    int64_t destination = getPosition(shape, to);
    if (source == destination)
      continue;
    bool isBack = from > to;
    for (int64_t batch = 0; batch != shape.microBatches; ++batch) {
      Transfer transfer;
      transfer.edge = static_cast<int64_t>(edge);
      transfer.microBatch = batch;
      transfer.source = source;
      transfer.destination = destination;
      transfer.producer = table.find(from, batch, isBack);
      transfer.consumer = table.find(to, batch, isBack);
      PARPLAN_CHECK(transfer.producer >= 0 && transfer.consumer >= 0,
                    "no pass of micro-batch ", batch, " in stage ", from,
                    " or ", to);
      const Timeline::Interval &producer =
          getInterval(source, transfer.producer);
      transfer.readySeconds = producer.endSeconds;
      transfer.sendBefore = findAfter(source, producer);
      transfer.receiveBefore = findAfter(destination, producer);
      transfers.push_back(transfer);
    }
  }
  std::stable_sort(
      transfers.begin(), transfers.end(),
      [&](const Transfer &left, const Transfer &right) {
        auto getKey = [&](const Transfer &transfer) {
          return std::tuple(
              transfer.readySeconds,
              getInterval(transfer.source, transfer.producer).order,
              transfer.destination);
        };
        return getKey(left) < getKey(right);
      });
  return transfers;
}

std::vector<Transfer> parplan::orderTransfers(const PipelineSchedule &schedule,
                                              const Timeline &timeline) {
  return orderTransfers(schedule, timeline, getChainEdges(schedule.shape));
}

void parplan::groupOpposite(const PipelineSchedule &schedule,
                            const std::vector<StageEdge> &edges,
                            const Latencies &latencies,
                            std::vector<Transfer> &transfers) {
  // The next transfer of a position, from back to front.
  constexpr size_t none = std::numeric_limits<size_t>::max();
  std::vector<size_t> next(schedule.shape.positions, none);
  std::vector<size_t> followers(transfers.size(), none);
  for (size_t index = transfers.size(); index-- != 0;) {
    Transfer &transfer = transfers[index];
    if (next[transfer.source] == next[transfer.destination])
      followers[index] = next[transfer.source];
    next[transfer.source] = next[transfer.destination] = index;
  }
  for (size_t index = 0; index != transfers.size(); ++index) {
    size_t follower = followers[index];
    if (follower == none)
      continue;
    Transfer &first = transfers[index], &second = transfers[follower];
    auto [from, to] = edges[first.edge];
    double arrival = first.readySeconds +
                     getMessageSeconds(schedule.shape, latencies, from, to);
    // A consumer at the place of the second one waits for its producer.
    if (second.source != first.destination ||
        second.destination != first.source || second.readySeconds > arrival ||
        second.sendBefore > first.consumer)
      continue;
    first.withNext = true;
    first.sendBefore = second.receiveBefore;
    first.receiveBefore = second.sendBefore;
    // A group has two.
    followers[follower] = none;
  }
}

static int64_t countWaiting(const PipelineSchedule &schedule,
                            const Timeline &timeline,
                            const std::vector<StageEdge> &edges,
                            int64_t position, const Latencies &latencies) {
  // Arrivals before uses at the same time.
  std::vector<std::pair<double, int>> events;
  for (const Transfer &transfer : orderTransfers(schedule, timeline, edges)) {
    if (transfer.destination != position)
      continue;
    auto [from, to] = edges[transfer.edge];
    double arrival = transfer.readySeconds +
                     getMessageSeconds(schedule.shape, latencies, from, to);
    events.emplace_back(arrival, 0);
    events.emplace_back(
        timeline.passes[position][transfer.consumer].startSeconds, 1);
  }
  std::sort(events.begin(), events.end());
  int64_t waiting = 0, peak = 0;
  for (auto [seconds, isUse] : events) {
    waiting += isUse != 0 ? -1 : 1;
    peak = std::max(peak, waiting);
  }
  return peak;
}

int64_t parplan::countWaitingMessages(const PipelineSchedule &schedule,
                                      const Timeline &timeline,
                                      int64_t position,
                                      const Latencies &latencies) {
  return countWaiting(schedule, timeline, getChainEdges(schedule.shape),
                      position, latencies);
}

int64_t parplan::countWaitingMessages(const PipelineSchedule &schedule,
                                      const Timeline &timeline,
                                      const StageEdge &edge,
                                      const Latencies &latencies) {
  return countWaiting(schedule, timeline, {edge},
                      getPosition(schedule.shape, edge.destination), latencies);
}

TransferPrograms parplan::issueInOrder(const ScheduleShape &shape,
                                       const std::vector<Transfer> &transfers) {
  TransferPrograms programs(shape.positions);
  std::vector<bool> isInGroup(shape.positions, false);
  for (size_t index = 0; index != transfers.size(); ++index) {
    auto add = [&](int64_t position, bool isSend) {
      if (!isInGroup[position])
        programs[position].emplace_back();
      programs[position].back().push_back(
          {isSend, static_cast<int64_t>(index)});
      isInGroup[position] = transfers[index].withNext;
    };
    add(transfers[index].source, /*isSend=*/true);
    add(transfers[index].destination, /*isSend=*/false);
  }
  return programs;
}

TransferPrograms parplan::issueAtUse(const PipelineSchedule &schedule,
                                     const std::vector<Transfer> &transfers,
                                     bool isGrouped) {
  TransferPrograms programs(schedule.shape.positions);
  for (int64_t position = 0; position != schedule.shape.positions; ++position) {
    size_t passCount = schedule.passes[position].size();
    std::vector<std::vector<TransferCall>> receives(passCount),
        sends(passCount);
    for (size_t index = 0; index != transfers.size(); ++index) {
      auto transfer = static_cast<int64_t>(index);
      if (transfers[index].source == position)
        sends[transfers[index].producer].push_back({true, transfer});
      if (transfers[index].destination == position)
        receives[transfers[index].consumer].push_back({false, transfer});
    }
    auto issue = [&](const std::vector<TransferCall> &group) {
      if (isGrouped && !group.empty())
        programs[position].push_back(group);
      for (const TransferCall &call : group)
        if (!isGrouped)
          programs[position].push_back({call});
    };
    std::vector<TransferCall> made;
    for (size_t pass = 0; pass != passCount; ++pass) {
      made.insert(made.end(), receives[pass].begin(), receives[pass].end());
      issue(made);
      made = sends[pass];
    }
    issue(made);
  }
  return programs;
}

bool parplan::completes(const TransferPrograms &programs,
                        const std::vector<Transfer> &transfers,
                        const std::vector<StageEdge> &edges, int64_t depth) {
  size_t ranks = programs.size();
  enum State : uint8_t { waiting, posted, done };
  std::vector<State> sends(transfers.size(), waiting),
      receives(transfers.size(), waiting);
  std::vector<size_t> next(ranks, 0);
  // Stored messages of each channel.
  std::vector<int64_t> stored(ranks * ranks * 2, 0);
  auto getStored = [&](const Transfer &transfer) -> int64_t & {
    const StageEdge &edge = edges[transfer.edge];
    return stored[(transfer.source * ranks + transfer.destination) * 2 +
                  (edge.source > edge.destination)];
  };
  auto getState = [&](const TransferCall &call) -> State & {
    return (call.isSend ? sends : receives)[call.transfer];
  };
  auto post = [&](size_t rank) {
    if (next[rank] != programs[rank].size())
      for (const TransferCall &call : programs[rank][next[rank]])
        getState(call) = posted;
  };
  /// True if the call came to its end now.
  auto tryCall = [&](const TransferCall &call) {
    State &send = sends[call.transfer], &receive = receives[call.transfer];
    int64_t &count = getStored(transfers[call.transfer]);
    if (getState(call) != posted)
      return false;
    if (send == posted && receive == posted) {
      send = receive = done;
      return true;
    }
    if (call.isSend && count < depth) {
      send = done;
      ++count;
      return true;
    }
    if (!call.isSend && send == done) {
      receive = done;
      --count;
      return true;
    }
    return false;
  };

  for (size_t rank = 0; rank != ranks; ++rank)
    post(rank);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t rank = 0; rank != ranks; ++rank) {
      if (next[rank] == programs[rank].size())
        continue;
      const std::vector<TransferCall> &group = programs[rank][next[rank]];
      bool isDone = true;
      for (const TransferCall &call : group) {
        moved |= tryCall(call);
        isDone &= getState(call) == done;
      }
      if (isDone) {
        ++next[rank];
        post(rank);
        moved = true;
      }
    }
  }
  for (size_t rank = 0; rank != ranks; ++rank)
    if (next[rank] != programs[rank].size())
      return false;
  return true;
}
