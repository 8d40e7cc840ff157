//===- Experts.cpp - Handing tokens to experts and back -------------------===//
//
// Part of parplan. A token has as many rows as it may have experts, so that
// sizes are static (S19); which rows are not zero is in the data.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ComposeHelper.h"
#include "dialects/parplan/ExpertRows.h"
#include "dialects/parplan/RuleBuilder.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// What the ops share
//===----------------------------------------------------------------------===//

/// Checks that `experts` [*t, k] and `weights`, if there are any, fit to the
/// dimensions `values` = [r, *t, d], and these to the groups.
static LogicalResult verifyRouting(OptionalLocation location,
                                   ArrayRef<int64_t> values, Type element,
                                   Value experts, Value weights,
                                   std::optional<ArrayRef<int64_t>> groups) {
  ArrayRef<int64_t> tokens = values.drop_front().drop_back();
  ArrayRef<int64_t> shape = getShape(experts);
  if (shape.empty() || shape.drop_back() != tokens)
    return emitOptionalError(location, "experts of shape ", printShape(shape),
                             " do not fit tokens of shape ",
                             printShape(tokens));
  if (weights && weights.getType() != RankedTensorType::get(shape, element))
    return emitOptionalError(location, "needs weights of ",
                             RankedTensorType::get(shape, element), ", not ",
                             weights.getType());
  return verifyGroups(location, groups, shape.back(), values.front());
}

/// The dimensions [*t, d] of [e, *t, d].
static FailureOr<ArrayRef<int64_t>> getTokenShape(OptionalLocation location,
                                                  ArrayRef<int64_t> values) {
  if (values.size() < 3)
    return emitOptionalError(location, "values of rank ", values.size(),
                             " are not [experts, tokens.., width]");
  return values.drop_front();
}

namespace {

/// Declares the factors of the ops, which all have the same: e of the experts,
/// or their groups, t (t0, t1, .. where tokens have several dimensions), d of
/// the width. The experts of one token stay together: their factor is blocked;
/// and so do the rows of a group.
class ExpertRule {
public:
  ExpertRule(Operation *op, ArrayRef<int64_t> values, ExpertGroups groups,
             FactorKind expertKind, FactorKind widthKind)
      : builder(op),
        experts(builder.add("e", values[0] / groups.rows, expertKind)),
        rows(builder.add(rowsOfGroups, groups.rows, FactorKind::blocked)) {
    builder.number(experts);
    ArrayRef<int64_t> sizes = values.drop_front().drop_back();
    for (auto [dim, size] : llvm::enumerate(sizes))
      tokens.push_back(builder.add(
          sizes.size() == 1 ? std::string("t") : "t" + std::to_string(dim),
          size));
    width = builder.add("d", values.back(), widthKind);
  }

  /// How tensors of the kinds [e, *t, d], [*t, d] and [*t, k] are indexed;
  /// `map` maps a factor to a dimension of one of them.
  using Map = llvm::function_ref<void(int64_t dim, int factor)>;
  void mapValues(Map map) const {
    map(0, experts);
    map(0, rows);
    for (auto [dim, factor] : llvm::enumerate(tokens))
      map(dim + 1, factor);
    map(tokens.size() + 1, width);
  }
  void mapTokens(Map map) const {
    mapRouting(map);
    map(tokens.size(), width);
  }
  void mapRouting(Map map) const {
    for (auto [dim, factor] : llvm::enumerate(tokens))
      map(dim, factor);
  }

  auto operand(unsigned index) {
    return [this, index](int64_t dim, int factor) {
      builder.operand(index, dim, factor);
    };
  }
  auto result() {
    return [this](int64_t dim, int factor) { builder.result(0, dim, factor); };
  }

  /// Linear in the floats separately; experts are integers and never pending.
  ShardingRule finish() { return builder.finish(Linearity::separately); }

private:
  RuleBuilder builder;
  int experts, rows, width;
  SmallVector<int> tokens;
};

} // namespace

/// A multiplication and an addition per element of a row and expert of a token.
/// Bytes count all rows: a device writes or reads those that are zero too.
static OpWork getRoutingWork(const TensorFactors &tokens,
                             ArrayRef<int64_t> experts) {
  OpWork work;
  work.kind = WorkKind::reduction;
  work.flops.push_back(
      termOver(2 * static_cast<double>(experts.back()), tokens));
  return work;
}

