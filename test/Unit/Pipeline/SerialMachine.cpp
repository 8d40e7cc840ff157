//===- SerialMachine.cpp - Runs a schedule with its messages --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "SerialMachine.h"

#include "parplan/Support/Check.h"

#include <algorithm>
#include <set>
#include <tuple>

using namespace parplan;
using namespace parplan::test;

namespace {

/// One thing that a position does: a pass, or its side of a message.
struct Item {
  bool isPass = true;
  bool isSend = false;
  size_t index = 0;
};

/// What a position has: the result of a stage's forward pass (or its gradient)
/// of one micro-batch.
using Value = std::tuple<int64_t, int64_t, bool>;

class Machine {
public:
  Machine(const PipelineSchedule &schedule, const std::vector<StageEdge> &edges,
          const std::vector<Transfer> &transfers)
      : schedule(schedule), shape(schedule.shape), edges(edges),
        transfers(transfers), items(shape.positions), next(shape.positions, 0),
        values(shape.positions) {
    run.sums.resize(shape.getStageCount());
    // Calls of the same place keep the total order.
    for (int64_t position = 0; position != shape.positions; ++position) {
      size_t passes = schedule.passes[position].size();
      std::vector<std::vector<Item>> before(passes + 1);
      for (size_t index = 0; index != transfers.size(); ++index) {
        if (transfers[index].source == position)
          before[transfers[index].sendBefore].push_back({false, true, index});
        if (transfers[index].destination == position)
          before[transfers[index].receiveBefore].push_back(
              {false, false, index});
      }
      for (size_t pass = 0; pass <= passes; ++pass) {
        items[position].insert(items[position].end(), before[pass].begin(),
                               before[pass].end());
        if (pass != passes)
          items[position].push_back({true, false, pass});
      }
    }
  }

  SerialRun runAll(std::mt19937 &random) {
    std::vector<int64_t> order;
    for (int64_t position = 0; position != shape.positions; ++position)
      order.push_back(position);
    for (bool moved = true; moved;) {
      moved = false;
      std::shuffle(order.begin(), order.end(), random);
      for (int64_t position : order)
        moved |= step(position);
    }
    run.isComplete = true;
    for (int64_t position = 0; position != shape.positions; ++position)
      run.isComplete &= next[position] == items[position].size();
    return run;
  }

private:
  void need(int64_t position, const Value &value) {
    if (!values[position].contains(value) && run.fault.empty())
      run.fault =
          concat("position ", position, " lacks stage ", std::get<0>(value),
                 ", micro-batch ", std::get<1>(value));
  }

  void runPass(int64_t position, const Pass &pass) {
    int64_t stage = getStage(shape, position, pass.chunk);
    int64_t batch = pass.microBatch;
    bool isBack = pass.kind != PassKind::forward;
    // All edges into the stage of this direction, wherever they come from.
    if (pass.kind != PassKind::weightGradient)
      for (const StageEdge &edge : edges)
        if (edge.destination == stage && (edge.source > stage) == isBack)
          need(position, {edge.source, batch, isBack});
    if (isBack)
      need(position, {stage, batch, false});
    if (pass.kind == PassKind::weightGradient)
      need(position, {stage, batch, true});
    if (pass.kind != PassKind::weightGradient)
      values[position].insert({stage, batch, isBack});
    if (pass.kind == PassKind::backward ||
        pass.kind == PassKind::weightGradient)
      run.sums[stage] += concat(batch, '+');
  }

  bool step(int64_t position) {
    if (next[position] == items[position].size())
      return false;
    const Item &item = items[position][next[position]];
    if (item.isPass) {
      runPass(position, schedule.passes[position][item.index]);
      ++next[position];
      return true;
    }
    const Transfer &transfer = transfers[item.index];
    int64_t other = item.isSend ? transfer.destination : transfer.source;
    if (next[other] == items[other].size())
      return false;
    const Item &otherItem = items[other][next[other]];
    if (otherItem.isPass || otherItem.index != item.index)
      return false;
    const StageEdge &edge = edges[transfer.edge];
    Value value(edge.source, transfer.microBatch,
                edge.source > edge.destination);
    need(transfer.source, value);
    values[transfer.destination].insert(value);
    ++next[position];
    ++next[other];
    return true;
  }

  const PipelineSchedule &schedule;
  const ScheduleShape &shape;
  const std::vector<StageEdge> &edges;
  const std::vector<Transfer> &transfers;
  std::vector<std::vector<Item>> items;
  std::vector<size_t> next;
  std::vector<std::set<Value>> values;
  SerialRun run;
};

} // namespace

SerialRun parplan::test::runSerially(const PipelineSchedule &schedule,
                                     const std::vector<StageEdge> &edges,
                                     const std::vector<Transfer> &transfers,
                                     std::mt19937 &random) {
  return Machine(schedule, edges, transfers).runAll(random);
}
