//===- AttentionScores.cpp - Softmaxes of scores of queries and keys ------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/AttentionScores.h"

#include "passes/Simplify/Matching.h"

using namespace mlir;

namespace parplan::simplify {

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// `scores`, of which a softmax over the last dimension is the same as of these
/// less their maximum.
static Value stripMaximum(Value scores) {
  auto difference = scores.getDefiningOp<SubOp>();
  auto maximum =
      difference ? difference.getRhs().getDefiningOp<ReduceOp>() : ReduceOp();
  bool isOwn =
      maximum && maximum.getKind() == ReduceKind::max &&
      maximum.getKeepDims() && maximum.getInput() == difference.getLhs() &&
      maximum.getDims() ==
          ArrayRef<int64_t>{static_cast<int64_t>(getShape(scores).size()) - 1};
  return isOwn ? difference.getLhs() : scores;
}

/// The weights that `slice` keeps of a softmax over scores [b, h, s, t] beside
/// [b, h, s, 1] of sinks.
static std::optional<Weights> matchWeightsBesideSink(SliceOp slice) {
  auto softmax = slice.getInput().getDefiningOp<SoftmaxOp>();
  if (!softmax)
    return {};
  auto concat = stripMaximum(softmax.getInput()).getDefiningOp<ConcatOp>();
  if (!concat || concat.getInputs().size() != 2 || concat.getDim() != 3 ||
      slice.getDims() != ArrayRef<int64_t>{3} || slice.getStarts()[0] != 0 ||
      slice.getSteps()[0] != 1 || getShape(concat).size() != 4)
    return {};
  Value scores = concat.getInputs()[0], sink = concat.getInputs()[1];
  while (auto broadcast = sink.getDefiningOp<BroadcastOp>())
    sink = broadcast.getInput();
  int64_t heads = getShape(scores)[1];
  bool isPerHead = getShape(sink) == ArrayRef<int64_t>{1, heads, 1, 1};
  if (!isPerHead || getShape(slice) != getShape(scores))
    return {};
  return Weights{softmax, false, scores, sink};
}

std::optional<Weights> matchWeights(Value value) {
  if (auto slice = value.getDefiningOp<SliceOp>())
    return matchWeightsBesideSink(slice);
  if (auto softmax = value.getDefiningOp<SoftmaxOp>())
    return Weights{softmax, false, stripMaximum(softmax.getInput())};
  auto select = value.getDefiningOp<SelectOp>();
  auto isNaN =
      select ? select.getCondition().getDefiningOp<IsNaNOp>() : IsNaNOp();
  if (!isNaN || isNaN.getInput() != select.getOnFalse() ||
      getSplat(select.getOnTrue()) != 0.0)
    return {};
  auto softmax = select.getOnFalse().getDefiningOp<SoftmaxOp>();
  return softmax ? std::optional(
                       Weights{softmax, true, stripMaximum(softmax.getInput())})
                 : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

namespace {
/// `scores` where the condition holds (does not, if negated), else `number`.
struct Replacement {
  Value scores, condition;
  double number;
  bool isNegated;
};
} // namespace

/// A condition as numbers, also broadcast: select(condition, onTrue, onFalse).
static SelectOp matchChoice(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  auto select = value.getDefiningOp<SelectOp>();
  return select && getSplat(select.getOnTrue()) && getSplat(select.getOnFalse())
             ? select
             : SelectOp();
}

/// As older exporters write it: scores * mask - number * (1 - mask).
static std::optional<Replacement> matchProductWithMask(Operation *op) {
  bool isDifference = isa<SubOp>(op);
  for (int position : {0, 1}) {
    auto kept = op->getOperand(position).getDefiningOp<MulOp>();
    SelectOp others = matchChoice(op->getOperand(1 - position));
    if (!kept || !others || (isDifference && position == 1))
      continue;
    for (int factor : {0, 1}) {
      SelectOp mask = matchChoice(kept->getOperand(factor));
      if (!mask || mask.getCondition() != others.getCondition())
        continue;
      bool isNegated = getSplat(mask.getOnTrue()) == 0.0;
      Value one = isNegated ? mask.getOnFalse() : mask.getOnTrue();
      Value zero = isNegated ? mask.getOnTrue() : mask.getOnFalse();
      Value none = isNegated ? others.getOnFalse() : others.getOnTrue();
      Value term = isNegated ? others.getOnTrue() : others.getOnFalse();
      if (getSplat(one) == 1.0 && getSplat(zero) == 0.0 &&
          getSplat(none) == 0.0)
        return Replacement{kept->getOperand(1 - factor), mask.getCondition(),
                           isDifference ? -*getSplat(term) : *getSplat(term),
                           isNegated};
    }
  }
  return {};
}

static SmallVector<Replacement, 2> matchReplacements(Operation *op) {
  SmallVector<Replacement, 2> found;
  if (isa<AddOp, SubOp>(op))
    if (std::optional<Replacement> one = matchProductWithMask(op))
      found.push_back(*one);
  if (auto select = dyn_cast<SelectOp>(op))
    for (bool isNegated : {false, true})
      if (std::optional<double> number =
              getSplat(isNegated ? select.getOnTrue() : select.getOnFalse()))
        found.push_back({isNegated ? select.getOnFalse() : select.getOnTrue(),
                         select.getCondition(), *number, isNegated});
  return found;
}

/// Walks from the operand of the softmax back to the product.
std::optional<Scores> matchScores(Value value, Scores scores) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (auto product = dyn_cast<MatmulOp>(op)) {
    if (product.getExperts())
      return {};
    scores.product = product;
    return scores.masks.resolve() ? std::optional(scores) : std::nullopt;
  }
  Scaled scaled = matchScaled(value);
  if (scaled.base != value) {
    scores.scale *= scaled.factor;
    return matchScores(scaled.base, scores);
  }
  // Masks further back are scaled by what was met so far.
  bool isScaled = scores.scale != 1;
  if (!isScaled)
    for (const Replacement &replacement : matchReplacements(op))
      if (replacement.scores.getType() == value.getType() &&
          scores.masks.addReplacement(replacement.condition, replacement.number,
                                      replacement.isNegated))
        return matchScores(replacement.scores, scores);
  if (!isa<AddOp>(op))
    return {};
  for (int position : {0, 1}) {
    Value inner = op->getOperand(position), term = op->getOperand(1 - position);
    if (inner.getType() != value.getType() ||
        isa_and_nonnull<ParameterOp, ConstantOp>(inner.getDefiningOp()))
      continue;
    Scores masked = scores;
    masked.masks.addTerm(term, isScaled);
    if (isScaled && masked.masks.hasTerms())
      continue;
    if (std::optional<Scores> found = matchScores(inner, masked))
      return found;
  }
  return {};
}

} // namespace parplan::simplify
