//===- Windows.cpp - Values of convolutions and pooling -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Families.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

namespace parplan {
namespace {

/// The elements of an input that one output position sees. Spatial dimensions
/// are those from 2 on.
class WindowWalk {
public:
  WindowWalk(const Tensor &input, ArrayRef<int64_t> window,
             ArrayRef<int64_t> strides, ArrayRef<int64_t> pads,
             ArrayRef<int64_t> dilations)
      : sizes(input.getShape().drop_front(2)), window(window), strides(strides),
        pads(pads), dilations(dilations), inputStrides(input.getStrides()) {}

  /// Calls `body` with the offset in one channel of the input, -1 in the
  /// padding, and the position in the window.
  void run(ArrayRef<int64_t> output,
           llvm::function_ref<void(int64_t, int64_t)> body) const {
    forEachIndex(window, [&](ArrayRef<int64_t> tap, int64_t position) {
      int64_t offset = 0;
      for (size_t dim = 0; dim < tap.size(); ++dim) {
        int64_t place = output[dim] * strides[dim] + tap[dim] * dilations[dim] -
                        pads[2 * dim];
        if (place < 0 || place >= sizes[dim])
          return body(-1, position);
        offset += place * inputStrides[dim + 2];
      }
      body(offset, position);
    });
  }

private:
  ArrayRef<int64_t> sizes, window, strides, pads, dilations;
  SmallVector<int64_t> inputStrides;
};

/// Calls `body` with the positions in input, weight and output of every product
/// of a convolution.
template <typename Op>
void forEachProduct(Op op, const Tensor &input, const Tensor &weight,
                    const Tensor &output,
                    llvm::function_ref<void(int64_t, int64_t, int64_t)> body) {
  SmallVector<int64_t> inputStrides = input.getStrides();
  SmallVector<int64_t> weightStrides = weight.getStrides();
  int64_t channels = weight.getShape()[1];
  int64_t outputsPerGroup = weight.getShape()[0] / op.getGroups();
  WindowWalk walk(input, weight.getShape().drop_front(2), op.getStrides(),
                  op.getPads(), op.getDilations());
  forEachIndex(output.getShape(), [&](ArrayRef<int64_t> index,
                                      int64_t position) {
    int64_t firstChannel = index[1] / outputsPerGroup * channels;
    walk.run(index.drop_front(2), [&](int64_t offset, int64_t tap) {
      for (int64_t channel = 0; offset >= 0 && channel < channels; ++channel)
        body(index[0] * inputStrides[0] +
                 (firstChannel + channel) * inputStrides[1] + offset,
             index[1] * weightStrides[0] + channel * weightStrides[1] + tap,
             position);
    });
  });
}

Values evaluateConvolution(const Evaluation &evaluation, ConvOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0), &weight = evaluation.operand(1);
  if (op.getBias()) {
    int64_t inner = result.getStrides()[1], channels = result.getShape()[1];
    for (int64_t i = 0; i < result.getSize(); ++i)
      result[i] = evaluation.operand(2)[i / inner % channels];
  }
  forEachProduct(op, input, weight, result,
                 [&](int64_t from, int64_t tap, int64_t to) {
                   result[to].real += input[from].real * weight[tap].real;
                 });
  return {result};
}

Values evaluateInputGradient(const Evaluation &evaluation,
                             ConvInputGradientOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &gradient = evaluation.operand(0);
  const Tensor &weight = evaluation.operand(1);
  forEachProduct(op, result, weight, gradient,
                 [&](int64_t from, int64_t tap, int64_t to) {
                   result[from].real += gradient[to].real * weight[tap].real;
                 });
  return {result};
}

Values evaluateWeightGradient(const Evaluation &evaluation,
                              ConvWeightGradientOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  const Tensor &gradient = evaluation.operand(1);
  forEachProduct(op, input, result, gradient,
                 [&](int64_t from, int64_t tap, int64_t to) {
                   result[tap].real += input[from].real * gradient[to].real;
                 });
  return {result};
}

/// Calls `body` with the output position, the start of its channel and index.
void forEachPooled(
    const Tensor &input, const Tensor &result,
    llvm::function_ref<void(int64_t, int64_t, ArrayRef<int64_t>)> body) {
  SmallVector<int64_t> strides = input.getStrides();
  forEachIndex(result.getShape(),
               [&](ArrayRef<int64_t> index, int64_t position) {
                 body(position, index[0] * strides[0] + index[1] * strides[1],
                      index.drop_front(2));
               });
}

Values evaluateMaxPool(const Evaluation &evaluation, MaxPoolOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  WindowWalk walk(input, op.getWindow(), op.getStrides(), op.getPads(),
                  op.getDilations());
  forEachPooled(input, result,
                [&](int64_t position, int64_t start, ArrayRef<int64_t> index) {
                  double best = -std::numeric_limits<double>::infinity();
                  walk.run(index, [&](int64_t offset, int64_t) {
                    if (offset >= 0)
                      best = std::max(best, input[start + offset].real);
                  });
                  result[position].real = best;
                });
  return {result};
}

/// The first maximum of a window takes the gradient.
Values evaluateMaxPoolGradient(const Evaluation &evaluation,
                               MaxPoolGradientOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  const Tensor &gradient = evaluation.operand(1);
  WindowWalk walk(input, op.getWindow(), op.getStrides(), op.getPads(),
                  op.getDilations());
  forEachPooled(input, gradient,
                [&](int64_t position, int64_t start, ArrayRef<int64_t> index) {
                  int64_t best = -1;
                  walk.run(index, [&](int64_t offset, int64_t) {
                    if (offset >= 0 && (best < 0 || input[start + offset].real >
                                                        input[best].real))
                      best = start + offset;
                  });
                  if (best >= 0)
                    result[best].real += gradient[position].real;
                });
  return {result};
}

/// Calls `body` with every position of `output`, the positions of `input` that
/// it averages, and the count that it divides by.
template <typename Op>
void forEachAverage(
    Op op, const Tensor &input, const Tensor &output,
    llvm::function_ref<void(int64_t, ArrayRef<int64_t>, double)> body) {
  WindowWalk walk(input, op.getWindow(), op.getStrides(), op.getPads(),
                  op.getDilations());
  // Padding counts, what a rounded-up output hangs over behind it does not.
  auto isInsidePadding = [&](ArrayRef<int64_t> index, int64_t tap) {
    for (int64_t dim = static_cast<int64_t>(index.size()) - 1; dim >= 0;
         --dim) {
      int64_t place = index[dim] * op.getStrides()[dim] +
                      tap % op.getWindow()[dim] * op.getDilations()[dim];
      tap /= op.getWindow()[dim];
      if (place >= input.getShape()[dim + 2] + op.getPads()[2 * dim] +
                       op.getPads()[2 * dim + 1])
        return false;
    }
    return true;
  };
  forEachPooled(input, output,
                [&](int64_t position, int64_t start, ArrayRef<int64_t> index) {
                  SmallVector<int64_t> averaged;
                  int64_t count = 0;
                  walk.run(index, [&](int64_t offset, int64_t tap) {
                    if (offset >= 0)
                      averaged.push_back(start + offset);
                    count += offset >= 0 || (op.getCountIncludePad() &&
                                             isInsidePadding(index, tap));
                  });
                  body(position, averaged, static_cast<double>(count));
                });
}

Values evaluateAveragePool(const Evaluation &evaluation, AveragePoolOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
  forEachAverage(op, input, result,
                 [&](int64_t to, ArrayRef<int64_t> from, double count) {
                   double sum = 0;
                   for (int64_t position : from)
                     sum += input[position].real;
                   result[to].real = sum / count;
                 });
  return {result};
}

Values evaluateAveragePoolGradient(const Evaluation &evaluation,
                                   AveragePoolGradientOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &gradient = evaluation.operand(0);
  forEachAverage(op, result, gradient,
                 [&](int64_t to, ArrayRef<int64_t> from, double count) {
                   for (int64_t position : from)
                     result[position].real += gradient[to].real / count;
                 });
  return {result};
}

} // namespace

MaybeValues evaluateWindow(const Evaluation &evaluation) {
  return llvm::TypeSwitch<Operation *, MaybeValues>(evaluation.op)
      .Case<ConvOp>(
          [&](ConvOp op) { return evaluateConvolution(evaluation, op); })
      .Case<MaxPoolOp>(
          [&](MaxPoolOp op) { return evaluateMaxPool(evaluation, op); })
      .Case<AveragePoolOp>(
          [&](AveragePoolOp op) { return evaluateAveragePool(evaluation, op); })
      .Case<ConvInputGradientOp>([&](ConvInputGradientOp op) {
        return evaluateInputGradient(evaluation, op);
      })
      .Case<ConvWeightGradientOp>([&](ConvWeightGradientOp op) {
        return evaluateWeightGradient(evaluation, op);
      })
      .Case<MaxPoolGradientOp>([&](MaxPoolGradientOp op) {
        return evaluateMaxPoolGradient(evaluation, op);
      })
      .Case<AveragePoolGradientOp>([&](AveragePoolGradientOp op) {
        return evaluateAveragePoolGradient(evaluation, op);
      })
      .Default([](auto) { return std::nullopt; });
}

} // namespace parplan
