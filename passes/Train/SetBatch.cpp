//===- SetBatch.cpp - Gives @main the batch of one micro-batch ------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/FunctionAttributes.h"
#include "passes/Train/BatchFollower.h"
#include "passes/Train/Passes.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_SETBATCH
#include "passes/Train/Passes.h.inc"

namespace {

using namespace train;

struct SetBatch : impl::SetBatchBase<SetBatch> {
  using SetBatchBase::SetBatchBase;

  void runOnOperation() override {
    func::FuncOp function = findMain(getOperation());
    if (!function || failed(setBatch(function)))
      signalPassFailure();
  }

  LogicalResult setBatch(func::FuncOp function) {
    std::optional<int64_t> own = findBatch(function);
    int64_t wanted = batch == 0 ? own.value_or(1) : int64_t(batch);
    if (wanted < 1 || microBatches < 1)
      return function.emitError("a step cannot have ")
             << microBatches << " micro-batches of " << wanted << " samples";
    // Other losses bring labels, which have a batch.
    if (isLoss && !own)
      return function.emitError("no input of the model has a batch, so that a "
                                "loss of the model has no samples");
    if (isForward && !own)
      return function.emitError("no input of the model has a batch");
    if (own && *own == 1 && wanted != 1)
      return function.emitError("the model has a fixed batch of 1, so that "
                                "micro-batches cannot have ")
             << wanted << " samples";
    function->setAttr(
        attributes::microBatches,
        IntegerAttr::get(IntegerType::get(&getContext(), 64), microBatches));
    // A dimension of one element cannot be followed, and has nothing to mix.
    if (own && *own == 1 && isForward)
      return markForward(function, [](Value value) -> std::optional<int64_t> {
        RankedTensorType type = getTensorType(value);
        if (type.getRank() > 0 && type.getDimSize(0) == 1 &&
            dependsOnBatch(value))
          return 0;
        return std::nullopt;
      });
    if (!own || *own == 1 || (microBatches == 1 && wanted == *own))
      return success();
    BatchFollower follower(function, *own);
    if (failed(follower.run()))
      return failure();
    if (Operation *mixing = follower.findMixing()) {
      if (!isLoss)
        return mixing->emitError("mixes the samples of a batch, which are in "
                                 "several micro-batches");
      if (wanted != *own)
        return mixing->emitError("reduces the loss over the model's batch of ")
               << *own << " samples: micro-batches cannot have " << wanted;
    }
    if (wanted != *own)
      follower.resize(wanted);
    if (!isForward)
      return success();
    return markForward(function,
                       [&](Value value) { return follower.getDim(value); });
  }

  /// Says which ops of a forward pass run for every micro-batch, and in which
  /// dimension results have its samples.
  static LogicalResult
  markForward(func::FuncOp function,
              llvm::function_ref<std::optional<int64_t>(Value)> getDim) {
    Builder builder(function.getContext());
    for (Operation *op : findMicroBatchOps(function))
      op->setAttr(attributes::perMicroBatch, builder.getUnitAttr());
    bool sound = true;
    Operation *end = function.getBody().front().getTerminator();
    for (Value result : end->getOperands())
      if (!getDim(result) && dependsOnBatch(result)) {
        sound = false;
        emitError(result.getLoc(),
                  "makes an output without a dimension of samples, which are "
                  "in several micro-batches");
      }
    setResultAttributes(
        function, attributes::batchDim, [&](unsigned index) -> Attribute {
          std::optional<int64_t> dim = getDim(end->getOperand(index));
          return dim ? builder.getI64IntegerAttr(*dim) : nullptr;
        });
    function->setAttr(attributes::forwardOnly, builder.getUnitAttr());
    return success(sound);
  }

  /// Of a function whose ops are marked.
  static bool dependsOnBatch(Value value) {
    if (Operation *op = value.getDefiningOp())
      return op->hasAttr(attributes::perMicroBatch);
    auto argument = cast<BlockArgument>(value);
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return function.getArgAttr(argument.getArgNumber(), attributes::batch) !=
           nullptr;
  }

  /// The size of the batch in the module.
  static std::optional<int64_t> findBatch(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), attributes::batch) &&
          getTensorType(argument).getRank() > 0)
        return getTensorType(argument).getDimSize(0);
    return std::nullopt;
  }
};

} // namespace
} // namespace parplan
