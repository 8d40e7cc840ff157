//===- attention_rows.h - Rows of scores and of operands ------------------===//

#ifndef PARPLAN_RUNTIME_LIB_HOST_ATTENTION_ROWS_H
#define PARPLAN_RUNTIME_LIB_HOST_ATTENTION_ROWS_H

#include "parplan_runtime/narrow_floats.h"
#include "parplan_runtime/scalar_math.h"
#include "parplan_runtime/shapes.h"

#include <limits>

namespace parplan {
namespace runtime {

/// Of `count` keys from `start` on, how many query i sees.
inline int64_t visibleKeys(const AttentionShape &shape, int64_t i,
                           int64_t offset, int64_t start, int64_t count) {
  if (!shape.causal)
    return count;
  return detail::minimum(detail::attentionVisibleKeys(shape, i, offset) - start,
                         count);
}

/// The element of the mask for query i and the key `start` of the block.
inline int64_t maskStart(const AttentionShape &shape, int64_t b, int64_t h,
                         int64_t i, int64_t start) {
  const int64_t column = start + (shape.wholeMask ? shape.firstKey : 0);
  return b * shape.maskStride[0] + h * shape.maskStride[1] +
         i * shape.maskStride[2] + column * shape.maskStride[3];
}

/// Scales and masks one row of scores, whose columns are `count` keys; those
/// from `visible` on are excluded.
template <typename Stored, typename Element>
void maskRow(Element *scores, int64_t count, const AttentionShape &shape,
             const void *mask, int64_t first, int64_t visible) {
  const Element scale = static_cast<Element>(shape.scale);
  const Element excluded = -std::numeric_limits<Element>::infinity();
  const int64_t stride = shape.maskStride[3];
  if (shape.mask == MaskKind::Bool) {
    const auto *flags = static_cast<const uint8_t *>(mask) + first;
    for (int64_t j = 0; j < count; ++j)
      scores[j] = flags[j * stride] ? scores[j] * scale : excluded;
  } else if (shape.mask == MaskKind::Float) {
    const auto *terms = static_cast<const Stored *>(mask) + first;
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

/// The rows themselves, or a wider copy of them that `memory` is advanced past.
template <typename Stored, typename Element = Arithmetic<Stored>>
Rows<Element> loadRows(const Stored *from, int64_t stride, int64_t count,
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

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_HOST_ATTENTION_ROWS_H
