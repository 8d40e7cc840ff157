//===- Attention.cpp - Attention and rotary embedding ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/AttentionParts.h"
#include "dialects/parplan/RuleBuilder.h"

#include <limits>

using namespace mlir;

namespace parplan {

AttentionSizes::AttentionSizes(AttentionOp op) {
  ArrayRef<int64_t> queryShape = getShape(op.getQuery());
  ArrayRef<int64_t> valueShape = getShape(op.getValue());
  b = queryShape[0], s = queryShape[1], e = queryShape[3];
  t = valueShape[1], g = valueShape[2], f = valueShape[3];
  r = queryShape[2] / g;
}

//===----------------------------------------------------------------------===//
// Attention: types
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *,
                                            OptionalLocation location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType query = getTensorType(adaptor.getQuery());
  RankedTensorType key = getTensorType(adaptor.getKey());
  RankedTensorType value = getTensorType(adaptor.getValue());
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
  if (Value mask = adaptor.getMask()) {
    RankedTensorType type = getTensorType(mask);
    Shape scores{query.getDimSize(0), heads, query.getDimSize(1),
                 key.getDimSize(1)};
    if (!broadcastsTo(type.getShape(), scores))
      return emitOptionalError(location, "mask of shape ",
                               printShape(type.getShape()),
                               " does not broadcast to ", printShape(scores));
    if (!type.getElementType().isInteger(1) &&
        type.getElementType() != query.getElementType())
      return emitOptionalError(location, "mask has element type ",
                               type.getElementType(), ", neither i1 nor ",
                               query.getElementType());
  }
  types.push_back(RankedTensorType::get(
      {query.getDimSize(0), query.getDimSize(1), heads, value.getDimSize(3)},
      query.getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// Attention: rule, cost, padding
//===----------------------------------------------------------------------===//

ShardingRule AttentionOp::getShardingRule() {
  AttentionSizes sizes(*this);
  RuleBuilder builder(*this);
  int b = builder.add("b", sizes.b), s = builder.add("s", sizes.s);
  int t = builder.add("t", sizes.t, FactorKind::coupled);
  int g = builder.add("g", sizes.g), r = builder.add("r", sizes.r);
  int e = builder.add("e", sizes.e, FactorKind::coupled);
  int f = builder.add("f", sizes.f);
  builder.operand(0, 0, b).operand(0, 1, s).operand(0, 2, g);
  builder.operand(0, 2, r).operand(0, 3, e);
  builder.operand(1, 0, b).operand(1, 1, t).operand(1, 2, g).operand(1, 3, e);
  builder.operand(2, 0, b).operand(2, 1, t).operand(2, 2, g).operand(2, 3, f);
  builder.result(0, 0, b).result(0, 1, s).result(0, 2, g);
  builder.result(0, 2, r).result(0, 3, f);
  if (getMask()) {
    ArrayRef<int64_t> mask = getShape(getMask());
    // Dimensions of the mask, from the last.
    SmallVector<SmallVector<int, 2>, 4> factors = {{t}, {s}, {g, r}, {b}};
    for (size_t back = 0; back < mask.size(); ++back) {
      size_t dim = mask.size() - 1 - back;
      if (mask[dim] == 1)
        continue;
      for (int factor : factors[back])
        builder.operand(3, dim, factor);
    }
  }
  return builder.finish();
}

OpWork AttentionOp::getWork() {
  ShardingRule rule = getShardingRule();
  OpWork work;
  work.kind = WorkKind::matrix;
  // Half of the scores of a causal attention are never computed.
  double share = getCausal() ? 0.5 : 1;
  auto over = [&](double coefficient, StringRef names) {
    WorkTerm term{coefficient * share, {}};
    for (char name : names)
      if (std::optional<int> factor = rule.findFactor(StringRef(&name, 1)))
        term.factors.push_back(*factor);
    return term;
  };
  work.flops = {over(2, "bsgrte"), over(2, "bsgrtf"), over(4, "bsgrt")};
  work.transcendentals = {over(1, "bsgrt")};
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

/// Padded queries average the values; padded batches and heads have values of
/// zero. A mask that excludes a whole padded row leaves it undefined.
bool AttentionOp::keepsZeroPadding(int factor) {
  ShardingRule rule = getShardingRule();
  StringRef name = rule.factors[factor].name;
  if (name == "e" || name == "f")
    return true;
  bool isMasked = getMask() && hasFactor(rule.operands[3], factor);
  return (name == "b" || name == "g") && (!isMasked || getZeroMaskedRows());
}

//===----------------------------------------------------------------------===//
// Attention: decomposition
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

/// Key j is visible to query i when j <= i + offset.
static Value createCausalMask(ComposeHelper &compose,
                              const AttentionSizes &sizes, Value offset,
                              Type integer) {
  Value limit =
      compose.create<IotaOp>(RankedTensorType::get({sizes.s, 1}, integer), 0);
  Value keys =
      compose.create<IotaOp>(RankedTensorType::get({1, sizes.t}, integer), 1);
  if (offset)
    limit = compose.create<AddOp>(limit, offset);
  return compose.create<CompareOp>(ComparePredicate::le, keys, limit);
}

AttentionParts buildAttentionWeights(ComposeHelper &compose, AttentionOp op) {
  AttentionSizes sizes(op);
  Type narrow = getTensorType(op.getQuery()).getElementType();
  // Probabilities need more digits than 16 bits have.
  Type element = compose.widen(narrow);
  Value scaled = compose.create<MulOp>(
      op.getQuery(), compose.scalar(narrow, op.getScale().convertToDouble()));
  Value query =
      compose.reshape(scaled, {sizes.b, sizes.s, sizes.g, sizes.r, sizes.e});
  Value scores = compose.castTo(
      compose.create<MatmulOp>(query, op.getKey(), "bsgre,btge->bgrst"),
      element);
  auto exclude = [&](Value visible) {
    Value lowest =
        compose.scalar(element, -std::numeric_limits<double>::infinity());
    scores = compose.create<SelectOp>(visible, scores, lowest);
  };
  if (op.getMask()) {
    Value mask = splitHeadsOfMask(compose, op.getMask(), sizes);
    if (getTensorType(mask).getElementType().isInteger(1))
      exclude(mask);
    else
      scores = compose.create<AddOp>(scores, compose.castTo(mask, element));
  }
  if (op.getCausal())
    exclude(createCausalMask(compose, sizes, op.getQueryOffset(),
                             IntegerType::get(op.getContext(), 64)));
  Value weights = compose.create<SoftmaxOp>(scores, /*dim=*/4);
  if (op.getZeroMaskedRows()) {
    Value isMasked = compose.create<IsNaNOp>(weights);
    weights = compose.create<SelectOp>(isMasked, compose.scalar(element, 0.0),
                                       weights);
  }
  return {query, weights};
}

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  AttentionParts parts = buildAttentionWeights(compose, *this);
  Value weights =
      compose.castTo(parts.weights, getTensorType(getValue()).getElementType());
  Value heads =
      compose.create<MatmulOp>(weights, getValue(), "bgrst,btgf->bsgrf");
  return {compose.reshape(heads, getShape(getResult()))};
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::inferReturnTypes(MLIRContext *, OptionalLocation location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType input = getTensorType(adaptor.getInput());
  if (input.getRank() < 1 || input.getShape().back() % 2 != 0)
    return emitOptionalError(location,
                             "rotates pairs of the last dimension of ", input);
  Shape table(input.getShape());
  table.back() /= 2;
  for (Value angles : {adaptor.getCos(), adaptor.getSin()})
    if (getShape(angles).empty() || getShape(angles).back() != table.back() ||
        !broadcastsTo(getShape(angles), table))
      return emitOptionalError(location, "cos or sin of shape ",
                               printShape(getShape(angles)),
                               " does not broadcast to ", printShape(table));
  types.push_back(input);
  return success();
}

/// Pairs lie far apart in the last dimension, so it is blocked.
ShardingRule RopeOp::getShardingRule() {
  RuleBuilder builder(*this);
  ArrayRef<int64_t> shape = getShape(getInput());
  for (auto [dim, size] : llvm::enumerate(shape)) {
    bool isLast = dim + 1 == shape.size();
    int factor =
        builder.add("d" + Twine(dim), size,
                    isLast ? FactorKind::blocked : FactorKind::parallel);
    builder.operand(0, dim, factor).result(0, dim, factor);
    for (unsigned table : {1, 2}) {
      ArrayRef<int64_t> angles = getShape(getOperand(table));
      size_t missing = shape.size() - angles.size();
      if (!isLast && dim >= missing && angles[dim - missing] == size)
        builder.operand(table, dim - missing, factor);
    }
  }
  return builder.finish();
}

OpWork RopeOp::getWork() {
  OpWork work;
  work.kind = WorkKind::elementwise;
  work.flops.push_back(termOver(3, getShardingRule().results[0]));
  return work;
}
bool RopeOp::keepsZeroPadding(int factor) {
  return hasFactor(getShardingRule().operands[0], factor);
}

SmallVector<Value> RopeOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  Shape shape(getShape(getInput()));
  int64_t last = shape.size() - 1, half = shape.back() / 2;
  int64_t step = getInterleaved() ? 2 : 1;
  int64_t second = getInterleaved() ? 1 : half;
  Value low = compose.slice(getInput(), last, 0,
                            getInterleaved() ? 2 * half : half, step);
  Value high = compose.slice(getInput(), last, second, 2 * half, step);
  Value lowCos = compose.create<MulOp>(low, getCos());
  Value highSin = compose.create<MulOp>(high, getSin());
  Value highCos = compose.create<MulOp>(high, getCos());
  Value lowSin = compose.create<MulOp>(low, getSin());
  Value first = compose.create<SubOp>(lowCos, highSin);
  Value other = compose.create<AddOp>(highCos, lowSin);
  if (!getInterleaved())
    return {compose.create<ConcatOp>(ValueRange{first, other}, last)};
  Shape pairs(shape);
  pairs.back() = half;
  pairs.push_back(1);
  first = compose.reshape(first, pairs);
  other = compose.reshape(other, pairs);
  Value joined = compose.create<ConcatOp>(ValueRange{first, other}, last + 1);
  return {compose.reshape(joined, shape)};
}

} // namespace parplan
