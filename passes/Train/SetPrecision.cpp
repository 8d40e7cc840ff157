//===- SetPrecision.cpp - Computes in bf16 or f16 where it is safe --------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Train/Passes.h"
#include "passes/Train/Step.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_SETPRECISION
#include "passes/Train/Passes.h.inc"

namespace {

using namespace train;

/// In which type an op computes.
enum class Rule {
  /// The short type: products, which take the time.
  low,
  /// f32, and the short type again behind it: norms.
  norm,
  /// f32: reductions, transcendental functions, the loss.
  full,
  /// That of its operands; the short one if any of them has it.
  follow,
};

bool isShape(Operation *op) {
  return isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp, ConcatOp, PadOp,
             GatherOp, GatherElementsOp, GatherNDOp>(op);
}

Rule getRule(Operation *op) {
  auto role = op->getAttrOfType<StringAttr>(attributes::role);
  if (role && role.getValue() == roles::loss)
    return Rule::full;
  if (isa<MatmulOp, ConvOp, AttentionOp, EmbeddingOp>(op))
    return Rule::low;
  if (isa<LayerNormOp, RMSNormOp, BatchNormOp>(op))
    return Rule::norm;
  if (isShape(op) ||
      isa<AddOp, SubOp, MulOp, NegOp, MaxOp, MinOp, SelectOp, CompareOp, ReluOp,
          SiluOp, GeluOp, TanhOp, SigmoidOp, AbsOp, RopeOp, TopKOp,
          MoeDispatchOp, MoeCombineOp, MaxPoolOp, AveragePoolOp>(op))
    return Rule::follow;
  return Rule::full;
}

/// Rewrites ops in program order.
class PrecisionSetter {
public:
  PrecisionSetter(func::FuncOp function, FloatType low)
      : body(function.getBody().front()), low(low),
        full(Float32Type::get(function.getContext())),
        builder(function.getContext()) {}

  void run() {
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      if (op.getNumOperands() > 0)
        ops.push_back(&op);
    for (Operation *op : ops)
      if (auto choice = dyn_cast<TopKOp>(op))
        noteRouter(choice.getInput());
    for (Operation *op : ops)
      rewrite(op);
    // Results of @main keep their types.
    for (OpOperand &operand : body.getTerminator()->getOpOperands())
      if (isLow(operand.get()))
        operand.set(raise(operand.get()));
    eraseUnused(body);
  }

private:
  static Type getElement(Value value) {
    return getTensorType(value).getElementType();
  }
  bool isLow(Value value) const { return getElement(value) == low; }
  bool isFull(Value value) const { return getElement(value) == full; }

  /// The product whose result, up to a softmax, is ranked: rounding would
  /// change the choice of experts.
  void noteRouter(Value value) {
    Operation *op = value.getDefiningOp();
    if (op && !ranked.insert(op).second)
      return;
    if (isa_and_nonnull<MatmulOp>(op)) {
      router.insert(op);
      return;
    }
    if (op && (isShape(op) || isa<SoftmaxOp, SigmoidOp, AddOp, MulOp>(op)))
      for (Value operand : op->getOperands())
        if (isFull(operand))
          noteRouter(operand);
  }

  void rewrite(Operation *op) {
    if (router.contains(op))
      return compute(op, full);
    bool hasLow = llvm::any_of(op->getOperands(),
                               [&](Value value) { return isLow(value); });
    switch (getRule(op)) {
    case Rule::low:
      return compute(op, low);
    case Rule::follow:
      return compute(op, hasLow ? low : full);
    case Rule::full:
      return compute(op, full);
    case Rule::norm:
      compute(op, full);
      if (hasLow)
        shorten(op->getResult(0));
    }
  }

