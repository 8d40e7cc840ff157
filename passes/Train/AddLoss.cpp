//===- AddLoss.cpp - Replaces the result of @main by the loss -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Train/Passes.h"
#include "passes/Train/Step.h"

#include "parplan/Support/Text.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_ADDLOSS
#include "passes/Train/Passes.h.inc"

namespace {

using namespace train;

constexpr llvm::StringLiteral labelsName = "labels";

/// Builds the loss at the end of @main.
class LossBuilder {
public:
  explicit LossBuilder(func::FuncOp function)
      : function(function), body(function.getBody().front()),
        output(body.getTerminator()->getOperand(0)),
        name(quoteName(getResultName(function, 0).str())),
        builder(body.getTerminator()) {
    Type element = getTensorType(output).getElementType();
    lossElement = element.isF64() ? element : builder.getF32Type();
    if (Operation *op = output.getDefiningOp())
      location = op->getLoc();
    microBatches =
        function->getAttrOfType<IntegerAttr>(attributes::microBatches).getInt();
  }

  FailureOr<Value> build(StringRef kind) {
    if (kind == "output")
      return buildOutput();
    if (findLabels())
      return function.emitError("the model has an input ")
             << quoteName(labelsName.str())
             << " already: a loss that reads it must be an output of the "
                "model, --loss output:NAME";
    if (kind == "mse")
      return buildMeanSquaredError();
    if (kind == "cross-entropy")
      return buildCrossEntropy();
    return function.emitError("there is no loss ") << quoteName(kind.str());
  }

  /// Of the labels that the loss is the mean over; null without labels.
  Value getLabelCount() const { return labelCount; }

private:
  template <typename Op, typename... Arguments>
  Op create(Arguments &&...arguments) {
    auto op =
        builder.create<Op>(location, std::forward<Arguments>(arguments)...);
    op->setAttr(attributes::role, builder.getStringAttr(roles::loss));
    return op;
  }

  Value makeScalar(double value) {
    auto type = RankedTensorType::get({}, lossElement);
    return create<ConstantOp>(
        DenseElementsAttr::get(type, builder.getFloatAttr(lossElement, value)));
  }

  Value cast(Value value) {
    RankedTensorType type = getTensorType(value);
    if (type.getElementType() == lossElement)
      return value;
    return create<CastOp>(RankedTensorType::get(type.getShape(), lossElement),
                          value);
  }

  Value sumAll(Value value) {
    int64_t rank = getTensorType(value).getRank();
    if (rank == 0)
      return value;
    return create<ReduceOp>(ReduceKind::sum, value,
                            llvm::to_vector(llvm::seq<int64_t>(0, rank)),
                            /*keep_dims=*/false);
  }

  bool findLabels() {
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      if (getArgumentName(function, index) == labelsName)
        return true;
    return false;
  }

