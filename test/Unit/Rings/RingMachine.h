//===- RingMachine.h - Runs statements on all ranks -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_RINGS_RINGMACHINE_H
#define PARPLAN_TEST_UNIT_RINGS_RINGMACHINE_H

#include "dialects/exec/ExecOps.h"
#include "parplan/Interpreter/Tensor.h"

namespace parplan::test {

/// Runs a program of attentions, exchanges and fused kernels of f64 on all
/// ranks of its mesh, one statement after the other. Memory begins as NaN: what
/// nobody wrote shows up in what reads it.
class RingMachine {
public:
  explicit RingMachine(exec::ProgramOp program);

  /// Writes what every rank holds of input `number`.
  void setInput(size_t number, llvm::ArrayRef<Tensor> blocks);
  /// False at a statement that the machine does not know.
  bool run();
  /// What every rank holds of output `number`.
  std::vector<Tensor> getOutput(size_t number);
  /// Bytes that every rank has sent.
  int64_t sentBytes = 0;
  /// Per rank how many scores its attentions have that no order excludes.
  std::vector<int64_t> scores;

private:
  exec::BufferOp getBuffer(exec::BufferKind kind, size_t number);
  char *at(int64_t rank, mlir::Value buffer);
  /// Element `index` of a buffer, of any type.
  double read(int64_t rank, mlir::Value buffer, int64_t index);
  void write(int64_t rank, mlir::Value buffer, int64_t index, double value);
  int64_t evaluate(int64_t rank, exec::RankValueAttr value);

  bool run(mlir::Operation &op);
  void run(exec::AttentionOp op, int64_t rank);
  void run(exec::AttentionGradientOp op, int64_t rank);
  bool run(exec::LaunchOp op, int64_t rank);
  void run(exec::CopyOp op, int64_t rank);
  void run(exec::ExchangeOp op);
  bool run(exec::CollectiveOp op);
  AxisList getAxes(mlir::FlatSymbolRefAttr communicator);

  exec::ProgramOp program;
  Mesh mesh;
  std::vector<std::vector<char>> arenas;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_RINGS_RINGMACHINE_H
