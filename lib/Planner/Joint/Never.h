//===- Never.h - Seconds of what has no plan --------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_NEVER_H
#define PARPLAN_LIB_PLANNER_NEVER_H

#include <limits>

namespace parplan {

/// The seconds of what has no plan, and of a cutoff while there is none.
inline constexpr double never = std::numeric_limits<double>::infinity();

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_NEVER_H
