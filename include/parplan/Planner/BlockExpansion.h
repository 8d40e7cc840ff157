//===- BlockExpansion.h - Problems with more equal blocks -------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// Models that differ in the number of their equal blocks have steps that differ
// in copies of one block: of what it computes, of its gradients, sums and
// updates, each behind those of the block before it or, in the backward pass,
// before them. So the step of 1,024 blocks follows from the step of a few.
//
//   forward  a0 a1 a2 a3   backward  b3 b2 b1 b0   updates  c0 c1 c2 c3
//
// with one more copy of the third block:
//
//   a0 a1 a2 a2' a3   b3 b2' b2 b1 b0   c0 c1 c2 c2' c3
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_BLOCKEXPANSION_H
#define PARPLAN_PLANNER_BLOCKEXPANSION_H

#include "parplan/Planner/Folding.h"

#include <optional>
#include <string>
#include <vector>

namespace parplan {

struct ExpandedProblem {
  /// What an op or value is a copy of.
  struct Origin {
    /// Its number in the problem with fewer blocks.
    int number = 0;
    /// How many blocks were put before it: 0 before the new ones.
    int64_t shift = 0;
  };

  PlanningProblem problem;
  std::vector<Origin> ops, values;
};

/// The problem with `count` more blocks in a run of `folding`, which folds
/// `problem`. Nodes and names are those of what was copied; blocks and groups
/// are numbered as extraction does. Takes time in proportion to the result.
///
/// Returns nullopt, and the reason, where the run has fewer than five blocks,
/// its inner ones are not equal, or something reads a block that is not its
/// neighbour and not all of them alike.
std::optional<ExpandedProblem> expandBlocks(const PlanningProblem &problem,
                                            const Folding &folding, int run,
                                            int64_t count, std::string &reason);

} // namespace parplan

#endif // PARPLAN_PLANNER_BLOCKEXPANSION_H
