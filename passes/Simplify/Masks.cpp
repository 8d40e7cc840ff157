//===- Masks.cpp - What excludes keys from an attention -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Masks.h"

#include "passes/Simplify/Matching.h"

#include "parplan/Support/Check.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace parplan::simplify {

/// Without broadcasts and added leading dimensions: operands broadcast anyway.
static Value peel(Value value) {
  while (true) {
    if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
      value = broadcast.getInput();
      continue;
    }
    auto reshape = value.getDefiningOp<ReshapeOp>();
    if (!reshape)
      return value;
    auto isOne = [](int64_t size) { return size == 1; };
    auto from = getShape(reshape.getInput()), to = getShape(value);
    if (from.drop_while(isOne) != to.drop_while(isOne))
      return value;
    value = reshape.getInput();
  }
}

namespace {
/// constant + sum of coefficients * index <= 0, over the last two dimensions.
struct Diagonal {
  int64_t constant = 0, ofQuery = 0, ofKey = 0;
};
} // namespace

/// The function over (query, key); none if other dimensions matter or the sizes
/// are not those of the scores.
static std::optional<Diagonal> readAffine(AffineMaskOp mask, bool isNegated,
                                          int64_t queries, int64_t keys) {
  ArrayRef<int64_t> coefficients = mask.getCoefficients();
  ArrayRef<int64_t> shape = mask.getType().getShape();
  Diagonal diagonal;
  diagonal.constant = static_cast<int64_t>(mask.getConstant());
  for (size_t back = 0; back < shape.size(); ++back) {
    size_t dim = shape.size() - 1 - back;
    if (shape[dim] == 1 || coefficients[dim] == 0)
      continue;
    if (back > 1 || shape[dim] != (back == 0 ? keys : queries))
      return {};
    (back == 0 ? diagonal.ofKey : diagonal.ofQuery) = coefficients[dim];
  }
  // not (f <= 0) is 1 - f <= 0.
  if (isNegated)
    diagonal = {1 - diagonal.constant, -diagonal.ofQuery, -diagonal.ofKey};
  return diagonal;
}

bool Masks::addAffine(AffineMaskOp mask, bool isNegated) {
  std::optional<Diagonal> found = readAffine(mask, isNegated, queries, keys);
  if (!found)
    return false;
  int64_t highest = found->constant +
                    std::max<int64_t>(0, found->ofQuery * (queries - 1)) +
                    std::max<int64_t>(0, found->ofKey * (keys - 1));
  if (highest <= 0)
    return true; // Excludes nothing.
  bool isDiagonal = found->ofKey == 1 && (found->ofQuery == -1 || queries == 1);
  if (!isDiagonal)
    return false;
  addDiagonal(-found->constant);
  return true;
}

void Masks::addDiagonal(int64_t offset) {
  diagonal = diagonal ? std::min(*diagonal, offset) : offset;
}

/// Whether both of what `condition` requires must hold.
static bool isConjunction(Operation *condition, bool isNegated) {
  return isNegated ? isa_and_nonnull<OrOp>(condition)
                   : isa_and_nonnull<AndOp>(condition);
}

void Masks::addCondition(Value condition, bool isNegated) {
  condition = peel(condition);
  Operation *op = condition.getDefiningOp();
  if (auto inverse = dyn_cast_or_null<NotOp>(op))
    return addCondition(inverse.getInput(), !isNegated);
  if (isConjunction(op, isNegated)) {
    addCondition(op->getOperand(0), isNegated);
    return addCondition(op->getOperand(1), isNegated);
  }
  if (auto mask = dyn_cast_or_null<AffineMaskOp>(op))
    if (addAffine(mask, isNegated))
      return;
  std::optional<double> splat = getSplat(condition);
  if (splat && (*splat != 0) != isNegated)
    return;
  conditions.push_back({condition, isNegated});
}

/// Above this, other masks may lower scores as much: -1e4 is as usual for
/// causes as for padding.
static constexpr double hidesBesideOthers = -1e8;

Masks::KeysLeft Masks::findKeysLeft(Value condition, bool isNegated) const {
  Value core = peel(condition);
  Operation *op = core.getDefiningOp();
  if (auto inverse = dyn_cast_or_null<NotOp>(op))
    return findKeysLeft(inverse.getInput(), !isNegated);
  if (isConjunction(op, isNegated)) {
    KeysLeft one = findKeysLeft(op->getOperand(0), isNegated);
    KeysLeft other = findKeysLeft(op->getOperand(1), isNegated);
    return {one.first && other.first, one.own && other.own};
  }
  auto mask = dyn_cast_or_null<AffineMaskOp>(op);
  std::optional<Diagonal> found =
      mask ? readAffine(mask, isNegated, queries, keys) : std::nullopt;
  if (!found || found->constant > 0)
    return {};
  // Visible to query 0, and to later ones where the function falls.
  int64_t ofOwn = found->ofQuery + found->ofKey;
  return {found->ofQuery <= 0,
          queries == keys && found->constant + ofOwn * (queries - 1) <= 0};
}

