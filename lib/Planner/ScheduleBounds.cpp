//===- ScheduleBounds.cpp - Steps are not shorter than this ---------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/ScheduleBounds.h"

#include <algorithm>
#include <array>
#include <map>

using namespace parplan;

/// Micro-batches in flight during the first backward pass of schedules whose
/// order has no short formula; made once for each shape.
static std::vector<int64_t> countInOrder(ScheduleShape shape,
                                         int64_t position) {
  // What comes after the warm-up does not change what comes before.
  shape.microBatches = std::min(shape.microBatches, 2 * shape.positions + 2);
  using Counts = std::vector<std::vector<int64_t>>;
  static thread_local std::map<std::array<int64_t, 3>, Counts> known;
  auto [it, isNew] = known.try_emplace(
      {static_cast<int64_t>(shape.kind), shape.positions, shape.microBatches});
  if (isNew)
    for (PipelineSchedule schedule = makeSchedule(shape);
         const std::vector<Pass> &passes : schedule.passes) {
      it->second.emplace_back(shape.chunks, 0);
      for (const Pass &pass : passes) {
        if (pass.kind != PassKind::forward)
          break;
        ++it->second.back()[pass.chunk];
      }
    }
  return it->second[position];
}

std::vector<int64_t> parplan::getLeastInFlight(const ScheduleShape &shape,
                                               int64_t position) {
  int64_t batches = shape.microBatches;
  int64_t below = shape.positions - position;
  switch (shape.kind) {
  case ScheduleKind::forwardOnly:
    return std::vector<int64_t>(shape.chunks, 0);
  case ScheduleKind::gpipe:
    return {batches};
  case ScheduleKind::oneForwardOneBackward:
  case ScheduleKind::zbH1:
    return {std::min(batches, below)};
  case ScheduleKind::oneForwardOneBackwardEager:
  case ScheduleKind::zbH2:
    return {std::min(batches, 2 * below - 1)};
  case ScheduleKind::zbV:
    return {std::min(batches, 2 * shape.positions - position - 1),
            std::min(batches, position + 1)};
  case ScheduleKind::interleaved: {
    // Groups of micro-batches visit the chunks in turn.
    int64_t left = getInFlightLimit(shape, position);
    int64_t groups = std::max<int64_t>(1, batches / shape.positions);
    std::vector<int64_t> counts(shape.chunks, 0);
    for (int64_t group = 0; group < groups && left > 0; ++group) {
      int64_t size = batches / groups + (group < batches % groups ? 1 : 0);
      for (int64_t &count : counts) {
        int64_t taken = std::min(size, left);
        count += taken;
        left -= taken;
      }
    }
    return counts;
  }
  case ScheduleKind::vHalf:
  case ScheduleKind::vMin:
    return countInOrder(shape, position);
  }
  return {};
}

/// Before its first backward pass, in the last chunk, a micro-batch went
/// through all stages and back; the centre has run only so many forward passes
/// by then. `plain` is that the centre runs all it has.
static StepBound goAround(const ScheduleShape &shape, StepBound plain) {
  int64_t centre = plain.centre;
  size_t chunks = shape.chunks;
  std::vector<int64_t> ahead = getLeastInFlight(shape, centre);
  StepBound around = std::move(plain);
  int64_t turn = getStage(shape, centre, shape.chunks - 1);
  int64_t boundaries = shape.getStageCount() - 1;
  around.messages = static_cast<double>(2 * boundaries - turn);
  if (isVee(shape.kind)) {
    // The turn of the way needs no message.
    around.messages -= turn < shape.positions ? 2 : 1;
  }
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    around.before[chunk] = around.behind[chunk] = {1, 0, 0};
    around.ofCentre[chunk].forward =
        1 + static_cast<double>(shape.microBatches - ahead[chunk]);
  }
  // What the way back has of a stage.
  auto &afterTurn = (isVee(shape.kind) ? around.before : around.behind);
  afterTurn[chunks - 1].inputGradient += 1;
  afterTurn[chunks - 1].weightGradient += splitsBackward(shape.kind) ? 0 : 1;
  return around;
}

std::vector<StepBound> parplan::getStepBounds(const ScheduleShape &shape,
                                              bool meets, int64_t centre) {
  bool isBack = hasBackward(shape.kind), isSplit = splitsBackward(shape.kind);
  auto batches = static_cast<double>(shape.microBatches);
  size_t chunks = shape.chunks;
  int64_t last = shape.positions - 1;
  PassWeights whole{batches, isBack ? batches : 0, isBack ? batches : 0};
  PassWeights forward{1, 0, 0};

  StepBound plain;
  plain.centre = plain.meeting = centre;
  plain.before.resize(chunks);
  plain.behind.resize(chunks);
  plain.ofCentre.assign(chunks, whole);
  if (!meets && !isBack)
    return {plain};
  if (!meets) {
    // The centre begins a step behind all its passes of the one before, while
    // those before it may be further.
    StepBound around = goAround(shape, plain);
    around.before[0].forward -= 1;
    around.messages -= static_cast<double>(centre);
    return {plain, around};
  }

  // The first forward pass of the centre follows those of the positions before
  // it, in the first chunk.
  std::vector<StepBound> bounds;
  StepBound there = plain;
  there.before[0] = forward;
  there.messages = static_cast<double>(centre);
  if (!isBack) {
    // The last one is followed by those of the positions behind it, in the last
    // chunk.
    there.behind[chunks - 1] = forward;
    there.messages = static_cast<double>(last);
    there.meeting = last;
    bounds.push_back(there);
    there = plain;
    there.before[0] = forward;
    there.messages = static_cast<double>(centre);
    if (centre != last)
      bounds.push_back(there);
    return bounds;
  }
  bounds.push_back(there);

  // Unless weight gradients are left, the last pass of the centre is a backward
  // pass in the first chunk, and those of the positions before it follow.
  auto goBack = [&](StepBound bound) {
    bound.before[0].inputGradient += 1;
    bound.before[0].weightGradient += 1;
    bound.messages += static_cast<double>(centre);
    bound.meeting = 0;
    return bound;
  };
  if (!isSplit && centre > 0)
    bounds.push_back(goBack(there));

  StepBound around = goAround(shape, plain);
  bounds.push_back(around);
  if (!isSplit && centre > 0)
    bounds.push_back(goBack(around));
  return bounds;
}

double parplan::getSeconds(const StepBound &bound, const ScheduleShape &shape,
                           const StageTimes &times,
                           const std::vector<OnceTimes> &once,
                           double leastMessageSeconds) {
  double sum = bound.messages * leastMessageSeconds +
               once[bound.meeting].meetingSeconds +
               once[bound.centre].endsSeconds;
  for (int64_t position = 0; position < shape.positions; ++position) {
    const auto &weights = position < bound.centre    ? bound.before
                          : position == bound.centre ? bound.ofCentre
                                                     : bound.behind;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      sum += weights[chunk].get(times[getStage(shape, position, chunk)]);
  }
  return sum;
}
