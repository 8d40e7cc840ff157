//===- ExpertLanes.cpp - What equal experts compute, as one ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/ExpertLanes.h"
#include "passes/Simplify/ExpertLetters.h"
#include "passes/Simplify/ExpertParts.h"

#include "parplan/Support/Check.h"

using namespace mlir;

namespace parplan::simplify {

/// Experts are not deeper than that.
static constexpr unsigned maximumDepth = 48;

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

Lanes *LaneMatcher::add(Lanes::Kind kind, ArrayRef<Value> values, size_t lead) {
  auto lanes = std::make_unique<Lanes>();
  lanes->kind = kind;
  lanes->values.assign(values.begin(), values.end());
  lanes->lead = lead;
  all.push_back(std::move(lanes));
  return all.back().get();
}

Lanes *LaneMatcher::match(ArrayRef<Value> answers) {
  std::optional<size_t> lead = countLeadingDims(getShape(answers[0]), tokens);
  Lanes *lanes = lead ? match(answers, *lead, /*depth=*/0) : nullptr;
  // Nothing but the experts may read what is stacked: it would be a variable
  // of its own there.
  for (Operation *parameter : parameters)
    for (Operation *reader :
         readers.lookup(cast<ParameterOp>(parameter).getInitializerAttr()))
      if (!parameters.contains(reader))
        return nullptr;
  return lanes && lanes->kind == Lanes::Kind::op && !parameters.empty()
             ? lanes
             : nullptr;
}

Lanes *LaneMatcher::match(ArrayRef<Value> values, size_t lead, unsigned depth) {
  if (depth > maximumDepth)
    return nullptr;
  auto [entry, isNew] = known.try_emplace({values[0], lead});
  if (!isNew)
    return entry->second && ArrayRef(entry->second->values) == values
               ? entry->second
               : nullptr;
  Lanes *lanes = matchNew(values, lead, depth);
  return known[{values[0], lead}] = lanes;
}

/// Of two ops of one kind.
static bool haveEqualProperties(Operation *one, Operation *other) {
  return one->getName().compareOpProperties(one->getPropertiesStorage(),
                                            other->getPropertiesStorage());
}

/// One value, or the same rearrangement of one.
static bool areSame(SmallVector<Value> values) {
  while (!llvm::all_equal(values)) {
    Operation *first = values[0].getDefiningOp();
    if (!isa_and_nonnull<ReshapeOp, TransposeOp, BroadcastOp>(first))
      return false;
    Type type = values[0].getType();
    for (Value &value : values) {
      Operation *op = value.getDefiningOp();
      if (!op || op->getName() != first->getName() || value.getType() != type ||
          !haveEqualProperties(op, first))
        return false;
      value = op->getOperand(0);
    }
  }
  return true;
}

/// The number that all of `values` are, in constants of their own.
static bool areEqualNumbers(ArrayRef<Value> values) {
  auto first = values[0].getDefiningOp<ConstantOp>();
  return first && llvm::all_of(values.drop_front(), [&](Value value) {
           auto constant = value.getDefiningOp<ConstantOp>();
           return constant && constant.getValue() == first.getValue();
         });
}

Lanes *LaneMatcher::matchNew(ArrayRef<Value> values, size_t lead,
                             unsigned depth) {
  if (!llvm::all_equal(
          llvm::map_range(values, [](Value value) { return value.getType(); })))
    return nullptr;
  if (areSame(llvm::to_vector(values)) ||
      (lead == 0 && areEqualNumbers(values))) {
    return lead > 0 ? matchTokens(values, lead)
                    : add(Lanes::Kind::shared, values, lead);
  }
  if (values[0].getDefiningOp<ParameterOp>()) {
    if (lead > 0 || !matchStack(values))
      return nullptr;
    return add(Lanes::Kind::stack, values, lead);
  }
  return matchOp(values, lead, depth);
}

Lanes *LaneMatcher::matchTokens(ArrayRef<Value> values, size_t lead) {
  if (!isa<FloatType>(getElementType(values[0])))
    return nullptr;
  Lanes *lanes = add(Lanes::Kind::tokens, values, lead);
  if (repeats == 1)
    return lanes;
  // The repetition is the major end of the rows.
  Layout layout = Layout::trace(values[0]);
  int64_t count = 1;
  for (const Layout::Atoms &atoms : ArrayRef(layout.getDims()).take_front(lead))
    for (int atom : atoms) {
      if (layout.isRepeated(atom) != (count < repeats))
        return nullptr;
      count *= layout.getSize(atom);
    }
  lanes->layout = std::move(layout);
  return lanes;
}

/// An initializer is in one stack only.
bool LaneMatcher::matchStack(ArrayRef<Value> values) {
  ArrayAttr members = stacks.getMembers(values);
  if (!members)
    return false;
  for (auto [value, member] : llvm::zip_equal(values, members)) {
    parameters.insert(value.getDefiningOp());
    if (stackOf.try_emplace(member, members).first->second != members)
      return false;
  }
  return true;
}

/// Equal but for operands.
static bool areEqualOps(ArrayRef<Value> values) {
  Operation *first = values[0].getDefiningOp();
  return llvm::all_of(values, [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && op->getName() == first->getName() &&
           op->getNumResults() == 1 &&
           op->getNumOperands() == first->getNumOperands() &&
           haveEqualProperties(op, first);
  });
}

std::optional<size_t> LaneMatcher::getOperandLead(Value operand, Value result,
                                                  size_t lead) const {
  ArrayRef<int64_t> shape = getShape(operand), to = getShape(result);
  if (lead == 0)
    return 0;
  size_t missing = to.size() - shape.size();
  if (missing == 0 && shape.take_front(lead) == to.take_front(lead))
    return lead;
  for (size_t dim = missing; dim < lead; ++dim)
    if (shape[dim - missing] != 1)
      return std::nullopt;
  return 0;
}

Lanes *LaneMatcher::matchOp(ArrayRef<Value> values, size_t lead,
                            unsigned depth) {
  Operation *first = values[0].getDefiningOp();
  if (!first || !areEqualOps(values))
    return nullptr;
  SmallVector<std::optional<size_t>, 2> leads;
  if (isa<ReshapeOp>(first)) {
    leads = {lead == 0
                 ? 0
                 : countLeadingDims(getShape(first->getOperand(0)), tokens)};
  } else if (auto product = dyn_cast<MatmulOp>(first)) {
    MatmulSpec spec = *MatmulSpec::parse(product.getSpec());
    StringRef letters = spec.result.take_front(lead);
    // Where the letters of the tokens stand.
    for (StringRef term : {spec.lhs, spec.rhs})
      if (term.starts_with(letters))
        leads.push_back(lead);
      else if (term.find_first_of(letters) == StringRef::npos)
        leads.push_back(0);
      else
        return nullptr;
    if (lead == 0 || (leads[0] == lead) == (leads[1] == lead))
      return nullptr;
  } else if (isFiniteAtZero(first)) {
    for (Value operand : first->getOperands())
      leads.push_back(getOperandLead(operand, values[0], lead));
  } else {
    return nullptr;
  }
  SmallVector<Lanes *, 2> operands;
  for (auto [index, operandLead] : llvm::enumerate(leads)) {
    SmallVector<Value> inputs;
    for (Value value : values)
      inputs.push_back(value.getDefiningOp()->getOperand(index));
    Lanes *operand =
        operandLead ? match(inputs, *operandLead, depth + 1) : nullptr;
    if (!operand)
      return nullptr;
    operands.push_back(operand);
  }
  Lanes *lanes = add(Lanes::Kind::op, values, lead);
  lanes->operands = std::move(operands);
  return lanes;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

SmallVector<int64_t> LaneBuilder::getShapeOf(const Lanes &lanes) const {
  SmallVector<int64_t> shape{static_cast<int64_t>(lanes.values.size())};
  if (lanes.lead > 0)
    shape.append(routing.tokens);
  llvm::append_range(shape, lanes.getRest());
  return shape;
}

Value LaneBuilder::build(Lanes *lanes) {
  if (Value known = built.lookup(lanes))
    return known;
  Value made = buildNew(*lanes);
  return built[lanes] = made;
}

Value LaneBuilder::buildNew(const Lanes &lanes) {
  switch (lanes.kind) {
  case Lanes::Kind::tokens:
    return buildTokens(lanes);
  case Lanes::Kind::stack:
    return stacks.read(lanes.values, rewriter);
  case Lanes::Kind::shared:
    return lanes.values[0];
  case Lanes::Kind::op:
    break;
  }
  Operation *op = lanes.values[0].getDefiningOp();
  if (isa<ReshapeOp>(op))
    return toShape(build(lanes.operands[0]), getShapeOf(lanes), rewriter);
  if (auto product = dyn_cast<MatmulOp>(op))
    return buildProduct(lanes, product);
  return buildElementwise(lanes, op);
}

Value LaneBuilder::buildTokens(const Lanes &lanes) {
  Value tokens = lanes.values[0];
  if (lanes.layout) {
    Layout::Dims dims;
    for (auto [dim, atoms] : llvm::enumerate(lanes.layout->getDims())) {
      Layout::Atoms kept;
      for (int atom : atoms)
        if (dim >= lanes.lead || !lanes.layout->isRepeated(atom))
          kept.push_back(atom);
      dims.push_back(kept);
    }
    tokens = lanes.layout->build(dims, rewriter);
  }
  SmallVector<int64_t> shape(routing.tokens);
  shape.push_back(countElements(lanes.getRest()));
  tokens = toShape(tokens, shape, rewriter);
  SmallVector<int64_t> spread{static_cast<int64_t>(lanes.values.size())};
  llvm::append_range(spread, shape);
  Value &rows = dispatched[tokens];
  if (!rows) {
    rewriter.setOnnxOp("MoE");
    rows = rewriter.create<MoeDispatchOp>(
        RankedTensorType::get(spread, getElementType(tokens)), tokens,
        routing.experts, /*weights=*/Value(), /*first_expert=*/Value());
  }
  return toShape(rows, getShapeOf(lanes), rewriter);
}

Value LaneBuilder::buildElementwise(const Lanes &lanes, Operation *op) {
  SmallVector<Value> operands;
  size_t rest = lanes.getRest().size();
  for (Lanes *operand : lanes.operands) {
    Value value = build(operand);
    ArrayRef<int64_t> own = getShape(operand->values[0]);
    // Dimensions of one element in place of the tokens.
    ArrayRef<int64_t> kept = own.take_back(std::min(rest, own.size()));
    if (operand->lead == 0 && operand->kind == Lanes::Kind::shared) {
      value = toShape(value, kept, rewriter);
    } else if (operand->lead == 0) {
      SmallVector<int64_t> shape{static_cast<int64_t>(lanes.values.size())};
      if (lanes.lead > 0)
        shape.append(routing.tokens.size(), 1);
      shape.append(rest - kept.size(), 1);
      llvm::append_range(shape, kept);
      value = toShape(value, shape, rewriter);
    }
    operands.push_back(value);
  }
  rewriter.setOrigin(op);
  return rewriter
      .cloneWith(op, operands,
                 RankedTensorType::get(getShapeOf(lanes),
                                       getElementType(lanes.values[0])))
      ->getResult(0);
}

Value LaneBuilder::buildProduct(const Lanes &lanes, MatmulOp product) {
  MatmulSpec spec = *MatmulSpec::parse(product.getSpec());
  StringRef terms[2] = {spec.lhs, spec.rhs};
  // Tokens first, as products of other layers have them.
  int order[2] = {0, 1};
  if (lanes.operands[0]->lead == 0)
    std::swap(order[0], order[1]);
  ExpertLetters letters(routing.tokens.size());
  Value operands[2];
  std::string made;
  for (auto [place, index] : llvm::enumerate(order)) {
    Lanes *operand = lanes.operands[index];
    bool isShared = operand->kind == Lanes::Kind::shared;
    operands[place] = build(operand);
    made += isShared ? "" : "e";
    made += operand->lead > 0 ? letters.tokens : "";
    for (char letter : terms[index].drop_front(operand->lead))
      made +=
          letters.get(letter, spec.result.contains(letter) ? "nopq" : "klj");
    made += place == 0 ? "," : "->";
  }
  made += "e" + letters.tokens;
  for (char letter : spec.result.drop_front(lanes.lead))
    made += letters.get(letter, "nopq");
  rewriter.setOrigin(product);
  return rewriter.create<MatmulOp>(operands[0], operands[1], made);
}

} // namespace parplan::simplify