  /// Dimension 0 of what labels belong to counts samples.
  LogicalResult checkSamples() {
    RankedTensorType type = getTensorType(output);
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), attributes::batch)) {
        int64_t samples = getTensorType(argument).getDimSize(0);
        if (type.getRank() == 0 || type.getDimSize(0) != samples)
          return reportShape("its first dimension must count the ")
                 << samples << " samples of a micro-batch";
        return success();
      }
    return success();
  }

  InFlightDiagnostic reportShape(StringRef text) {
    return function.emitError("the output ")
           << name << " is a " << getTensorType(output) << ": " << text;
  }

  /// Labels lie in the order of what they belong to.
  Value addLabels(ArrayRef<int64_t> shape, Type element) {
    unsigned index = function.getNumArguments();
    SmallVector<NamedAttribute> named = {
        builder.getNamedAttr(attributes::name,
                             builder.getStringAttr(labelsName)),
        builder.getNamedAttr(attributes::batch, builder.getUnitAttr())};
    if (auto order = function.getResultAttrOfType<DenseI64ArrayAttr>(
            0, attributes::zigzag))
      named.push_back(builder.getNamedAttr(
          attributes::zigzag,
          builder.getDenseI64ArrayAttr(
              order.asArrayRef().take_front(shape.size()))));
    function.insertArgument(index, RankedTensorType::get(shape, element),
                            builder.getDictionaryAttr(named),
                            function.getLoc());
    return function.getArgument(index);
  }

  FailureOr<Value> buildOutput() {
    if (getTensorType(output).getNumElements() != 1)
      return reportShape("a loss is a scalar");
    Value value = sumAll(cast(output));
    // A loss of parameters alone is the same in every micro-batch.
    if (!output.getDefiningOp() ||
        !findMicroBatchOps(function).contains(output.getDefiningOp()))
      return value;
    value = create<AccumulateOp>(value);
    if (microBatches == 1)
      return value;
    return create<MulOp>(value, makeScalar(1.0 / double(microBatches)))
        .getResult();
  }

  FailureOr<Value> buildMeanSquaredError() {
    if (failed(checkSamples()))
      return failure();
    RankedTensorType type = getTensorType(output);
    Value labels = addLabels(type.getShape(), lossElement);
    Value difference = create<SubOp>(cast(output), labels);
    Value square = create<MulOp>(difference, difference);
    Value total = create<AccumulateOp>(sumAll(square));
    double count = double(type.getNumElements()) * double(microBatches);
    return create<MulOp>(total, makeScalar(1.0 / count)).getResult();
  }

  FailureOr<Value> buildCrossEntropy() {
    RankedTensorType type = getTensorType(output);
    if (type.getRank() < 2)
      return reportShape("the logits of a cross-entropy have classes in their "
                         "last dimension, and samples in their first");
    if (failed(checkSamples()))
      return failure();
    Type integer = builder.getI64Type();
    Value labels = addLabels(type.getShape().drop_back(), integer);
    Value logits = cast(output);
    auto entropy = create<CrossEntropyOp>(logits, labels);
    // The mean divides by the count of the whole step (S18).
    Value ignored = create<ConstantOp>(DenseElementsAttr::get(
        RankedTensorType::get({}, integer), CrossEntropyOp::ignoredLabel));
    Value counted = create<CompareOp>(ComparePredicate::ne, labels, ignored);
    labelCount = create<AccumulateOp>(sumAll(cast(counted)));
    Value total = create<AccumulateOp>(sumAll(entropy.getLoss()));
    Value divisor = create<MaxOp>(labelCount, makeScalar(1.0));
    return create<DivOp>(total, divisor).getResult();
  }

  func::FuncOp function;
  Block &body;
  Value output;
  std::string name;
  OpBuilder builder;
  Location location = builder.getUnknownLoc();
  Type lossElement;
  int64_t microBatches = 1;
  /// Of a cross-entropy.
  Value labelCount;
};

struct AddLoss : impl::AddLossBase<AddLoss> {
  using AddLossBase::AddLossBase;

  void runOnOperation() override {
    func::FuncOp function = findMain(getOperation());
    if (!function || failed(addLoss(function)))
      signalPassFailure();
  }

  LogicalResult addLoss(func::FuncOp function) {
    if (!function->hasAttr(attributes::microBatches) ||
        function.getNumResults() != 1)
      return function.emitError("a loss needs the number of micro-batches and "
                                "one result");
    LossBuilder builder(function);
    FailureOr<Value> value = builder.build(loss);
    if (failed(value))
      return failure();
    SmallVector<StepResult> results = {makeNamedResult(*value, "loss")};
    if (Value labels = builder.getLabelCount(); labels && count)
      results.push_back(makeNamedResult(labels, "label_count"));
    setResults(function, results);
    if (scale)
      getScheduled(function, schedules::lossScale,
                   getTensorType(*value).getElementType());
    return success();
  }
};

} // namespace
} // namespace parplan
