//===- WaitingRooms.h - How much may wait for weight gradients --*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PIPELINE_WAITINGROOMS_H
#define PARPLAN_PIPELINE_WAITINGROOMS_H

#include "parplan/Pipeline/Schedule.h"

#include <algorithm>
#include <functional>

namespace parplan {

/// Why a schedule of the shape cannot have that room; none if it can.
std::optional<std::string> getRefusal(const ScheduleShape &shape,
                                      const WaitingRoom &room);

/// The most that micro-batches of a position have together during a pass.
std::vector<int64_t> getPeakBytes(const PipelineSchedule &schedule,
                                  const std::vector<PassBytes> &stages);

/// How good a room is: by what its schedule takes beyond what there is, then by
/// the seconds of a step.
struct RoomRank {
  int64_t excessBytes = 0;
  double seconds = 0;

  /// Seconds up to 1e-9 more are equal.
  bool isNoWorseThan(const RoomRank &other) const {
    return excessBytes < other.excessBytes ||
           (excessBytes == other.excessBytes &&
            seconds <= other.seconds * (1 + 1e-9));
  }
  /// What others are to be measured by where this one takes the place of
  /// `other`, which is no better: of equal ones the fastest.
  RoomRank replacing(const RoomRank &other) const {
    return {excessBytes, excessBytes == other.excessBytes
                             ? std::min(seconds, other.seconds)
                             : seconds};
  }
};

/// The room with which a schedule is fastest: at most `widest`, or less where
/// that hurries less (a greedy order runs gradients of inputs too early), and
/// of equal ones a small one: less for all positions, then for each by itself
/// where that takes few simulations. Not limited where only the schedule
/// without a limit is as fast, and fits; where none fits, the one that exceeds
/// `widest` least. Looks at fewer rooms of long schedules. `getSeconds`: of a
/// step.
WaitingRoom
chooseRoom(const ScheduleShape &shape, const StageTimes &times,
           const Latencies &latencies, const WaitingRoom &widest,
           const std::function<double(const PipelineSchedule &)> &getSeconds);

} // namespace parplan

#endif // PARPLAN_PIPELINE_WAITINGROOMS_H
