//===- expert_product.cpp - Products of the rows that experts have --------===//
//
// Rows of one expert are copied side by side, multiplied, and put where they
// belong. Strides may be any, as those of `matmul`.
//
//===----------------------------------------------------------------------===//

#include "launch_kernel.h"
#include "parplan_runtime/narrow_floats.h"
#include "product.h"

#include <algorithm>
#include <cstring>

namespace parplan {
namespace runtime {

namespace {

/// A matrix of which some rows are meant, of any strides.
template <typename Element> struct Rows {
  Element *data;
  int64_t rowStride, columnStride, columns;

  /// Calls `visit(element, position)` for the columns of a row.
  template <typename Visit> void forEach(int64_t row, Visit visit) const {
    Element *from = data + row * rowStride;
    for (int64_t column = 0; column < columns; ++column)
      visit(from[column * columnStride], column);
  }
  void copyOut(int64_t row, std::remove_const_t<Element> *to) const {
    if (columnStride == 1)
      std::memcpy(static_cast<void *>(to), data + row * rowStride, bytes());
    else
      forEach(row, [&](const Element &element, int64_t column) {
        to[column] = element;
      });
  }
  void copyIn(int64_t row, const Element *from) const {
    if (columnStride == 1)
      std::memcpy(static_cast<void *>(data + row * rowStride), from, bytes());
    else
      forEach(row, [&](Element &element, int64_t column) {
        element = from[column];
      });
  }
  void clear(int64_t row) const {
    forEach(row, [](Element &element, int64_t) { element = Element(0); });
  }

private:
  size_t bytes() const {
    return static_cast<size_t>(columns) * sizeof(Element);
  }
};

template <typename Element> class ExpertProduct {
public:
  ExpertProduct(const Element *lhs, const Element *rhs, Element *out,
                const ExpertProductShape &shape, Workspace workspace)
      : lhs(lhs), rhs(rhs), out(out), shape(shape), s(shape.matrices) {
    const ExpertProductWorkspace parts(shape, sizeof(Element));
    char *bytes = static_cast<char *>(workspace.data);
    numbers = reinterpret_cast<int32_t *>(bytes + parts.numbersOffset);
    first = reinterpret_cast<Element *>(bytes + parts.firstOffset);
    second = reinterpret_cast<Element *>(bytes + parts.secondOffset);
  }

  template <typename Index> void run(const Index *chosen, int64_t start) {
    for (int64_t expert = 0; expert < shape.experts; ++expert) {
      int64_t count = 0;
      for (int64_t token = 0; token < shape.tokens(); ++token) {
        const Index *choices = chosen + token * shape.choices;
        const bool has =
            std::any_of(choices, choices + shape.choices, [&](Index choice) {
              return static_cast<int64_t>(choice) == start + expert;
            });
        if (has)
          numbers[count++] = static_cast<int32_t>(token);
      }
      if (shape.sumsTokens)
        sumRows(expert, count);
      else
        multiplyRows(expert, count);
    }
  }

private:
  void multiplyRows(int64_t expert, int64_t count) {
    const Rows<const Element> from = {lhs + expert * shape.strides[0],
                                      s.lhsRowStride, s.lhsColumnStride, s.k};
    const Rows<Element> to = {out + expert * shape.strides[2], s.outRowStride,
                              s.outColumnStride, s.n};
    for (int64_t row = 0, next = 0; row < s.m && !s.accumulate; ++row)
      if (next < count && numbers[next] == row)
        ++next;
      else
        to.clear(row);
    for (int64_t begin = 0; begin < count; begin += shape.tokensAtOnce()) {
      const int64_t rows = std::min(count - begin, shape.tokensAtOnce());
      for (int64_t row = 0; row < rows; ++row)
        from.copyOut(numbers[begin + row], first + row * s.k);
      for (int64_t row = 0; row < rows && s.accumulate; ++row)
        to.copyOut(numbers[begin + row], second + row * s.n);
      product<Element, Element>(
          rows, s.n, s.k, first, s.k, 1, rhs + expert * shape.strides[1],
          s.rhsRowStride, s.rhsColumnStride, second, s.n, 1, s.accumulate);
      for (int64_t row = 0; row < rows; ++row)
        to.copyIn(numbers[begin + row], second + row * s.n);
    }
  }

  void sumRows(int64_t expert, int64_t count) {
    const Rows<const Element> left = {lhs + expert * shape.strides[0],
                                      s.lhsColumnStride, s.lhsRowStride, s.m};
    const Rows<const Element> right = {rhs + expert * shape.strides[1],
                                       s.rhsRowStride, s.rhsColumnStride, s.n};
    Element *sums = out + expert * shape.strides[2];
    if (count == 0 && !s.accumulate)
      for (int64_t row = 0; row < s.m; ++row)
        Rows<Element>{sums, s.outRowStride, s.outColumnStride, s.n}.clear(row);
    for (int64_t begin = 0; begin < count; begin += shape.tokensAtOnce()) {
      const int64_t tokens = std::min(count - begin, shape.tokensAtOnce());
      for (int64_t token = 0; token < tokens; ++token) {
        left.copyOut(numbers[begin + token], first + token * s.m);
        right.copyOut(numbers[begin + token], second + token * s.n);
      }
      product<Element, Element>(s.m, s.n, tokens, first, 1, s.m, second, s.n, 1,
                                sums, s.outRowStride, s.outColumnStride,
                                s.accumulate || begin > 0);
    }
  }

  const Element *lhs, *rhs;
  Element *out;
  const ExpertProductShape &shape;
  const MatmulShape &s;
  int32_t *numbers;
  Element *first, *second;
};

} // namespace

template <typename Element, typename Index>
void moeMatmul(Stream &stream, Buffers buffers, const Element *lhs,
               const Element *rhs, const Index *chosen, const int64_t *first,
               Element *out, const ExpertProductShape &shape,
               Workspace workspace) {
  launch(stream, buffers, [=] {
    ExpertProduct<Element>(lhs, rhs, out, shape, workspace)
        .run(chosen, first ? *first : 0);
  });
}

#define PARPLAN_EXPERT_PRODUCT(Element, Index)                                 \
  template void moeMatmul(Stream &, Buffers, const Element *, const Element *, \
                          const Index *, const int64_t *, Element *,           \
                          const ExpertProductShape &, Workspace);
#define PARPLAN_EXPERT_PRODUCTS(Element)                                       \
  PARPLAN_EXPERT_PRODUCT(Element, int64_t)                                     \
  PARPLAN_EXPERT_PRODUCT(Element, int32_t)
PARPLAN_EXPERT_PRODUCTS(float)
PARPLAN_EXPERT_PRODUCTS(double)
PARPLAN_EXPERT_PRODUCTS(BFloat16)
PARPLAN_EXPERT_PRODUCTS(Float16)

} // namespace runtime
} // namespace parplan
