//===- KeepStatistics.cpp - What the gradients of attention need ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Train/Passes.h"
#include "passes/Train/Step.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_KEEPSTATISTICS
#include "passes/Train/Passes.h.inc"

namespace {

using namespace train;

/// Values that depend on a trained parameter.
llvm::DenseSet<Value> findTrained(func::FuncOp function) {
  SymbolTable symbols(function->getParentOp());
  llvm::DenseSet<Value> trained;
  for (Operation &op : function.getBody().front()) {
    auto parameter = dyn_cast<ParameterOp>(op);
    bool isTrainedHere =
        parameter ? isTrained(getInitializer(parameter, symbols))
                  : llvm::any_of(op.getOperands(), [&](Value operand) {
                      return trained.contains(operand);
                    });
    if (isTrainedHere)
      trained.insert(op.result_begin(), op.result_end());
  }
  return trained;
}

/// The same attention with statistics.
void keepStatistics(AttentionOp op) {
  OpBuilder builder(op);
  auto kept = builder.create<AttentionOp>(
      op.getLoc(), op.getQuery(), op.getKey(), op.getValue(), op.getMask(),
      op.getQueryOffset(), op.getSink(), op.getScaleAttr(), op.getCausalAttr(),
      op.getZeroMaskedRowsAttr(), builder.getUnitAttr(), op.getZigzagAttr());
  kept->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.getResult().replaceAllUsesWith(kept.getResult());
  op.erase();
}

struct KeepStatistics : impl::KeepStatisticsBase<KeepStatistics> {
  void runOnOperation() override {
    func::FuncOp function = findMain(getOperation());
    if (!function)
      return signalPassFailure();
    llvm::DenseSet<Value> trained = findTrained(function);
    // Collected first: attentions are replaced.
    SmallVector<AttentionOp> attentions;
    for (auto op : function.getOps<AttentionOp>())
      if (!op.getStatistics() && trained.contains(op.getResult()) &&
          !(op.getMask() && trained.contains(op.getMask())))
        attentions.push_back(op);
    for (AttentionOp op : attentions)
      keepStatistics(op);
  }
};

} // namespace
} // namespace parplan
