//===- AddOptimizer.cpp - Replaces gradients by new values ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Train/Passes.h"
#include "passes/Train/Step.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_ADDOPTIMIZER
#include "passes/Train/Passes.h.inc"

namespace {

using namespace train;

/// PyTorch's guard against division by a norm of zero.
constexpr double clipEpsilon = 1e-6;

std::optional<OptimizerKind> parseKind(StringRef name) {
  return symbolizeOptimizerKind(name);
}

/// Names of the optimizer states, in the order of the update op.
ArrayRef<StringRef> getSlots(OptimizerKind kind) {
  static constexpr StringRef momentum[] = {"momentum_buffer"};
  static constexpr StringRef moments[] = {"exp_avg", "exp_avg_sq"};
  switch (kind) {
  case OptimizerKind::sgd:
    return {};
  case OptimizerKind::momentum:
    return momentum;
  case OptimizerKind::adam:
  case OptimizerKind::adamw:
    return moments;
  }
  PARPLAN_UNREACHABLE("unknown optimizer ", static_cast<int>(kind));
}

/// A leaf and its gradient over the whole step.
struct Variable {
  ParameterOp parameter;
  Value gradient;
  int64_t group;
};

class UpdateBuilder {
public:
  UpdateBuilder(func::FuncOp function, OptimizerKind kind,
                const AddOptimizerOptions &options)
      : function(function), body(function.getBody().front()), kind(kind),
        options(options), builder(body.getTerminator()) {}

  LogicalResult build() {
    if (failed(collect()))
      return failure();
    element = getTensorType(results.front().value).getElementType();
    addNorm();
    addScalars();
    for (Variable &variable : variables)
      addUpdate(variable);
    setResults(function, results);
    return success();
  }

private:
  template <typename Op, typename... Arguments>
  Op create(Arguments &&...arguments) {
    auto op =
        builder.create<Op>(location, std::forward<Arguments>(arguments)...);
    op->setAttr(attributes::role, builder.getStringAttr(roles::optimizer));
    return op;
  }

  Value makeScalar(double value) {
    auto type = RankedTensorType::get({}, element);
    return create<ConstantOp>(
        DenseElementsAttr::get(type, builder.getFloatAttr(element, value)));
  }

  /// A scalar with another element type.
  Value as(Value value, Type wanted) {
    if (!value || getTensorType(value).getElementType() == wanted)
      return value;
    return create<CastOp>(RankedTensorType::get({}, wanted), value);
  }

  /// Takes gradients out of the results.
  LogicalResult collect() {
    llvm::DenseMap<Attribute, ParameterOp> parameters;
    for (auto parameter : function.getOps<ParameterOp>())
      parameters[parameter.getVariable()] = parameter;
    int64_t group = 0;
    for (Operation &op : body)
      if (auto number = op.getAttrOfType<IntegerAttr>(attributes::group))
        group = std::max(group, number.getInt() + 1);
    for (const StepResult &result : getResults(function)) {
      Attribute variable = result.attributes
                               ? result.attributes.get(attributes::variable)
                               : Attribute();
      if (!variable) {
        results.push_back(result);
        continue;
      }
      ParameterOp parameter = parameters.lookup(variable);
      if (!parameter)
        return function.emitError("nothing reads the variable ") << variable;
      variables.push_back({parameter, result.value, group++});
    }
    if (results.empty() || variables.empty())
      return function.emitError("an update needs a loss and gradients");
    return success();
  }

