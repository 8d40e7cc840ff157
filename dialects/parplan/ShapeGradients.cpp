//===- ShapeGradients.cpp - Backward of ops that move elements ------------===//
//
// Part of parplan. Each is the transposed move.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/GradientBuilder.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace parplan {

OperandGradients ReshapeOp::buildBackward(GradientBuilder &gradients,
                                          ArrayRef<Value> resultGradients) {
  return {gradients.reshape(resultGradients[0], getShape(getInput()))};
}

OperandGradients BroadcastOp::buildBackward(GradientBuilder &gradients,
                                            ArrayRef<Value> resultGradients) {
  return {gradients.sumTo(getInput(), resultGradients[0])};
}

OperandGradients TransposeOp::buildBackward(GradientBuilder &gradients,
                                            ArrayRef<Value> resultGradients) {
  return {gradients.create<TransposeOp>(
      resultGradients[0], invertPermutationVector(getPermutation()))};
}

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

/// Puts zeros between, before and behind the elements of dimension `dim`, so
/// that element i lies at start + i * step of `size`; step is positive.
static Value spread(GradientBuilder &gradients, Value value, int64_t dim,
                    int64_t start, int64_t step, int64_t size) {
  Shape shape(getShape(value));
  int64_t count = shape[dim];
  auto pad = [&](Value input, int64_t at, int64_t low, int64_t high) -> Value {
    if (low == 0 && high == 0)
      return input;
    return gradients.create<PadOp>(input, ArrayRef<int64_t>{at},
                                   ArrayRef<int64_t>{low},
                                   ArrayRef<int64_t>{high}, APFloat(0.0));
  };
  if (step > 1 && count > 1) {
    Shape columns(shape), joined(shape);
    columns.insert(columns.begin() + dim + 1, 1);
    joined[dim] = count * step;
    value = pad(gradients.reshape(value, columns), dim + 1, 0, step - 1);
    value = gradients.reshape(value, joined);
    // The zeros behind the last element may reach too far.
    int64_t used = (count - 1) * step + 1;
    value = gradients.slice(value, dim, 0, used);
    count = used;
  }
  return pad(value, dim, start, size - start - count);
}

OperandGradients SliceOp::buildBackward(GradientBuilder &gradients,
                                        ArrayRef<Value> resultGradients) {
  Value value = resultGradients[0];
  for (auto [dim, start, step] :
       llvm::zip(getDims(), getStarts(), getSteps())) {
    int64_t count = getShape(value)[dim], first = start, forward = step;
    if (step < 0) {
      value = gradients.slice(value, dim, count - 1, -1, -1);
      forward = -step;
      // Nothing is taken from an empty slice, so it has no last element.
      first = count == 0 ? 0 : start + (count - 1) * step;
    }
    value = spread(gradients, value, dim, first, forward,
                   getShape(getInput())[dim]);
  }
  return {value};
}

//===----------------------------------------------------------------------===//
// Concat, pad
//===----------------------------------------------------------------------===//

OperandGradients ConcatOp::buildBackward(GradientBuilder &gradients,
                                         ArrayRef<Value> resultGradients) {
  OperandGradients answer = gradients.makeNone();
  int64_t dim = getDim(), start = 0;
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    int64_t limit = start + getShape(input)[dim];
    int operand = static_cast<int>(index);
    if (gradients.isNeeded(operand)) {
      gradients.serve(operand);
      answer[index] = gradients.slice(resultGradients[0], dim, start, limit);
    }
    start = limit;
  }
  return answer;
}

OperandGradients PadOp::buildBackward(GradientBuilder &gradients,
                                      ArrayRef<Value> resultGradients) {
  SmallVector<int64_t> limits, steps(getDims().size(), 1);
  for (auto [dim, low] : llvm::zip(getDims(), getLow()))
    limits.push_back(low + getShape(getInput())[dim]);
  return {gradients.create<SliceOp>(resultGradients[0], getDims(), getLow(),
                                    limits, steps)};
}

} // namespace parplan
