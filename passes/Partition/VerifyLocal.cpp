//===- VerifyLocal.cpp - Closes the partition phase -----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanOps.h"
#include "passes/Partition/Layouts.h"
#include "passes/Partition/LocalRings.h"
#include "passes/Partition/Padding.h"
#include "passes/Partition/PanelLoops.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/ShardingAccess.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_VERIFYLOCAL
#include "passes/Partition/Passes.h.inc"

namespace {

/// Checks one local function; reports every fault.
class LocalVerifier {
public:
  explicit LocalVerifier(const ShardingAccess &access) : access(access) {}

  LogicalResult run(func::FuncOp function) {
    verifyArguments(function);
    for (Operation &op : function.getBody().front()) {
      if (isa<func::ReturnOp>(op))
        verifyResults(function, op);
      else if (isa<ReshardOp>(op))
        fault(&op) << "S11: a reshard is left";
      else
        verifyOp(&op);
    }
    sound &= succeeded(verifyVariables(function, access));
    return success(sound);
  }

private:
  InFlightDiagnostic fault(Operation *op) {
    sound = false;
    return op->emitError("after partition: ");
  }

  void verifyArguments(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments()) {
      unsigned index = argument.getArgNumber();
      auto global =
          function.getArgAttrOfType<TypeAttr>(index, attributes::globalType);
      if (!global) {
        fault(function) << "argument " << index << " has no "
                        << attributes::globalType;
        continue;
      }
      verifyType(function, argument, global);
    }
  }

  void verifyResults(func::FuncOp function, Operation &terminator) {
    for (OpOperand &operand : terminator.getOpOperands()) {
      unsigned index = operand.getOperandNumber();
      auto global =
          function.getResultAttrOfType<TypeAttr>(index, attributes::globalType);
      if (!global) {
        fault(function) << "result " << index << " has no "
                        << attributes::globalType;
        continue;
      }
      FailureOr<Sharding> expected = access.getResultSharding(function, index);
      FailureOr<Sharding> actual = access.getSharding(operand.get());
      if (failed(expected) || failed(actual))
        sound = false;
      else if (*expected != *actual)
        fault(&terminator) << "S7: operand " << index << " lies in "
                           << toString(*actual, access.getMesh()) << ", not in "
                           << toString(*expected, access.getMesh());
    }
  }

  void verifyOp(Operation *op) {
    // Starts of blocks and what shifts indices by them belong to no value of
    // the plan; interpreted ranks verify them.
    if (!getGlobalType(op, /*index=*/0)) {
      if (isMove(op) || isa<ParameterOp, PanelMatmulOp, RingAttentionOp,
                            RingAttentionGradientOp>(op))
        fault(op) << "no " << attributes::globalType;
      return;
    }
    for (OpResult result : op->getResults())
      verifyType(op, result, getGlobalType(op, result.getResultNumber()));
    sound &= succeeded(verifyPanelOp(op, access)) &&
             succeeded(verifyRingOp(op, access));
    if (auto rules = dyn_cast<ShardingRuleOpInterface>(op))
      for (OpResult result : op->getResults())
        verifyPadding(rules, result,
                      getGlobalType(op, result.getResultNumber()));
  }

  /// S3 and S6: the type of a block follows from the sharding.
  void verifyType(Operation *op, Value value, TypeAttr globalAttr) {
    auto global = cast<RankedTensorType>(globalAttr.getValue());
    auto local = cast<RankedTensorType>(value.getType());
    FailureOr<Sharding> sharding = access.getSharding(value);
    if (failed(sharding)) {
      sound = false;
      return;
    }
    auto expected =
        access.getLocalType(global.clone(local.getElementType()), *sharding);
    if (local != expected)
      fault(op) << "S3: blocks of " << global << " in "
                << toString(*sharding, access.getMesh()) << " have type "
                << expected << ", not " << local;
  }

  /// S4: what an op does not keep zero is cleared before anything reads it.
  void verifyPadding(ShardingRuleOpInterface op, OpResult result,
                     TypeAttr globalAttr) {
    FailureOr<Sharding> sharding = access.getSharding(result);
    if (failed(sharding) || sharding->isStored())
      return;
    auto global = cast<RankedTensorType>(globalAttr.getValue());
    DimBlocks padded =
        getPaddedDims(global.getShape(), *sharding, access.getMesh());
    if (padded.empty())
      return;
    ShardingRule rule = op.getShardingRule();
    const TensorFactors &tensor = rule.results[result.getResultNumber()];
    for (int64_t dim : padded.dims) {
      // A block of one element has no factor; the op cannot be asked then.
      if (tensor[dim].empty() || op.keepsZeroPadding(tensor[dim].front()))
        continue;
      for (Operation *user : result.getUsers())
        if (!clears(user, dim)) {
          InFlightDiagnostic diagnostic = fault(op);
          diagnostic << "S4: padding of dimension " << dim << " is not zero";
          diagnostic.attachNote(user->getLoc()) << "and is read here";
          return;
        }
    }
  }

  static bool clears(Operation *user, int64_t dim) {
    auto clearing = dyn_cast<ClearPaddingOp>(user);
    return clearing && llvm::is_contained(clearing.getDims(), dim);
  }

  const ShardingAccess &access;
  bool sound = true;
};

struct VerifyLocalPass : impl::VerifyLocalBase<VerifyLocalPass> {
  void runOnOperation() override {
    FailureOr<ShardingAccess> access = ShardingAccess::create(getOperation());
    if (failed(access))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(LocalVerifier(*access).run(function)))
        signalPassFailure();
  }
};

} // namespace
} // namespace parplan
