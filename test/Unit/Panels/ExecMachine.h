//===- ExecMachine.h - Runs statements on all ranks -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PANELS_EXECMACHINE_H
#define PARPLAN_TEST_UNIT_PANELS_EXECMACHINE_H

#include "dialects/exec/ExecOps.h"
#include "parplan/Interpreter/Tensor.h"

namespace parplan::test {

/// Runs a program of products, transposes, copies and collectives of f32 on all
/// ranks of its mesh, one statement after the other. Memory begins as NaN: what
/// nobody wrote shows up in what reads it.
class ExecMachine {
public:
  explicit ExecMachine(exec::ProgramOp program);

  /// Writes what every rank holds of input `number`.
  void setInput(size_t number, llvm::ArrayRef<Tensor> blocks);
  /// False at a statement that the machine does not know.
  bool run();
  /// What every rank holds of output `number`.
  std::vector<Tensor> getOutput(size_t number) const;

private:
  exec::BufferOp getBuffer(exec::BufferKind kind, size_t number) const;
  float *at(int64_t rank, mlir::Value value, int64_t offset = 0);

  bool run(mlir::Operation &op);
  void run(exec::LaunchOp op);
  void run(exec::MatmulOp op);
  void run(exec::MoeMatmulOp op);
  void run(exec::CopyOp op);
  void run(exec::CollectiveOp op);

  /// The position of `rank` in its group.
  int64_t getMember(int64_t rank, mlir::FlatSymbolRefAttr communicator) const;
  AxisList getAxes(mlir::FlatSymbolRefAttr communicator) const;

  mutable exec::ProgramOp program;
  Mesh mesh;
  /// The arena of every rank, in elements.
  std::vector<std::vector<float>> arenas;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PANELS_EXECMACHINE_H