  /// Gives operands and results of floats the type `element`.
  void compute(Operation *op, Type element) {
    if (isa<CastOp>(op)) {
      // Casts of the model say their result.
      if (isLow(op->getOperand(0)))
        op->setOperand(0, raise(op->getOperand(0)));
      return;
    }
    for (OpOperand &operand : op->getOpOperands()) {
      if (element == low && isFull(operand.get()))
        operand.set(lower(operand.get()));
      else if (element == full && isLow(operand.get()))
        operand.set(raise(operand.get()));
    }
    for (Value result : op->getResults())
      if (isLow(result) || isFull(result))
        result.setType(getTensorType(result).clone(element));
  }

  /// All readers of `value` read it in the short type.
  void shorten(Value value) {
    Value shortened = lower(value);
    value.replaceAllUsesExcept(shortened, shortened.getDefiningOp());
  }

  /// The f32 value of a short one.
  Value raise(Value value) {
    if (Value known = casts.lookup(value))
      return known;
    return remember(value, cast(value, full));
  }

  /// The short value of an f32 one. Weights are cast before they are looked up
  /// or rearranged: once per step.
  Value lower(Value value) {
    if (Value known = casts.lookup(value))
      return known;
    Operation *op = value.getDefiningOp();
    Value lowered;
    if (auto constant = dyn_cast_or_null<ConstantOp>(op))
      lowered = lower(constant);
    else if (op && isShape(op) && isOfWeights(value))
      lowered = lowerShape(op);
    else
      lowered = cast(value, low);
    return remember(value, lowered);
  }

  /// Reading back what was cast costs no second rounding.
  Value remember(Value value, Value other) {
    casts[value] = other;
    casts[other] = value;
    return other;
  }

  /// Rearranged parameters and constants, also at indices of the input.
  bool isOfWeights(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (isa<ParameterOp, ConstantOp>(op))
      return true;
    if (!isShape(op))
      return false;
    if (auto known = ofWeights.find(op); known != ofWeights.end())
      return known->second;
    bool answer = llvm::all_of(op->getOperands(), [&](Value operand) {
      return !isa<FloatType>(getElement(operand)) || isOfWeights(operand);
    });
    ofWeights[op] = answer;
    return answer;
  }

  Value lowerShape(Operation *op) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (isFull(operand))
        mapping.map(operand, lower(operand));
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op, mapping);
    Value result = copy->getResult(0);
    result.setType(getTensorType(result).clone(low));
    return result;
  }

  Value lower(ConstantOp constant) {
    builder.setInsertionPointAfter(constant);
    auto type = getTensorType(constant).clone(low);
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements)
      return cast(constant, low);
    auto rounded = elements.mapValues(low, [&](const APFloat &value) {
      APFloat result = value;
      bool losesInfo;
      result.convert(low.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
      return result.bitcastToAPInt();
    });
    PARPLAN_CHECK(rounded.getType() == type, "a constant keeps its shape");
    return builder.create<ConstantOp>(constant.getLoc(), rounded);
  }

  Value cast(Value value, Type element) {
    builder.setInsertionPointAfterValue(value);
    auto op = builder.create<CastOp>(
        value.getLoc(), getTensorType(value).clone(element), value);
    if (Operation *origin = value.getDefiningOp())
      for (StringRef name : {attributes::block, attributes::node})
        if (Attribute attribute = origin->getAttr(name))
          op->setAttr(name, attribute);
    return op;
  }

  Block &body;
  FloatType low;
  Type full;
  OpBuilder builder;
  /// The same value in the other type.
  llvm::DenseMap<Value, Value> casts;
  llvm::DenseSet<Operation *> router;
  /// What was visited: values have many ways to an end.
  llvm::DenseSet<Operation *> ranked;
  llvm::DenseMap<Operation *, bool> ofWeights;
};

/// Parameters in the short type, in place of those that are cast to it.
class WeightRounder {
public:
  WeightRounder(func::FuncOp function, FloatType low)
      : function(function), low(low), symbols(function->getParentOp()) {}

