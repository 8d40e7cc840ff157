//===- kernels.h - Kernels of the runtime library -------------------------===//
//
// Every kernel is enqueued on `stream` and marks `buffers` as live. Arrays lie
// in the arena, row-major and dense unless strides are given. `Element` is
// float or double; kernels that only move or compare also take integers and
// bool. `Index` is int64_t or int32_t. An operand that is
// optional is null when absent.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_KERNELS_H
#define PARPLAN_RUNTIME_KERNELS_H

#include "parplan_runtime/communicator.h"
#include "parplan_runtime/expert_kernels.h"
#include "parplan_runtime/narrow_floats.h"
#include "parplan_runtime/shapes.h"
#include "parplan_runtime/stream.h"
#include "parplan_runtime/tables.h"

namespace parplan {
namespace runtime {

// --- movement ---------------------------------------------------------------

/// out[sum i_d * outStride_d] = in[sum i_d * inStride_d] over all i < extents.
/// Strides may be 0 or negative; `in` and `out` point at element (0, ..).
void copy(Stream &stream, Buffers buffers, ElementType type, const void *in,
          void *out, const Shape &extents, const Shape &inStrides,
          const Shape &outStrides);
void copyBytes(Stream &stream, Buffers buffers, const void *in, void *out,
               int64_t bytes);
void zero(Stream &stream, Buffers buffers, void *out, int64_t bytes);

// --- products ---------------------------------------------------------------

/// `Out` is Element; with BFloat16 and Float16, whose products are summed as
/// float, also float.
template <typename Element, typename Out = Element>
void matmul(Stream &stream, Buffers buffers, const Element *lhs,
            const Element *rhs, Out *out, const MatmulShape &shape,
            Workspace workspace = {});

/// `bias` (one per output channel) is optional. The workspace holds at least
/// convolutionWorkspaceBytes(shape, sizeof(Element)).
template <typename Element>
void convolution(Stream &stream, Buffers buffers, const Element *in,
                 const Element *weight, const Element *bias, Element *out,
                 const ConvolutionShape &shape, Workspace workspace);

/// Adjoints of a convolution without bias; `shape` is that of the convolution,
/// `in` its input and `gradient` that of its output. They write all of `out`.
/// The workspaces hold convolutionInputGradientWorkspaceBytes and
/// convolutionWeightGradientWorkspaceBytes.
template <typename Element>
void convolutionInputGradient(Stream &stream, Buffers buffers,
                              const Element *gradient, const Element *weight,
                              Element *out, const ConvolutionShape &shape,
                              Workspace workspace);
template <typename Element>
void convolutionWeightGradient(Stream &stream, Buffers buffers,
                               const Element *in, const Element *gradient,
                               Element *out, const ConvolutionShape &shape,
                               Workspace workspace);

/// `mask` is bool or Element by shape.mask; `queryOffset` points at one
/// element of the arena or is null (0). `logSumExp` [b, h, s] may be null, but
/// not with shape.accumulate: then `out` and it hold those of other keys, and
/// hold them all afterwards. It is -infinity in rows without a key, which are
/// zero. `Out` is Element or, for BFloat16 and Float16, float. The workspace
/// holds at least attentionWorkspaceBytes(shape, sizeof(Element)).
template <typename Element, typename Out = Element>
void attention(Stream &stream, Buffers buffers, const Element *query,
               const Element *key, const Element *value, const void *mask,
               const int64_t *queryOffset, Out *out,
               Arithmetic<Element> *logSumExp, const AttentionShape &shape,
               Workspace workspace);

/// The gradients of an attention's operands, all dense. `result` and
/// `gradient`, of the result, have the strides shape.outStride and
/// `gradientStride`; `logSumExp` is what `attention` has left. With
/// shape.accumulate `queryGradient` is added to. Padded keys have gradients of
/// zero. The workspace holds at least
/// attentionGradientWorkspaceBytes(shape, sizeof(Element)).
template <typename Element, typename Out = Element>
void attentionGradient(Stream &stream, Buffers buffers, const Element *query,
                       const Element *key, const Element *value,
                       const Element *result,
                       const Arithmetic<Element> *logSumExp,
                       const Element *gradient, const void *mask,
                       const int64_t *queryOffset, Out *queryGradient,
                       Element *keyGradient, Element *valueGradient,
                       const AttentionShape &shape, const Shape &gradientStride,
                       Workspace workspace);

// --- windows ----------------------------------------------------------------

template <typename Element>
void maxPool(Stream &stream, Buffers buffers, const Element *in, Element *out,
             const PoolShape &shape);
template <typename Element>
void averagePool(Stream &stream, Buffers buffers, const Element *in,
                 Element *out, const PoolShape &shape);

/// Adjoints; `shape` is that of the pooling. The gradient of a maximum goes to
/// the first one of the window in row-major order.
template <typename Element>
void maxPoolGradient(Stream &stream, Buffers buffers, const Element *in,
                     const Element *gradient, Element *out,
                     const PoolShape &shape);
template <typename Element>
void averagePoolGradient(Stream &stream, Buffers buffers,
                         const Element *gradient, Element *out,
                         const PoolShape &shape);

// --- rows: [outer][length][inner], along `length` ----------------------------

/// Float, double and the integers; Max and Min also bool.
template <typename Element>
void reduce(Stream &stream, Buffers buffers, Reduction kind, const Element *in,
            Element *out, int64_t outer, int64_t length, int64_t inner);
template <typename Element>
void softmax(Stream &stream, Buffers buffers, const Element *in, Element *out,
             int64_t outer, int64_t length, int64_t inner);
template <typename Element>
void logSoftmax(Stream &stream, Buffers buffers, const Element *in,
                Element *out, int64_t outer, int64_t length, int64_t inner);
/// Rows of `length`; `scale` and `bias` (length elements each) are optional.
template <typename Element>
void layerNorm(Stream &stream, Buffers buffers, const Element *in,
               const Element *scale, const Element *bias, Element *out,
               int64_t outer, int64_t length, double epsilon);
template <typename Element>
void rmsNorm(Stream &stream, Buffers buffers, const Element *in,
             const Element *scale, Element *out, int64_t outer, int64_t length,
             double epsilon);
template <typename Element>
void cumsum(Stream &stream, Buffers buffers, const Element *in, Element *out,
            int64_t outer, int64_t length, int64_t inner, bool exclusive,
            bool reverse);
/// The `count` largest (or smallest) in order; equal values by lower index.
/// `values` or `indices` may be null.
template <typename Element>
void topk(Stream &stream, Buffers buffers, const Element *in, Element *values,
          int64_t *indices, int64_t outer, int64_t length, int64_t inner,
          int64_t count, bool largest);

// --- indexing ---------------------------------------------------------------

/// out[i, :] = table[ids[i] - start, :]; ids outside [start, start + rows)
/// give zeros. `start` may be null (0) or point at one element of the arena.
template <typename Element, typename Index>
void embedding(Stream &stream, Buffers buffers, const Index *ids,
               const Element *table, const int64_t *start, Element *out,
               int64_t count, int64_t rows, int64_t width);
/// out[o, c, i] = data[o, indices[c], i]; negative indices count from the
/// end, others outside [0, length) give zeros.
template <typename Element, typename Index>
void gather(Stream &stream, Buffers buffers, const Element *data,
            const Index *indices, Element *out, int64_t outer, int64_t length,
            int64_t count, int64_t inner);
/// out[i..] = data[i.. with i_dimension replaced by indices[i..]].
template <typename Element, typename Index>
void gatherElements(Stream &stream, Buffers buffers, const Element *data,
                    const Index *indices, Element *out, const Shape &dataShape,
                    const Shape &indexShape, int32_t dimension);
/// out[b, c, :] = data[b, indices[b, c, 0], .., indices[b, c, r-1], :] with
/// `indexed` the r sizes that are indexed.
template <typename Element, typename Index>
void gatherNd(Stream &stream, Buffers buffers, const Element *data,
              const Index *indices, Element *out, int64_t batch, int64_t count,
              const Shape &indexed, int64_t inner);

// --- adjoints of indexing: they write all of `out`, and equal operands give
// equal bits. Indices that give zeros forward give nothing back. -------------

/// out[v, :] = sum of gradient[i, :] over ids[i] == v; ids outside [0, rows)
/// give nothing.
template <typename Element, typename Index>
void embeddingGradient(Stream &stream, Buffers buffers, const Index *ids,
                       const Element *gradient, Element *out, int64_t count,
                       int64_t rows, int64_t width);
template <typename Element, typename Index>
void gatherGradient(Stream &stream, Buffers buffers, const Element *gradient,
                    const Index *indices, Element *out, int64_t outer,
                    int64_t length, int64_t count, int64_t inner);
template <typename Element, typename Index>
void gatherElementsGradient(Stream &stream, Buffers buffers,
                            const Element *gradient, const Index *indices,
                            Element *out, const Shape &dataShape,
                            const Shape &indexShape, int32_t dimension);
template <typename Element, typename Index>
void gatherNdGradient(Stream &stream, Buffers buffers, const Element *gradient,
                      const Index *indices, Element *out, int64_t batch,
                      int64_t count, const Shape &indexed, int64_t inner);

// --- training ---------------------------------------------------------------

/// Cross-entropy of each row of `classes` logits: loss = logSumExp -
/// logits[label], and 0 where the label is -100. `logSumExp` may be null.
template <typename Element, typename Index>
void crossEntropy(Stream &stream, Buffers buffers, const Element *logits,
                  const Index *labels, Arithmetic<Element> *loss,
                  Arithmetic<Element> *logSumExp, int64_t rows,
                  int64_t classes);

/// *out = sum of in[i]^2, in a fixed order.
template <typename Element>
void squareSum(Stream &stream, Buffers buffers, const Element *in, double *out,
               int64_t count);

/// Numbers of a step, each one element of the arena; null: not used.
template <typename Element> struct OptimizerScalars {
  const Element *learningRate = nullptr;
  const Element *stepSize = nullptr;
  const Element *biasCorrection2Sqrt = nullptr;
  /// Multiplies the gradient first.
  const Element *gradientScale = nullptr;
  /// When true, everything stays as it is.
  const bool *skip = nullptr;
};

/// One step of an optimizer with PyTorch's arithmetic. Momentum has state0;
/// Adam and AdamW have state0 (mean) and state1 (mean of squares); states that
/// the kind lacks are null. Old and new values may be the same arrays. The
/// gradient of a float parameter may also be BFloat16 or Float16.
template <typename Element, typename Gradient = Element>
void optimizerUpdate(Stream &stream, Buffers buffers,
                     const OptimizerShape &shape,
                     OptimizerScalars<Element> scalars,
                     const Element *parameter, const Gradient *gradient,
                     const Element *state0, const Element *state1,
                     Element *newParameter, Element *newState0,
                     Element *newState1, int64_t count);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_KERNELS_H
