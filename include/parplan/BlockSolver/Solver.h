//===- Solver.h - A plan, a bound, and how they were found ------*- C++ -*-===//
//
// Part of parplan. No MLIR and no files in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_BLOCKSOLVER_SOLVER_H
#define PARPLAN_BLOCKSOLVER_SOLVER_H

#include "parplan/BlockSolver/Problem.h"

#include <functional>

namespace parplan::block {

/// Which code adds and compares vectors. All give the same bits.
enum class Kernel { best, generic, avx512 };

/// Whether this processor has what a kernel needs; else the generic one runs.
bool hasKernel(Kernel kernel);

struct SolverOptions {
  /// Wall time, reductions included. These and the first round, which is
  /// short, are done in any case; no other round begins that seems to end
  /// later.
  double seconds = 60;
  /// Rounds at most; 0: as many as there is time for. Answers depend on the
  /// problem, the seed and the number of rounds alone, so they are the same
  /// wherever all rounds are done in time.
  int64_t rounds = 0;
  uint64_t seed = 1;
  Kernel kernel = Kernel::best;
  /// The two sides of a round run at the same time; the answer is the same.
  bool useThreads = true;
};

/// A little less than two quiet cores of a server do.
constexpr double roundsPerSecond = 5;

/// What is known after a round.
struct Progress {
  int64_t round = 0;
  double seconds = 0;
  double cost = forbidden;
  double lowerBound = -forbidden;
  /// Of the network that is left.
  int nodes = 0;
  int64_t values = 0;
  int times = 0;
  int livePrices = 0;
  int64_t passes = 0;
  int64_t episodes = 0;
};

struct Solution {
  /// Empty: none was found. Else they fit, and cost `cost`.
  Choices choices;
  double cost = forbidden;
  /// No choices that fit cost less: what rounding may have added is taken off,
  /// also where the whole problem was solved. `forbidden`: there are none.
  double lowerBound = -forbidden;
  /// The last round.
  Progress progress;

  bool isOptimal() const { return !choices.empty() && lowerBound >= cost; }
};

/// `problem` has no fault.
Solution solve(const Problem &problem, const SolverOptions &options,
               const std::function<void(const Progress &)> &report = {});

} // namespace parplan::block

#endif // PARPLAN_BLOCKSOLVER_SOLVER_H
