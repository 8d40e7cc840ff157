//===- RandomRing.h - Attention in random rings -----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_RINGS_RANDOMRING_H
#define PARPLAN_TEST_UNIT_RINGS_RANDOMRING_H

#include "dialects/exec/ExecOps.h"
#include "dialects/parplan/ParplanOps.h"
#include "parplan/Interpreter/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <random>

namespace parplan::test {

mlir::MLIRContext &getRingContext();

/// An attention with statistics and its gradient, of f64: query, key, value,
/// the result's gradient and perhaps a mask and an offset in; result,
/// log_sum_exp and the three gradients out. Keys go round rings of 2 to 8
/// ranks.
class RandomRing {
public:
  explicit RandomRing(uint64_t seed);

  mlir::func::FuncOp getFunction() {
    return *module->getOps<mlir::func::FuncOp>().begin();
  }
  int64_t getRingWidth() const { return mesh.getWidth(ringAxes); }
  /// Local elements of operand `index` of the attention, before any pass.
  int64_t countLocal(unsigned index);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  Mesh mesh;
  AxisList ringAxes;
  bool causal = false;
  /// Ranks of the order of queries and keys, the width of the ring; 1: none.
  int64_t zigzag = 1;
  /// The mask is one of keys alone, and goes round too.
  bool isMaskMoving = false;
  std::vector<Tensor> arguments;
  /// The rule and decision of the attention, and the layouts of arguments.
  ShardingRule rule;
  FactorAssignment assignment;
  std::vector<Sharding> layouts;

private:
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() %
                                      static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

  void makeMesh();
  void chooseOrder();
  void build();
  bool assign();
  void annotate();
  mlir::Value makeMask(mlir::OpBuilder &builder);
  ShardingAttr getAttr(const Sharding &sharding);
  void addArgument(mlir::Type type);

  std::mt19937_64 engine;
  AttentionOp attention;
  AttentionGradientOp gradient;
  mlir::Block *body = nullptr;
  /// Sizes by letter.
  int64_t b = 1, s = 1, t = 1, g = 1, r = 1, e = 1, f = 1;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_RINGS_RANDOMRING_H
