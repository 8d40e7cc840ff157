//===- PlanningAnswer.h - A plan, and what it costs -------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_PLANNINGANSWER_H
#define PARPLAN_PLANNER_PLANNINGANSWER_H

#include "parplan/Planner/PlanningProblem.h"

namespace parplan {

/// All decisions of a plan. Layouts in use, layouts as made, reshards, bytes
/// and memory follow from it.
struct PlanningAnswer {
  Mesh mesh;
  /// Per op the axes of its factors.
  std::vector<FactorAssignment> assignments;
  /// Per value its sharding at rest: where it was produced or is kept.
  std::vector<Sharding> rest;
  /// Per value whether its copies in other layouts are made again for the
  /// backward pass, in place of being kept for it; empty: of none.
  std::vector<bool> gathersAgain;

  bool isGatheredAgain(size_t value) const {
    return value < gathersAgain.size() && gathersAgain[value];
  }
};

/// What a plan costs, by the evaluator.
struct PlanEvaluation {
  double stepTimeSeconds = 0;
  double computeSeconds = 0;
  double tensorCommunicationSeconds = 0;
  double dataCommunicationSeconds = 0;
  /// Computation of ops with the role of the optimizer; not in
  /// `computeSeconds`.
  double optimizerSeconds = 0;
  /// Highest sum of live bytes of a rank over the program.
  int64_t peakBytes = 0;
  int64_t parameterBytes = 0;
  /// States of the optimizer.
  int64_t optimizerBytes = 0;
  /// Live gradients of parameters at the peak.
  int64_t gradientBytes = 0;
  /// Everything else at the peak.
  int64_t activationBytes = 0;
};

struct Certificate {
  double upperBoundSeconds = 0;
  double lowerBoundSeconds = 0;
  /// The search closed: no better plan exists in the model.
  bool exact = false;
  int64_t explored = 0;
  int64_t pruned = 0;

  double getGap() const {
    return upperBoundSeconds > 0
               ? (upperBoundSeconds - lowerBoundSeconds) / upperBoundSeconds
               : 0;
  }
};

} // namespace parplan

#endif // PARPLAN_PLANNER_PLANNINGANSWER_H
