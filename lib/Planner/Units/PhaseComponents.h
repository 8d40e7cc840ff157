//===- PhaseComponents.h - Where seconds and bytes are counted --*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PHASECOMPONENTS_H
#define PARPLAN_LIB_PLANNER_PHASECOMPONENTS_H

#include "UnitSample.h"

namespace parplan {

/// The place of a phase in `Components`, with that of the seconds which are
/// spent before all positions meet, and of bytes.
inline constexpr int meeting = 3, ends = 4, permanent = 5, saved = 6,
                     waiting = 7;

/// Where the seconds of an op in a phase are counted.
inline int getComponent(const UnitSample &sample, int op, Phase phase) {
  switch (phase) {
  case Phase::start:
    return ends;
  case Phase::forward:
    return 0;
  case Phase::inputGradient:
    return 1;
  case Phase::weightGradient:
    return 2;
  case Phase::end:
    return sample.isBeforeMeeting[op] ? meeting : ends;
  }
  return ends;
}

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PHASECOMPONENTS_H
