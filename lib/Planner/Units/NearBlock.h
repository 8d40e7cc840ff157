//===- NearBlock.h - What is nearly one more block --------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_NEARBLOCK_H
#define PARPLAN_LIB_PLANNER_NEARBLOCK_H

#include "lib/Planner/Problem/Contents.h"

#include "parplan/Planner/Folding.h"

namespace parplan {

/// The forward ops right behind a run of blocks that are one more block but for
/// what they cost; empty: there are none. The sum that ends the last block of a
/// transformer has one reader, a norm, where those of other blocks have two,
/// and is computed in its kernel. Where units are parted decides what stages
/// may begin with and which work is shared, no cost.
std::vector<int> findNearBlock(const PlanningProblem &problem,
                               const Contents &contents, const Folding &folding,
                               const Folding::Run &run);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_NEARBLOCK_H
