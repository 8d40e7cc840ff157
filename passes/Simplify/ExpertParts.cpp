//===- ExpertParts.cpp - Finds what experts compute, per choice -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/ExpertParts.h"
#include "dialects/parplan/PaddingId.h"

#include "parplan/Support/Sizes.h"

using namespace mlir;

namespace parplan::simplify {

std::optional<size_t> countLeadingDims(ArrayRef<int64_t> shape, int64_t count) {
  int64_t product = 1;
  for (auto [dim, size] : llvm::enumerate(shape))
    if ((product *= size) == count)
      return dim + 1;
  return std::nullopt;
}

Value toShape(Value value, ArrayRef<int64_t> shape, Rewriter &rewriter) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  while (reshape && getShape(value) != shape) {
    value = reshape.getInput();
    reshape = value.getDefiningOp<ReshapeOp>();
  }
  return rewriter.reshape(value, shape);
}

Part *ExpertMatcher::add(Part::Kind kind, Value value, size_t lead) {
  auto part = std::make_unique<Part>();
  part->kind = kind;
  part->value = value;
  part->lead = lead;
  if (getShape(value).size() > lead)
    part->rest.assign(getShape(value).drop_front(lead).begin(),
                      getShape(value).end());
  parts.push_back(std::move(part));
  return parts.back().get();
}

/// Each expert has one row of a token: weights inside add up where choices
/// repeat, though what is computed of a sum is not the sum of what is computed.
Part *ExpertMatcher::matchAnswers(Value value, size_t lead) {
  Part *part = match(value, lead, /*depth=*/0);
  return part && hasProducts && (routing.areDistinct || !hasWeights) ? part
                                                                     : nullptr;
}

Part *ExpertMatcher::match(Value value, size_t lead, unsigned depth) {
  if (depth > maximumExpertDepth)
    return nullptr;
  auto [entry, isNew] = known.try_emplace({value, lead});
  if (!isNew)
    return entry->second;
  Part *part = matchNew(value, lead, depth);
  return known[{value, lead}] = part;
}

