//===- LaneBuilder.h - Builds what experts compute, as one ------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_LANEBUILDER_H
#define PARPLAN_PASSES_SIMPLIFY_LANEBUILDER_H

#include "passes/Simplify/ExpertGates.h"
#include "passes/Simplify/ExpertLanes.h"

namespace parplan::simplify {

/// Builds the values of all experts in one: [e, *t, rest..].
class LaneBuilder {
public:
  LaneBuilder(const ExpertRouting &routing, InitializerStacks &stacks,
              Rewriter &rewriter)
      : routing(routing), stacks(stacks), rewriter(rewriter) {}

  mlir::Value build(Lanes *lanes);

private:
  mlir::Value buildNew(const Lanes &lanes);
  mlir::Value buildTokens(const Lanes &lanes);
  mlir::Value buildSlice(const Lanes &lanes, SliceOp slice);
  mlir::Value buildElementwise(const Lanes &lanes, mlir::Operation *op);
  mlir::Value buildProduct(const Lanes &lanes, MatmulOp product);
  llvm::SmallVector<int64_t> getShapeOf(const Lanes &lanes) const;

  const ExpertRouting &routing;
  InitializerStacks &stacks;
  Rewriter &rewriter;
  llvm::DenseMap<Lanes *, mlir::Value> built;
  llvm::DenseMap<mlir::Value, mlir::Value> dispatched;
};

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_LANEBUILDER_H
