//===- Layouts.cpp - No implicit change of layout -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/Layouts.h"

#include "dialects/parplan/ParplanOps.h"

using namespace mlir;

namespace parplan {

bool isMove(Operation *op) {
  return isa<ShardSliceOp, PendOp, StorageViewOp, AllReduceOp, AllGatherOp,
             ReduceScatterOp, AllToAllOp, BroadcastFromOp, ReduceToOp,
             SendReceiveOp>(op);
}

namespace {

LogicalResult expectLayout(Operation *op, const llvm::Twine &what,
                           const FailureOr<Sharding> &actual,
                           const Sharding &expected, const Mesh &mesh) {
  if (failed(actual))
    return failure();
  if (*actual == expected)
    return success();
  llvm::StringRef rule = actual->partial == expected.partial ? "S7: " : "S8: ";
  return op->emitOpError(rule) << what << " lies in " << toString(*actual, mesh)
                               << ", not in " << toString(expected, mesh);
}

LogicalResult verifyReturn(func::FuncOp function, Operation &op,
                           const ShardingAccess &access) {
  bool sound = true;
  for (OpOperand &operand : op.getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    FailureOr<Sharding> expected = access.getResultSharding(function, index);
    sound &= succeeded(expected) &&
             succeeded(expectLayout(&op, "operand " + llvm::Twine(index),
                                    access.getSharding(operand.get()),
                                    *expected, access.getMesh()));
  }
  return success(sound);
}

LogicalResult verifyOp(ShardingRuleOpInterface op,
                       const ShardingAccess &access) {
  ShardingRule rule = op.getShardingRule();
  FailureOr<FactorAssignment> assignment = access.getAssignment(op, rule);
  if (failed(assignment))
    return failure();
  if (needsDecomposition(rule, *assignment))
    return op.emitOpError("S7: an axis lies on a coupled factor");
  bool sound = true;
  for (OpOperand &operand : op->getOpOperands()) {
    int index = static_cast<int>(operand.getOperandNumber());
    sound &= succeeded(expectLayout(
        op, "operand " + llvm::Twine(index), access.getSharding(operand.get()),
        getUseSharding(rule, *assignment, index), access.getMesh()));
  }
  for (OpResult result : op->getResults()) {
    int index = static_cast<int>(result.getResultNumber());
    sound &= succeeded(expectLayout(
        op, "result " + llvm::Twine(index), access.getSharding(result),
        getMadeSharding(rule, *assignment, index), access.getMesh()));
  }
  return success(sound);
}

} // namespace

LogicalResult verifyLayouts(func::FuncOp function,
                            const ShardingAccess &access) {
  bool sound = true;
  for (Operation &op : function.getBody().front()) {
    if (isa<func::ReturnOp>(op))
      sound &= succeeded(verifyReturn(function, op, access));
    else if (isa<ReshardOp>(op))
      sound &= succeeded(op.emitOpError("is left; "
                                        "parplan-reshards-to-collectives "
                                        "comes first"));
    else if (auto rules = dyn_cast<ShardingRuleOpInterface>(op);
             rules && !isSource(&op))
      sound &= succeeded(verifyOp(rules, access));
  }
  return success(succeeded(verifyVariables(function, access)) && sound);
}

LogicalResult verifyVariables(func::FuncOp function,
                              const ShardingAccess &access) {
  DenseMap<Attribute, SmallVector<ParameterOp, 1>> readers;
  function.walk(
      [&](ParameterOp op) { readers[op.getVariable()].push_back(op); });
  bool sound = true;
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    Attribute variable = function.getResultAttr(index, attributes::variable);
    if (!variable)
      continue;
    SmallVector<ParameterOp, 1> &found = readers[variable];
    if (found.size() != 1) {
      sound = false;
      function.emitOpError("result ")
          << index << " replaces " << variable << ", which " << found.size()
          << " parameters read";
      continue;
    }
    FailureOr<Sharding> before = access.getSharding(found[0].getResult());
    FailureOr<Sharding> after = access.getResultSharding(function, index);
    if (failed(before) || failed(after)) {
      sound = false;
    } else if (*before != *after) {
      sound = false;
      function.emitOpError("S14: result ")
          << index << " replaces " << variable << ", which rests in "
          << toString(*before, access.getMesh()) << ", and ends in "
          << toString(*after, access.getMesh());
    }
  }
  return success(sound);
}

} // namespace parplan
