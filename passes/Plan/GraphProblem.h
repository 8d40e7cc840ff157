//===- GraphProblem.h - The planning problem of a function ------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PLAN_GRAPHPROBLEM_H
#define PARPLAN_PASSES_PLAN_GRAPHPROBLEM_H

#include "parplan/Planner/PlanningAnswer.h"

#include "mlir/IR/Value.h"

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace parplan {

/// A function as a planning problem, and what its entries stand for.
struct GraphProblem {
  PlanningProblem problem;
  /// Per planning op its operation; per planning value its value.
  std::vector<mlir::Operation *> ops;
  std::vector<mlir::Value> values;
};

/// Extracts the problem of `function`, whose types are global. `getNodeName`
/// gives the name of an ONNX node by its index.
///
/// Parameters and constants become values without producer: ranks load or make
/// them in the layout that is asked for. The batch is followed from the
/// arguments marked `parplan.batch` through the rules: a factor carries it when
/// it is the major one of an operand's batch dimension. Of a training step,
/// `parplan.group`, `parplan.role`, `parplan.per_micro_batch` and the variables
/// that results replace are taken over.
GraphProblem
extractProblem(mlir::func::FuncOp function,
               llvm::function_ref<std::string(int64_t)> getNodeName);

/// Writes a plan back: the mesh op, `parplan.factors` and `parplan.shardings`
/// on every op, `parplan.sharding` on arguments and results; of a pipeline
/// `parplan.stage` on the ops that one stage makes, and on the function what
/// orders the passes; `parplan.recompute` and `parplan.tier` where they say
/// something. Attributes of an earlier plan go.
void applyAnswer(mlir::func::FuncOp function, const GraphProblem &graph,
                 const PlanningAnswer &answer);

} // namespace parplan

#endif // PARPLAN_PASSES_PLAN_GRAPHPROBLEM_H
