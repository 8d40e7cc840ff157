//===- training_kernels.cu - Loss, gradient norm and optimizers on a GPU --===//

#include "block.h"
#include "cuda_rank.h"
#include "optimizer_math.h"
#include "parplan_runtime/map.h"

namespace parplan {
namespace runtime {

namespace {

/// A block per row: every thread keeps the maximum and the sum of
/// exp(x - maximum) of its columns, in one visit.
template <typename Element, typename Index>
__global__ void crossEntropyKernel(const Element *logits, const Index *labels,
                                   Arithmetic<Element> *loss,
                                   Arithmetic<Element> *logSumExp, int64_t rows,
                                   int64_t classes) {
  using Value = Arithmetic<Element>;
  const Value lowest = -Value(INFINITY);
  for (int64_t o = blockIdx.x; o < rows; o += gridDim.x) {
    const Element *row = logits + o * classes;
    Value highest = lowest, sum = Value(0);
    for (int64_t i = threadIdx.x; i < classes; i += threads) {
      const Value x = row[i];
      if (x > highest) {
        sum = sum * exponential(Value(highest - x)) + Value(1);
        highest = x;
      } else if (x != lowest) {
        sum += exponential(Value(x - highest));
      }
    }
    const Value top = combineBlock(highest, Highest());
    // A thread that saw nothing has no maximum to compare.
    sum = combineBlock(
        highest == lowest ? sum : sum * exponential(Value(highest - top)),
        Add());
    if (threadIdx.x != 0)
      continue;
    const Value logSum = top + logarithm(sum);
    const int64_t label = static_cast<int64_t>(labels[o]);
    const bool inside = label >= 0 && label < classes;
    loss[o] = label == ignoredLabel
                  ? Value(0)
                  : logSum - (inside ? Value(row[label]) : Value(0));
    if (logSumExp)
      logSumExp[o] = logSum;
  }
}

/// One partial sum per block. The number of blocks depends on nothing but the
/// count, so that the order of additions is fixed.
template <typename Element>
__global__ void squareSumKernel(const Element *in, double *partial,
                                int64_t count) {
  double sum = 0;
  for (int64_t i = blockIdx.x * int64_t(threads) + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * threads) {
    const double x = static_cast<double>(in[i]);
    sum += x * x;
  }
  sum = combineBlock(sum, Add());
  if (threadIdx.x == 0)
    partial[blockIdx.x] = sum;
}

__global__ void addPartialsKernel(const double *partial, double *out,
                                  int count) {
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += threads)
    sum += partial[i];
  sum = combineBlock(sum, Add());
  if (threadIdx.x == 0)
    *out = sum;
}

/// One fused sweep; old and new may be the same arrays.
template <OptimizerKind kind, typename Element, typename Gradient>
__global__ void
optimizerKernel(OptimizerShape shape, OptimizerScalars<Element> scalars,
                const Element *parameter, const Gradient *gradient,
                const Element *state0, const Element *state1,
                Element *newParameter, Element *newState0, Element *newState1,
                int64_t count) {
  const bool skip = scalars.skip && *scalars.skip;
  const OptimizerStep<Element> step(shape, scalars);
  for (int64_t i = blockIdx.x * int64_t(threads) + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * threads) {
    Element value = parameter[i], first = 0, second = 0;
    if (kind != OptimizerKind::Sgd)
      first = state0[i];
    if (kind >= OptimizerKind::Adam)
      second = state1[i];
    if (!skip)
      step.template apply<kind>(value, gradient[i], first, second);
    newParameter[i] = value;
    if (kind != OptimizerKind::Sgd)
      newState0[i] = first;
    if (kind >= OptimizerKind::Adam)
      newState1[i] = second;
  }
}

} // namespace

template <typename Element, typename Index>
void crossEntropy(Stream &stream, Buffers buffers, const Element *logits,
                  const Index *labels, Arithmetic<Element> *loss,
                  Arithmetic<Element> *logSumExp, int64_t rows,
                  int64_t classes) {
  stream.touch(buffers);
  if (rows == 0)
    return;
  crossEntropyKernel<<<blocksOf(rows), threads, 0, streamOf(stream)>>>(
      logits, labels, loss, logSumExp, rows, classes);
  detail::checkLaunch(stream);
}

template <typename Element>
void squareSum(Stream &stream, Buffers buffers, const Element *in, double *out,
               int64_t count) {
  stream.touch(buffers);
  constexpr int64_t mostBlocks = 1024;
  static_assert(mostBlocks * sizeof(double) <= CudaStream::scratchBytes,
                "a partial sum of each block");
  const int blocks = static_cast<int>(std::max<int64_t>(
      1, std::min((count + threads - 1) / threads, mostBlocks)));
  auto *partial =
      static_cast<double *>(static_cast<CudaStream &>(stream).scratch());
  squareSumKernel<<<blocks, threads, 0, streamOf(stream)>>>(in, partial, count);
  addPartialsKernel<<<1, threads, 0, streamOf(stream)>>>(partial, out, blocks);
  detail::checkLaunch(stream);
}

template <typename Element, typename Gradient>
void optimizerUpdate(Stream &stream, Buffers buffers,
                     const OptimizerShape &shape,
                     OptimizerScalars<Element> scalars,
                     const Element *parameter, const Gradient *gradient,
                     const Element *state0, const Element *state1,
                     Element *newParameter, Element *newState0,
                     Element *newState1, int64_t count) {
  stream.touch(buffers);
  if (count == 0)
    return;
  const unsigned blocks = detail::mapBlocks(count);
  const auto run = [&](auto kernel) {
    kernel<<<blocks, threads, 0, streamOf(stream)>>>(
        shape, scalars, parameter, gradient, state0, state1, newParameter,
        newState0, newState1, count);
  };
  switch (shape.kind) {
  case OptimizerKind::Sgd:
    run(optimizerKernel<OptimizerKind::Sgd, Element, Gradient>);
    break;
  case OptimizerKind::Momentum:
    run(optimizerKernel<OptimizerKind::Momentum, Element, Gradient>);
    break;
  case OptimizerKind::Adam:
    run(optimizerKernel<OptimizerKind::Adam, Element, Gradient>);
    break;
  case OptimizerKind::AdamW:
    run(optimizerKernel<OptimizerKind::AdamW, Element, Gradient>);
    break;
  }
  detail::checkLaunch(stream);
}

#define PARPLAN_LOSS(Element)                                                  \
  template void crossEntropy(Stream &, Buffers, const Element *,               \
                             const int64_t *, Arithmetic<Element> *,           \
                             Arithmetic<Element> *, int64_t, int64_t);         \
  template void crossEntropy(Stream &, Buffers, const Element *,               \
                             const int32_t *, Arithmetic<Element> *,           \
                             Arithmetic<Element> *, int64_t, int64_t);         \
  template void squareSum(Stream &, Buffers, const Element *, double *,        \
                          int64_t);
#define PARPLAN_OPTIMIZER(Element, Gradient)                                   \
  template void optimizerUpdate(                                               \
      Stream &, Buffers, const OptimizerShape &, OptimizerScalars<Element>,    \
      const Element *, const Gradient *, const Element *, const Element *,     \
      Element *, Element *, Element *, int64_t);
PARPLAN_LOSS(float)
PARPLAN_LOSS(double)
PARPLAN_LOSS(BFloat16)
PARPLAN_LOSS(Float16)
PARPLAN_OPTIMIZER(float, float)
PARPLAN_OPTIMIZER(double, double)
PARPLAN_OPTIMIZER(float, BFloat16)
PARPLAN_OPTIMIZER(float, Float16)

} // namespace runtime
} // namespace parplan
