//===- UnitMessages.h - What crosses from unit to unit ----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITMESSAGES_H
#define PARPLAN_LIB_PLANNER_UNITMESSAGES_H

#include "UnitSample.h"

namespace parplan {

/// Per unit the values of a micro-batch that the next unit reads: if there is a
/// cut between them, they are sent, whatever the plan. Whole bytes of each, of
/// the way there or the way back, whichever has fewer. Left out is what both
/// sides may make for themselves.
std::vector<std::vector<int64_t>> getCrossingBytes(const UnitSample &sample,
                                                   const StepUnits &units);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITMESSAGES_H
