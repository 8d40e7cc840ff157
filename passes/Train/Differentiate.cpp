//===- Differentiate.cpp - Adds the gradients of the loss -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Train/Passes.h"
#include "passes/Train/Step.h"

#include "dialects/parplan/ReverseMode.h"
#include "parplan/Support/Text.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/Train/Passes.h.inc"

namespace {

using namespace train;

/// Writes the backward pass behind the forward pass.
class BackwardBuilder {
public:
  explicit BackwardBuilder(func::FuncOp function)
      : function(function), body(function.getBody().front()),
        builder(body.getTerminator()) {
    for (Operation &op : body.without_terminator())
      forward.push_back(&op);
    SymbolTable symbols(function->getParentOp());
    for (auto parameter : function.getOps<ParameterOp>())
      if (InitializerOp initializer = getInitializer(parameter, symbols);
          isTrained(initializer) && !parameter.getSlot()) {
        leaves[initializer].push_back(parameter);
        wanted.push_back(parameter);
      }
  }

  LogicalResult build() {
    annotateForward();
    Value loss = body.getTerminator()->getOperand(0);
    ReverseMode mode;
    mode.onBackward = [&](Operation *op, ArrayRef<Operation *> made) {
      for (Operation *backward : made)
        annotateBackward(backward, op);
    };
    mode.onSum = [&](Value value, Operation *sum) {
      if (isOfMicroBatch(value))
        sum->setAttr(attributes::perMicroBatch, builder.getUnitAttr());
    };
    Gradients gradients =
        differentiate(builder, forward, {{loss, makeSeed(loss)}}, wanted, mode);
    if (!gradients.missing.empty())
      return reportMissing(gradients.missing);
    return addResults(gradients);
  }

private:
  /// Numbers ops that compute, and says which run once per micro-batch.
  void annotateForward() {
    llvm::DenseSet<Operation *> ofMicroBatch = findMicroBatchOps(function);
    int64_t group = 0;
    for (Operation *op : forward) {
      if (llvm::any_of(op->getOperands(), [&](Value operand) {
            Operation *maker = operand.getDefiningOp();
            return maker && (isa<AccumulateOp>(maker) || tail.contains(maker));
          }))
        tail.insert(op);
      accumulates |= isa<AccumulateOp>(op);
      if (ofMicroBatch.contains(op))
        op->setAttr(attributes::perMicroBatch, builder.getUnitAttr());
      if (op->getNumOperands() > 0)
        op->setAttr(attributes::group, builder.getI64IntegerAttr(group++));
    }
  }

  /// The gradient of a value before the accumulation differs between
  /// micro-batches, also if the value does not.
  bool isOfMicroBatch(Value value) const {
    Operation *op = value.getDefiningOp();
    return accumulates && !(op && (isa<AccumulateOp>(op) || tail.contains(op)));
  }

  void annotateBackward(Operation *backward, Operation *op) {
    if (backward->getNumOperands() == 0)
      return;
    if (Attribute group = op->getAttr(attributes::group))
      backward->setAttr(attributes::group, group);
    for (StringRef name : {attributes::block, attributes::node})
      if (Attribute value = op->getAttr(name))
        backward->setAttr(name, value);
    if (accumulates && !tail.contains(op) && !isa<AccumulateOp>(op))
      backward->setAttr(attributes::perMicroBatch, builder.getUnitAttr());
  }

  Value makeSeed(Value loss) {
    if (Value scale = findScheduled(function, schedules::lossScale))
      return scale;
    RankedTensorType type = getTensorType(loss);
    auto seed = builder.create<ConstantOp>(
        loss.getLoc(),
        DenseElementsAttr::get(
            type, builder.getFloatAttr(type.getElementType(), 1.0)));
    setRole(seed, roles::inputGradient);
    return seed;
  }

  void setRole(Operation *op, StringRef role) {
    op->setAttr(attributes::role, builder.getStringAttr(role));
  }

  LogicalResult reportMissing(ArrayRef<Operation *> missing) {
    for (Operation *op : missing)
      op->emitError("has no gradient, which trained parameters need; --freeze "
                    "keeps parameters as they are");
    return failure();
  }

  LogicalResult addResults(const Gradients &gradients) {
    SmallVector<StepResult> results = getResults(function);
    size_t lossCount = results.size();
    for (auto &[initializer, parameters] : leaves) {
      bool hasGradient = llvm::any_of(parameters, [&](ParameterOp leaf) {
        return gradients.of.contains(leaf);
      });
      if (!hasGradient) {
        initializer->removeAttr(attributes::trained);
        initializer->setAttr(
            attributes::frozen,
            builder.getStringAttr("the loss does not depend on it"));
        continue;
      }
      for (ParameterOp leaf : parameters) {
        Value gradient = gradients.of.lookup(leaf);
        results.push_back({gradient ? accumulate(gradient) : makeZero(leaf),
                           builder.getDictionaryAttr(builder.getNamedAttr(
                               attributes::variable, leaf.getVariable()))});
      }
    }
    if (results.size() == lossCount)
      return function.emitError(
          "there is nothing to train: the loss depends on no parameter");
    setResults(function, results);
    return success();
  }

  /// Directly behind what makes the gradient, so that its bytes are free.
  Value accumulate(Value gradient) {
    if (!accumulates)
      return gradient;
    OpBuilder::InsertionGuard guard(builder);
    Operation *op = gradient.getDefiningOp();
    Location location = gradient.getLoc();
    if (!op || !op->hasAttr(attributes::perMicroBatch)) {
      // It comes from the end unchanged, once for every micro-batch.
      auto copy = builder.create<SumOp>(location, gradient.getType(), gradient);
      copy->setAttr(attributes::perMicroBatch, builder.getUnitAttr());
      setRole(copy, roles::gradientSum);
      gradient = copy;
    }
    builder.setInsertionPointAfter(gradient.getDefiningOp());
    auto sum = builder.create<AccumulateOp>(location, gradient);
    setRole(sum, roles::gradientSum);
    return sum;
  }

  /// Of a part that nothing differentiable reads of a parameter that has other
  /// parts.
  Value makeZero(ParameterOp leaf) {
    RankedTensorType type = leaf.getType();
    auto zero = builder.create<ConstantOp>(
        leaf.getLoc(), DenseElementsAttr::get(
                           type, builder.getZeroAttr(type.getElementType())));
    setRole(zero, roles::gradientSum);
    return zero;
  }

  func::FuncOp function;
  Block &body;
  OpBuilder builder;
  SmallVector<Operation *> forward;
  /// Forward ops behind an accumulation: the mean of the loss.
  llvm::DenseSet<Operation *> tail;
  bool accumulates = false;
  llvm::MapVector<InitializerOp, SmallVector<ParameterOp>> leaves;
  SmallVector<Value> wanted;
};

struct Differentiate : impl::DifferentiateBase<Differentiate> {
  void runOnOperation() override {
    func::FuncOp function = findMain(getOperation());
    if (!function || failed(BackwardBuilder(function).build()))
      signalPassFailure();
  }
};

} // namespace
} // namespace parplan
