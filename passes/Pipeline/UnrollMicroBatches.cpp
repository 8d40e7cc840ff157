//===- UnrollMicroBatches.cpp - All micro-batches of a step ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanOps.h"
#include "passes/Partition/ShardingAccess.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/StepStages.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_UNROLLMICROBATCHES
#include "passes/Pipeline/Passes.h.inc"

namespace {

RankedTensorType addLeading(RankedTensorType type, int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), size);
  return type.clone(shape);
}

/// `sharding` of a value that got a leading dimension, which is not split.
ShardingAttr addLeading(ShardingAttr sharding) {
  MLIRContext *context = sharding.getContext();
  SmallVector<AxisListAttr> dims(sharding.getDims());
  dims.insert(dims.begin(), AxisListAttr::get(context, ArrayRef<StringAttr>()));
  return ShardingAttr::get(context, sharding.getMesh(), dims,
                           sharding.getPartial(), sharding.getReduction(),
                           sharding.getStorage());
}

/// Builds the unrolled body behind the ops of `function`, which it then erases.
class Unroller {
public:
  Unroller(func::FuncOp function, const StepStages &stages, int64_t count)
      : function(function), stages(stages), count(count),
        body(function.getBody().front()), builder(function.getContext()) {}

  void run() {
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      ops.push_back(&op);
    builder.setInsertionPoint(body.getTerminator());
    microBatches.resize(count);
    addArguments();
    if (count == 1)
      for (Operation *op : ops)
        place(op, /*index=*/0);
    else
      placeStages(ops);
    for (OpOperand &operand : body.getTerminator()->getOpOperands())
      operand.set(step.lookup(operand.get()));
    for (Operation *op : llvm::reverse(ops))
      op->erase();
    body.eraseArguments(0, body.getNumArguments() / 2);
    function.setFunctionType(
        FunctionType::get(function.getContext(), body.getArgumentTypes(),
                          body.getTerminator()->getOperandTypes()));
  }

private:
  //===--------------------------------------------------------------------===//
  // Arguments
  //===--------------------------------------------------------------------===//

  void addArguments() {
    for (BlockArgument argument :
         SmallVector<BlockArgument>(body.getArguments())) {
      unsigned number = argument.getArgNumber();
      auto type = cast<RankedTensorType>(argument.getType());
      if (!function.getArgAttr(number, attributes::batch)) {
        step.map(argument, body.addArgument(type, argument.getLoc()));
        continue;
      }
      batches[argument] =
          body.addArgument(addLeading(type, count), argument.getLoc());
      BatchAttributes &old = batchAttributes[argument];
      old.globalType =
          function.getArgAttrOfType<TypeAttr>(number, attributes::globalType);
      old.sharding =
          function.getArgAttrOfType<ShardingAttr>(number, attributes::sharding);
      if (old.globalType)
        function.setArgAttr(number, attributes::globalType,
                            TypeAttr::get(old.addLeadingToGlobal(count)));
      if (old.sharding)
        function.setArgAttr(number, attributes::sharding,
                            addLeading(old.sharding));
    }
  }

  struct BatchAttributes {
    TypeAttr globalType;
    ShardingAttr sharding;

    RankedTensorType addLeadingToGlobal(int64_t size) const {
      return addLeading(cast<RankedTensorType>(globalType.getValue()), size);
    }
  };

  /// What micro-batch `index` has of a batched argument.
  Value readBatch(Value argument, int64_t index) {
    const BatchAttributes &old = batchAttributes.find(argument)->second;
    Value read = batches.lookup(argument);
    Location location = argument.getLoc();
    if (count > 1) {
      read = builder.create<SliceOp>(
          location, read, ArrayRef<int64_t>(0), ArrayRef<int64_t>(index),
          ArrayRef<int64_t>(index + 1), ArrayRef<int64_t>(1));
      if (old.globalType)
        annotate(read, TypeAttr::get(old.addLeadingToGlobal(1)),
                 old.sharding ? addLeading(old.sharding) : nullptr);
    }
    read = builder.create<ReshapeOp>(location, argument.getType(), read);
    annotate(read, old.globalType, old.sharding);
    return read;
  }

