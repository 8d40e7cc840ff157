//===- LaneBuilder.h - Builds what experts compute, as one ------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_LANEBUILDER_H
#define PARPLAN_PASSES_SIMPLIFY_LANEBUILDER_H

#include "passes/Simplify/ExpertGates.h"
#include "passes/Simplify/ExpertLanes.h"
#include "passes/Simplify/ExpertRows.h"

namespace parplan::simplify {

/// Builds the values of all experts in one: [e, *t, rest..].
class LaneBuilder {
public:
  /// Of so many experts.
  LaneBuilder(const ExpertRouting &routing, int64_t expertCount,
              InitializerStacks &stacks, Rewriter &rewriter)
      : stacks(stacks), rewriter(rewriter),
        rows(routing.experts, expertCount, rewriter) {}

  mlir::Value build(Lanes *lanes);

private:
  mlir::Value buildNew(const Lanes &lanes);
  mlir::Value buildTokens(const Lanes &lanes);
  mlir::Value buildSlice(const Lanes &lanes, SliceOp slice);
  mlir::Value buildElementwise(const Lanes &lanes, mlir::Operation *op);
  mlir::Value buildProduct(const Lanes &lanes, MatmulOp product);
  llvm::SmallVector<int64_t> getShapeOf(const Lanes &lanes) const;

  InitializerStacks &stacks;
  Rewriter &rewriter;
  RowBuilder rows;
  llvm::DenseMap<Lanes *, mlir::Value> built;
};

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_LANEBUILDER_H
