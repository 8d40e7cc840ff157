//===- TrainingLowering.cpp - Losses, updates and adjoints as launches ----===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/LaunchBuilder.h"

#include "parplan/Support/Sizes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace parplan {

namespace {

class TrainingLowering : public LaunchBuilder {
public:
  using LaunchBuilder::LaunchBuilder;

  LogicalResult run() {
    if (isa<ParplanDialect>(op->getDialect()) && op->getNumResults() > 0 &&
        isa<FloatType>(getTensorType(op->getResult(0)).getElementType()) &&
        failed(requireAnyFloat(op->getResult(0))))
      return failure();
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<CrossEntropyOp, SquareSumOp, OptimizerUpdateOp,
              EmbeddingGradientOp, GatherGradientOp, GatherElementsGradientOp,
              GatherNDGradientOp, ConvInputGradientOp, ConvWeightGradientOp,
              MaxPoolGradientOp, AveragePoolGradientOp>(
            [&](auto concrete) { return lower(concrete); })
        .Default([&](Operation *) {
          return op->emitOpError("has no kernel: it should have been fused or "
                                 "decomposed before placement");
        });
  }

private:
  //===--------------------------------------------------------------------===//
  // Loss and optimizer
  //===--------------------------------------------------------------------===//

  LogicalResult lower(CrossEntropyOp entropy) {
    if (failed(requireAnyFloat(entropy.getLogits())))
      return failure();
    ArrayRef<int64_t> shape = getShape(entropy.getLogits());
    Value logits = get(entropy.getLogits()), labels = get(entropy.getLabels());
    Value loss = placement.define(entropy.getLoss());
    Value logSumExp;
    if (!entropy.getLogSumExp().use_empty())
      logSumExp = placement.define(entropy.getLogSumExp());
    return done(builder.create<exec::CrossEntropyOp>(
        location, logits, labels, loss, logSumExp,
        integer(multiplySizes(shape.drop_back())), integer(shape.back()),
        getCost()));
  }

  LogicalResult lower(SquareSumOp sum) {
    if (failed(requireAnyFloat(sum.getInput())))
      return failure();
    Value input = get(sum.getInput());
    Value output = placement.define(sum.getResult());
    return done(
        builder.create<exec::SquareSumOp>(location, input, output, getCost()));
  }

  LogicalResult lower(OptimizerUpdateOp update) {
    if (failed(requireFloat(update.getParameter())))
      return failure();
    Value parameter = get(update.getParameter());
    Value gradient = get(update.getGradient());
    SmallVector<Value> states, newStates;
    for (Value state : update.getStates())
      states.push_back(get(state));
    Value newParameter = placement.defineInPlace(update.getNewParameter(),
                                                 update.getParameter());
    for (auto [old, state] :
         llvm::zip_equal(update.getStates(), update.getNewStates()))
      newStates.push_back(placement.defineInPlace(state, old));
    return done(builder.create<exec::UpdateOp>(
        location, update.getKindAttr(), parameter, gradient, states,
        get(update.getLearningRate()), get(update.getStepSize()),
        get(update.getBiasCorrection2Sqrt()), get(update.getScale()),
        get(update.getSkip()), newParameter, newStates, update.getBeta1Attr(),
        update.getBeta2Attr(), update.getEpsilonAttr(),
        update.getWeightDecayAttr(), update.getMomentumAttr(), getCost()));
  }

  //===--------------------------------------------------------------------===//
  // Adjoints of indexing
  //===--------------------------------------------------------------------===//

  LogicalResult lower(EmbeddingGradientOp adjoint) {
    ArrayRef<int64_t> table = getShape(adjoint.getResult());
    Value ids = get(adjoint.getIds()), gradient = get(adjoint.getGradient());
    Value output = placement.define(adjoint.getResult());
    return done(builder.create<exec::EmbeddingGradientOp>(
        location, ids, gradient, output,
        list({multiplySizes(getShape(adjoint.getIds())), table[0], table[1]}),
        getCost()));
  }

  LogicalResult lower(GatherGradientOp adjoint) {
    Rows rows = getRows(getShape(adjoint.getResult()), adjoint.getDim(),
                        adjoint.getDim() + 1);
    Value gradient = get(adjoint.getGradient());
    Value indices = get(adjoint.getIndices());
    Value output = placement.define(adjoint.getResult());
    return done(builder.create<exec::GatherGradientOp>(
        location, gradient, indices, output,
        list({rows.outer, rows.length,
              multiplySizes(getShape(adjoint.getIndices())), rows.inner}),
        getCost()));
  }

  LogicalResult lower(GatherElementsGradientOp adjoint) {
    Value gradient = get(adjoint.getGradient());
    Value indices = get(adjoint.getIndices());
    Value output = placement.define(adjoint.getResult());
    return done(builder.create<exec::GatherElementsGradientOp>(
        location, gradient, indices, output,
        list(getShape(adjoint.getResult())),
        list(getShape(adjoint.getIndices())), adjoint.getDimAttr(), getCost()));
  }

