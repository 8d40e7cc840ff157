//===- WaitingBound.h - What waiting weight gradients save ------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_WAITINGBOUND_H
#define PARPLAN_LIB_PLANNER_WAITINGBOUND_H

#include "MemoryDual.h"

#include "parplan/Pipeline/Schedule.h"

namespace parplan {

/// Bounds what a position that splits the backward pass takes until its last
/// input gradient: the more weight gradients wait for longer, the sooner that
/// comes, and the more memory they take then. Plans choose how many.
class WaitingBound {
public:
  WaitingBound(const ScheduleShape &shape, MemoryDual &dual, double freeBytes)
      : shape(shape), dual(dual), freeBytes(freeBytes) {}

  /// The least weighted cost over all numbers up to `mostWaiting`. `part` is as
  /// for `MemoryDual`, with all in flight before the first backward pass; the
  /// weights of its weight gradients are replaced. Stops where the cost is
  /// `enough`, or where it cannot be more than is `ignored`.
  double find(int64_t position, const PositionPart &part, int64_t mostWaiting,
              double enough, double ignored);

private:
  /// Where at least `fewest` wait, and at most `most`.
  double getLeast(int64_t position, PositionPart part, int64_t fewest,
                  int64_t most, double enough);

  ScheduleShape shape;
  MemoryDual &dual;
  double freeBytes;
  /// With how many the last position was cheapest.
  int64_t likely = 1;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_WAITINGBOUND_H
