//===- MakeSchedule.cpp - The schedules -----------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "FillWeightGradients.h"
#include "InterleavedGroups.h"

#include "parplan/Pipeline/Schedule.h"
#include "parplan/Pipeline/WaitingRooms.h"

#include "parplan/Support/Check.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

using namespace parplan;

using PassList = std::vector<Pass>;

std::vector<int64_t> parplan::getInterleavedGroups(const ScheduleShape &shape) {
  int64_t count = std::max<int64_t>(1, shape.microBatches / shape.positions);
  std::vector<int64_t> sizes(count, shape.microBatches / count);
  for (int64_t group = 0; group != shape.microBatches % count; ++group)
    ++sizes[group];
  return sizes;
}

namespace {

/// `kind` of every micro-batch in every chunk: groups of micro-batches visit
/// the chunks in turn, from the first to the last or back.
PassList makeVisits(PassKind kind, const std::vector<int64_t> &groups,
                    int64_t chunks, bool isBack) {
  PassList visits;
  int64_t first = 0;
  for (int64_t size : groups) {
    for (int64_t turn = 0; turn != chunks; ++turn)
      for (int64_t batch = first; batch != first + size; ++batch)
        visits.push_back({kind, batch, isBack ? chunks - 1 - turn : turn});
    first += size;
  }
  return visits;
}

/// `warmup` forward passes, then one of each in turn, then the backward passes
/// that are left.
PassList alternate(const PassList &forwards, const PassList &backwards,
                   int64_t warmup) {
  PassList order(forwards.begin(), forwards.begin() + warmup);
  auto next = forwards.begin() + warmup;
  for (const Pass &backward : backwards) {
    if (next != forwards.end())
      order.push_back(*next++);
    order.push_back(backward);
  }
  return order;
}

/// Forward passes that a position runs ahead of its first backward pass, in
/// schedules that alternate.
int64_t getWarmup(const ScheduleShape &shape, int64_t position) {
  int64_t below = shape.positions - 1 - position;
  int64_t warmup = below;
  switch (shape.kind) {
  case ScheduleKind::gpipe:
    warmup = shape.microBatches;
    break;
  case ScheduleKind::oneForwardOneBackwardEager:
  case ScheduleKind::zbH2:
    warmup = 2 * below;
    break;
  case ScheduleKind::interleaved:
    warmup =
        2 * below + (shape.chunks - 1) * getInterleavedGroups(shape).front();
    break;
  default:
    break;
  }
  return std::min(shape.microBatches * shape.chunks, warmup);
}

PassList alternate(const ScheduleShape &shape, int64_t position) {
  std::vector<int64_t> groups = {shape.microBatches};
  if (shape.kind == ScheduleKind::interleaved)
    groups = getInterleavedGroups(shape);
  PassKind back =
      splitsBackward(shape.kind) ? PassKind::inputGradient : PassKind::backward;
  return alternate(
      makeVisits(PassKind::forward, groups, shape.chunks, /*isBack=*/false),
      makeVisits(back, groups, shape.chunks, /*isBack=*/true),
      getWarmup(shape, position));
}

/// A forward or input gradient pass of the next micro-batch of a chunk.
struct Turn {
  PassKind kind;
  int64_t chunk;
};
constexpr Turn forward0{PassKind::forward, 0}, forward1{PassKind::forward, 1};
constexpr Turn gradient0{PassKind::inputGradient, 0};
constexpr Turn gradient1{PassKind::inputGradient, 1};

/// ZB-V, without weight gradients: forward down the first chunk until the first
/// micro-batch comes back; both chunks forward; the second forward and back;
/// then all four in turn. Turns that have no micro-batch left are left out.
PassList makeZbV(const ScheduleShape &shape, int64_t position) {
  std::vector<Turn> turns(2 * (shape.positions - position) - 1, forward0);
  for (int64_t count = 0; count != position; ++count)
    turns.insert(turns.end(), {forward1, forward0});
  for (int64_t count = position; count != shape.positions; ++count)
    turns.insert(turns.end(), {forward1, gradient1});
  for (int64_t count = 0; count != shape.microBatches; ++count)
    turns.insert(turns.end(), {forward0, gradient0, forward1, gradient1});

  PassList order;
  std::array<std::array<int64_t, 2>, 2> next = {};
  for (const Turn &turn : turns) {
    int64_t &batch = next[turn.kind == PassKind::forward][turn.chunk];
    if (batch < shape.microBatches)
      order.push_back({turn.kind, batch++, turn.chunk});
  }
  return order;
}

/// When a position starts the four passes of a micro-batch, in units of one
/// pass: down chunk 0, back chunk 1, gradients down chunk 1, back chunk 0.
using BlockStarts = std::array<int64_t, 4>;
/// Units from one position to the next in each of the four sweeps.
using BlockSteps = std::array<int64_t, 4>;
constexpr int64_t blockPeriod = 6;

/// One micro-batch's block of V-half and V-min, which repeats every 6 units:
/// the shortest one whose four starts differ modulo 6 on every position, so
/// that no two passes of different micro-batches meet.
std::vector<BlockStarts> makeBlock(int64_t positions, BlockSteps steps) {
  std::vector<BlockStarts> best;
  int64_t bestEnd = 0, last = positions - 1;
  for (int64_t turns = 0; turns != blockPeriod * blockPeriod * blockPeriod;
       ++turns) {
    int64_t forwardBack = steps[0] * last + 1 + turns / 36;
    int64_t gradientDown =
        forwardBack + steps[1] * last + 1 + turns / blockPeriod % blockPeriod;
    int64_t gradientBack =
        gradientDown + steps[2] * last + 1 + turns % blockPeriod;
    std::vector<BlockStarts> block;
    bool meets = false;
    for (int64_t position = 0; position != positions && !meets; ++position) {
      BlockStarts starts = {steps[0] * position,
                            forwardBack + steps[1] * (last - position),
                            gradientDown + steps[2] * position,
                            gradientBack + steps[3] * (last - position)};
      unsigned taken = 0;
      for (int64_t start : starts) {
        unsigned bit = 1u << (start % blockPeriod);
        meets |= (taken & bit) != 0;
        taken |= bit;
      }
      block.push_back(starts);
    }
    if (!meets && (best.empty() || gradientBack < bestEnd)) {
      best = std::move(block);
      bestEnd = gradientBack;
    }
  }
  PARPLAN_CHECK(!best.empty(), "no block for ", positions, " positions");
  return best;
}

PassList repeatBlock(const BlockStarts &starts, int64_t microBatches) {
  constexpr std::array<Turn, 4> turns = {forward0, forward1, gradient1,
                                         gradient0};
  std::vector<std::tuple<int64_t, int64_t, size_t>> timed;
  for (int64_t batch = 0; batch != microBatches; ++batch)
    for (size_t turn = 0; turn != turns.size(); ++turn)
      timed.emplace_back(starts[turn] + blockPeriod * batch, batch, turn);
  std::sort(timed.begin(), timed.end());
  PassList order;
  for (auto [start, batch, turn] : timed)
    order.push_back({turns[turn].kind, batch, turns[turn].chunk});
  return order;
}

} // namespace