  static void annotate(Value value, TypeAttr globalType,
                       ShardingAttr sharding) {
    Operation *op = value.getDefiningOp();
    if (globalType)
      op->setAttr(attributes::globalType, globalType);
    if (sharding)
      op->setAttr(attributes::shardings,
                  ArrayAttr::get(op->getContext(), {sharding}));
  }

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  void placeStages(ArrayRef<Operation *> ops) {
    for (int stage = StepStages::start; stage < stages.getCount(); ++stage)
      for (int64_t index = 0; index < count; ++index)
        for (Operation *op : ops)
          if (stages.getStage(op) == stage)
            place(op, index);
  }

  /// What runs once per step has its place in the last micro-batch.
  void place(Operation *op, int64_t index) {
    if (runsPerMicroBatch(op))
      clone(op, microBatches[index], index);
    else if (isa<AccumulateOp>(op))
      accumulate(op, index);
    else if (index == count - 1)
      clone(op, step, index);
  }

  void clone(Operation *op, IRMapping &into, int64_t index) {
    IRMapping operands;
    for (Value operand : op->getOperands())
      operands.map(operand, lookup(operand, index));
    Operation *copy = builder.clone(*op, operands);
    copy->removeAttr(attributes::perMicroBatch);
    into.map(op->getResults(), copy->getResults());
  }

  /// Adds what micro-batch `index` contributes; the first one is no copy.
  void accumulate(Operation *op, int64_t index) {
    Value contribution = lookup(op->getOperand(0), index);
    Value result = op->getResult(0);
    if (index > 0) {
      auto sum = builder.create<AddOp>(op->getLoc(), step.lookup(result),
                                       contribution);
      sum->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      contribution = sum;
    }
    step.map(result, contribution);
  }

  Value lookup(Value value, int64_t index) {
    if (Value known = step.lookupOrNull(value))
      return known;
    IRMapping &microBatch = microBatches[index];
    if (Value known = microBatch.lookupOrNull(value))
      return known;
    Value read = readBatch(value, index);
    microBatch.map(value, read);
    return read;
  }

  func::FuncOp function;
  const StepStages &stages;
  int64_t count;
  Block &body;
  OpBuilder builder;
  IRMapping step;
  std::vector<IRMapping> microBatches;
  DenseMap<Value, Value> batches;
  DenseMap<Value, BatchAttributes> batchAttributes;
};

struct UnrollMicroBatchesPass
    : impl::UnrollMicroBatchesBase<UnrollMicroBatchesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(unroll(function)))
        signalPassFailure();
  }

  /// A piece of a flattened block has no dimension of micro-batches.
  static LogicalResult verifyBatches(func::FuncOp function) {
    bool sound = true;
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      auto sharding =
          function.getArgAttrOfType<ShardingAttr>(index, attributes::sharding);
      if (!function.getArgAttr(index, attributes::batch) || !sharding ||
          sharding.getStorage().getNames().empty())
        continue;
      sound = false;
      function.emitError("argument ") << index << " is a batch and stored";
    }
    return success(sound);
  }

  static LogicalResult unroll(func::FuncOp function) {
    auto count = function->getAttrOfType<IntegerAttr>(attributes::microBatches);
    if (!count) {
      bool sound = true;
      function.walk([&](AccumulateOp op) {
        sound = false;
        op.emitOpError("stands in a function without ")
            << attributes::microBatches;
      });
      return success(sound);
    }
    FailureOr<StepStages> stages = StepStages::create(function);
    if (failed(stages) || failed(verifyBatches(function)))
      return failure();
    Unroller(function, *stages, count.getInt()).run();
    return success();
  }
};

} // namespace

} // namespace parplan
