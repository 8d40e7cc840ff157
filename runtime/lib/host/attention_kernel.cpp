//===- attention_kernel.cpp - Blocked attention with running softmax ------===//

#include "failure.h"
#include "launch_kernel.h"
#include "parplan_runtime/scalar_math.h"
#include "product.h"
#include "rows.h"

#include <limits>

namespace parplan {
namespace runtime {

namespace {

/// Scales and masks one row of scores. Columns are keys `firstKey` onwards.
template <typename Stored, typename Element>
void maskRow(Element *scores, int64_t count, const AttentionShape &shape,
             const void *mask, int64_t maskStart, int64_t visible) {
  const Element scale = static_cast<Element>(shape.scale);
  const Element excluded = -std::numeric_limits<Element>::infinity();
  const int64_t stride = shape.maskStride[3];
  if (shape.mask == MaskKind::Bool) {
    const auto *flags = static_cast<const uint8_t *>(mask) + maskStart;
    for (int64_t j = 0; j < count; ++j)
      scores[j] = flags[j * stride] ? scores[j] * scale : excluded;
  } else if (shape.mask == MaskKind::Float) {
    const auto *terms = static_cast<const Stored *>(mask) + maskStart;
    for (int64_t j = 0; j < count; ++j)
      scores[j] = scores[j] * scale + terms[j * stride];
  } else {
    for (int64_t j = 0; j < count; ++j)
      scores[j] *= scale;
  }
  for (int64_t j = visible < 0 ? 0 : visible; j < count; ++j)
    scores[j] = excluded;
}

/// A block of an operand: rows of contiguous elements.
template <typename Element> struct Rows {
  const Element *data;
  int64_t stride;
};

/// Computes in Element on operands that are stored as another type.
template <typename Stored> struct AttentionTask {
  using Element = Arithmetic<Stored>;
  const Stored *query, *key, *value;
  const void *mask;
  const int64_t *queryOffset;
  Stored *out;
  AttentionShape shape;
  Element *scratch;

  /// The block itself, or a wider copy of it that `memory` is advanced past.
  static Rows<Element> load(const Stored *from, int64_t stride, int64_t count,
                            int64_t width, Element *&memory) {
    if constexpr (!isNarrow<Stored>) {
      return {from, stride};
    } else {
      Element *to = memory;
      for (int64_t i = 0; i < count; ++i)
        for (int64_t j = 0; j < width; ++j)
          to[i * width + j] = from[i * stride + j];
      memory += count * width;
      return {to, width};
    }
  }

  void operator()() const {
    const int64_t offset = queryOffset ? *queryOffset : 0;
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t h = 0; h < shape.heads; ++h)
        for (int64_t first = 0; first < shape.queries;
             first += detail::attentionQueryBlock)
          block(b, h, first, offset);
  }

