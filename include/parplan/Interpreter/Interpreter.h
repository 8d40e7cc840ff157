//===- Interpreter.h - Reference values for one or N ranks ------*- C++ -*-===//
//
// Part of parplan.
//
// The meaning of the parplan dialect, executable: slow, plain, in double
// precision. It runs modules of every phase that consist of parplan ops.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_INTERPRETER_INTERPRETER_H
#define PARPLAN_INTERPRETER_INTERPRETER_H

#include "parplan/Interpreter/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringMap.h"

namespace parplan {

/// Values of the initializers, by symbol name, and of optimizer states, by
/// `getSlotName`; states that are not there are zero.
using InitializerValues = llvm::StringMap<Tensor>;

/// The name of a state, which lies as its initializer does.
std::string getSlotName(llvm::StringRef initializer, llvm::StringRef slot);

/// The results of one tensor op on one rank. Fails, with a diagnostic, on ops
/// without values and on indices outside of what they index.
mlir::FailureOr<std::vector<Tensor>>
evaluateOp(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands);

/// Results of a function with global types, before or after partitioning:
/// reshards, moves and collectives do not change the value of the whole.
mlir::FailureOr<std::vector<Tensor>>
interpret(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> arguments,
          const InitializerValues &initializers = {});

/// Sees what every rank holds as a result of an op; failing ends the run.
using RankObserver = llvm::function_ref<mlir::LogicalResult(
    mlir::OpResult, llvm::ArrayRef<Tensor> blocks)>;

/// Results of a localised function on all ranks of the mesh in lock step.
/// Arguments and results are global: they are cut by `parplan.sharding`, and
/// joined with the checks that replicas agree (S5) and padding is zero (S4).
/// A result that is a bucket gives one value per member.
mlir::FailureOr<std::vector<Tensor>>
interpretRanks(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> arguments,
               const InitializerValues &initializers = {},
               RankObserver observer = nullptr);

/// Results of the programs of all pipeline positions, which stand at their
/// positions in `functions`, each with arguments of its own; a message is there
/// once it is sent.
mlir::FailureOr<std::vector<std::vector<Tensor>>>
interpretPositions(llvm::ArrayRef<mlir::func::FuncOp> functions,
                   llvm::ArrayRef<std::vector<Tensor>> arguments,
                   const InitializerValues &initializers = {},
                   RankObserver observer = nullptr);

/// What every rank holds of `value` in `sharding`, which is complete.
std::vector<Tensor> shard(const Tensor &value, const Sharding &sharding,
                          const Mesh &mesh);

/// Inverse of `shard`; an error where replicas differ (S5) or padding is not
/// zero (S4).
std::optional<std::string> unshard(llvm::ArrayRef<Tensor> blocks,
                                   mlir::RankedTensorType globalType,
                                   const Sharding &sharding, const Mesh &mesh,
                                   Tensor &value);

} // namespace parplan

#endif // PARPLAN_INTERPRETER_INTERPRETER_H