/// What depends on no expert is a token where it is one: dispatching early
/// would compute it once per expert.
Part *ExpertMatcher::matchNew(Value value, size_t lead, unsigned depth) {
  if (Part *gather = matchGather(value, lead))
    return gather;
  Part *op = matchOp(value, lead, depth);
  if (op && op->hasExperts)
    return op;
  if (!isa<FloatType>(getElementType(value)))
    return nullptr;
  if (Part *tokens = matchTokens(value, lead, /*isRepeated=*/true))
    return tokens;
  if (op || multiplySizes(getShape(value).drop_front(lead)) != 1)
    return op;
  Part *weights = add(Part::Kind::weights, value, lead);
  weights->hasTokens = true;
  hasWeights = true;
  return weights;
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

static bool isLastDim(Value value, int64_t dim) {
  return dim + 1 == static_cast<int64_t>(getShape(value).size());
}

/// Whether a number of an expert may have this type.
static bool isIndex(Value value) {
  auto type = dyn_cast<IntegerType>(getElementType(value));
  return type && (type.getWidth() == 32 || type.getWidth() == 64);
}

/// The choices of `experts` experts per token, [*t, k], that `value` is, in
/// their order: what a ranking finds, whose choices differ, or several beside
/// each other do. They are not negative.
static Value findChoices(Value value, int64_t experts) {
  while (Operation *op = isIndex(value) ? value.getDefiningOp() : nullptr) {
    if (auto ranking = dyn_cast<TopKOp>(op))
      return value == ranking.getIndices() &&
                     isLastDim(value, ranking.getDim()) &&
                     getShape(ranking.getInput()).back() == experts
                 ? value
                 : Value();
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      auto isOne = [&](Value part) {
        Value choices = findChoices(part, experts);
        return choices && getShape(choices).back() == getShape(part).back();
      };
      return isLastDim(value, concat.getDim()) &&
                     llvm::all_of(concat.getInputs(), isOne)
                 ? value
                 : Value();
    }
    if (isa<ReshapeOp, CastOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    // Exports count negative indices from the end.
    auto select = dyn_cast<SelectOp>(op);
    auto compare =
        select ? select.getCondition().getDefiningOp<CompareOp>() : CompareOp();
    if (!compare || compare.getPredicate() != ComparePredicate::lt ||
        compare.getLhs() != select.getOnFalse() ||
        getSplat(compare.getRhs()) != 0.0)
      return {};
    value = select.getOnFalse();
  }
  return {};
}

namespace {

/// Entries along the first dimension of `data`.
struct Pick {
  Value data, indices;
};

} // namespace

static std::optional<Pick> findPick(Operation *op) {
  if (auto gather = dyn_cast_or_null<GatherOp>(op);
      gather && gather.getDim() == 0)
    return Pick{gather.getData(), gather.getIndices()};
  if (auto tuples = dyn_cast_or_null<GatherNDOp>(op);
      tuples && tuples.getBatchDims() == 0 &&
      getShape(tuples.getIndices()).back() == 1)
    return Pick{tuples.getData(), tuples.getIndices()};
  if (auto rows = dyn_cast_or_null<EmbeddingOp>(op);
      rows && !rows->hasAttr(attributes::paddingId))
    return Pick{rows.getTable(), rows.getIds()};
  return std::nullopt;
}

Part *ExpertMatcher::matchGather(Value value, size_t lead) {
  std::optional<Pick> pick = findPick(value.getDefiningOp());
  if (!pick)
    return nullptr;
  auto [data, indices] = *pick;
  int64_t experts = getShape(data)[0];
  Value chosen = findChoices(indices, experts);
  if (!chosen || getShape(chosen).back() != routing.choices ||
      multiplySizes(getShape(indices)) != rows)
    return nullptr;
  if (!routing.chosen) {
    routing.chosen = chosen;
    routing.areDistinct = chosen.getDefiningOp<TopKOp>() != nullptr;
    routing.gather = value.getDefiningOp();
    llvm::append_range(routing.tokens, getShape(chosen).drop_back());
    routing.experts = experts;
  } else if (routing.chosen != chosen) {
    return nullptr;
  }
  Part *part = add(Part::Kind::experts, value, lead);
  part->table = data;
  part->hasExperts = true;
  return part;
}

/// `value` numbers tokens by its first dimensions, with the repetition for the
/// choices of a token behind them if `isRepeated`.
Part *ExpertMatcher::matchTokens(Value value, size_t lead, bool isRepeated) {
  Layout layout = Layout::trace(value);
  Layout::Atoms numbering;
  int64_t repeats = 1, tokens = 1;
  for (auto [dim, atoms] : llvm::enumerate(layout.getDims()))
    for (int atom : atoms) {
      if (!layout.isRepeated(atom)) {
        // The repetition is the minor end of the choices.
        if (dim < lead && repeats != 1)
          return nullptr;
        if (dim < lead) {
          numbering.push_back(atom);
          tokens *= layout.getSize(atom);
        }
        continue;
      }
      if (dim >= lead || !isRepeated)
        return nullptr;
      repeats *= layout.getSize(atom);
    }
  if (tokens * routing.choices != rows ||
      (isRepeated && repeats != routing.choices))
    return nullptr;
  size_t rootDims = 0, next = 0;
  for (; next < numbering.size() && rootDims < layout.getRootDims().size();
       ++rootDims)
    for (int atom : layout.getRootDims()[rootDims])
      if (next >= numbering.size() || numbering[next++] != atom)
        return nullptr;
  if (next != numbering.size())
    return nullptr;
  Part *part = add(Part::Kind::tokens, value, lead);
  part->hasTokens = true;
  part->layout = std::move(layout);
  part->tokenDims = rootDims;
  return part;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

bool isFiniteAtZero(Operation *op) {
  if (auto power = dyn_cast<PowOp>(op)) {
    std::optional<double> exponent = getSplat(power.getRhs());
    return exponent && *exponent >= 1;
  }
  if (auto quotient = dyn_cast<DivOp>(op)) {
    std::optional<double> divisor = getSplat(quotient.getRhs());
    return divisor && *divisor != 0;
  }
  return isElementwise(op) &&
         !isa<LogOp, SqrtOp, RsqrtOp, ReciprocalOp, ModOp>(op);
}

/// Whether one operand of a product is of tokens, the other of experts alone.
static bool multipliesTokens(const Part *tokens, const Part *experts) {
  return tokens && experts && tokens->hasTokens && experts->hasExperts &&
         !experts->hasTokens;
}

Part *ExpertMatcher::matchOp(Value value, size_t lead, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1)
    return nullptr;
  SmallVector<Part *, 2> operands;
  auto matchInput = [&](size_t inputLead) {
    operands.push_back(match(op->getOperand(0), inputLead, depth + 1));
  };
  if (isa<ReshapeOp>(op)) {
    std::optional<size_t> inner =
        countLeadingDims(getShape(op->getOperand(0)), rows);
    if (!inner)
      return nullptr;
    matchInput(*inner);
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (size_t dim = 0; dim < lead; ++dim)
      if (transpose.getPermutation()[dim] != static_cast<int64_t>(dim))
        return nullptr;
    matchInput(lead);
  } else if (auto slice = dyn_cast<SliceOp>(op)) {
    if (slice.getDims().empty() ||
        slice.getDims()[0] < static_cast<int64_t>(lead))
      return nullptr;
    matchInput(lead);
  } else if (auto product = dyn_cast<MatmulOp>(op);
             product && !product.getExperts()) {
    MatmulSpec spec = *MatmulSpec::parse(product.getSpec());
    StringRef letters = spec.result.take_front(lead);
    ArrayRef<int64_t> sizes = getShape(value).take_front(lead);
    operands = {
        matchFactor(product.getLhs(), spec.lhs, letters, sizes, depth + 1),
        matchFactor(product.getRhs(), spec.rhs, letters, sizes, depth + 1)};
    hasProducts |= multipliesTokens(operands[0], operands[1]) ||
                   multipliesTokens(operands[1], operands[0]);
  } else if (isFiniteAtZero(op)) {
    for (Value operand : op->getOperands())
      operands.push_back(
          matchElementwiseOperand(operand, value, lead, depth + 1));
  } else {
    return nullptr;
  }
  if (llvm::is_contained(operands, nullptr))
    return nullptr;
  Part *part = add(Part::Kind::op, value, lead);
  part->operands = operands;
  for (Part *operand : operands) {
    part->hasTokens |= operand->hasTokens;
    part->hasExperts |= operand->hasExperts;
  }
  // Constants per choice are no work of experts.
  return part->hasTokens || part->hasExperts ? part : nullptr;
}

/// An operand that broadcasts to a value per choice: one itself, a token of
/// which all choices get the same, or what is the same for all choices.
Part *ExpertMatcher::matchElementwiseOperand(Value operand, Value result,
                                             size_t lead, unsigned depth) {
  ArrayRef<int64_t> shape = getShape(operand), to = getShape(result);
  size_t missing = to.size() - shape.size();
  if (missing == 0 && shape.take_front(lead) == to.take_front(lead))
    return match(operand, lead, depth);
  if (missing == 0 && shape[lead - 1] == 1 &&
      shape.take_front(lead - 1) == to.take_front(lead - 1))
    return matchTokens(operand, lead, /*isRepeated=*/false);
  for (size_t dim = missing; dim < lead; ++dim)
    if (shape[dim - missing] != 1)
      return nullptr;
  Part *part = add(Part::Kind::shared, operand, lead);
  part->rest.assign(to.drop_front(lead).begin(), to.drop_front(lead).end());
  return part;
}

/// An operand of a product whose result numbers choices by `leadLetters`.
Part *ExpertMatcher::matchFactor(Value operand, StringRef letters,
                                 StringRef leadLetters, ArrayRef<int64_t> lead,
                                 unsigned depth) {
  if (letters.starts_with(leadLetters))
    return match(operand, lead.size(), depth);
  // A token, multiplied by the weights of each of its experts.
  if (lead.back() == routing.choices &&
      letters.starts_with(leadLetters.drop_back()) &&
      !letters.contains(leadLetters.back()))
    return matchTokens(operand, lead.size() - 1, /*isRepeated=*/false);
  for (char letter : leadLetters)
    if (letters.contains(letter))
      return nullptr;
  return add(Part::Kind::shared, operand, /*lead=*/0);
}

} // namespace parplan::simplify
