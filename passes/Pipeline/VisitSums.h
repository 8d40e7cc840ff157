//===- VisitSums.h - Gradients that are reduced once per visit --*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PIPELINE_VISITSUMS_H
#define PARPLAN_PASSES_PIPELINE_VISITSUMS_H

#include "dialects/parplan/ParplanOps.h"

namespace parplan {

/// A sum over micro-batches of what comes through moves, linear as they are:
/// what one visit contributes can be added up before them.
struct VisitSum {
  /// What a micro-batch contributes, before the first move.
  mlir::Value leaf;
  /// From the leaf to the sum, which is the last one.
  llvm::SmallVector<mlir::Operation *> ops;
};

/// Nothing where `sum` has no `parplan.per_visit`, reads no moves with
/// communication, something else reads what is in between, or the leaf is not
/// the only result of its op.
std::optional<VisitSum> findVisitSum(AccumulateOp sum);

} // namespace parplan

#endif // PARPLAN_PASSES_PIPELINE_VISITSUMS_H
