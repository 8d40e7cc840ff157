//===- UnitRemaking.h - What a unit makes again -----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITREMAKING_H
#define PARPLAN_LIB_PLANNER_UNITREMAKING_H

#include "UnitSample.h"

#include "parplan/Planner/UnitOracles.h"

namespace parplan {

/// What a mode makes again for the backward pass of a unit.
struct UnitRemaking {
  /// Per op of the sample; of other kinds unset.
  std::vector<bool> recomputed;
  bool gathersAgain = false;

  bool operator==(const UnitRemaking &other) const = default;
};

/// Whether copies of a value are made again: those of what crosses a boundary
/// are of the unit that reads them.
bool gathersAgain(const UnitSample &sample, int value,
                  const UnitRemaking &remaking);

UnitRemaking getRemaking(const UnitSample &sample, int kind, UnitMode mode);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITREMAKING_H
