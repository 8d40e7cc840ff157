//===- VerifyOrder.cpp - Closes the order phase ---------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Order/Passes.h"
#include "passes/Order/SequenceFollower.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_VERIFYORDER
#include "passes/Order/Passes.h.inc"

namespace {

using namespace order;

/// The order of all causal attentions.
FailureOr<int64_t> findOrder(func::FuncOp function) {
  std::optional<int64_t> ranks;
  for (auto attention : function.getOps<AttentionOp>()) {
    int64_t own = attention.getZigzag();
    if (!attention.getCausal())
      continue;
    if (ranks && *ranks != own)
      return attention.emitOpError("after order: lies in the order of ")
             << own << " ranks, another one in that of " << *ranks;
    ranks = own;
  }
  return ranks.value_or(1);
}

LogicalResult verifySources(SequenceFollower &follower) {
  for (auto &[op, factors] : follower.getFactors())
    for (OpOperand &operand : op->getOpOperands())
      if (isa_and_nonnull<ParameterOp, IotaOp, AffineMaskOp>(
              operand.get().getDefiningOp()) &&
          !follower.getDims(operand).empty())
        return op->emitOpError("after order: operand ")
               << operand.getOperandNumber()
               << " lies along the sequence in the model's order";
  return success();
}

LogicalResult verifyInterface(func::FuncOp function,
                              const SequenceFollower *follower) {
  auto verify = [&](const char *what, unsigned index, Value value,
                    Attribute order) -> LogicalResult {
    Attribute expected = follower ? follower->getOrder(value) : Attribute();
    if (order == expected)
      return success();
    InFlightDiagnostic error = function.emitError("after order: ")
                               << what << " " << index << " lies in the order ";
    auto print = [&](Attribute attribute) {
      if (attribute)
        error << attribute;
      else
        error << "of the model";
    };
    print(expected);
    error << ", not ";
    print(order);
    return error;
  };
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (failed(verify("argument", index, argument,
                      function.getArgAttr(index, attributes::zigzag))))
      return failure();
  }
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
    if (failed(verify("result", index, value,
                      function.getResultAttr(index, attributes::zigzag))))
      return failure();
  return success();
}

LogicalResult verifyOrder(func::FuncOp function) {
  FailureOr<int64_t> ranks = findOrder(function);
  if (failed(ranks))
    return failure();
  if (*ranks == 1)
    return verifyInterface(function, /*follower=*/nullptr);
  SequenceFollower follower(*ranks);
  if (!follower.run(function)) {
    const OrderObstacle &obstacle = follower.getObstacle();
    return (obstacle.op ? obstacle.op : function)->emitError("after order: ")
           << obstacle.reason;
  }
  if (failed(verifySources(follower)))
    return failure();
  return verifyInterface(function, &follower);
}

struct VerifyOrder : impl::VerifyOrderBase<VerifyOrder> {
  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    if (function && failed(verifyOrder(function)))
      signalPassFailure();
  }
};

} // namespace
} // namespace parplan
