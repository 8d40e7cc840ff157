//===- attention_gradient_kernel.cpp - Backward of attention --------------===//
//
// A block of queries of one head against a block of keys at a time: its scores
// and their gradients stay in the cache, products are the library's.
// Probabilities come from the saved log_sum_exp. Blocks that lie wholly behind
// the queries of a causal attention are never looked at.
//
//===----------------------------------------------------------------------===//

#include "attention_rows.h"
#include "failure.h"
#include "launch_kernel.h"
#include "product.h"
#include "rows.h"

#include <algorithm>

namespace parplan {
namespace runtime {

namespace {

/// Rows that are written.
template <typename Element> struct OutRows {
  Element *data;
  int64_t stride;
};

template <typename Stored, typename Out> struct AttentionGradientTask {
  using Element = Arithmetic<Stored>;
  const Stored *query, *key, *value, *result;
  const Element *logSumExp;
  const Stored *gradient;
  const void *mask;
  const int64_t *queryOffset;
  Out *queryGradient;
  Stored *keyGradient, *valueGradient;
  AttentionShape shape;
  int64_t gradientStride[3];
  char *workspace;

  /// What all query heads of one key head share.
  struct KeyHead {
    Rows<Element> key, value;
    OutRows<Element> keyGradient, valueGradient;
    /// Behind the wide copies.
    Element *memory;
  };

  void operator()() const {
    const int64_t offset = queryOffset ? *queryOffset : 0;
    const int64_t group = shape.heads / shape.kvHeads;
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t g = 0; g < shape.kvHeads; ++g) {
        const KeyHead keys = begin(b, g);
        for (int64_t h = g * group; h < (g + 1) * group; ++h)
          for (int64_t first = 0, rows; first < shape.queries; first += rows) {
            rows = detail::attentionRows(shape, first,
                                         detail::attentionHostQueries);
            block(b, h, first, rows, offset, keys);
          }
        finish(b, g, keys);
      }
  }

  detail::AttentionGradientParts parts() const {
    return detail::attentionGradientParts(shape, sizeof(Stored));
  }
  Element *part(int64_t offset) const {
    return reinterpret_cast<Element *>(workspace + offset);
  }
  Stored *keyRows(Stored *out, int64_t b, int64_t g, int64_t width) const {
    return out + (b * shape.keys * shape.kvHeads + g) * width;
  }

  /// Gradients of keys start from zero.
  KeyHead begin(int64_t b, int64_t g) const {
    KeyHead head;
    head.memory = part(parts().copies);
    head.key =
        loadRows(key + b * shape.keyStride[0] + g * shape.keyStride[2],
                 shape.keyStride[1], shape.keys, shape.width, head.memory);
    head.value = loadRows(
        value + b * shape.valueStride[0] + g * shape.valueStride[2],
        shape.valueStride[1], shape.keys, shape.valueWidth, head.memory);
    if constexpr (isNarrow<Stored>) {
      Element *sums = part(parts().sums);
      head.keyGradient = {sums, shape.width};
      head.valueGradient = {sums + shape.keys * shape.width, shape.valueWidth};
    } else {
      head.keyGradient = {keyRows(keyGradient, b, g, shape.width),
                          shape.kvHeads * shape.width};
      head.valueGradient = {keyRows(valueGradient, b, g, shape.valueWidth),
                            shape.kvHeads * shape.valueWidth};
    }
    clear(head.keyGradient, shape.width);
    clear(head.valueGradient, shape.valueWidth);
    return head;
  }

  void clear(const OutRows<Element> &rows, int64_t width) const {
    for (int64_t j = 0; j < shape.keys; ++j)
      std::fill_n(rows.data + j * rows.stride, width, Element(0));
  }

  /// Rounds sums that were wide.
  void finish(int64_t b, int64_t g, const KeyHead &head) const {
    if constexpr (isNarrow<Stored>) {
      round(head.keyGradient, keyRows(keyGradient, b, g, shape.width),
            shape.width);
      round(head.valueGradient, keyRows(valueGradient, b, g, shape.valueWidth),
            shape.valueWidth);
    }
  }

  void round(const OutRows<Element> &from, Stored *to, int64_t width) const {
    for (int64_t j = 0; j < shape.keys; ++j)
      for (int64_t e = 0; e < width; ++e)
        to[j * shape.kvHeads * width + e] =
            Stored(from.data[j * from.stride + e]);
  }

  void block(int64_t b, int64_t h, int64_t first, int64_t rows, int64_t offset,
             const KeyHead &head) const {
    int64_t keys = detail::attentionKeys(shape);
    if (shape.causal) // No later key is visible to the last row.
      keys = detail::minimum(
          keys, detail::attentionVisibleKeys(shape, first + rows - 1, offset));
    if (keys <= 0 && shape.accumulate)
      return;
    Element *memory = head.memory;
    const Rows<Element> q =
        loadRows(query + b * shape.queryStride[0] +
                     first * shape.queryStride[1] + h * shape.queryStride[2],
                 shape.queryStride[1], rows, shape.width, memory);
    const Rows<Element> d =
        loadRows(gradient + b * gradientStride[0] + first * gradientStride[1] +
                     h * gradientStride[2],
                 gradientStride[1], rows, shape.valueWidth, memory);
    Out *target = queryGradient +
                  ((b * shape.queries + first) * shape.heads + h) * shape.width;
    const int64_t targetStride = shape.heads * shape.width;
    OutRows<Element> sums;
    if constexpr (isNarrow<Out>)
      sums = {memory, shape.width};
    else
      sums = {target, targetStride};
    if (isNarrow<Out> || !shape.accumulate)
      for (int64_t i = 0; i < rows; ++i)
        std::fill_n(sums.data + i * sums.stride, shape.width, Element(0));
    for (int64_t start = 0; start < keys; start += detail::attentionHostKeys)
      products(b, h, first, rows, start,
               detail::minimum(keys - start, detail::attentionHostKeys), offset,
               q, d, head, sums);
    if constexpr (isNarrow<Out>)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t e = 0; e < shape.width; ++e) {
          Out &element = target[i * targetStride + e];
          element = Out(sums.data[i * shape.width + e] +
                        (shape.accumulate ? Element(element) : Element(0)));
        }
  }

