//===- Never.h - When what does not happen does -----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SUPPORT_NEVER_H
#define PARPLAN_SUPPORT_NEVER_H

#include <limits>

namespace parplan {

/// Seconds until what does not happen: the step of a plan that there is none
/// of, a cutoff that nothing reaches.
inline constexpr double never = std::numeric_limits<double>::infinity();

} // namespace parplan

#endif // PARPLAN_SUPPORT_NEVER_H
