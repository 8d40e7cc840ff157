//===- Reductions.cpp - Values of reductions ------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Families.h"

#include <cmath>

using namespace mlir;

namespace parplan {
namespace {

/// What a reduction of nothing gives.
Scalar getNeutral(ReduceKind kind, const Tensor &tensor) {
  if (kind == ReduceKind::max)
    return tensor.getLeast();
  Scalar neutral;
  if (tensor.isReal())
    neutral.real = kind == ReduceKind::sum ? 0 : 1;
  else
    neutral.integer = kind == ReduceKind::sum ? 0 : 1;
  return neutral;
}

void combine(ReduceKind kind, const Tensor &tensor, Scalar &into,
             Scalar value) {
  bool isReal = tensor.isReal();
  if (isReal && kind == ReduceKind::sum)
    into.real += value.real;
  else if (isReal && kind == ReduceKind::prod)
    into.real *= value.real;
  else if (isReal)
    into.real = std::isnan(into.real) || std::isnan(value.real)
                    ? into.real + value.real
                    : std::max(into.real, value.real);
  else if (kind == ReduceKind::max)
    into.integer =
        takeGreater(into.integer, value.integer, tensor.isUnsigned());
  else if (kind == ReduceKind::sum)
    into.integer = static_cast<int64_t>(static_cast<uint64_t>(into.integer) +
                                        static_cast<uint64_t>(value.integer));
  else
    into.integer = static_cast<int64_t>(static_cast<uint64_t>(into.integer) *
                                        static_cast<uint64_t>(value.integer));
}

Values evaluateReduce(const Evaluation &evaluation, ReduceOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  for (int64_t i = 0; i < result.getSize(); ++i)
    result[i] = getNeutral(op.getKind(), result);
  // Strides of the result along the dimensions of the input.
  SmallVector<int64_t> strides(input.getRank(), 0);
  int64_t stride = 1;
  for (int64_t dim = input.getRank() - 1; dim >= 0; --dim) {
    if (llvm::is_contained(op.getDims(), dim))
      continue;
    strides[dim] = stride;
    stride *= input.getShape()[dim];
  }
  forEachIndex(input.getShape(),
               [&](ArrayRef<int64_t> index, int64_t position) {
                 combine(op.getKind(), input,
                         result[getPosition(index, strides)], input[position]);
               });
  return {result};
}

} // namespace

MaybeValues evaluateReduction(const Evaluation &evaluation) {
  if (auto op = dyn_cast<ReduceOp>(evaluation.op))
    return FailureOr<Values>(evaluateReduce(evaluation, op));
  return std::nullopt;
}

} // namespace parplan