  /// Adds what one block of scores gives to all three gradients.
  void products(int64_t b, int64_t h, int64_t first, int64_t rows,
                int64_t start, int64_t count, int64_t offset,
                const Rows<Element> &q, const Rows<Element> &d,
                const KeyHead &head, const OutRows<Element> &sums) const {
    Element *weights = part(parts().scores);
    Element *gradients = part(parts().scoreGradients);
    const Element *k = head.key.data + start * head.key.stride;
    const Element *v = head.value.data + start * head.value.stride;
    product<Element>(rows, count, shape.width, q.data, q.stride, 1, k, 1,
                     head.key.stride, weights, count, 1, false);
    product<Element>(rows, count, shape.valueWidth, d.data, d.stride, 1, v, 1,
                     head.value.stride, gradients, count, 1, false);
    for (int64_t i = 0; i < rows; ++i)
      differentiateRow(b, h, first + i, start, count, offset,
                       weights + i * count, gradients + i * count);
    const OutRows<Element> &dk = head.keyGradient, &dv = head.valueGradient;
    product<Element>(count, shape.valueWidth, rows, weights, 1, count, d.data,
                     d.stride, 1, dv.data + start * dv.stride, dv.stride, 1,
                     true);
    product<Element>(count, shape.width, rows, gradients, 1, count, q.data,
                     q.stride, 1, dk.data + start * dk.stride, dk.stride, 1,
                     true);
    product<Element>(rows, shape.width, count, gradients, count, 1, k,
                     head.key.stride, 1, sums.data, sums.stride, 1, true);
  }

  /// Turns q k^T into probabilities, and their gradients into those of q k^T.
  void differentiateRow(int64_t b, int64_t h, int64_t i, int64_t start,
                        int64_t count, int64_t offset, Element *weights,
                        Element *gradients) const {
    const Element statistics =
        logSumExp[(b * shape.heads + h) * shape.queries + i];
    if (statistics == -std::numeric_limits<Element>::infinity()) {
      std::fill_n(weights, count, Element(0));
      std::fill_n(gradients, count, Element(0));
      return;
    }
    const Stored *o = result + b * shape.outStride[0] + i * shape.outStride[1] +
                      h * shape.outStride[2];
    const Stored *d = gradient + b * gradientStride[0] + i * gradientStride[1] +
                      h * gradientStride[2];
    const Element mean = sumRow<Element>(shape.valueWidth, [o, d](int64_t f) {
      return Element(o[f]) * Element(d[f]);
    });
    maskRow<Stored>(weights, count, shape, mask,
                    maskStart(shape, b, h, i, start),
                    visibleKeys(shape, i, offset, start, count));
    const Element scale = static_cast<Element>(shape.scale);
    for (int64_t j = 0; j < count; ++j)
      weights[j] = exponential(weights[j] - statistics);
    for (int64_t j = 0; j < count; ++j)
      gradients[j] = weights[j] * (gradients[j] - mean) * scale;
  }
};

} // namespace

template <typename Element, typename Out>
void attentionGradient(Stream &stream, Buffers buffers, const Element *query,
                       const Element *key, const Element *value,
                       const Element *result,
                       const Arithmetic<Element> *logSumExp,
                       const Element *gradient, const void *mask,
                       const int64_t *queryOffset, Out *queryGradient,
                       Element *keyGradient, Element *valueGradient,
                       const AttentionShape &shape, const Shape &gradientStride,
                       Workspace workspace) {
  if (workspace.bytes < attentionGradientWorkspaceBytes(shape, sizeof(Element)))
    fail(exitInternal, "the workspace of an attention's gradient is too small");
  launch(stream, buffers,
         AttentionGradientTask<Element, Out>{
             query,
             key,
             value,
             result,
             logSumExp,
             gradient,
             mask,
             queryOffset,
             queryGradient,
             keyGradient,
             valueGradient,
             shape,
             {gradientStride.size[0], gradientStride.size[1],
              gradientStride.size[2]},
             static_cast<char *>(workspace.data)});
}

#define PARPLAN_ATTENTION_GRADIENT(Element, Out)                               \
  template void attentionGradient(                                             \
      Stream &, Buffers, const Element *, const Element *, const Element *,    \
      const Element *, const Arithmetic<Element> *, const Element *,           \
      const void *, const int64_t *, Out *, Element *, Element *,              \
      const AttentionShape &, const Shape &, Workspace);
PARPLAN_ATTENTION_GRADIENT(float, float)
PARPLAN_ATTENTION_GRADIENT(double, double)
PARPLAN_ATTENTION_GRADIENT(BFloat16, BFloat16)
PARPLAN_ATTENTION_GRADIENT(BFloat16, float)
PARPLAN_ATTENTION_GRADIENT(Float16, Float16)
PARPLAN_ATTENTION_GRADIENT(Float16, float)

} // namespace runtime
} // namespace parplan