  /// A block of queries of one head against all keys.
  void block(int64_t b, int64_t h, int64_t first, int64_t offset) const {
    const int64_t rows =
        detail::minimum(shape.queries - first, detail::attentionQueryBlock);
    const int64_t keyBlock =
        detail::minimum(shape.keys, detail::attentionKeyBlock);
    const int64_t width = shape.valueWidth;
    const int64_t g = h / (shape.heads / shape.kvHeads);
    Element *scores = scratch;
    Element *result = scores + rows * keyBlock;
    Element *highest = result + rows * width;
    Element *sums = highest + rows;
    const Element lowest = -std::numeric_limits<Element>::infinity();
    for (int64_t i = 0; i < rows; ++i) {
      highest[i] = lowest;
      sums[i] = Element(0);
    }
    for (int64_t i = 0; i < rows * width; ++i)
      result[i] = Element(0);
    Element *copies = sums + rows;
    const Rows<Element> q =
        load(query + b * shape.queryStride[0] + first * shape.queryStride[1] +
                 h * shape.queryStride[2],
             shape.queryStride[1], rows, shape.width, copies);
    int64_t keys = shape.keys;
    if (shape.causal) // No later key is visible to the last row.
      keys = detail::minimum(keys, first + rows + offset);
    for (int64_t start = 0; start < keys; start += keyBlock) {
      const int64_t count = detail::minimum(keys - start, keyBlock);
      Element *memory = copies;
      const Rows<Element> k =
          load(key + b * shape.keyStride[0] + start * shape.keyStride[1] +
                   g * shape.keyStride[2],
               shape.keyStride[1], count, shape.width, memory);
      const Rows<Element> v =
          load(value + b * shape.valueStride[0] + start * shape.valueStride[1] +
                   g * shape.valueStride[2],
               shape.valueStride[1], count, width, memory);
      product<Element>(rows, count, shape.width, q.data, q.stride, 1, k.data, 1,
                       k.stride, scores, count, 1, false);
      for (int64_t i = 0; i < rows; ++i) {
        Element *row = scores + i * count;
        const int64_t maskStart =
            b * shape.maskStride[0] + h * shape.maskStride[1] +
            (first + i) * shape.maskStride[2] + start * shape.maskStride[3];
        const int64_t visible =
            shape.causal
                ? detail::minimum(first + i + offset + 1 - start, count)
                : count;
        maskRow<Stored>(row, count, shape, mask, maskStart, visible);
        updateRow(row, count, highest[i], sums[i], result + i * width);
      }
      product<Element>(rows, width, count, scores, count, 1, v.data, v.stride,
                       1, result, width, 1, true);
    }
    for (int64_t i = 0; i < rows; ++i) {
      Stored *target = out + b * shape.outStride[0] +
                       (first + i) * shape.outStride[1] +
                       h * shape.outStride[2];
      const bool empty = sums[i] == Element(0);
      const Element factor =
          empty && shape.zeroMaskedRows ? Element(0) : Element(1) / sums[i];
      for (int64_t j = 0; j < width; ++j)
        target[j] = Stored(result[i * width + j] * factor);
      if (empty && !shape.zeroMaskedRows)
        for (int64_t j = 0; j < width; ++j)
          target[j] = Stored(std::numeric_limits<Element>::quiet_NaN());
    }
  }

  /// Turns scores into weights relative to the highest score so far, and the
  /// sum and result so far into the same measure.
  void updateRow(Element *row, int64_t count, Element &highest, Element &sum,
                 Element *result) const {
    const Element lowest = -std::numeric_limits<Element>::infinity();
    const Element next =
        maximum(highest, maxRow<Element>(count, lowest,
                                         [row](int64_t j) { return row[j]; }));
    if (next == lowest) { // Nothing is visible yet.
      for (int64_t j = 0; j < count; ++j)
        row[j] = Element(0);
      return;
    }
    const Element shrink =
        highest == next ? Element(1) : exponential(Element(highest - next));
    for (int64_t j = 0; j < count; ++j)
      row[j] = exponential(row[j] - next);
    sum = sum * shrink +
          sumRow<Element>(count, [row](int64_t j) { return row[j]; });
    if (shrink != Element(1))
      for (int64_t j = 0; j < shape.valueWidth; ++j)
        result[j] *= shrink;
    highest = next;
  }
};

} // namespace

template <typename Element>
void attention(Stream &stream, Buffers buffers, const Element *query,
               const Element *key, const Element *value, const void *mask,
               const int64_t *queryOffset, Element *out,
               const AttentionShape &shape, Workspace workspace) {
  if (workspace.bytes < attentionWorkspaceBytes(shape, sizeof(Element)))
    fail(exitInternal, "the workspace of an attention is too small");
  launch(stream, buffers,
         AttentionTask<Element>{
             query, key, value, mask, queryOffset, out, shape,
             static_cast<Arithmetic<Element> *>(workspace.data)});
}

#define PARPLAN_ATTENTION(Element)                                             \
  template void attention(Stream &, Buffers, const Element *, const Element *, \
                          const Element *, const void *, const int64_t *,      \
                          Element *, const AttentionShape &, Workspace);
PARPLAN_ATTENTION(float)
PARPLAN_ATTENTION(double)
PARPLAN_ATTENTION(BFloat16)
PARPLAN_ATTENTION(Float16)

} // namespace runtime
} // namespace parplan
