//===- Outcomes.h - What interpreted ranks come to --------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PARTITION_OUTCOMES_H
#define PARPLAN_TEST_UNIT_PARTITION_OUTCOMES_H

#include "parplan/Interpreter/Interpreter.h"

namespace parplan::test {

/// S4 and S5 for what the ranks hold of one result; pending values and those
/// whose padding is about to be cleared are none of this.
mlir::LogicalResult checkBlocks(mlir::OpResult result,
                                llvm::ArrayRef<Tensor> blocks);

/// A value that a run gives, and the variable that it replaces, or null.
struct Outcome {
  mlir::Attribute variable;
  Tensor value;
  /// `parplan.name` of the result.
  std::string name;
};

/// The outcomes of a function without variables in order, then those with.
std::vector<Outcome> getOutcomes(mlir::func::FuncOp function,
                                 llvm::ArrayRef<Tensor> values);

/// Where two values differ by more than `tolerance`, or nothing.
std::string compare(const Tensor &wanted, const Tensor &found,
                    double tolerance);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PARTITION_OUTCOMES_H