  void run() {
    SmallVector<ParameterOp> parameters(function.getOps<ParameterOp>());
    for (ParameterOp parameter : parameters)
      for (Operation *user : llvm::make_early_inc_range(parameter->getUsers()))
        if (auto cast = dyn_cast<CastOp>(user);
            cast && getTensorType(cast).getElementType() == low)
          replace(cast, parameter);
    eraseUnused(function.getBody().front());
  }

private:
  void replace(CastOp cast, ParameterOp parameter) {
    OpBuilder builder(parameter);
    auto copy = mlir::cast<ParameterOp>(builder.clone(*parameter));
    InitializerOp initializer =
        round(symbols.lookup<InitializerOp>(parameter.getInitializer()));
    copy.setInitializerAttr(
        FlatSymbolRefAttr::get(initializer.getSymNameAttr()));
    copy.getResult().setType(getTensorType(cast));
    cast.getResult().replaceAllUsesWith(copy.getResult());
    cast.erase();
  }

  /// The same bytes of the file in the short type.
  InitializerOp round(InitializerOp initializer) {
    if (InitializerOp known = rounded.lookup(initializer))
      return known;
    SmallVector<Attribute> members;
    if (std::optional<ArrayAttr> list = initializer.getMembers())
      for (auto member : list->getAsRange<FlatSymbolRefAttr>())
        members.push_back(FlatSymbolRefAttr::get(
            round(symbols.lookup<InitializerOp>(member.getValue()))
                .getSymNameAttr()));
    OpBuilder builder(initializer);
    auto copy = cast<InitializerOp>(builder.clone(*initializer));
    copy.setType(cast<RankedTensorType>(copy.getType()).clone(low));
    if (!members.empty())
      copy.setMembersAttr(builder.getArrayAttr(members));
    // Gives it a name of its own.
    symbols.insert(copy);
    rounded[initializer] = copy;
    return copy;
  }

  func::FuncOp function;
  FloatType low;
  SymbolTable symbols;
  llvm::DenseMap<Operation *, InitializerOp> rounded;
};

bool isOtherFloat(Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  return isa<FloatType>(element) && !element.isF32();
}

/// What is not f32 would stay as it is: the precision would not be that which
/// was asked for.
LogicalResult verifyTypes(func::FuncOp function, bool isForward) {
  bool sound = true;
  auto refuse = [&](InFlightDiagnostic diagnostic, StringRef kind,
                    StringRef name, Type type) {
    sound = false;
    diagnostic << "only models of f32 can be "
               << (isForward ? "computed" : "trained")
               << " in a short type, but the " << kind << ' '
               << quoteName(name.str()) << " is "
               << cast<RankedTensorType>(type).getElementType();
  };
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    // Labels and scalars follow the loss.
    StringRef name = getArgumentName(function, index);
    if (isOtherFloat(argument.getType()) && name != "labels" &&
        !function.getArgAttr(index, attributes::schedule))
      refuse(function.emitError(), "input", name, argument.getType());
  }
  SymbolTable symbols(function->getParentOp());
  llvm::DenseSet<Operation *> seen;
  for (auto parameter : function.getOps<ParameterOp>()) {
    InitializerOp initializer = getInitializer(parameter, symbols);
    if ((isForward || isTrained(initializer)) &&
        isOtherFloat(parameter.getType()) && seen.insert(initializer).second)
      refuse(initializer.emitError(), "parameter", initializer.getName(),
             parameter.getType());
  }
  return success(sound);
}

struct SetPrecision : impl::SetPrecisionBase<SetPrecision> {
  using SetPrecisionBase::SetPrecisionBase;

  void runOnOperation() override {
    func::FuncOp function = findMain(getOperation());
    if (!function || failed(verifyTypes(function, roundsWeights)))
      return signalPassFailure();
    FloatType low;
    if (type == "bf16")
      low = BFloat16Type::get(&getContext());
    else if (type == "f16")
      low = Float16Type::get(&getContext());
    if (!low) {
      function.emitError("there is no short type ") << quoteName(type);
      return signalPassFailure();
    }
    PrecisionSetter(function, low).run();
    if (roundsWeights)
      WeightRounder(function, low).run();
  }
};

} // namespace
} // namespace parplan
