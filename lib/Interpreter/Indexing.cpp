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

Values evaluateEmbeddingGradient(const Evaluation &evaluation) {
  Tensor result = evaluation.makeResult();
  const Tensor &ids = evaluation.operand(0), &gradient = evaluation.operand(1);
  int64_t rows = result.getShape()[0], width = result.getShape()[1];
  for (int64_t i = 0; i < ids.getSize(); ++i) {
    int64_t row = ids[i].integer;
    if (row < 0 || row >= rows)
      continue;
    for (int64_t d = 0; d < width; ++d)
      result[row * width + d].real += gradient[i * width + d].real;
  }
  return {result};
}

/// Positions in what a gather returns, and in the data that it reads there.
using Correspondence = llvm::function_ref<void(int64_t, int64_t)>;

LogicalResult forEachGathered(Operation *op, int64_t dim, const Tensor &data,
                              const Tensor &indices, Correspondence body) {
  int64_t size = data.getShape()[dim], inner = data.getStrides()[dim];
  int64_t count = indices.getSize();
  int64_t outerCount = data.getSize() == 0 ? 0 : data.getSize() / inner / size;
  for (int64_t outer = 0; outer < outerCount; ++outer)
    for (int64_t which = 0; which < count; ++which) {
      FailureOr<int64_t> index =
          normaliseIndex(op, indices[which].integer, size);
      if (failed(index))
        return failure();
      for (int64_t rest = 0; rest < inner; ++rest)
        body((outer * count + which) * inner + rest,
             (outer * size + *index) * inner + rest);
    }
  return success();
}

LogicalResult forEachElementGathered(Operation *op, int64_t dim,
                                     const Tensor &data, const Tensor &indices,
                                     Correspondence body) {
  SmallVector<int64_t> strides = data.getStrides();
  bool sound = true;
  forEachIndex(indices.getShape(),
               [&](ArrayRef<int64_t> index, int64_t position) {
                 FailureOr<int64_t> chosen =
                     sound ? normaliseIndex(op, indices[position].integer,
                                            data.getShape()[dim])
                           : FailureOr<int64_t>();
                 sound &= succeeded(chosen);
                 if (sound)
                   body(position, getPosition(index, strides) +
                                      (*chosen - index[dim]) * strides[dim]);
               });
  return success(sound);
}

LogicalResult forEachTupleGathered(Operation *op, int64_t batchDims,
                                   const Tensor &data, const Tensor &indices,
                                   Correspondence body) {
  SmallVector<int64_t> strides = data.getStrides();
  int64_t depth = indices.getShape().back();
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
      body(tuple * inner + i, start + i);
  }
  return success();
}

using Walk = LogicalResult (*)(Operation *, int64_t, const Tensor &,
                               const Tensor &, Correspondence);

/// Reads the data where `walk` says, which takes `parameter`.
FailureOr<Values> gather(const Evaluation &evaluation, Walk walk,
                         int64_t parameter) {
  Tensor result = evaluation.makeResult();
  const Tensor &data = evaluation.operand(0);
  LogicalResult isGathered =
      walk(evaluation.op, parameter, data, evaluation.operand(1),
           [&](int64_t to, int64_t from) { result[to] = data[from]; });
  if (failed(isGathered))
    return failure();
  return Values{result};
}

/// The adjoint: adds the gradient where the data was read.
FailureOr<Values> scatter(const Evaluation &evaluation, Walk walk,
                          int64_t parameter) {
  Tensor result = evaluation.makeResult();
  const Tensor &gradient = evaluation.operand(0);
  LogicalResult isScattered =
      walk(evaluation.op, parameter, result, evaluation.operand(1),
           [&](int64_t from, int64_t to) {
             result[to].real += gradient[from].real;
           });
  if (failed(isScattered))
    return failure();
  return Values{result};
}

bool isLess(const Tensor &tensor, int64_t left, int64_t right) {
  if (tensor.isReal())
    return tensor[left].real < tensor[right].real;
  int64_t a = tensor[left].integer, b = tensor[right].integer;
  return a != b && takeGreater(a, b, tensor.isUnsigned()) == b;
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
      return op.getLargest() ? isLess(input, at(b), at(a))
                             : isLess(input, at(a), at(b));
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
      .Case<EmbeddingGradientOp>(
          [&](auto) { return evaluateEmbeddingGradient(evaluation); })
      .Case<GatherOp>([&](GatherOp op) {
        return gather(evaluation, forEachGathered, op.getDim());
      })
      .Case<GatherElementsOp>([&](GatherElementsOp op) {
        return gather(evaluation, forEachElementGathered, op.getDim());
      })
      .Case<GatherNDOp>([&](GatherNDOp op) {
        return gather(evaluation, forEachTupleGathered, op.getBatchDims());
      })
      .Case<GatherGradientOp>([&](GatherGradientOp op) {
        return scatter(evaluation, forEachGathered, op.getDim());
      })
      .Case<GatherElementsGradientOp>([&](GatherElementsGradientOp op) {
        return scatter(evaluation, forEachElementGathered, op.getDim());
      })
      .Case<GatherNDGradientOp>([&](GatherNDGradientOp op) {
        return scatter(evaluation, forEachTupleGathered, op.getBatchDims());
      })
      .Case<TopKOp>([&](TopKOp op) { return evaluateTopK(evaluation, op); })
      .Case<CumSumOp>(
          [&](CumSumOp op) { return evaluateCumSum(evaluation, op); })
      .Default([](auto) { return std::nullopt; });
}

} // namespace parplan
