//===- StageFlow.h - Stages and passes of the ops of a step -----*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PIPELINE_STAGEFLOW_H
#define PARPLAN_PASSES_PIPELINE_STAGEFLOW_H

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Pipeline/Schedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace parplan {

/// How a function is cut into stages, by its attributes.
struct PipelineCut {
  ScheduleShape shape;
  StageTimes times;
  Latencies latencies;
  WaitingRoom room;
  /// The axis of the mesh that numbers the positions.
  AxisListAttr axes;
  std::optional<PipelineSchedule> table;

  int64_t getPosition(mlir::Operation *op) const {
    return parplan::getPosition(shape, *getStage(op));
  }
  /// The passes of a step: those of the table if there is one.
  PipelineSchedule makeSchedule() const {
    return table ? *table
                 : parplan::makeSchedule(shape, times, latencies, room);
  }
};

/// None for a function without `parplan.pipeline_schedule`. Fails, with a
/// diagnostic, on a schedule that cannot be and on stages that it lacks.
mlir::FailureOr<std::optional<PipelineCut>>
readPipelineCut(mlir::func::FuncOp function);

/// Ops that depend on parameters, constants and numbers of the schedule alone,
/// but updates: every position makes them for itself.
llvm::DenseSet<mlir::Operation *> findFreeOps(mlir::func::FuncOp function);

/// The values of ops with a stage, and the arguments, from which `values` come
/// through ops that every position makes for itself.
llvm::SmallVector<mlir::Value> getStagedSources(mlir::ValueRange values);

/// The parameters from which `values` come in the same way.
llvm::SmallVector<ParameterOp> getParameters(mlir::ValueRange values);

/// The passes that run the per-micro-batch ops of a function. What reads a
/// value of the backward pass belongs to it whatever its role. Where the
/// backward pass is `split`, an op of the gradients of weights from which one
/// of inputs follows, or that another stage reads, counts among those.
llvm::DenseMap<mlir::Operation *, PassKind>
findPassKinds(mlir::func::FuncOp function, bool split);

} // namespace parplan

#endif // PARPLAN_PASSES_PIPELINE_STAGEFLOW_H