  LogicalResult lower(GatherNDGradientOp adjoint) {
    ArrayRef<int64_t> shape = getShape(adjoint.getResult());
    ArrayRef<int64_t> indexShape = getShape(adjoint.getIndices());
    size_t batchDims = adjoint.getBatchDims();
    size_t indexed = indexShape.back();
    int64_t batch = multiplySizes(shape.take_front(batchDims));
    int64_t tuples = multiplySizes(indexShape.drop_back());
    Value gradient = get(adjoint.getGradient());
    Value indices = get(adjoint.getIndices());
    Value output = placement.define(adjoint.getResult());
    return done(builder.create<exec::GatherNDGradientOp>(
        location, gradient, indices, output, integer(batch),
        integer(batch ? tuples / batch : 0),
        list(shape.slice(batchDims, indexed)),
        integer(multiplySizes(shape.drop_front(batchDims + indexed))),
        getCost()));
  }

  //===--------------------------------------------------------------------===//
  // Adjoints of windows
  //===--------------------------------------------------------------------===//

  /// Creates the adjoint of a convolution from `input` and `weight` to
  /// `output`, whichever of them it makes, without its workspace.
  template <typename Statement, typename Adjoint>
  Statement createConvolution(Adjoint adjoint, Value first, Value second,
                              Value input, Value weight, Value output) {
    ArrayRef<int64_t> in = getShape(input), out = getShape(output);
    Value firstBuffer = get(first), secondBuffer = get(second);
    Value result = placement.define(adjoint.getResult());
    return builder.create<Statement>(
        location, firstBuffer, secondBuffer, /*workspace=*/Value(), result,
        integer(in[0]), integer(in[1]), integer(out[1]),
        adjoint.getGroupsAttr(), list(in.drop_front(2)),
        list(out.drop_front(2)), list(getShape(weight).drop_front(2)),
        adjoint.getStridesAttr(), adjoint.getDilationsAttr(),
        everySecond(adjoint.getPads(), 0), getCost());
  }

  template <typename Statement>
  LogicalResult addWorkspace(Statement statement, int64_t bytes) {
    if (Value workspace = placement.createWorkspace(bytes))
      statement.getWorkspaceMutable().assign(workspace);
    return done(statement);
  }

  LogicalResult lower(ConvInputGradientOp adjoint) {
    auto statement = createConvolution<exec::ConvolutionInputGradientOp>(
        adjoint, adjoint.getGradient(), adjoint.getWeight(),
        adjoint.getResult(), adjoint.getWeight(), adjoint.getGradient());
    return addWorkspace(statement,
                        runtime::convolutionInputGradientWorkspaceBytes(
                            exec::getRuntimeShape(statement),
                            getElementBytes(statement.getOutput())));
  }

  LogicalResult lower(ConvWeightGradientOp adjoint) {
    auto statement = createConvolution<exec::ConvolutionWeightGradientOp>(
        adjoint, adjoint.getInput(), adjoint.getGradient(), adjoint.getInput(),
        adjoint.getResult(), adjoint.getGradient());
    return addWorkspace(statement,
                        runtime::convolutionWeightGradientWorkspaceBytes(
                            exec::getRuntimeShape(statement),
                            getElementBytes(statement.getOutput())));
  }

  LogicalResult lower(MaxPoolGradientOp adjoint) {
    ArrayRef<int64_t> in = getShape(adjoint.getInput());
    ArrayRef<int64_t> out = getShape(adjoint.getGradient());
    Value input = get(adjoint.getInput());
    Value gradient = get(adjoint.getGradient());
    Value output = placement.define(adjoint.getResult());
    return done(builder.create<exec::MaxPoolGradientOp>(
        location, input, gradient, output, integer(in[0]), integer(in[1]),
        list(in.drop_front(2)), list(out.drop_front(2)),
        adjoint.getWindowAttr(), adjoint.getStridesAttr(),
        adjoint.getDilationsAttr(), everySecond(adjoint.getPads(), 0),
        everySecond(adjoint.getPads(), 1), getCost()));
  }

  LogicalResult lower(AveragePoolGradientOp adjoint) {
    ArrayRef<int64_t> in = getShape(adjoint.getResult());
    ArrayRef<int64_t> out = getShape(adjoint.getGradient());
    Value gradient = get(adjoint.getGradient());
    Value output = placement.define(adjoint.getResult());
    return done(builder.create<exec::AveragePoolGradientOp>(
        location, gradient, output, integer(in[0]), integer(in[1]),
        list(in.drop_front(2)), list(out.drop_front(2)),
        adjoint.getWindowAttr(), adjoint.getStridesAttr(),
        adjoint.getDilationsAttr(), everySecond(adjoint.getPads(), 0),
        everySecond(adjoint.getPads(), 1), adjoint.getCountIncludePadAttr(),
        getCost()));
  }
};

} // namespace

LogicalResult lowerTraining(Operation *op, Placement &placement) {
  return TrainingLowering(op, placement).run();
}

} // namespace parplan
