//===- expert_kernels.cpp - Tokens to experts and back --------------------===//
//
// Choices come from data: those that are no expert of this rank are skipped.
// Sums run in the order of the choices, those of 16-bit elements in float.
//
//===----------------------------------------------------------------------===//

#include "parplan_runtime/expert_kernels.h"
#include "launch_kernel.h"
#include "parplan_runtime/narrow_floats.h"

#include <cstring>

namespace parplan {
namespace runtime {

namespace {

/// Columns that are summed at a time.
constexpr int64_t slice = 1024;

template <typename Element>
void addScaled(Arithmetic<Element> *sums, const Element *row,
               Arithmetic<Element> weight, int64_t count) {
  PARPLAN_IGNORE_DEPENDENCES
  for (int64_t i = 0; i < count; ++i)
    sums[i] += weight * row[i];
}

/// The sum of rows: find(j) for the choices j of a token, null for none, times
/// weights[j].
template <typename Element, typename Index, typename Find>
void sumRows(Element *out, int64_t width, const Index *chosen, int64_t choices,
             const Element *weights, Find find) {
  auto rowOf = [&](int64_t j) {
    return weights || isNewExpert(chosen, j) ? find(j) : nullptr;
  };
  const Element *row = nullptr;
  int64_t rows = 0;
  for (int64_t j = 0; j < choices; ++j)
    if (const Element *next = rowOf(j)) {
      row = next;
      ++rows;
    }
  const size_t bytes = static_cast<size_t>(width) * sizeof(Element);
  if (rows == 0) {
    std::memset(static_cast<void *>(out), 0, bytes);
    return;
  }
  if (rows == 1 && !weights) {
    std::memcpy(static_cast<void *>(out), row, bytes);
    return;
  }
  for (int64_t start = 0; start < width; start += slice) {
    const int64_t columns = width - start < slice ? width - start : slice;
    Arithmetic<Element> sums[slice] = {};
    for (int64_t j = 0; j < choices; ++j)
      if (const Element *next = rowOf(j))
        addScaled<Element>(sums, next + start,
                           weights ? Arithmetic<Element>(weights[j])
                                   : Arithmetic<Element>(1),
                           columns);
    for (int64_t i = 0; i < columns; ++i)
      out[start + i] = Element(sums[i]);
  }
}

} // namespace

template <typename Element, typename Index>
void moeDispatch(Stream &stream, Buffers buffers, const Element *tokens,
                 const Index *chosen, const Element *weights,
                 const int64_t *first, Element *out, const ExpertShape &shape) {
  launch(stream, buffers, [=] {
    const int64_t start = first ? *first : 0, choices = shape.choices;
    for (int64_t row = 0; row < shape.rows; ++row)
      for (int64_t t = 0; t < shape.tokens; ++t) {
        const Index *choice = chosen + t * choices;
        const Element *token = tokens + t * shape.width;
        const Element *weight = weights ? weights + t * choices : nullptr;
        const int64_t e = shape.groups.findExpert(choice, choices, start, row);
        sumRows(out + (row * shape.tokens + t) * shape.width, shape.width,
                choice, choices, weight, [&](int64_t j) {
                  return e >= 0 && static_cast<int64_t>(choice[j]) - start == e
                             ? token
                             : nullptr;
                });
      }
  });
}

template <typename Element, typename Index>
void moeCombine(Stream &stream, Buffers buffers, const Element *values,
                const Index *chosen, const Element *weights,
                const int64_t *first, Element *out, const ExpertShape &shape) {
  launch(stream, buffers, [=] {
    const int64_t start = first ? *first : 0, choices = shape.choices;
    for (int64_t t = 0; t < shape.tokens; ++t) {
      const Index *choice = chosen + t * choices;
      sumRows(out + t * shape.width, shape.width, choice, choices,
              weights ? weights + t * choices : nullptr, [&](int64_t j) {
                const int64_t row = shape.findRow(choice, start, choice[j]);
                return row >= 0
                           ? values + (row * shape.tokens + t) * shape.width
                           : nullptr;
              });
    }
  });
}

template <typename Element, typename Index>
void moeWeightGradient(Stream &stream, Buffers buffers, const Element *values,
                       const Element *gradient, const Index *chosen,
                       const int64_t *first, Element *out,
                       const ExpertShape &shape) {
  launch(stream, buffers, [=] {
    const int64_t start = first ? *first : 0, width = shape.width;
    for (int64_t t = 0; t < shape.tokens; ++t)
      for (int64_t j = 0; j < shape.choices; ++j) {
        const int64_t at = t * shape.choices + j;
        const int64_t row =
            shape.findRow(chosen + t * shape.choices, start, chosen[at]);
        // Several sums, so that the loop is one of vectors.
        constexpr int64_t lanes = 16;
        Arithmetic<Element> sums[lanes] = {}, sum = 0;
        if (row >= 0) {
          const Element *left = values + (row * shape.tokens + t) * width;
          const Element *right = gradient + t * width;
          int64_t i = 0;
          for (; i + lanes <= width; i += lanes)
            for (int64_t lane = 0; lane < lanes; ++lane)
              sums[lane] += Arithmetic<Element>(left[i + lane]) *
                            Arithmetic<Element>(right[i + lane]);
          for (; i < width; ++i)
            sum += Arithmetic<Element>(left[i]) * Arithmetic<Element>(right[i]);
          for (int64_t lane = 0; lane < lanes; ++lane)
            sum += sums[lane];
        }
        out[at] = Element(sum);
      }
  });
}

#define PARPLAN_EXPERTS(Element, Index)                                        \
  template void moeDispatch(Stream &, Buffers, const Element *, const Index *, \
                            const Element *, const int64_t *, Element *,       \
                            const ExpertShape &);                              \
  template void moeCombine(Stream &, Buffers, const Element *, const Index *,  \
                           const Element *, const int64_t *, Element *,        \
                           const ExpertShape &);                               \
  template void moeWeightGradient(                                             \
      Stream &, Buffers, const Element *, const Element *, const Index *,      \
      const int64_t *, Element *, const ExpertShape &);
#define PARPLAN_EXPERTS_OF(Element)                                            \
  PARPLAN_EXPERTS(Element, int64_t)                                            \
  PARPLAN_EXPERTS(Element, int32_t)
PARPLAN_EXPERTS_OF(float)
PARPLAN_EXPERTS_OF(double)
PARPLAN_EXPERTS_OF(BFloat16)
PARPLAN_EXPERTS_OF(Float16)

} // namespace runtime
} // namespace parplan
