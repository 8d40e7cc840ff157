//===- ServedOps.cpp - What servers do of a step --------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Memory/ServedOps.h"

#include "dialects/parplan/ParplanOps.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace parplan {

ServedOps::ServedOps(func::FuncOp step) : step(step) {
  bool isAsync = step->hasAttr(attributes::staleness);
  for (Operation &op : step.getBody().front().without_terminator()) {
    bool isFirst = isAsync ? isa<OptimizerUpdateOp>(op)
                           : llvm::any_of(op.getOperands(), [](Value value) {
                               return value.getDefiningOp<PackOp>();
                             });
    if (isFirst || llvm::any_of(op.getOperands(),
                                [&](Value value) { return contains(value); }))
      ops.insert(&op);
  }
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!contains(operand) && !canMake(operand))
        pushed.insert(operand);
}

bool ServedOps::contains(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && contains(op);
}

bool ServedOps::canMake(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return bool(const_cast<func::FuncOp &>(step).getArgAttr(
        argument.getArgNumber(), attributes::schedule));
  Operation *op = value.getDefiningOp();
  return isa<BucketParameterOp, ConstantOp>(op) ||
         (isPure(op) && op->getNumOperands() > 0 && !contains(value) &&
          llvm::all_of(op->getOperands(),
                       [&](Value operand) { return canMake(operand); }));
}

LogicalResult ServedOps::verify() const {
  bool areServed = true;
  for (Operation &op :
       const_cast<func::FuncOp &>(step).getBody().front().without_terminator())
    if (auto update = dyn_cast<OptimizerUpdateOp>(op);
        update && !contains(&op)) {
      InFlightDiagnostic error =
          op.emitOpError("would stay with the workers: its gradient is in no "
                         "bucket that servers take");
      if (auto parameter = update.getParameter().getDefiningOp<ParameterOp>())
        error.attachNote(parameter.getLoc())
            << "of the parameter " << parameter.getVariable();
      areServed = false;
    }
  return success(areServed);
}

void ServedOps::erase() {
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  ops.clear();
}

} // namespace parplan
