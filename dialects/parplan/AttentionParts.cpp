//===- AttentionParts.cpp - What attentions share -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/AttentionParts.h"

#include "parplan/Sharding/Zigzag.h"

#include <limits>

using namespace mlir;

namespace parplan {

AttentionSizes::AttentionSizes(Value query, Value value) {
  ArrayRef<int64_t> queryShape = getShape(query);
  ArrayRef<int64_t> valueShape = getShape(value);
  b = queryShape[0], s = queryShape[1], e = queryShape[3];
  t = valueShape[1], g = valueShape[2], f = valueShape[3];
  r = queryShape[2] / g;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static LogicalResult verifyMask(OptionalLocation location, Value mask,
                                RankedTensorType query, Shape scores,
                                std::optional<int64_t> wholeKeys) {
  RankedTensorType type = getTensorType(mask);
  if (wholeKeys && type.getRank() > 0 && type.getShape().back() == *wholeKeys)
    scores.back() = *wholeKeys;
  if (!broadcastsTo(type.getShape(), scores))
    return emitOptionalError(location, "mask of shape ",
                             printShape(type.getShape()),
                             " does not broadcast to ", printShape(scores));
  if (!type.getElementType().isInteger(1) &&
      type.getElementType() != query.getElementType())
    return emitOptionalError(location, "mask has element type ",
                             type.getElementType(), ", neither i1 nor ",
                             query.getElementType());
  return success();
}

LogicalResult verifyAttentionOperands(OptionalLocation location,
                                      Value queryValue, Value keyValue,
                                      Value valueValue, Value mask,
                                      std::optional<int64_t> wholeKeys) {
  RankedTensorType query = getTensorType(queryValue);
  RankedTensorType key = getTensorType(keyValue);
  RankedTensorType value = getTensorType(valueValue);
  if (query.getRank() != 4 || key.getRank() != 4 || value.getRank() != 4)
    return emitOptionalError(location, "query, key and value need rank 4, not ",
                             query.getRank(), ", ", key.getRank(), " and ",
                             value.getRank());
  if (query.getElementType() != key.getElementType() ||
      query.getElementType() != value.getElementType())
    return emitOptionalError(location,
                             "query, key and value have the element "
                             "types ",
                             query.getElementType(), ", ", key.getElementType(),
                             " and ", value.getElementType());
  if (query.getDimSize(0) != key.getDimSize(0) ||
      key.getShape().take_front(3) != value.getShape().take_front(3) ||
      query.getDimSize(3) != key.getDimSize(3))
    return emitOptionalError(location, "query ", query, ", key ", key,
                             " and value ", value, " do not fit");
  int64_t heads = query.getDimSize(2), groups = key.getDimSize(2);
  if (groups == 0 || heads % groups != 0)
    return emitOptionalError(location, heads, " query heads over ", groups,
                             " key heads");
  if (!mask)
    return success();
  return verifyMask(
      location, mask, query,
      {query.getDimSize(0), heads, query.getDimSize(1), key.getDimSize(1)},
      wholeKeys);
}

RankedTensorType getAttentionType(Value query, Value value) {
  SmallVector<int64_t> shape(getShape(query));
  shape.back() = getShape(value).back();
  return getTensorType(query).clone(shape);
}

RankedTensorType getWideType(RankedTensorType type) {
  Type element = type.getElementType();
  return element.isBF16() || element.isF16()
             ? type.clone(Float32Type::get(type.getContext()))
             : type;
}

RankedTensorType getLogSumExpType(Value query) {
  ArrayRef<int64_t> shape = getShape(query);
  return getWideType(
      getTensorType(query).clone({shape[0], shape[2], shape[1]}));
}

LogicalResult verifyGradientOperands(OptionalLocation location, Value query,
                                     Value value, Value result,
                                     Value logSumExp) {
  RankedTensorType type = getAttentionType(query, value);
  if (result.getType() != type)
    return emitOptionalError(location, "the result is ", result.getType(),
                             ", not ", type);
  RankedTensorType statistics = getLogSumExpType(query);
  if (logSumExp.getType() != statistics)
    return emitOptionalError(location, "log_sum_exp is ", logSumExp.getType(),
                             ", not ", statistics);
  return success();
}

//===----------------------------------------------------------------------===//
// Rules and work
//===----------------------------------------------------------------------===//

AttentionFactors AttentionFactors::addForward(RuleBuilder &builder,
                                              const AttentionSizes &sizes) {
  AttentionFactors factors;
  factors.b = builder.add("b", sizes.b);
  factors.s = builder.add("s", sizes.s);
  factors.t = builder.add("t", sizes.t, FactorKind::coupled);
  factors.g = builder.add("g", sizes.g);
  factors.r = builder.add("r", sizes.r);
  factors.e = builder.add("e", sizes.e, FactorKind::coupled);
  factors.f = builder.add("f", sizes.f);
  return factors;
}

/// Gradients are sums over what they lack: scores depend on each other only
/// through log_sum_exp, which is given. dP and sum(dO O) are sums over f in
/// which dS is linear; probabilities are not linear in what is summed over e.
AttentionFactors AttentionFactors::addGradient(RuleBuilder &builder,
                                               const AttentionSizes &sizes) {
  AttentionFactors factors;
  factors.b = builder.add("b", sizes.b);
  factors.s = builder.add("s", sizes.s, FactorKind::reduceSum);
  factors.t = builder.add("t", sizes.t, FactorKind::reduceSum);
  factors.g = builder.add("g", sizes.g);
  factors.r = builder.add("r", sizes.r, FactorKind::reduceSum);
  factors.e = builder.add("e", sizes.e, FactorKind::coupled);
  factors.f = builder.add("f", sizes.f, FactorKind::reduceSum);
  return factors;
}

static SmallVector<int, 2> getFactors(const AttentionFactors &factors,
                                      char letter) {
  switch (letter) {
  case 'b':
    return {factors.b};
  case 's':
    return {factors.s};
  case 't':
    return {factors.t};
  case 'g':
    return {factors.g};
  case 'h':
    return {factors.g, factors.r};
  case 'e':
    return {factors.e};
  default:
    return {factors.f};
  }
}

void AttentionFactors::mapOperand(RuleBuilder &builder, unsigned operand,
                                  StringRef letters) const {
  for (auto [dim, letter] : llvm::enumerate(letters))
    for (int factor : getFactors(*this, letter))
      builder.operand(operand, dim, factor);
}

void AttentionFactors::mapResult(RuleBuilder &builder, unsigned result,
                                 StringRef letters) const {
  for (auto [dim, letter] : llvm::enumerate(letters))
    for (int factor : getFactors(*this, letter))
      builder.result(result, dim, factor);
}

void AttentionFactors::mapMask(RuleBuilder &builder, unsigned operand,
                               Value mask, int64_t keys) const {
  ArrayRef<int64_t> shape = getShape(mask);
  // Dimensions of the mask, from the last.
  const char letters[] = {'t', 's', 'h', 'b'};
  for (size_t back = 0; back < shape.size(); ++back) {
    size_t dim = shape.size() - 1 - back;
    if (shape[dim] == 1 || (back == 0 && shape[dim] != keys))
      continue;
    for (int factor : getFactors(*this, letters[back]))
      builder.operand(operand, dim, factor);
  }
}

ShardingRule finishAttentionRule(RuleBuilder &builder,
                                 const AttentionFactors &factors, bool causal) {
  if (causal) {
    builder.number(factors.s);
    builder.number(factors.t);
  }
  ShardingRule rule = builder.finish();
  if (factors.t != RuleBuilder::none)
    rule.panelFactors.push_back(factors.t);
  return rule;
}

OpWork getAttentionWork(const ShardingRule &rule, AttentionScope scope,
                        bool gradient) {
  OpWork work;
  work.kind = gradient ? WorkKind::attentionGradient : WorkKind::attention;
  auto getSize = [&](StringRef name) -> int64_t {
    std::optional<int> factor = rule.findFactor(name);
    return factor ? rule.factors[*factor].size : 1;
  };
  // Of the keys that all queries see, the last s of them see all but a triangle
  // of s * s / 2. In proportion to the keys, so that panels of them add up.
  int64_t keys = std::max(scope.wholeKeys.value_or(getSize("t")), getSize("s"));
  auto add = [&](SmallVectorImpl<WorkTerm> &terms, double coefficient,
                 StringRef names) {
    WorkTerm term{coefficient, {}};
    for (char name : names)
      if (std::optional<int> factor = rule.findFactor(StringRef(&name, 1)))
        term.factors.push_back(*factor);
    terms.push_back(term);
    if (scope.zigzag)
      terms.back().coefficient /= 2;
    if (!scope.causal || scope.zigzag || keys == 0)
      return;
    term.coefficient = -coefficient / (2.0 * static_cast<double>(keys));
    if (std::optional<int> queries = rule.findFactor("s"))
      term.factors.push_back(*queries);
    terms.push_back(term);
  };
  // Scores and dQ and dK; dP and dV.
  add(work.flops, gradient ? 6 : 2, "bsgrte");
  add(work.flops, gradient ? 4 : 2, "bsgrtf");
  add(work.flops, gradient ? 6 : 4, "bsgrt");
  add(work.transcendentals, 1, "bsgrt");
  auto list = [&](SmallVectorImpl<int> &role, StringRef names) {
    for (char name : names)
      if (std::optional<int> factor = rule.findFactor(StringRef(&name, 1)))
        role.push_back(*factor);
  };
  list(work.batch, "bg");
  list(work.rows, "sr");
  list(work.columns, "t");
  list(work.contracted, "e");
  return work;
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

/// The mask over [b, g, r, s, t] instead of [b, h, s, t].
static Value splitHeadsOfMask(ComposeHelper &compose, Value mask,
                              const AttentionSizes &sizes) {
  ArrayRef<int64_t> shape = getShape(mask);
  if (shape.size() < 3)
    return mask;
  Shape split(shape);
  auto heads = split.end() - 3;
  bool isPerHead = *heads != 1;
  *heads = isPerHead ? sizes.g : 1;
  split.insert(split.end() - 2, isPerHead ? sizes.r : 1);
  return compose.reshape(mask, split);
}

/// The positions along `dim` of a sequence in zig-zag order over `zigzag`
/// ranks.
static Value createPositions(ComposeHelper &compose, RankedTensorType type,
                             int64_t dim, int64_t zigzag) {
  if (zigzag == 1)
    return compose.create<IotaOp>(type, dim);
  SmallVector<int64_t> positions;
  for (int64_t index = 0; index < type.getDimSize(dim); ++index)
    positions.push_back(getZigzagPosition(index, type.getDimSize(dim), zigzag));
  return compose.create<ConstantOp>(
      DenseElementsAttr::get(type, ArrayRef(positions)));
}

/// Key j is visible to query i when j <= i + offset.
static Value createCausalMask(ComposeHelper &compose,
                              const AttentionSizes &sizes, Value offset,
                              Type integer, int64_t zigzag) {
  Value limit = createPositions(
      compose, RankedTensorType::get({sizes.s, 1}, integer), 0, zigzag);
  Value keys = createPositions(
      compose, RankedTensorType::get({1, sizes.t}, integer), 1, zigzag);
  if (offset)
    limit = compose.create<AddOp>(limit, offset);
  return compose.create<CompareOp>(ComparePredicate::le, keys, limit);
}

static Value createLowest(ComposeHelper &compose, Type element) {
  return compose.scalar(element, -std::numeric_limits<double>::infinity());
}

AttentionScores buildScores(ComposeHelper &compose, const ScoreInputs &inputs,
                            const AttentionSizes &sizes) {
  Type narrow = getTensorType(inputs.query).getElementType();
  // Probabilities need more digits than 16 bits have.
  Type element = compose.widen(narrow);
  Value scaled =
      compose.create<MulOp>(inputs.query, compose.scalar(narrow, inputs.scale));
  Value query =
      compose.reshape(scaled, {sizes.b, sizes.s, sizes.g, sizes.r, sizes.e});
  Value scores = compose.castTo(
      compose.create<MatmulOp>(query, inputs.key, "bsgre,btge->bgrst"),
      element);
  auto exclude = [&](Value visible) {
    scores = compose.create<SelectOp>(visible, scores,
                                      createLowest(compose, element));
  };
  if (inputs.mask) {
    Value mask = splitHeadsOfMask(compose, inputs.mask, sizes);
    if (getTensorType(mask).getElementType().isInteger(1))
      exclude(mask);
    else
      scores = compose.create<AddOp>(scores, compose.castTo(mask, element));
  }
  if (inputs.causal)
    exclude(createCausalMask(compose, sizes, inputs.queryOffset,
                             IntegerType::get(narrow.getContext(), 64),
                             inputs.zigzag));
  return {query, scores};
}

Value splitSink(ComposeHelper &compose, Value sink,
                const AttentionSizes &sizes) {
  Type element = compose.widen(getTensorType(sink).getElementType());
  return compose.reshape(compose.castTo(sink, element),
                         {sizes.g, sizes.r, 1, 1});
}

Value buildLogSumExp(ComposeHelper &compose, Value scores) {
  Type element = getTensorType(scores).getElementType();
  Value highest = compose.reduce(ReduceKind::max, scores, 4);
  Value shifted = compose.create<ExpOp>(compose.create<SubOp>(scores, highest));
  Value total = compose.reduce(ReduceKind::sum, shifted, 4);
  Value result = compose.create<AddOp>(compose.create<LogOp>(total), highest);
  // -infinity less itself is no number.
  return compose.create<SelectOp>(compose.create<IsNaNOp>(result),
                                  createLowest(compose, element), result);
}

Value buildWeights(ComposeHelper &compose, Value scores, Value logSumExp) {
  Type element = getTensorType(scores).getElementType();
  Value weights =
      compose.create<ExpOp>(compose.create<SubOp>(scores, logSumExp));
  return compose.create<SelectOp>(compose.create<IsNaNOp>(weights),
                                  compose.scalar(element, 0.0), weights);
}

} // namespace parplan