  /// The global norm, every leaf once (S20); what follows from it. Sums are
  /// those of positions, pieces and buckets: only in f64 do they agree.
  void addNorm() {
    lossScale = findScheduled(function, schedules::lossScale);
    if (options.clipNorm <= 0 && !options.reportNorm && !lossScale)
      return;
    SmallVector<Value> squares;
    for (Variable &variable : variables) {
      location = variable.parameter.getLoc();
      auto square = create<SquareSumOp>(variable.gradient);
      square->setAttr(attributes::group,
                      builder.getI64IntegerAttr(variable.group));
      squares.push_back(square);
    }
    location = function.getLoc();
    Value total = create<SumOp>(squares.front().getType(), squares);
    Value norm = as(create<SqrtOp>(total), element);
    if (lossScale) {
      scale = getScheduled(function, schedules::inverseLossScale, element);
      norm = create<MulOp>(norm, scale);
      Value isNaN = create<IsNaNOp>(norm), isInf = create<IsInfOp>(norm);
      skip = create<OrOp>(isNaN, isInf);
    }
    if (options.clipNorm > 0) {
      Value divisor = create<AddOp>(norm, makeScalar(clipEpsilon));
      Value ratio = create<DivOp>(makeScalar(options.clipNorm), divisor);
      Value coefficient = create<MinOp>(ratio, makeScalar(1.0));
      scale =
          scale ? create<MulOp>(scale, coefficient).getResult() : coefficient;
    }
    results.push_back(makeNamedResult(norm, "gradient_norm"));
    if (skip)
      results.push_back(makeNamedResult(skip, "overflow"));
  }

  void addScalars() {
    learningRate = getScheduled(function, schedules::learningRate, element);
    if (kind != OptimizerKind::adam && kind != OptimizerKind::adamw)
      return;
    stepSize = getScheduled(function, schedules::stepSize, element);
    biasCorrection =
        getScheduled(function, schedules::biasCorrection2Sqrt, element);
  }

  void addUpdate(Variable &variable) {
    ParameterOp parameter = variable.parameter;
    location = parameter.getLoc();
    RankedTensorType type = parameter.getType();
    SmallVector<Value> states;
    SmallVector<Attribute> named = {parameter.getVariable()};
    for (StringRef slot : getSlots(kind)) {
      auto state = create<ParameterOp>(type, parameter.getInitializerAttr(),
                                       parameter.getViewAttr(),
                                       builder.getStringAttr(slot));
      states.push_back(state);
      named.push_back(state.getVariable());
    }
    Type own = type.getElementType();
    auto update = create<OptimizerUpdateOp>(
        kind, parameter.getResult(), variable.gradient, states,
        as(learningRate, own), as(stepSize, own), as(biasCorrection, own),
        as(scale, own), skip, options.beta1, options.beta2, options.epsilon,
        options.weightDecay, options.momentum);
    update->setAttr(attributes::group,
                    builder.getI64IntegerAttr(variable.group));
    for (auto [value, name] : llvm::zip(update->getResults(), named))
      results.push_back({value, builder.getDictionaryAttr(builder.getNamedAttr(
                                    attributes::variable, name))});
  }

  func::FuncOp function;
  Block &body;
  OptimizerKind kind;
  AddOptimizerOptions options;
  OpBuilder builder;
  Location location = builder.getUnknownLoc();
  /// Of the loss and of the scalars of the schedule.
  Type element;
  SmallVector<StepResult> results;
  SmallVector<Variable> variables;
  Value lossScale, learningRate, stepSize, biasCorrection;
  /// By which every gradient is multiplied, and whether the step is left out;
  /// null where it never is.
  Value scale, skip;
};

struct AddOptimizer : impl::AddOptimizerBase<AddOptimizer> {
  using AddOptimizerBase::AddOptimizerBase;

  void runOnOperation() override {
    func::FuncOp function = findMain(getOperation());
    if (!function)
      return signalPassFailure();
    std::optional<OptimizerKind> parsed = parseKind(kind);
    if (!parsed) {
      function.emitError("there is no optimizer ") << quoteName(kind);
      return signalPassFailure();
    }
    AddOptimizerOptions options{kind,    momentum,    beta1,    beta2,
                                epsilon, weightDecay, clipNorm, reportNorm};
    if (failed(UpdateBuilder(function, *parsed, options).build()))
      signalPassFailure();
  }
};

} // namespace
} // namespace parplan
