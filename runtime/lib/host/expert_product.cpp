//===- expert_product.cpp - Products of the rows that experts have --------===//
//
// Rows of one expert are copied side by side, multiplied, and put where they
// belong; where an expert has a vector, rows are where they are. Strides may be
// any, as those of `matmul`.
//
//===----------------------------------------------------------------------===//

#include "launch_kernel.h"
#include "parplan_runtime/narrow_floats.h"
#include "product.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace parplan {
namespace runtime {

namespace {

/// Rows of tokens [rows, tokens, columns] of any strides, by their number
/// row · tokens + token.
template <typename Element> struct Rows {
  Element *data;
  int64_t tokens, rowStride, tokenStride, columnStride, columns;

  /// Calls `visit(element, position)` for the columns of a row.
  template <typename Visit> void forEach(int64_t number, Visit visit) const {
    Element *from = getRow(number);
    for (int64_t column = 0; column < columns; ++column)
      visit(from[column * columnStride], column);
  }
  void copyOut(int64_t number, std::remove_const_t<Element> *to) const {
    if (columnStride == 1)
      std::memcpy(static_cast<void *>(to), getRow(number), bytes());
    else
      forEach(number, [&](const Element &element, int64_t column) {
        to[column] = element;
      });
  }
  void copyIn(int64_t number, const Element *from) const {
    if (columnStride == 1)
      std::memcpy(static_cast<void *>(getRow(number)), from, bytes());
    else
      forEach(number, [&](Element &element, int64_t column) {
        element = from[column];
      });
  }
  void clear(int64_t number) const {
    forEach(number, [](Element &element, int64_t) { element = Element(0); });
  }

private:
  Element *getRow(int64_t number) const {
    return data + number / tokens * rowStride + number % tokens * tokenStride;
  }
  size_t bytes() const {
    return static_cast<size_t>(columns) * sizeof(Element);
  }
};

template <typename Element> class ExpertProduct {
  using Wide = Arithmetic<Element>;

public:
  ExpertProduct(const Element *lhs, const Element *rhs, Element *out,
                const ExpertProductShape &shape, Workspace workspace)
      : lhs(lhs), rhs(rhs), out(out), shape(shape), s(shape.matrices) {
    if (shape.isOfVectors())
      return;
    const ExpertProductWorkspace parts(shape, sizeof(Element));
    char *bytes = static_cast<char *>(workspace.data);
    numbers = reinterpret_cast<int32_t *>(bytes + parts.numbersOffset);
    first = reinterpret_cast<Element *>(bytes + parts.firstOffset);
    second = reinterpret_cast<Element *>(bytes + parts.secondOffset);
  }

  template <typename Index> void run(const Index *chosen, int64_t start) {
    if (shape.isOfVectors())
      return shape.sumsTokens ? sumVectors(chosen, start)
                              : scaleVectors(chosen, start);
    const int64_t tokens = shape.tokens();
    for (int64_t row = 0;
         row < shape.rows() && !shape.sumsTokens && !s.accumulate; ++row)
      for (int64_t token = 0; token < tokens; ++token)
        if (shape.groups.findExpert(chosen + token * shape.choices,
                                    shape.choices, start, row) < 0)
          getOutputRows().clear(row * tokens + token);
    for (int64_t expert = 0; expert < shape.experts; ++expert) {
      int64_t count = 0;
      for (int64_t token = 0; token < tokens; ++token)
        if (const int64_t row = shape.groups.findRow(
                chosen + token * shape.choices, shape.choices, start, expert);
            row >= 0)
          numbers[count++] = static_cast<int32_t>(row * tokens + token);
      if (shape.sumsTokens)
        sumRows(expert, count);
      else
        multiplyRows(expert, count);
    }
  }

private:
  template <typename Index>
  void scaleVectors(const Index *chosen, int64_t start) {
    const Rows<Element> to = getOutputRows();
    for (int64_t row = 0; row < shape.rows(); ++row)
      for (int64_t token = 0; token < s.m; ++token) {
        const int64_t number = row * s.m + token;
        const int64_t expert = shape.groups.findExpert(
            chosen + token * shape.choices, shape.choices, start, row);
        if (expert < 0) {
          if (!s.accumulate)
            to.clear(number);
          continue;
        }
        const Wide factor(lhs[row * shape.strides[0] + token * s.lhsRowStride]);
        const Element *vector = rhs + expert * shape.strides[1];
        to.forEach(number, [&](Element &element, int64_t column) {
          const Wide old = s.accumulate ? Wide(element) : Wide(0);
          element =
              Element(old + factor * Wide(vector[column * s.rhsColumnStride]));
        });
      }
  }

  template <typename Index>
  void sumVectors(const Index *chosen, int64_t start) {
    std::vector<Wide> sums(static_cast<size_t>(s.n));
    for (int64_t expert = 0; expert < shape.experts; ++expert) {
      Element *to = out + expert * shape.strides[2];
      for (int64_t column = 0; column < s.n; ++column)
        sums[column] =
            s.accumulate ? Wide(to[column * s.outColumnStride]) : Wide(0);
      for (int64_t token = 0; token < s.k; ++token) {
        const int64_t row = shape.groups.findRow(chosen + token * shape.choices,
                                                 shape.choices, start, expert);
        if (row < 0)
          continue;
        const Wide factor(
            lhs[row * shape.strides[0] + token * s.lhsColumnStride]);
        const Element *from =
            rhs + row * shape.strides[1] + token * s.rhsRowStride;
        for (int64_t column = 0; column < s.n; ++column)
          sums[column] += factor * Wide(from[column * s.rhsColumnStride]);
      }
      for (int64_t column = 0; column < s.n; ++column)
        to[column * s.outColumnStride] = Element(sums[column]);
    }
  }

  Rows<Element> getOutputRows() const {
    return {out, s.m, shape.strides[2], s.outRowStride, s.outColumnStride, s.n};
  }

  void multiplyRows(int64_t expert, int64_t count) {
    const Rows<const Element> from = {
        lhs, s.m, shape.strides[0], s.lhsRowStride, s.lhsColumnStride, s.k};
    const Rows<Element> to = getOutputRows();
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
    const Rows<const Element> left = {
        lhs, s.k, shape.strides[0], s.lhsColumnStride, s.lhsRowStride, s.m};
    const Rows<const Element> right = {
        rhs, s.k, shape.strides[1], s.rhsRowStride, s.rhsColumnStride, s.n};
    Element *sums = out + expert * shape.strides[2];
    if (count == 0 && !s.accumulate)
      for (int64_t row = 0; row < s.m; ++row)
        for (int64_t column = 0; column < s.n; ++column)
          sums[row * s.outRowStride + column * s.outColumnStride] = Element(0);
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
  int32_t *numbers = nullptr;
  Element *first = nullptr, *second = nullptr;
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
