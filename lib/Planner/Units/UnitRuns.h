//===- UnitRuns.h - When ops of a unit run and what they read ---*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITRUNS_H
#define PARPLAN_LIB_PLANNER_UNITRUNS_H

#include "UnitRemaking.h"
#include "UnitSample.h"

#include "parplan/Planner/Evaluator.h"

#include <vector>

namespace parplan {

/// A run of an op of a unit reads a value.
struct UnitRead {
  int op, position;
  Phase phase;
  CopyReader reader;
};

/// What a kind of units runs for a micro-batch, where some of it is made again.
struct UnitRuns {
  struct Run {
    int op;
    bool isRemade;
    Phase phase;
  };

  UnitRuns(const UnitSample &sample, int kind, const UnitRemaking &remaking);

  /// The ops of the unit in their order, with what is made again before what
  /// needs it.
  std::vector<Run> all;
  /// Per value of the sample what reads it, and what reads it once made again:
  /// those of earlier passes first, whatever the order of the program.
  std::vector<std::vector<UnitRead>> readsOf, remadeReadsOf;
  std::vector<bool> isRemade;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITRUNS_H
