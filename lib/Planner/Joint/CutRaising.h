//===- CutRaising.h - The least step within the memory ----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_CUTRAISING_H
#define PARPLAN_LIB_PLANNER_CUTRAISING_H

#include "CutBound.h"
#include "MemoryDual.h"

namespace parplan {

/// Raises centres of the best cut of `bound` to what they cost within so many
/// bytes of a rank, until a cut is the best one with all of its centres raised
/// that matter: a cut takes as long as its dearest centre. None of at most
/// `cutoff` seconds: an empty path. `countsWaiting`: what waits for weight
/// gradients has bytes, too, which takes far longer among many positions.
CutPath raiseCut(CutBound &bound, const ScheduleShape &shape,
                 const UnitChain &chain, MemoryDual &dual, double freeBytes,
                 double cutoff, bool countsWaiting = true);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_CUTRAISING_H
