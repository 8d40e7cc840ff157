//===- attention_kernel.cpp - Blocked attention with running softmax ------===//

#include "attention_rows.h"
#include "failure.h"
#include "launch_kernel.h"
#include "product.h"
#include "rows.h"

namespace parplan {
namespace runtime {

namespace {

/// Computes in Element on operands that are stored as another type.
template <typename Stored, typename Out> struct AttentionTask {
  using Element = Arithmetic<Stored>;
  const Stored *query, *key, *value;
  const void *mask;
  const int64_t *queryOffset;
  Out *out;
  Element *logSumExp;
  AttentionShape shape;
  Element *scratch;

  void operator()() const {
    const int64_t offset = queryOffset ? *queryOffset : 0;
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t h = 0; h < shape.heads; ++h)
        for (int64_t first = 0, rows; first < shape.queries; first += rows) {
          rows =
              detail::attentionRows(shape, first, detail::attentionQueryBlock);
          block(b, h, first, rows, offset);
        }
  }

  /// A block of queries of one head against all keys.
  void block(int64_t b, int64_t h, int64_t first, int64_t rows,
             int64_t offset) const {
    const int64_t keyBlock =
        detail::minimum(shape.keys, detail::attentionKeyBlock);
    const int64_t width = shape.valueWidth;
    const int64_t g = h / (shape.heads / shape.kvHeads);
    int64_t keys = detail::attentionKeys(shape);
    if (shape.causal) // No later key is visible to the last row.
      keys = detail::minimum(
          keys, detail::attentionVisibleKeys(shape, first + rows - 1, offset));
    if (keys <= 0 && shape.accumulate)
      return;
    Element *scores = scratch;
    Element *result = scores + rows * keyBlock;
    Element *highest = result + rows * width;
    Element *sums = highest + rows;
    begin(b, h, first, rows, result, highest, sums);
    Element *copies = sums + rows;
    const Rows<Element> q =
        loadRows(query + b * shape.queryStride[0] +
                     first * shape.queryStride[1] + h * shape.queryStride[2],
                 shape.queryStride[1], rows, shape.width, copies);
    for (int64_t start = 0; start < keys; start += keyBlock) {
      const int64_t count = detail::minimum(keys - start, keyBlock);
      Element *memory = copies;
      const Rows<Element> k =
          loadRows(key + b * shape.keyStride[0] + start * shape.keyStride[1] +
                       g * shape.keyStride[2],
                   shape.keyStride[1], count, shape.width, memory);
      const Rows<Element> v =
          loadRows(value + b * shape.valueStride[0] +
                       start * shape.valueStride[1] + g * shape.valueStride[2],
                   shape.valueStride[1], count, width, memory);
      product<Element>(rows, count, shape.width, q.data, q.stride, 1, k.data, 1,
                       k.stride, scores, count, 1, false);
      for (int64_t i = 0; i < rows; ++i) {
        Element *row = scores + i * count;
        maskRow<Stored>(row, count, shape, mask,
                        maskStart(shape, b, h, first + i, start),
                        visibleKeys(shape, first + i, offset, start, count));
        updateRow(row, count, highest[i], sums[i], result + i * width);
      }
      product<Element>(rows, width, count, scores, count, 1, v.data, v.stride,
                       1, result, width, 1, true);
    }
    finish(b, h, first, rows, result, highest, sums);
  }

  Out *outputRow(int64_t b, int64_t h, int64_t i) const {
    return out + b * shape.outStride[0] + i * shape.outStride[1] +
           h * shape.outStride[2];
  }
  Element &statistics(int64_t b, int64_t h, int64_t i) const {
    return logSumExp[(b * shape.heads + h) * shape.queries + i];
  }

  /// No key has been seen, or, to go on, those of the statistics: with weights
  /// relative to their sum, which then is one.
  void begin(int64_t b, int64_t h, int64_t first, int64_t rows, Element *result,
             Element *highest, Element *sums) const {
    const Element lowest = -std::numeric_limits<Element>::infinity();
    for (int64_t i = 0; i < rows; ++i) {
      highest[i] = shape.accumulate ? statistics(b, h, first + i) : lowest;
      sums[i] = Element(highest[i] == lowest ? 0 : 1);
      const Out *before = outputRow(b, h, first + i);
      for (int64_t j = 0; j < shape.valueWidth; ++j)
        result[i * shape.valueWidth + j] =
            shape.accumulate ? Element(before[j]) : Element(0);
    }
  }

  void finish(int64_t b, int64_t h, int64_t first, int64_t rows,
              const Element *result, const Element *highest,
              const Element *sums) const {
    const int64_t width = shape.valueWidth;
    const bool givesZeros = shape.zeroMaskedRows || logSumExp;
    for (int64_t i = 0; i < rows; ++i) {
      Out *target = outputRow(b, h, first + i);
      const bool empty = sums[i] == Element(0);
      const Element factor =
          empty && givesZeros ? Element(0) : Element(1) / sums[i];
      for (int64_t j = 0; j < width; ++j)
        target[j] = Out(result[i * width + j] * factor);
      if (empty && !givesZeros)
        for (int64_t j = 0; j < width; ++j)
          target[j] = Out(std::numeric_limits<Element>::quiet_NaN());
      if (logSumExp)
        statistics(b, h, first + i) =
            empty ? -std::numeric_limits<Element>::infinity()
                  : highest[i] + logarithm(sums[i]);
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

template <typename Element, typename Out>
void attention(Stream &stream, Buffers buffers, const Element *query,
               const Element *key, const Element *value, const void *mask,
               const int64_t *queryOffset, Out *out,
               Arithmetic<Element> *logSumExp, const AttentionShape &shape,
               Workspace workspace) {
  if (workspace.bytes < attentionWorkspaceBytes(shape, sizeof(Element)))
    fail(exitInternal, "the workspace of an attention is too small");
  launch(stream, buffers,
         AttentionTask<Element, Out>{
             query, key, value, mask, queryOffset, out, logSumExp, shape,
             static_cast<Arithmetic<Element> *>(workspace.data)});
}

#define PARPLAN_ATTENTION(Element, Out)                                        \
  template void attention(Stream &, Buffers, const Element *, const Element *, \
                          const Element *, const void *, const int64_t *,      \
                          Out *, Arithmetic<Element> *,                        \
                          const AttentionShape &, Workspace);
PARPLAN_ATTENTION(float, float)
PARPLAN_ATTENTION(double, double)
PARPLAN_ATTENTION(BFloat16, BFloat16)
PARPLAN_ATTENTION(BFloat16, float)
PARPLAN_ATTENTION(Float16, Float16)
PARPLAN_ATTENTION(Float16, float)

} // namespace runtime
} // namespace parplan
