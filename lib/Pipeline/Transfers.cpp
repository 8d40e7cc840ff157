//===- Transfers.cpp - One order of all messages --------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "PassTable.h"

#include "parplan/Pipeline/Transfers.h"

#include "parplan/Support/Check.h"

#include <algorithm>
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

int64_t parplan::countWaitingMessages(const PipelineSchedule &schedule,
                                      const Timeline &timeline,
                                      int64_t position,
                                      const Latencies &latencies) {
  std::vector<StageEdge> edges = getChainEdges(schedule.shape);
  // Arrivals before uses at the same time.
  std::vector<std::pair<double, int>> events;
  for (const Transfer &transfer : orderTransfers(schedule, timeline, edges)) {
    if (transfer.destination != position)
      continue;
    auto [from, to] = edges[transfer.edge];
    double arrival = transfer.readySeconds +
                     latencies.get(schedule.shape, std::min(from, to));
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

TransferPrograms parplan::issueInOrder(const ScheduleShape &shape,
                                       const std::vector<Transfer> &transfers) {
  TransferPrograms programs(shape.positions);
  for (size_t index = 0; index != transfers.size(); ++index) {
    auto transfer = static_cast<int64_t>(index);
    programs[transfers[index].source].push_back({{true, transfer}});
    programs[transfers[index].destination].push_back({{false, transfer}});
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
