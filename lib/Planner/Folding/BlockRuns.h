//===- BlockRuns.h - Where a model repeats itself ---------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_BLOCKRUNS_H
#define PARPLAN_LIB_PLANNER_BLOCKRUNS_H

#include "lib/Planner/Problem/Contents.h"

namespace parplan {

/// `count` equal blocks of `period` ops each, one behind the other, by the
/// numbers of forward ops.
struct BlockRun {
  int start = 0;
  int period = 0;
  int count = 0;

  int getEnd() const { return start + period * count; }
};

/// The runs of equal blocks among `forward`, the forward ops in program order;
/// disjoint and ascending. Ops a period apart have the same content and read,
/// operand by operand, the same value, values of the same content that no op
/// made, or what ops a period apart made; the first block may read what was
/// made before it where the others read the block before theirs. Every block
/// reads some value of the block before it, so that equal branches side by
/// side, such as queries, keys and values, are none.
///
/// Distances between neighbours of equal content vote for periods; the best are
/// swept for the longest run, and what is left of it and right of it likewise.
/// A run begins where the fewest bytes cross. Periods of fewer than `leastOps`
/// are multiplied until they have as many.
std::vector<BlockRun> findBlockRuns(const PlanningProblem &problem,
                                    const Contents &contents,
                                    llvm::ArrayRef<int> forward,
                                    int64_t leastOps);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_BLOCKRUNS_H
