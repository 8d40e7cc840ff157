//===- UnitLifetimes.h - How long values of a unit stay ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITLIFETIMES_H
#define PARPLAN_LIB_PLANNER_UNITLIFETIMES_H

#include "UnitRuns.h"

#include <utility>

namespace parplan {

/// For how much of a step activations of a unit are there: no longer than the
/// evaluator has them, wherever the cuts are and whatever kernels hand on.
class UnitLifetimes {
public:
  /// Both stay.
  UnitLifetimes(const UnitSample &sample, const UnitRuns &runs)
      : sample(sample), runs(runs) {}

  /// It adds up micro-batches.
  bool isSum(int value) const;

  /// The component of its bytes (`PhaseComponents.h`), and how often they
  /// count.
  std::pair<int, double> getLifetime(int value) const;

  /// What is made first and what is made again, of each micro-batch, that the
  /// weight gradients of the unit read.
  double countWaiting(int value) const;

private:
  /// Whether these readers, of one instance of it, may compute it.
  bool mayBeFused(int value, llvm::ArrayRef<UnitRead> reads) const;

  const UnitSample &sample;
  const UnitRuns &runs;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITLIFETIMES_H