/// [*t, k]: the row that a choice has in its group, as a float; where it is no
/// expert of the block, none of the rows.
static Value composeRows(ComposeHelper &compose, ExpertGroups groups,
                         Value experts, Value first) {
  MLIRContext *context = experts.getContext();
  Type real = Float32Type::get(context);
  Shape shape(getShape(experts));
  auto tokens = static_cast<int64_t>(shape.size()) - 1;
  Shape own(shape), other(shape);
  own.push_back(1);
  other.insert(other.end() - 1, 1);
  // [*t, k, k] of two choices of a token, summed over the second one.
  auto compare = [&](Value value) {
    Value equal = compose.create<CompareOp>(ComparePredicate::eq,
                                            compose.reshape(value, own),
                                            compose.reshape(value, other));
    return compose.castTo(equal, real);
  };
  auto multiply = [&](Value one, Value two) -> Value {
    return compose.create<MulOp>(one, two);
  };
  auto sum = [&](Value value) {
    return compose.reshape(
        compose.reduce(ReduceKind::sum, value, int64_t{tokens + 1}), shape);
  };
  auto mask = RankedTensorType::get({shape.back(), shape.back()},
                                    IntegerType::get(context, 1));
  Value before =
      compose.castTo(compose.create<AffineMaskOp>(
                         mask, DenseI64ArrayAttr::get(context, {-1, 1}),
                         IntegerAttr::get(IntegerType::get(context, 64), 1)),
                     real);
  Value equal = compare(experts);
  Value isNew = compose.create<CompareOp>(ComparePredicate::eq,
                                          sum(multiply(equal, before)),
                                          compose.scalar(real, 0));
  isNew = compose.castTo(isNew, real);
  Value numbers = compose.castTo(experts, real);
  if (first)
    numbers = compose.create<SubOp>(numbers, compose.castTo(first, real));
  Value group = compose.create<FloorOp>(compose.create<DivOp>(
      numbers, compose.scalar(real, static_cast<double>(groups.experts))));
  Value rank = sum(multiply(multiply(compare(group), before),
                            compose.reshape(isNew, other)));
  Value row = compose.create<AddOp>(
      multiply(group, compose.scalar(real, static_cast<double>(groups.rows))),
      rank);
  // A choice that is made twice has the row of the first one.
  return sum(multiply(equal, compose.reshape(multiply(row, isNew), other)));
}

/// [r, *t, 1]: what the token gives to, or takes from, every row.
static Value composeShares(ComposeHelper &compose, int64_t rowCount,
                           ExpertGroups groups, Value experts, Value weights,
                           Value first, Type element) {
  if (groups != ExpertGroups()) {
    experts = composeRows(compose, groups, experts, first);
    first = Value();
  }
  RankedTensorType type = getTensorType(experts);
  Shape shape(type.getShape());
  shape.insert(shape.begin(), rowCount);
  Value numbers = compose.create<IotaOp>(type.clone(shape), /*dim=*/int64_t{0});
  if (first)
    numbers = compose.create<AddOp>(
        numbers, compose.castTo(first, type.getElementType()));
  Value shares = compose.castTo(
      compose.create<CompareOp>(ComparePredicate::eq, numbers, experts),
      element);
  if (weights)
    shares = compose.create<MulOp>(shares, weights);
  // Without weights the choices are a set.
  return compose.reduce(weights ? ReduceKind::sum : ReduceKind::max, shares,
                        static_cast<int64_t>(shape.size()) - 1);
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

LogicalResult MoeDispatchOp::verify() {
  RankedTensorType tokens = getTensorType(getTokens());
  ArrayRef<int64_t> values = getType().getShape();
  FailureOr<ArrayRef<int64_t>> shape = getTokenShape(getLoc(), values);
  if (failed(shape))
    return failure();
  if (tokens != getType().clone(*shape))
    return emitOpError("cannot make ")
           << getType() << " of tokens of " << tokens;
  return verifyRouting(getLoc(), values, tokens.getElementType(), getExperts(),
                       getWeights(), getGroups());
}

ShardingRule MoeDispatchOp::getShardingRule() {
  ExpertRule rule(*this, getShape(getResult()), getRowGroups(),
                  FactorKind::parallel, FactorKind::parallel);
  rule.mapTokens(rule.operand(0));
  rule.mapRouting(rule.operand(1));
  if (getWeights())
    rule.mapRouting(rule.operand(2));
  rule.mapValues(rule.result());
  return rule.finish();
}

OpWork MoeDispatchOp::getWork() {
  return getRoutingWork(getShardingRule().operands[0], getShape(getExperts()));
}

/// A token of zeros gives zeros. Numbers of experts do not end where the block
/// of a rank does (S3): what lies past its end has the number of an expert of
/// the next block.
bool MoeDispatchOp::keepsZeroPadding(int factor) {
  return hasFactor(getShardingRule().operands[0], factor);
}

SmallVector<Value> MoeDispatchOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  Shape whole(getShape(getTokens()));
  whole.insert(whole.begin(), 1);
  Value shares = composeShares(compose, getType().getDimSize(0), getRowGroups(),
                               getExperts(), getWeights(), getFirstExpert(),
                               getType().getElementType());
  return {compose.create<MulOp>(shares, compose.reshape(getTokens(), whole))};
}

