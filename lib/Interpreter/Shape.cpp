//===- Shape.cpp - Values of sources and of ops that move elements --------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Families.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace parplan {
namespace {

/// Fills a result with the elements of the operand at the positions that
/// `locate` gives for every index of the result.
Values rearrange(const Evaluation &evaluation,
                 llvm::function_ref<int64_t(ArrayRef<int64_t>)> locate) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  forEachIndex(result.getShape(),
               [&](ArrayRef<int64_t> index, int64_t position) {
                 result[position] = input[locate(index)];
               });
  return {result};
}

Values evaluateBroadcast(const Evaluation &evaluation) {
  auto strides = getBroadcastStrides(evaluation.operand(0),
                                     evaluation.makeResult().getShape());
  return rearrange(evaluation, [&](ArrayRef<int64_t> index) {
    return getPosition(index, strides);
  });
}

Values evaluateTranspose(const Evaluation &evaluation, TransposeOp op) {
  SmallVector<int64_t> from = evaluation.operand(0).getStrides(), strides;
  for (int64_t dim : op.getPermutation())
    strides.push_back(from[dim]);
  return rearrange(evaluation, [&](ArrayRef<int64_t> index) {
    return getPosition(index, strides);
  });
}

Values evaluateSlice(const Evaluation &evaluation, SliceOp op) {
  SmallVector<int64_t> strides = evaluation.operand(0).getStrides();
  int64_t first = 0;
  for (auto [dim, start, step] :
       llvm::zip_equal(op.getDims(), op.getStarts(), op.getSteps())) {
    first += start * strides[dim];
    strides[dim] *= step;
  }
  return rearrange(evaluation, [&](ArrayRef<int64_t> index) {
    return first + getPosition(index, strides);
  });
}

Values evaluateConcat(const Evaluation &evaluation, ConcatOp op) {
  Tensor result = evaluation.makeResult();
  SmallVector<int64_t> strides = result.getStrides();
  int64_t dim = op.getDim(), start = 0;
  for (const Tensor *input : evaluation.operands) {
    forEachIndex(input->getShape(),
                 [&](ArrayRef<int64_t> index, int64_t position) {
                   result[start * strides[dim] + getPosition(index, strides)] =
                       (*input)[position];
                 });
    start += input->getShape()[dim];
  }
  return {result};
}

Values evaluatePad(const Evaluation &evaluation, PadOp op) {
  Tensor result = evaluation.makeResult();
  for (int64_t i = 0; i < result.getSize(); ++i)
    result.setNumber(i, op.getValue().convertToDouble());
  const Tensor &input = evaluation.operand(0);
  SmallVector<int64_t> strides = result.getStrides();
  SmallVector<int64_t> low(input.getRank(), 0);
  for (auto [dim, count] : llvm::zip_equal(op.getDims(), op.getLow()))
    low[dim] = count;
  // Negative padding cuts.
  forEachIndex(input.getShape(),
               [&](ArrayRef<int64_t> index, int64_t position) {
                 int64_t target = 0;
                 for (size_t dim = 0; dim < index.size(); ++dim) {
                   int64_t shifted = index[dim] + low[dim];
                   if (shifted < 0 || shifted >= result.getShape()[dim])
                     return;
                   target += shifted * strides[dim];
                 }
                 result[target] = input[position];
               });
  return {result};
}

Values evaluateIota(const Evaluation &evaluation, IotaOp op) {
  Tensor result = evaluation.makeResult();
  forEachIndex(
      result.getShape(), [&](ArrayRef<int64_t> index, int64_t position) {
        result.setNumber(position, static_cast<double>(index[op.getDim()]));
      });
  return {result};
}

Values evaluateMask(const Evaluation &evaluation, AffineMaskOp op) {
  Tensor result = evaluation.makeResult();
  int64_t constant = op.getConstant();
  forEachIndex(result.getShape(),
               [&](ArrayRef<int64_t> index, int64_t position) {
                 result[position].integer =
                     constant + getPosition(index, op.getCoefficients()) <= 0;
               });
  return {result};
}

} // namespace

MaybeValues evaluateShape(const Evaluation &evaluation) {
  return llvm::TypeSwitch<Operation *, MaybeValues>(evaluation.op)
      .Case<ConstantOp>([](ConstantOp op) {
        return Values{Tensor::fromAttribute(op.getValue())};
      })
      .Case<IotaOp>([&](IotaOp op) { return evaluateIota(evaluation, op); })
      .Case<AffineMaskOp>(
          [&](AffineMaskOp op) { return evaluateMask(evaluation, op); })
      .Case<ReshapeOp>([&](auto) {
        return Values{
            evaluation.operand(0).reshaped(evaluation.makeResult().getShape())};
      })
      .Case<BroadcastOp>([&](auto) { return evaluateBroadcast(evaluation); })
      .Case<TransposeOp>(
          [&](TransposeOp op) { return evaluateTranspose(evaluation, op); })
      .Case<SliceOp>([&](SliceOp op) { return evaluateSlice(evaluation, op); })
      .Case<ConcatOp>(
          [&](ConcatOp op) { return evaluateConcat(evaluation, op); })
      .Case<PadOp>([&](PadOp op) { return evaluatePad(evaluation, op); })
      .Default([](auto) { return std::nullopt; });
}

} // namespace parplan
