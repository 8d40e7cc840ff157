//===- VerifySimplified.cpp - Closes the simplify phase -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Passes.h"

#include "dialects/parplan/ParplanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_VERIFYSIMPLIFIED
#include "passes/Simplify/Passes.h.inc"

namespace {

/// Larger results are tables that nobody wants in the program text.
constexpr int64_t maxFoldedElements = 4096;

bool isShapeArithmetic(Operation *op) {
  if (op->getNumOperands() == 0 || op->getNumResults() != 1 ||
      isa<BroadcastOp, ReshapeOp>(op))
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && type.getElementType().isInteger() &&
         type.getNumElements() <= maxFoldedElements &&
         llvm::all_of(op->getOperands(), [](Value operand) {
           return isa_and_nonnull<ConstantOp>(operand.getDefiningOp());
         });
}

struct VerifySimplified : impl::VerifySimplifiedBase<VerifySimplified> {
  void runOnOperation() override {
    bool isValid = true;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        isValid &= verify(function);
    if (!isValid)
      signalPassFailure();
  }

  bool verify(func::FuncOp function) {
    bool isValid = true;
    int64_t block = 0;
    for (Operation &op : function.getBody().front()) {
      if (isa<func::ReturnOp>(op))
        continue;
      if (!isa<ParplanDialect>(op.getDialect())) {
        op.emitOpError("after simplify: not an op of the parplan dialect");
        isValid = false;
      } else if (isShapeArithmetic(&op)) {
        op.emitOpError("after simplify: computes what is known already");
        isValid = false;
      }
      auto number = op.getAttrOfType<IntegerAttr>(attributes::block);
      if (number && number.getInt() < block) {
        op.emitOpError("after simplify: block ")
            << number.getInt() << " stands behind block " << block;
        isValid = false;
      }
      if (number)
        block = number.getInt();
    }
    return isValid;
  }
};

} // namespace
} // namespace parplan
