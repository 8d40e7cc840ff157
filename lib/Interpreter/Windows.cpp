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

Values evaluateConvolution(const Evaluation &evaluation, ConvOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0), &weight = evaluation.operand(1);
  const Tensor *bias = op.getBias() ? &evaluation.operand(2) : nullptr;
  SmallVector<int64_t> inputStrides = input.getStrides();
  SmallVector<int64_t> weightStrides = weight.getStrides();
  int64_t channels = weight.getShape()[1];
  int64_t outputsPerGroup = weight.getShape()[0] / op.getGroups();
  WindowWalk walk(input, weight.getShape().drop_front(2), op.getStrides(),
                  op.getPads(), op.getDilations());
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index,
                                      int64_t position) {
    int64_t firstChannel = index[1] / outputsPerGroup * channels;
    double sum = bias ? (*bias)[index[1]].real : 0;
    walk.run(index.drop_front(2), [&](int64_t offset, int64_t tap) {
      for (int64_t channel = 0; offset >= 0 && channel < channels; ++channel)
        sum += input[index[0] * inputStrides[0] +
                     (firstChannel + channel) * inputStrides[1] + offset]
                   .real *
               weight[index[1] * weightStrides[0] + channel * weightStrides[1] +
                      tap]
                   .real;
    });
    result[position].real = sum;
  });
  return {result};
}

/// Calls `body` with the output position, the start of its channel and index.
void forEachPooled(
    const Tensor &input, Tensor &result,
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

Values evaluateAveragePool(const Evaluation &evaluation, AveragePoolOp op) {
  Tensor result = evaluation.makeResult();
  const Tensor &input = evaluation.operand(0);
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
  forEachPooled(input, result,
                [&](int64_t position, int64_t start, ArrayRef<int64_t> index) {
                  double sum = 0;
                  int64_t count = 0;
                  walk.run(index, [&](int64_t offset, int64_t tap) {
                    if (offset >= 0)
                      sum += input[start + offset].real;
                    count += offset >= 0 || (op.getCountIncludePad() &&
                                             isInsidePadding(index, tap));
                  });
                  result[position].real = sum / static_cast<double>(count);
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
      .Default([](auto) { return std::nullopt; });
}

} // namespace parplan
