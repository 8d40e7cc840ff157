//===- Norms.cpp - Values of softmax and normalisations -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Families.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace parplan {
namespace {

/// Calls `body` with a function from 0 .. size - 1 to the positions of one line
/// along `dim`, for every line.
void forEachLine(
    const Tensor &tensor, int64_t dim,
    llvm::function_ref<void(llvm::function_ref<int64_t(int64_t)>)> body) {
  int64_t size = tensor.getShape()[dim], inner = tensor.getStrides()[dim];
  int64_t lines = size == 0 ? 0 : tensor.getSize() / size;
  for (int64_t line = 0; line < lines; ++line) {
    int64_t first = line / inner * size * inner + line % inner;
    body([&](int64_t i) { return first + i * inner; });
  }
}

Values evaluateSoftmax(const Evaluation &evaluation, int64_t dim,
                       bool isLogarithm) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  int64_t size = input.getShape()[dim];
  forEachLine(input, dim, [&](llvm::function_ref<int64_t(int64_t)> at) {
    double maximum = -std::numeric_limits<double>::infinity(), total = 0;
    for (int64_t i = 0; i < size; ++i)
      maximum = std::max(maximum, input[at(i)].real);
    for (int64_t i = 0; i < size; ++i)
      total += std::exp(input[at(i)].real - maximum);
    for (int64_t i = 0; i < size; ++i) {
      double shifted = input[at(i)].real - maximum;
      result[at(i)].real =
          isLogarithm ? shifted - std::log(total) : std::exp(shifted) / total;
    }
  });
  return {result};
}

/// Layer norm and, without centring, RMS norm over dimensions from `dim` on.
Values evaluateRowNorm(const Evaluation &evaluation, int64_t dim,
                       double epsilon, bool isCentred, const Tensor *scale,
                       const Tensor *bias) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  int64_t width = 1;
  for (int64_t size : input.getShape().drop_front(dim))
    width *= size;
  int64_t rows = width == 0 ? 0 : input.getSize() / width;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t first = row * width;
    double mean = 0, square = 0;
    for (int64_t i = 0; isCentred && i < width; ++i)
      mean += input[first + i].real / static_cast<double>(width);
    for (int64_t i = 0; i < width; ++i)
      square += std::pow(input[first + i].real - mean, 2);
    double inverse =
        1 / std::sqrt(square / static_cast<double>(width) + epsilon);
    for (int64_t i = 0; i < width; ++i)
      result[first + i].real = (input[first + i].real - mean) * inverse *
                                   (scale ? (*scale)[i].real : 1) +
                               (bias ? (*bias)[i].real : 0);
  }
  return {result};
}

Values evaluateLayerNorm(const Evaluation &evaluation, LayerNormOp op) {
  unsigned next = 1;
  const Tensor *scale = op.getScale() ? &evaluation.operand(next++) : nullptr;
  const Tensor *bias = op.getBias() ? &evaluation.operand(next) : nullptr;
  return evaluateRowNorm(evaluation, op.getDim(),
                         op.getEpsilon().convertToDouble(),
                         /*isCentred=*/true, scale, bias);
}

Values evaluateRMSNorm(const Evaluation &evaluation, RMSNormOp op) {
  return evaluateRowNorm(
      evaluation, op.getDim(), op.getEpsilon().convertToDouble(),
      /*isCentred=*/false, op.getScale() ? &evaluation.operand(1) : nullptr,
      /*bias=*/nullptr);
}

Values evaluateBatchNorm(const Evaluation &evaluation, BatchNormOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  int64_t inner = input.getStrides()[1], channels = input.getShape()[1];
  double epsilon = op.getEpsilon().convertToDouble();
  for (int64_t i = 0; i < result.getSize(); ++i) {
    int64_t channel = i / inner % channels;
    auto read = [&](unsigned operand) {
      return evaluation.operand(operand)[channel].real;
    };
    double inverse = 1 / std::sqrt(read(4) + epsilon);
    result[i].real = (input[i].real - read(3)) * inverse * read(1) + read(2);
  }
  return {result};
}

} // namespace

MaybeValues evaluateNorm(const Evaluation &evaluation) {
  return llvm::TypeSwitch<Operation *, MaybeValues>(evaluation.op)
      .Case<SoftmaxOp>([&](SoftmaxOp op) {
        return evaluateSoftmax(evaluation, op.getDim(), /*isLogarithm=*/false);
      })
      .Case<LogSoftmaxOp>([&](LogSoftmaxOp op) {
        return evaluateSoftmax(evaluation, op.getDim(), /*isLogarithm=*/true);
      })
      .Case<LayerNormOp>(
          [&](LayerNormOp op) { return evaluateLayerNorm(evaluation, op); })
      .Case<RMSNormOp>(
          [&](RMSNormOp op) { return evaluateRMSNorm(evaluation, op); })
      .Case<BatchNormOp>(
          [&](BatchNormOp op) { return evaluateBatchNorm(evaluation, op); })
      .Default([](auto) { return std::nullopt; });
}

} // namespace parplan
