//===- LinearStep.h - Chains of linears, forward and backward ---*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_STRATEGIES_LINEARSTEP_H
#define PARPLAN_TEST_UNIT_STRATEGIES_LINEARSTEP_H

#include "StepBuilder.h"

namespace parplan::test {

/// How one linear is spread: layouts at rest of W [k, n] and Y [m, n], and the
/// factors of Y = X W. Its gradients have the same factors (S13) and, unless
/// others are given, the same panels.
struct LinearPlan {
  std::string w, y, factors;
};

/// What follows from linear to linear. Gradients rest as their values do.
struct ChainPlan {
  /// Of X [m, k].
  std::string x;
  std::vector<LinearPlan> linears;
  /// Copies of X and of the weights are made again for the backward pass.
  bool gathersAgain = false;
  /// The input is added to the output.
  bool hasResidual = false;
};

/// Rows, then the columns of X and of every Y.
struct ChainSizes {
  int64_t rows;
  std::vector<int64_t> columns;
};

/// A step with the arguments X and the gradient of the last Y; it returns the
/// last Y and, if it is `withBackward`, the gradients of X and of all weights,
/// the last one first. Weights are the parameters w0, w1, ...
Step makeChain(const Mesh &mesh, const ChainPlan &plan, const ChainSizes &sizes,
               bool withBackward, Random &random);

/// A mesh of the axes of `names`, each a letter: one axis of 2 to 4 ranks, or
/// several that together have at most 12.
Mesh drawMesh(const std::string &names, Random &random);

/// A size that all ranks of `mesh` divide or, not `dividing`, any size that is
/// large enough for formulas on padded sizes to hold: at least as many elements
/// as ranks, and, of g ranks along an axis, padded by no more than a g-th part.
/// Below that reshards find cheaper ways, through a dimension with less
/// padding.
int64_t drawSize(const Mesh &mesh, bool dividing, Random &random);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_STRATEGIES_LINEARSTEP_H
