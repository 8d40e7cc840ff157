//===- Machine.h - Runs the body of one function ----------------*- C++ -*-===//
//
// Part of parplan. Private to the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_INTERPRETER_MACHINE_H
#define PARPLAN_LIB_INTERPRETER_MACHINE_H

#include "lib/Interpreter/Families.h"

namespace parplan {

/// Runs the body of a function. A local program has one value per rank, a
/// global one a single value, which moves do not change. The program of a
/// pipeline position has values on all ranks of the mesh; those of other
/// positions are those that they would have here.
class Machine {
public:
  Machine(const InitializerValues &initializers, const Mesh *mesh,
          RankObserver observer);

  /// Stands at the first op.
  void start(mlir::func::FuncOp function, std::vector<Values> arguments);
  /// Runs up to an op that needs other positions, or to the terminator.
  mlir::LogicalResult advance();
  /// Runs everything; null results where that fails.
  mlir::FailureOr<std::vector<Values>> run(mlir::func::FuncOp function,
                                           std::vector<Values> arguments);

  mlir::Operation *getNext() const { return next; }
  bool isAtEnd() const { return next->hasTrait<mlir::OpTrait::IsTerminator>(); }
  /// Goes on behind the op at which it stands.
  void skip() { next = next->getNextNode(); }
  const Values &get(mlir::Value value) const {
    return blocks.find(value)->second;
  }
  mlir::LogicalResult define(mlir::OpResult result, Values values);
  std::vector<Values> getResults() const;

private:
  bool needsOthers(mlir::Operation *op) const;
  mlir::LogicalResult evaluate(mlir::Operation *op);
  mlir::LogicalResult evaluateOnRanks(mlir::Operation *op);
  mlir::LogicalResult evaluateParameter(ParameterOp op);
  mlir::LogicalResult evaluateBucketParameter(BucketParameterOp op);
  mlir::LogicalResult evaluateBlockStart(BlockStartOp op);
  /// What all ranks hold of the operands.
  llvm::SmallVector<const Values *> getOperands(mlir::Operation *op);
  mlir::LogicalResult evaluatePanelMatmul(PanelMatmulOp op);
  mlir::LogicalResult evaluateRingOp(mlir::Operation *op);
  mlir::LogicalResult evaluateClearing(ClearPaddingOp op);
  void clear(ClearPaddingOp op, Tensor &value, int64_t rank);

  const InitializerValues &initializers;
  const Mesh *mesh;
  RankObserver observer;
  int64_t rankCount;
  llvm::StringRef pipelineAxis;
  mlir::Operation *next = nullptr;
  llvm::DenseMap<mlir::Value, Values> blocks;
};

} // namespace parplan

#endif // PARPLAN_LIB_INTERPRETER_MACHINE_H
