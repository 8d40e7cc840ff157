//===- SelectParameters.cpp - Chooses which initializers are trained ------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Train/Passes.h"
#include "passes/Train/Step.h"

#include "parplan/Support/Text.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_SELECTPARAMETERS
#include "passes/Train/Passes.h.inc"

namespace {

using namespace train;

/// In which way a value reaches the results.
enum class Reach {
  none,
  /// Through operands that carry no gradient, or only data by their nature.
  asData,
  /// Only added to the scores of attention, as it is.
  asMask,
  asWeight,
};

bool isFloat(Value value) {
  return isa<FloatType>(getTensorType(value).getElementType());
}

/// What an operand is to a result that is reached as `reach`.
Reach getReach(OpOperand &operand, Reach reach) {
  Operation *op = operand.getOwner();
  unsigned index = operand.getOperandNumber();
  if (!isFloat(operand.get()) || reach <= Reach::asData)
    return Reach::asData;
  if (isa<CompareOp, FloorOp, CeilOp, RoundOp, SignOp, IsNaNOp, IsInfOp>(op))
    return Reach::asData;
  if (isa<BatchNormOp>(op) && index >= 3)
    return Reach::asData;
  if (isa<RopeOp>(op) && index >= 1)
    return Reach::asData;
  if (auto cast = dyn_cast<CastOp>(op); cast && !isFloat(cast.getResult()))
    return Reach::asData;
  if (auto attention = dyn_cast<AttentionOp>(op))
    if (operand.get() == attention.getMask() && index >= 3)
      return Reach::asMask;
  // A bias of positions that is looked up or computed is learned.
  if (reach == Reach::asMask && isa<EmbeddingOp, MatmulOp, GatherOp>(op))
    return Reach::asWeight;
  return reach;
}

/// How far every value of @main reaches its results, from the end.
llvm::DenseMap<Value, Reach> findReach(func::FuncOp function) {
  llvm::DenseMap<Value, Reach> reached;
  auto note = [&](Value value, Reach reach) {
    Reach &known = reached[value];
    known = std::max(known, reach);
  };
  Block &body = function.getBody().front();
  for (Value result : body.getTerminator()->getOperands())
    note(result, Reach::asWeight);
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    Reach reach = Reach::none;
    for (Value result : op.getResults())
      if (isFloat(result))
        reach = std::max(reach, reached.lookup(result));
      else if (reached.lookup(result) != Reach::none)
        reach = std::max(reach, Reach::asData);
    if (reach != Reach::none)
      for (OpOperand &operand : op.getOpOperands())
        note(operand.get(), getReach(operand, reach));
  }
  return reached;
}

/// An op before `reader`, in the same block and of the same node of the model.
template <typename Op, typename... Arguments>
Value createFor(ParameterOp reader, Arguments &&...arguments) {
  auto op = OpBuilder(reader).create<Op>(reader.getLoc(),
                                         std::forward<Arguments>(arguments)...);
  op->setDiscardableAttrs(reader->getDiscardableAttrDictionary());
  return op;
}

/// Reads the initializers of a stack one by one: not all are trained.
void readMembers(InitializerOp stack, ArrayRef<ParameterOp> readers) {
  stack.emitWarning("of ") << quoteName(stack.getName().str())
                           << " some are trained and others are not: no rank "
                              "can hold only some of these experts";
  for (ParameterOp reader : readers) {
    RankedTensorType type = reader.getType();
    ViewAttr view;
    if (std::optional<ViewAttr> own = reader.getView())
      view = ViewAttr::get(reader.getContext(), own->getOffset(),
                           own->getStrides().drop_front());
    auto part = RankedTensorType::get(type.getShape().drop_front(),
                                      type.getElementType());
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = 1;
    SmallVector<Value> parts;
    for (auto member : stack.getMembers()->getAsRange<FlatSymbolRefAttr>())
      parts.push_back(createFor<ReshapeOp>(
          reader, type.clone(shape),
          createFor<ParameterOp>(reader, part, member, view)));
    reader.replaceAllUsesWith(createFor<ConcatOp>(reader, type, parts, 0));
    reader.erase();
  }
  stack.erase();
}

bool isNorm(Operation *op) {
  return isa<LayerNormOp, RMSNormOp, BatchNormOp>(op);
}

struct SelectParameters : impl::SelectParametersBase<SelectParameters> {
  using SelectParametersBase::SelectParametersBase;
  SelectParameters(const SelectParametersOptions &options,
                   InitializerMarks marks)
      : SelectParametersBase(options), marks(std::move(marks)) {}

