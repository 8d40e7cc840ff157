//===- AttentionLowering.cpp - Attentions as launches ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/AttentionBuilder.h"

using namespace mlir;

namespace parplan {

static SmallVector<int64_t> getRowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

SmallVector<int64_t> AttentionBuilder::getHeadStrides(Value tensor) {
  auto transpose = tensor.getDefiningOp<TransposeOp>();
  if (!transpose ||
      placement.lookup(tensor) != placement.lookup(transpose.getInput())) {
    SmallVector<int64_t> strides = getRowMajorStrides(getShape(tensor));
    strides.pop_back();
    return strides;
  }
  SmallVector<int64_t> source =
      getRowMajorStrides(getShape(transpose.getInput()));
  SmallVector<int64_t> strides;
  for (int64_t dim : transpose.getPermutation().drop_back())
    strides.push_back(source[dim]);
  return strides;
}

SmallVector<int64_t> AttentionBuilder::getMaskStrides(Value mask) {
  ArrayRef<int64_t> shape = getShape(mask);
  SmallVector<int64_t> result(4 - shape.size(), 0);
  for (auto [size, stride] : llvm::zip_equal(shape, getRowMajorStrides(shape)))
    result.push_back(size == 1 ? 0 : stride);
  return result;
}

void AttentionBuilder::readOffset(Value offset, AttentionQueries &queries) {
  if (!offset)
    return;
  if (auto start = offset.getDefiningOp<BlockStartOp>();
      start && !placement.lookup(offset))
    queries.start = exec::RankValueAttr::get(
        builder.getContext(), exec::RankValueKind::start, start.getSize(),
        start.getAxes(), /*back=*/0);
  else
    queries.offset = get(offset);
}

namespace {

class AttentionLowering : public AttentionBuilder {
public:
  using AttentionBuilder::AttentionBuilder;

  LogicalResult run() {
    if (failed(requireAnyFloat(op->getOperand(0))))
      return failure();
    if (auto attention = dyn_cast<AttentionOp>(op))
      return lower(attention);
    return lower(cast<AttentionGradientOp>(op));
  }

private:
  LogicalResult lower(AttentionOp attention) {
    if (attention.getSink())
      return attention.emitOpError("has a sink, which no kernel knows: "
                                   "parplan-write-out-sinks comes before");
    AttentionQueries queries = getQueries(attention);
    KeyBlock keys = getKeys(attention);
    AttentionResults results;
    results.output = placement.define(attention.getResult());
    // Statistics that nothing reads are not made.
    if (attention.getStatistics() && !attention.getLogSumExp().use_empty())
      results.logSumExp = placement.define(attention.getLogSumExp());
    attend(attention, queries, keys, results,
           attention.getZeroMaskedRows() || attention.getStatistics(),
           /*accumulate=*/false);
    return success();
  }

  LogicalResult lower(AttentionGradientOp gradient) {
    AttentionQueries queries = getQueries(gradient);
    KeyBlock keys = getKeys(gradient);
    GradientArrays arrays = getArrays(gradient);
    arrays.queryGradient = placement.define(gradient.getQueryGradient());
    arrays.keyGradient = placement.define(gradient.getKeyGradient());
    arrays.valueGradient = placement.define(gradient.getValueGradient());
    differentiate(gradient, queries, keys, arrays, /*accumulate=*/false);
    return success();
  }
};

} // namespace

LogicalResult lowerAttention(Operation *op, Placement &placement) {
  return AttentionLowering(op, placement).run();
}

} // namespace parplan
