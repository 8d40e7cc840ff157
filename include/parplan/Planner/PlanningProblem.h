//===- PlanningProblem.h - What is to be planned ----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. A value: two equal problems have
// equal plans.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_PLANNINGPROBLEM_H
#define PARPLAN_PLANNER_PLANNINGPROBLEM_H

#include "parplan/CostModel/OpCost.h"

#include <string>
#include <vector>

namespace parplan {

enum class ValueKind { input, parameter, constant, activation };

/// A tensor of the graph, with its global shape.
struct PlanningValue {
  std::string name;
  ValueKind kind = ValueKind::activation;
  llvm::SmallVector<int64_t> shape;
  int64_t elementBytes = 4;
  /// Returned by the step: complete and not stored at rest.
  bool isOutput = false;
  /// The dimension that carries the batch, or -1.
  int batchDimension = -1;
};

/// An operation, in program order. Operands and results are indices of values;
/// every value that is neither input, parameter nor constant has one producer.
struct PlanningOp {
  /// Name and operator type of the ONNX node, for `--force` and reports.
  std::string node;
  std::string type;
  int64_t nodeIndex = -1;
  ShardingRule rule;
  OpWork work;
  llvm::SmallVector<int, 3> operands;
  llvm::SmallVector<int, 1> results;
  /// The factor that carries the batch, or -1: the only one that data axes may
  /// split.
  int batchFactor = -1;
  /// Equal blocks of the model share a number; -1 outside blocks.
  int64_t block = -1;
};

struct PlanningProblem {
  std::vector<PlanningValue> values;
  std::vector<PlanningOp> ops;
  /// Bytes that every rank needs whatever the plan (workspaces).
  int64_t fixedBytes = 0;
};

/// Checks that the problem is complete: indices in range, producers before
/// users, rules that fit shapes. Returns what is wrong, or nullopt.
std::optional<std::string> verifyProblem(const PlanningProblem &problem);

} // namespace parplan

#endif // PARPLAN_PLANNER_PLANNINGPROBLEM_H