bool Masks::addReplacement(Value condition, double number, bool isNegated) {
  if (!(number <= -1e4))
    return false;
  if (std::isinf(number)) {
    addCondition(condition, isNegated);
    return true;
  }
  if (KeysLeft left = findKeysLeft(condition, isNegated);
      left.areAny() || (hasSink && number <= hidesBesideOthers)) {
    finites.push_back({{condition, isNegated}, left, number, {}, false});
    return true;
  }
  // It is added to the score, which must vanish beside it.
  if (number > hidesBesideOthers)
    return false;
  replacements.push_back({{condition, isNegated}, number});
  return true;
}

void Masks::addTerm(Value term, bool isScaled) {
  Value core = peel(term);
  std::optional<double> splat = getSplat(core);
  if (splat && *splat == 0)
    return;
  if (auto select = core.getDefiningOp<SelectOp>()) {
    std::optional<double> onTrue = getSplat(select.getOnTrue());
    std::optional<double> onFalse = getSplat(select.getOnFalse());
    for (bool isNegated : {false, true}) {
      std::optional<double> kept = isNegated ? onFalse : onTrue;
      std::optional<double> excluded = isNegated ? onTrue : onFalse;
      if (!kept || *kept != 0 || !excluded || *excluded > -1e4)
        continue;
      if (std::isinf(*excluded))
        return addCondition(select.getCondition(), isNegated);
      if (KeysLeft left = findKeysLeft(select.getCondition(), isNegated);
          left.areAny() || (hasSink && *excluded <= hidesBesideOthers)) {
        finites.push_back({{select.getCondition(), isNegated},
                           left,
                           *excluded,
                           core,
                           isScaled});
        return;
      }
    }
  }
  terms.push_back(core);
}

bool Masks::leavesEveryQueryAKey() const {
  return conditions.empty() && replacements.empty() &&
         diagonal.value_or(0) >= 0 &&
         (llvm::all_of(finites,
                       [](const Finite &one) { return one.left.first; }) ||
          llvm::all_of(finites,
                       [](const Finite &one) { return one.left.own; }));
}

bool Masks::resolve() {
  bool hasKeys = leavesEveryQueryAKey();
  bool isVisible = hasKeys || hasSink, isAlone = hasKeys && terms.empty();
  for (const Finite &finite : finites) {
    bool hides = finite.number <= hidesBesideOthers;
    if (hides ? isVisible : isAlone) {
      addCondition(finite.condition.value, finite.condition.isNegated);
    } else if (finite.term) {
      if (finite.isScaled)
        return false;
      terms.push_back(finite.term);
    } else if (hides) {
      replacements.push_back({finite.condition, finite.number});
    } else {
      return false;
    }
  }
  finites.clear();
  return true;
}

Value Masks::build(Type element, Rewriter &rewriter) const {
  PARPLAN_CHECK(finites.empty(), "masks are built that are not resolved");
  auto number = [&](double value) -> Value {
    auto type = RankedTensorType::get({}, element);
    return rewriter.create<ConstantOp>(
        cast<ElementsAttr>(Attribute(DenseElementsAttr::get(
            type, rewriter.builder.getFloatAttr(element, value)))));
  };
  Value visible;
  for (const Condition &condition : conditions) {
    Value value = condition.value;
    if (condition.isNegated)
      value = rewriter.create<NotOp>(value.getType(), value);
    visible = visible ? rewriter.create<AndOp>(visible, value) : value;
  }
  Value sum;
  auto add = [&](Value term) {
    sum = sum ? rewriter.create<AddOp>(sum, term) : term;
  };
  for (Value term : terms)
    add(term);
  for (const Replacement &replacement : replacements) {
    Value zero = number(0), other = number(replacement.number);
    if (replacement.condition.isNegated)
      std::swap(zero, other);
    add(rewriter.create<SelectOp>(replacement.condition.value, zero, other));
  }
  if (!sum)
    return visible;
  if (visible)
    sum = rewriter.create<SelectOp>(
        visible, sum, number(-std::numeric_limits<double>::infinity()));
  return sum;
}

} // namespace parplan::simplify