PipelineSchedule parplan::makeOrder(const ScheduleShape &shape) {
  std::optional<std::string> refusal = getRefusal(shape);
  PARPLAN_CHECK(!refusal, *refusal);
  PipelineSchedule schedule{shape, {}};
  std::vector<BlockStarts> block;
  if (shape.kind == ScheduleKind::vHalf)
    block = makeBlock(shape.positions, {2, 1, 2, 1});
  if (shape.kind == ScheduleKind::vMin)
    block = makeBlock(shape.positions, {1, 1, 1, 1});
  for (int64_t position = 0; position != shape.positions; ++position) {
    if (shape.kind == ScheduleKind::forwardOnly) {
      // Groups of p micro-batches, so that chunks follow each other without a
      // wait; what is left over goes last, which cannot deadlock without a way
      // back.
      std::vector<int64_t> groups;
      for (int64_t left = shape.microBatches; left > 0; left -= shape.positions)
        groups.push_back(std::min(left, shape.positions));
      schedule.passes.push_back(makeVisits(PassKind::forward, groups,
                                           shape.chunks, /*isBack=*/false));
    } else if (shape.kind == ScheduleKind::zbV) {
      schedule.passes.push_back(makeZbV(shape, position));
    } else if (!block.empty()) {
      schedule.passes.push_back(
          repeatBlock(block[position], shape.microBatches));
    } else {
      schedule.passes.push_back(alternate(shape, position));
    }
  }
  return schedule;
}

PipelineSchedule parplan::makeSchedule(const ScheduleShape &shape,
                                       const StageTimes &times,
                                       const Latencies &latencies,
                                       const WaitingRoom &room) {
  PipelineSchedule base = makeOrder(shape);
  PARPLAN_CHECK(static_cast<int64_t>(times.size()) == shape.getStageCount(),
                "times of ", times.size(), " stages, not ",
                shape.getStageCount());
  std::optional<std::string> refusal = getRefusal(shape, room);
  PARPLAN_CHECK(!refusal, *refusal);
  return splitsBackward(shape.kind)
             ? fillWeightGradients(base, times, latencies, room)
             : base;
}

PipelineSchedule parplan::makeSchedule(const ScheduleShape &shape) {
  return makeSchedule(shape, getEqualTimes(shape));
}
