//===- ExpertLanes.cpp - What equal experts compute, as one ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/ExpertLanes.h"
#include "passes/Simplify/ExpertGates.h"
#include "passes/Simplify/ExpertParts.h"

using namespace mlir;

namespace parplan::simplify {

Lanes *LaneMatcher::add(Lanes::Kind kind, ArrayRef<Value> values, size_t lead) {
  auto lanes = std::make_unique<Lanes>();
  lanes->kind = kind;
  lanes->values.assign(values.begin(), values.end());
  lanes->lead = lead;
  all.push_back(std::move(lanes));
  return all.back().get();
}

std::nullptr_t LaneMatcher::fail(Value value, StringRef reason) {
  if (obstacle.reason.empty())
    obstacle = {value.getDefiningOp(), reason.str()};
  return nullptr;
}

Lanes *LaneMatcher::match(ArrayRef<Value> answers) {
  std::optional<size_t> lead = countLeadingDims(getShape(answers[0]), tokens);
  Lanes *lanes = lead ? match(answers, *lead, /*depth=*/0) : nullptr;
  if (lanes && lanes->kind == Lanes::Kind::op && !uses.parameters.empty())
    return lanes;
  return fail(answers[0], "they have no weights of their own");
}

Lanes *LaneMatcher::match(ArrayRef<Value> values, size_t lead, unsigned depth) {
  if (depth > maximumExpertDepth)
    return fail(values[0], "they are too deep");
  auto [entry, isNew] = known.try_emplace({values[0], lead});
  if (!isNew && entry->second && ArrayRef(entry->second->values) == values)
    return entry->second;
  if (!isNew)
    return fail(values[0], "they differ in what they read");
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
    return fail(values[0], "they differ in the types of what they compute");
  if (areSame(llvm::to_vector(values)) ||
      (lead == 0 && areEqualNumbers(values))) {
    return lead > 0 ? matchTokens(values, lead)
                    : add(Lanes::Kind::shared, values, lead);
  }
  if (values[0].getDefiningOp<ParameterOp>())
    return lead > 0 ? fail(values[0], "they have a parameter for each token")
                    : matchStack(values);
  return matchOp(values, lead, depth);
}

Lanes *LaneMatcher::matchTokens(ArrayRef<Value> values, size_t lead) {
  if (!isa<FloatType>(getElementType(values[0])))
    return fail(values[0], "what they read of a token is no float");
  Lanes *lanes = add(Lanes::Kind::tokens, values, lead);
  if (repeats == 1)
    return lanes;
  // The repetition is the major end of the rows.
  Layout layout = Layout::trace(values[0]);
  int64_t count = 1;
  for (const Layout::Atoms &atoms : ArrayRef(layout.getDims()).take_front(lead))
    for (int atom : atoms) {
      if (layout.isRepeated(atom) != (count < repeats))
        return fail(values[0], "tokens are not repeated once per choice");
      count *= layout.getSize(atom);
    }
  lanes->layout = std::move(layout);
  return lanes;
}

Lanes *LaneMatcher::matchStack(ArrayRef<Value> values) {
  ArrayAttr members = stacks.getMembers(values);
  if (!members)
    return fail(values[0], "they do not read one initializer each, in one way");
  uses.stacks.insert(members);
  for (Value value : values)
    uses.parameters.insert(value.getDefiningOp());
  return add(Lanes::Kind::stack, values, /*lead=*/0);
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

/// How many dimensions of each operand of what makes `value` number tokens;
/// none where it cannot be told, or for an op that mixes tokens.
LaneMatcher::Leads LaneMatcher::getOperandLeads(Value value, size_t lead) {
  Operation *op = value.getDefiningOp();
  if (isa<ReshapeOp>(op))
    return {lead == 0 ? 0
                      : countLeadingDims(getShape(op->getOperand(0)), tokens)};
  if (auto slice = dyn_cast<SliceOp>(op)) {
    bool cutsTokens = llvm::any_of(slice.getDims(), [&](int64_t dim) {
      return dim < static_cast<int64_t>(lead);
    });
    return {cutsTokens ? std::nullopt : std::optional(lead)};
  }
  if (auto product = dyn_cast<MatmulOp>(op)) {
    if (product.getExperts())
      return {};
    MatmulSpec spec = *MatmulSpec::parse(product.getSpec());
    StringRef letters = spec.result.take_front(lead);
    // The letters of the tokens stand first, in one operand.
    Leads leads;
    for (StringRef term : {spec.lhs, spec.rhs})
      if (term.starts_with(letters))
        leads.push_back(lead);
      else if (term.find_first_of(letters) == StringRef::npos)
        leads.push_back(0);
      else
        leads.push_back(std::nullopt);
    if (lead == 0 || (leads[0] == lead) == (leads[1] == lead))
      leads[0] = std::nullopt;
    return leads;
  }
  Leads leads;
  if (isFiniteAtZero(op))
    for (Value operand : op->getOperands())
      leads.push_back(getOperandLead(operand, value, lead));
  return leads;
}

Lanes *LaneMatcher::matchOp(ArrayRef<Value> values, size_t lead,
                            unsigned depth) {
  Operation *first = values[0].getDefiningOp();
  if (!first || !areEqualOps(values))
    return fail(values[0], "they differ in what they compute");
  Leads leads = getOperandLeads(values[0], lead);
  if (leads.empty() || llvm::is_contained(leads, std::nullopt))
    return fail(values[0], "this cannot be computed for all of them at once");
  SmallVector<Lanes *, 2> operands;
  for (auto [index, operandLead] : llvm::enumerate(leads)) {
    SmallVector<Value> inputs;
    for (Value value : values)
      inputs.push_back(value.getDefiningOp()->getOperand(index));
    Lanes *operand = match(inputs, *operandLead, depth + 1);
    if (!operand)
      return nullptr;
    operands.push_back(operand);
    if (operand->kind == Lanes::Kind::stack)
      for (Value value : values)
        uses.uses.insert(&value.getDefiningOp()->getOpOperand(index));
  }
  // Ops of their own that compute the same.
  if (llvm::all_of(operands, [](Lanes *operand) {
        return operand->kind == Lanes::Kind::shared;
      }))
    return add(Lanes::Kind::shared, values, lead);
  Lanes *lanes = add(Lanes::Kind::op, values, lead);
  lanes->operands = std::move(operands);
  return lanes;
}

} // namespace parplan::simplify