  void runOnOperation() override {
    func::FuncOp function = findMain(getOperation());
    if (!function)
      return signalPassFailure();
    reach = findReach(function);
    SymbolTable symbols(getOperation());
    for (auto parameter : function.getOps<ParameterOp>())
      readers[getInitializer(parameter, symbols)].push_back(parameter);
    SmallVector<InitializerOp> initializers, stacks;
    for (auto initializer : getOperation().getOps<InitializerOp>())
      (initializer.getMembers() ? stacks : initializers).push_back(initializer);
    for (InitializerOp stack : stacks)
      for (InitializerOp member : getMembers(stack, symbols))
        readers[member] = readers.lookup(stack);
    hasMarks = llvm::any_of(initializers, [&](InitializerOp initializer) {
      return getMark(initializer) != InitializerMark::none;
    });
    bool any = false;
    llvm::StringSet<> matched;
    for (InitializerOp initializer : initializers) {
      auto [trained, reason] = choose(initializer, matched);
      initializer->setAttr(trained ? attributes::trained : attributes::frozen,
                           StringAttr::get(&getContext(), reason));
      any |= trained;
      if (trained)
        warnIfMerged(initializer);
      else if (looksFolded(initializer))
        folded.push_back(quoteName(initializer.getName().str()));
    }
    for (InitializerOp stack : stacks)
      chooseStack(stack, getMembers(stack, symbols));
    if (!folded.empty())
      function.emitWarning()
          << folded.size() << " initializers are used as weights, but are not "
          << "what the exporter calls a parameter (" << folded.front()
          << "): it has folded them, and they stay as they are; export the "
             "model without optimisation to train it";
    for (const std::string &glob : freeze)
      if (!matched.contains(glob))
        function.emitWarning("no initializer is called ")
            << quoteName(glob) << ", which should stay as it is";
    if (!any) {
      function.emitError("there is nothing to train: no initializer of floats "
                         "reaches the loss or all are frozen");
      signalPassFailure();
    }
  }

private:
  InitializerMark getMark(InitializerOp initializer) {
    StringRef name = initializer.getName();
    if (llvm::is_contained(parameters, name))
      return InitializerMark::parameter;
    if (llvm::is_contained(buffers, name))
      return InitializerMark::buffer;
    return marks ? marks(name) : InitializerMark::none;
  }

  static SmallVector<InitializerOp> getMembers(InitializerOp stack,
                                               SymbolTable &symbols) {
    SmallVector<InitializerOp> members;
    for (auto member : stack.getMembers()->getAsRange<FlatSymbolRefAttr>())
      members.push_back(symbols.lookup<InitializerOp>(member.getValue()));
    return members;
  }

  /// A stack is trained as its initializers are.
  void chooseStack(InitializerOp stack, ArrayRef<InitializerOp> members) {
    bool all = llvm::all_of(members, isTrained);
    if (!all && llvm::any_of(members, isTrained))
      return readMembers(stack, readers.lookup(stack));
    StringRef name = all ? attributes::trained : attributes::frozen;
    stack->setAttr(name, members[0]->getAttr(name));
  }

  std::pair<bool, std::string> choose(InitializerOp initializer,
                                      llvm::StringSet<> &matched) {
    std::string name = initializer.getName().str();
    std::optional<std::string> freezing;
    for (const std::string &glob : freeze)
      if (matchesGlob(glob, name)) {
        matched.insert(glob);
        freezing = "frozen by " + quoteName(glob);
      }
    auto type = cast<RankedTensorType>(initializer.getType());
    if (!isa<FloatType>(type.getElementType()))
      return {false, "not of floats"};
    if (hasMarks && getMark(initializer) == InitializerMark::buffer)
      return {false, "the exporter calls it a buffer"};
    if (hasMarks && getMark(initializer) == InitializerMark::none)
      return {false, "the exporter does not call it a parameter"};
    if (freezing)
      return {false, *freezing};
    Reach reached = Reach::none;
    for (ParameterOp reader : readers.lookup(initializer))
      reached = std::max(reached, reach.lookup(reader));
    switch (reached) {
    case Reach::none:
      return {false, "the loss does not depend on it"};
    case Reach::asData:
      if (!hasMarks)
        return {false, "statistics or a table: it carries no gradient"};
      break;
    case Reach::asMask:
      if (!hasMarks)
        return {false, "a mask of attention"};
      break;
    case Reach::asWeight:
      break;
    }
    return {true, hasMarks ? "the exporter calls it a parameter"
                           : "the loss depends on it"};
  }

  /// An optimised export stores computed weights under new names.
  bool looksFolded(InitializerOp initializer) {
    if (!hasMarks || getMark(initializer) != InitializerMark::none)
      return false;
    auto type = cast<RankedTensorType>(initializer.getType());
    return isa<FloatType>(type.getElementType()) && type.getRank() >= 2 &&
           llvm::any_of(readers.lookup(initializer), [&](ParameterOp reader) {
             return reach.lookup(reader) == Reach::asWeight;
           });
  }

  /// Exporters merge equal initializers, and fresh norms are all equal.
  void warnIfMerged(InitializerOp initializer) {
    llvm::DenseSet<Operation *> norms;
    for (ParameterOp reader : readers.lookup(initializer))
      for (Operation *user : reader->getUsers())
        if (isNorm(user))
          norms.insert(user);
    if (norms.size() < 2)
      return;
    InFlightDiagnostic warning = initializer.emitWarning("the initializer ");
    warning << quoteName(initializer.getName().str()) << " belongs to "
            << norms.size()
            << " norms: the exporter has merged equal initializers, and they "
               "are trained as one";
  }

  InitializerMarks marks;
  bool hasMarks = false;
  std::vector<std::string> folded;
  llvm::DenseMap<Value, Reach> reach;
  llvm::DenseMap<InitializerOp, SmallVector<ParameterOp>> readers;
};

} // namespace

std::unique_ptr<Pass> createSelectParameters(SelectParametersOptions options,
                                             InitializerMarks marks) {
  return std::make_unique<SelectParameters>(options, std::move(marks));
}

} // namespace parplan
