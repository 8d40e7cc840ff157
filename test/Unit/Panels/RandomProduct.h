//===- RandomProduct.h - Products in panels on random grids -----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PANELS_RANDOMPRODUCT_H
#define PARPLAN_TEST_UNIT_PANELS_RANDOMPRODUCT_H

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Interpreter/Interpreter.h"

#include <random>

namespace parplan::test {

/// A planned function of one product with panels, of small integers.
struct RandomProduct {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Tensor> arguments;
  std::string spec;
  /// The letters of tokens whose rows count; empty where all do.
  std::string tokens;
  Mesh mesh;
  ShardingRule rule;
  FactorAssignment assignment;

  mlir::func::FuncOp getFunction() {
    return *module->getOps<mlir::func::FuncOp>().begin();
  }
  /// Elements of a panel tensor (0, 1, or 2 for the result) that lie at one
  /// index of the panel letter on a rank, if it moves; else 0.
  int64_t countMovedRow(unsigned tensor) const;
  /// The axes over which its panels move.
  AxisList getAxes(unsigned tensor) const {
    return getPanelAxes(getFactors(tensor), assignment);
  }
  /// Whether such a panel lies in one piece in the block of a tensor that
  /// moves.
  bool isContiguous(unsigned tensor, int64_t panelSize) const;
  int64_t getPanelSize() const {
    return rule.factors[assignment.panels.factor].size;
  }

  llvm::SmallVector<llvm::SmallVector<int64_t>> shapes;

private:
  const TensorFactors &getFactors(unsigned tensor) const {
    return tensor < 2 ? rule.operands[tensor] : rule.results[0];
  }
  /// Of the block that a rank has.
  llvm::SmallVector<int64_t> getBlock(unsigned tensor) const;
};

/// Grids of two axes, or of one, with a data axis besides or without; letters
/// of one to fourteen elements. Equal seeds give equal products.
RandomProduct makeRandomProduct(mlir::MLIRContext &context, uint64_t seed);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PANELS_RANDOMPRODUCT_H
