//===- SmallProblems.h - Random problems that can be enumerated -*- C++ -*-===//

#ifndef PARPLAN_TEST_UNIT_BLOCKSOLVER_SMALLPROBLEMS_H
#define PARPLAN_TEST_UNIT_BLOCKSOLVER_SMALLPROBLEMS_H

#include "parplan/BlockSolver/Problem.h"

namespace parplan::block {

/// At most seven nodes of at most four values, with integer costs, parallel
/// edges and edges of a node with itself, tables that tie two nodes, intervals
/// that are empty, and limits from hopeless to idle.
Problem makeSmallProblem(uint64_t seed);

/// A ring of nodes with chords, where neither reductions nor the dual suffice.
Problem makeRing(uint64_t seed, int nodes);

/// A square of nodes of three values, of equal costs but for a fifth, and a
/// limit that binds: what every plan costs is far above any single cost.
Problem makeGrid(uint64_t seed, int side);

/// The least cost of all answers that fit; `forbidden` if there is none.
double findMinimum(const Problem &problem);

} // namespace parplan::block

#endif // PARPLAN_TEST_UNIT_BLOCKSOLVER_SMALLPROBLEMS_H
