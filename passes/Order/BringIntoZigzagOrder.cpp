//===- BringIntoZigzagOrder.cpp - Another order of causal sequences -------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/FunctionAttributes.h"
#include "passes/Order/Passes.h"
#include "passes/Order/SequenceFollower.h"
#include "passes/Order/SourceBuilder.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_BRINGINTOZIGZAGORDER
#include "passes/Order/Passes.h.inc"

bool hasCausalAttention(func::FuncOp function) {
  return llvm::any_of(function.getOps<AttentionOp>(),
                      [](AttentionOp op) { return op.getCausal(); });
}

namespace {

using namespace order;

/// What tells positions apart is read at the permuted ones.
void orderSources(SequenceFollower &follower, int64_t ranks) {
  SourceBuilder sources(ranks);
  for (auto &[op, factors] : follower.getFactors())
    for (OpOperand &operand : op->getOpOperands())
      if (isSource(operand.get()))
        if (SmallVector<int64_t> dims = follower.getDims(operand);
            !dims.empty())
          operand.set(sources.get(operand.get(), dims));
}

/// Says of arguments and results which of their dimensions are in the order.
void annotate(func::FuncOp function, const SequenceFollower &follower) {
  Operation *terminator = function.getBody().front().getTerminator();
  setArgumentAttributes(function, attributes::zigzag, [&](unsigned index) {
    return follower.getOrder(function.getArgument(index));
  });
  setResultAttributes(function, attributes::zigzag, [&](unsigned index) {
    return follower.getOrder(terminator->getOperand(index));
  });
}

struct BringIntoZigzagOrder
    : impl::BringIntoZigzagOrderBase<BringIntoZigzagOrder> {
  using BringIntoZigzagOrderBase::BringIntoZigzagOrderBase;

  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!function || ranks < 2) {
      getOperation().emitError(
          "a zig-zag order needs a function @main and two ranks or more");
      return signalPassFailure();
    }
    SequenceFollower follower(ranks);
    if (!follower.run(function)) {
      const OrderObstacle &obstacle = follower.getObstacle();
      emitWarning((obstacle.op ? obstacle.op : function)->getLoc())
          << obstacle.reason;
      return;
    }
    orderSources(follower, ranks);
    for (auto attention : function.getOps<AttentionOp>())
      if (attention.getCausal())
        attention.setZigzag(ranks);
    annotate(function, follower);
  }
};

} // namespace
} // namespace parplan
