//===- Indexing.cpp - Values of ops that read at indices ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Families.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;

namespace parplan {
namespace {

/// `index` counted from the end where it is negative; reports one outside.
FailureOr<int64_t> normaliseIndex(Operation *op, int64_t index, int64_t size) {
  int64_t normal = index < 0 ? index + size : index;
  if (normal < 0 || normal >= size)
    return op->emitOpError("index ")
           << index << " is outside of " << size << " elements";
  return normal;
}

Values evaluateEmbedding(const Evaluation &evaluation) {
  Tensor result = evaluation.makeResult();
  const Tensor &ids = evaluation.operand(0), &table = evaluation.operand(1);
  int64_t rows = table.getShape()[0], width = table.getShape()[1];
  for (int64_t i = 0; i < ids.getSize(); ++i) {
    int64_t row = ids[i].integer;
    if (row < 0 || row >= rows)
      continue;
    for (int64_t d = 0; d < width; ++d)
      result[i * width + d] = table[row * width + d];
  }
  return {result};
}

FailureOr<Values> evaluateGather(const Evaluation &evaluation, GatherOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &data = evaluation.operand(0), &indices = evaluation.operand(1);
  int64_t dim = op.getDim(), size = data.getShape()[dim];
  int64_t inner = data.getStrides()[dim], count = indices.getSize();
  for (int64_t position = 0; position < result.getSize(); ++position) {
    int64_t rest = position % inner, which = position / inner % count;
    int64_t outer = position / inner / count;
    FailureOr<int64_t> index = normaliseIndex(op, indices[which].integer, size);
    if (failed(index))
      return failure();
    result[position] = data[(outer * size + *index) * inner + rest];
  }
  return Values{result};
}

FailureOr<Values> evaluateGatherElements(const Evaluation &evaluation,
                                         GatherElementsOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &data = evaluation.operand(0), &indices = evaluation.operand(1);
  SmallVector<int64_t> strides = data.getStrides();
  int64_t dim = op.getDim();
  bool sound = true;
  forEachIndex(
      result.getShape(), [&](ArrayRef<int64_t> index, int64_t position) {
        FailureOr<int64_t> chosen =
            sound ? normaliseIndex(op, indices[position].integer,
                                   data.getShape()[dim])
                  : FailureOr<int64_t>();
        sound &= succeeded(chosen);
        if (sound)
          result[position] = data[getPosition(index, strides) +
                                  (*chosen - index[dim]) * strides[dim]];
      });
  if (!sound)
    return failure();
  return Values{result};
}

FailureOr<Values> evaluateGatherND(const Evaluation &evaluation,
                                   GatherNDOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &data = evaluation.operand(0), &indices = evaluation.operand(1);
  SmallVector<int64_t> strides = data.getStrides();
  int64_t batchDims = op.getBatchDims(), depth = indices.getShape().back();
  int64_t tuples = 1, tuplesPerBatch = 1, inner = 1;
  for (int64_t dim = 0; dim + 1 < indices.getRank(); ++dim) {
    tuples *= indices.getShape()[dim];
    tuplesPerBatch *= dim < batchDims ? 1 : indices.getShape()[dim];
  }
  for (int64_t dim = batchDims + depth; dim < data.getRank(); ++dim)
    inner *= data.getShape()[dim];
  int64_t batchStride = batchDims == 0 ? 0 : strides[batchDims - 1];
  for (int64_t tuple = 0; tuple < tuples; ++tuple) {
    int64_t start = tuple / tuplesPerBatch * batchStride;
    for (int64_t k = 0; k < depth; ++k) {
      FailureOr<int64_t> index =
          normaliseIndex(op, indices[tuple * depth + k].integer,
                         data.getShape()[batchDims + k]);
      if (failed(index))
        return failure();
      start += *index * strides[batchDims + k];
    }
    for (int64_t i = 0; i < inner; ++i)
      result[tuple * inner + i] = data[start + i];
  }
  return Values{result};
}

Values evaluateTopK(const Evaluation &evaluation, TopKOp op) {
  Tensor values = evaluation.makeResult(0), indices = evaluation.makeResult(1);
  const Tensor &input = evaluation.operand(0);
  int64_t dim = op.getDim(), size = input.getShape()[dim], k = op.getK();
  int64_t inner = input.getStrides()[dim];
  int64_t lines = size == 0 ? 0 : input.getSize() / size;
  SmallVector<int64_t> order(size);
  for (int64_t line = 0; line < lines; ++line) {
    int64_t outer = line / inner, rest = line % inner;
    auto at = [&](int64_t i) { return (outer * size + i) * inner + rest; };
    std::iota(order.begin(), order.end(), 0);
    // Stable: of equal elements the lower index comes first.
    llvm::stable_sort(order, [&](int64_t a, int64_t b) {
      double left = input.getNumber(at(a)), right = input.getNumber(at(b));
      return op.getLargest() ? left > right : left < right;
    });
    for (int64_t i = 0; i < k; ++i) {
      int64_t target = (outer * k + i) * inner + rest;
      values[target] = input[at(order[i])];
      indices[target].integer = order[i];
    }
  }
  return {values, indices};
}

Values evaluateCumSum(const Evaluation &evaluation, CumSumOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  int64_t dim = op.getDim(), size = input.getShape()[dim];
  int64_t inner = input.getStrides()[dim];
  int64_t lines = size == 0 ? 0 : input.getSize() / size;
  for (int64_t line = 0; line < lines; ++line) {
    int64_t first = line / inner * size * inner + line % inner;
    Scalar sum = {};
    if (input.isReal())
      sum.real = 0;
    for (int64_t step = 0; step < size; ++step) {
      int64_t place = op.getReverse() ? size - 1 - step : step;
      int64_t position = first + place * inner;
      Scalar before = sum;
      if (input.isReal())
        sum.real += input[position].real;
      else
        sum.integer = static_cast<int64_t>(
            static_cast<uint64_t>(sum.integer) +
            static_cast<uint64_t>(input[position].integer));
      result[position] = op.getExclusive() ? before : sum;
    }
  }
  return {result};
}

} // namespace

MaybeValues evaluateIndexing(const Evaluation &evaluation) {
  return llvm::TypeSwitch<Operation *, MaybeValues>(evaluation.op)
      .Case<EmbeddingOp>([&](auto) { return evaluateEmbedding(evaluation); })
      .Case<GatherOp>(
          [&](GatherOp op) { return evaluateGather(evaluation, op); })
      .Case<GatherElementsOp>([&](GatherElementsOp op) {
        return evaluateGatherElements(evaluation, op);
      })
      .Case<GatherNDOp>(
          [&](GatherNDOp op) { return evaluateGatherND(evaluation, op); })
      .Case<TopKOp>([&](TopKOp op) { return evaluateTopK(evaluation, op); })
      .Case<CumSumOp>(
          [&](CumSumOp op) { return evaluateCumSum(evaluation, op); })
      .Default([](auto) { return std::nullopt; });
}

} // namespace parplan
