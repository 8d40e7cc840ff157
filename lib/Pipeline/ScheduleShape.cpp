//===- ScheduleShape.cpp - Kinds, placements and what is in flight --------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "InterleavedGroups.h"

#include "parplan/Pipeline/Timeline.h"

#include "parplan/Support/Check.h"

#include <algorithm>

using namespace parplan;

const std::vector<ScheduleKind> &parplan::getScheduleKinds() {
  static const std::vector<ScheduleKind> kinds = {
      ScheduleKind::gpipe,
      ScheduleKind::oneForwardOneBackward,
      ScheduleKind::oneForwardOneBackwardEager,
      ScheduleKind::interleaved,
      ScheduleKind::zbH1,
      ScheduleKind::zbH2,
      ScheduleKind::zbV,
      ScheduleKind::vHalf,
      ScheduleKind::vMin,
      ScheduleKind::forwardOnly,
  };
  return kinds;
}

bool parplan::isVee(ScheduleKind kind) {
  return kind == ScheduleKind::zbV || kind == ScheduleKind::vHalf ||
         kind == ScheduleKind::vMin;
}

bool parplan::splitsBackward(ScheduleKind kind) {
  return isVee(kind) || kind == ScheduleKind::zbH1 ||
         kind == ScheduleKind::zbH2;
}

bool parplan::hasBackward(ScheduleKind kind) {
  return kind != ScheduleKind::forwardOnly;
}

int64_t parplan::getRequiredChunks(ScheduleKind kind) {
  if (isVee(kind))
    return 2;
  if (kind == ScheduleKind::interleaved)
    return 0;
  return kind == ScheduleKind::forwardOnly ? -1 : 1;
}

int64_t parplan::getPosition(const ScheduleShape &shape, int64_t stage) {
  PARPLAN_CHECK(stage >= 0 && stage < shape.getStageCount(), "stage ", stage,
                " of ", shape.getStageCount());
  if (isVee(shape.kind) && stage >= shape.positions)
    return 2 * shape.positions - 1 - stage;
  return stage % shape.positions;
}

int64_t parplan::getChunk(const ScheduleShape &shape, int64_t stage) {
  PARPLAN_CHECK(stage >= 0 && stage < shape.getStageCount(), "stage ", stage,
                " of ", shape.getStageCount());
  return stage / shape.positions;
}

int64_t parplan::getStage(const ScheduleShape &shape, int64_t position,
                          int64_t chunk) {
  if (isVee(shape.kind) && chunk != 0)
    return 2 * shape.positions - 1 - position;
  return chunk * shape.positions + position;
}

double PassTimes::getSeconds(PassKind kind) const {
  switch (kind) {
  case PassKind::forward:
    return forwardSeconds;
  case PassKind::backward:
    return getBackwardSeconds();
  case PassKind::inputGradient:
    return inputGradientSeconds;
  case PassKind::weightGradient:
    return weightGradientSeconds;
  }
  PARPLAN_UNREACHABLE("kind of pass ", static_cast<int>(kind));
}

double Latencies::get(const ScheduleShape &shape, int64_t boundary) const {
  if (getPosition(shape, boundary) == getPosition(shape, boundary + 1))
    return 0;
  if (boundaries.empty())
    return everywhere;
  PARPLAN_CHECK(boundary < static_cast<int64_t>(boundaries.size()),
                "no latency of boundary ", boundary);
  return boundaries[boundary];
}

StageTimes parplan::getEqualTimes(const ScheduleShape &shape) {
  return StageTimes(shape.getStageCount());
}

Meeting parplan::getMeeting(Meeting ofModel, const ScheduleShape &shape) {
  if (ofModel != Meeting::ofEnds)
    return ofModel;
  bool isApart =
      getPosition(shape, 0) != getPosition(shape, shape.getStageCount() - 1);
  return isApart ? Meeting::always : Meeting::never;
}

int64_t parplan::getInFlightLimit(const ScheduleShape &shape,
                                  int64_t position) {
  int64_t count = shape.positions, batches = shape.microBatches;
  int64_t chunks = shape.chunks, below = count - position;
  switch (shape.kind) {
  case ScheduleKind::gpipe:
    return batches;
  case ScheduleKind::oneForwardOneBackward:
    return std::min(batches, below);
  case ScheduleKind::oneForwardOneBackwardEager:
    return std::min(batches, 2 * below - 1);
  case ScheduleKind::interleaved:
    return std::min(batches * chunks,
                    2 * below - 1 +
                        (chunks - 1) * getInterleavedGroups(shape).front());
  case ScheduleKind::zbH1:
    return std::min(batches, count);
  case ScheduleKind::zbH2:
    return std::min(batches, 2 * count - 1);
  case ScheduleKind::zbV:
    return std::min(2 * batches, 2 * count);
  case ScheduleKind::vHalf:
    return std::min(2 * batches, count + 2 - count % 2);
  case ScheduleKind::vMin:
    return std::min(2 * batches, (2 * count + 2) / 3 + 2);
  case ScheduleKind::forwardOnly:
    return 0;
  }
  PARPLAN_UNREACHABLE("kind of schedule ", static_cast<int>(shape.kind));
}

int64_t parplan::getInFlightPeak(const PipelineSchedule &schedule,
                                 int64_t position) {
  if (!hasBackward(schedule.shape.kind))
    return 0;
  int64_t live = 0, peak = 0;
  for (const Pass &pass : schedule.passes[position]) {
    live += pass.kind == PassKind::forward;
    peak = std::max(peak, live);
    live -= pass.kind == PassKind::backward ||
            pass.kind == PassKind::weightGradient;
  }
  return peak;
}
