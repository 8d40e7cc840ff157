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
    isValid &= verifyStacks();
    if (!isValid)
      signalPassFailure();
  }

  /// What is in a stack is a part of that variable.
  bool verifyStacks() {
    llvm::DenseMap<Attribute, InitializerOp> stackOf;
    bool isValid = true;
    for (auto stack : getOperation().getOps<InitializerOp>())
      if (std::optional<ArrayAttr> members = stack.getMembers())
        for (Attribute member : *members)
          if (!stackOf.try_emplace(member, stack).second) {
            stack.emitOpError("after simplify: ")
                << member << " is in another stack, too";
            isValid = false;
          }
    getOperation().walk([&](ParameterOp parameter) {
      Attribute symbol = parameter.getInitializerAttr();
      if (!stackOf.contains(symbol))
        return;
      parameter.emitOpError("after simplify: reads ")
          << symbol << ", which is in a stack";
      isValid = false;
    });
    return isValid;
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