//===----------------------------------------------------------------------===//
// Combine
//===----------------------------------------------------------------------===//

LogicalResult MoeCombineOp::inferReturnTypes(MLIRContext *,
                                             OptionalLocation location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType values = getTensorType(adaptor.getValues());
  FailureOr<ArrayRef<int64_t>> shape =
      getTokenShape(location, values.getShape());
  if (failed(shape) ||
      failed(verifyRouting(location, values.getShape(), values.getElementType(),
                           adaptor.getExperts(), adaptor.getWeights(),
                           adaptor.getGroups())))
    return failure();
  types.push_back(values.clone(*shape));
  return success();
}

ShardingRule MoeCombineOp::getShardingRule() {
  ExpertRule rule(*this, getShape(getValues()), getRowGroups(),
                  FactorKind::reduceSum, FactorKind::parallel);
  rule.mapValues(rule.operand(0));
  rule.mapRouting(rule.operand(1));
  if (getWeights())
    rule.mapRouting(rule.operand(2));
  rule.mapTokens(rule.result());
  return rule.finish();
}

OpWork MoeCombineOp::getWork() {
  return getRoutingWork(getShardingRule().results[0], getShape(getExperts()));
}

/// What experts past the end of a block answer is zero.
bool MoeCombineOp::keepsZeroPadding(int) { return true; }

SmallVector<Value> MoeCombineOp::decompose(OpBuilder &builder) {
  ComposeHelper compose(builder, getLoc());
  Value shares = composeShares(compose, getShape(getValues())[0],
                               getRowGroups(), getExperts(), getWeights(),
                               getFirstExpert(), getType().getElementType());
  Value weighted = compose.create<MulOp>(shares, getValues());
  return {compose.reshape(compose.reduce(ReduceKind::sum, weighted, int64_t{0}),
                          getShape(*this))};
}

//===----------------------------------------------------------------------===//
// Gradient of the weights
//===----------------------------------------------------------------------===//

LogicalResult
MoeWeightGradientOp::inferReturnTypes(MLIRContext *, OptionalLocation location,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  if (failed(requireTensors(location, adaptor.getOperands())))
    return failure();
  RankedTensorType values = getTensorType(adaptor.getValues());
  FailureOr<ArrayRef<int64_t>> shape =
      getTokenShape(location, values.getShape());
  if (failed(shape) ||
      failed(verifyRouting(location, values.getShape(), values.getElementType(),
                           adaptor.getExperts(),
                           /*weights=*/Value(), adaptor.getGroups())))
    return failure();
  if (adaptor.getGradient().getType() != values.clone(*shape))
    return emitOptionalError(location, "needs a gradient of ",
                             values.clone(*shape), ", not ",
                             adaptor.getGradient().getType());
  types.push_back(values.clone(getShape(adaptor.getExperts())));
  return success();
}

ShardingRule MoeWeightGradientOp::getShardingRule() {
  ExpertRule rule(*this, getShape(getValues()), getRowGroups(),
                  FactorKind::reduceSum, FactorKind::reduceSum);
  rule.mapValues(rule.operand(0));
  rule.mapTokens(rule.operand(1));
  rule.mapRouting(rule.operand(2));
  rule.mapRouting(rule.result());
  return rule.finish();
}

OpWork MoeWeightGradientOp::getWork() {
  return getRoutingWork(getShardingRule().operands[1], getShape(getExperts()));
}
bool MoeWeightGradientOp::keepsZeroPadding(int) { return true; }

} // namespace parplan
