//===- expert_kernels_test.cpp - Dispatch, combine and their gradient -----===//
//
// Sums of small integers are exact, so that any order gives the same bits.
//
//===----------------------------------------------------------------------===//

#include "test_rank.h"

#include <algorithm>
#include <cmath>

namespace parplan {
namespace runtime {
namespace {

class ExpertTest : public KernelTest {
protected:
  /// Filled with garbage, which kernels have to overwrite.
  template <typename Element> Element *dirty(int64_t count) {
    return place(
        std::vector<Element>(static_cast<size_t>(count), Element(99.0f)));
  }
  template <typename Element> std::vector<Element> numbers(int64_t count) {
    std::vector<Element> values;
    for (float value : randomIntegers<float>(count, -3, 3))
      values.push_back(Element(value));
    return values;
  }
  template <typename Element>
  static std::vector<float> widened(const std::vector<Element> &values) {
    return std::vector<float>(values.begin(), values.end());
  }

  /// The row of a token for an expert of the rank: in the rows of its group,
  /// behind those of other choices there.
  template <typename Index>
  static int64_t rowOf(const std::vector<Index> &chosen, int64_t choices,
                       int64_t start, int64_t token, int64_t expert,
                       ExpertGroups groups) {
    std::vector<Index> before;
    const int64_t group = expert / groups.experts;
    for (int64_t c = token * choices; c < (token + 1) * choices; ++c) {
      const int64_t other = chosen[c] - start;
      if (other == expert)
        return group * groups.rows + static_cast<int64_t>(before.size());
      if (other >= 0 && other / groups.experts == group &&
          std::find(before.begin(), before.end(), chosen[c]) == before.end())
        before.push_back(chosen[c]);
    }
    return -1;
  }

  /// All three against loops. Some choices are experts of other ranks, and
  /// some are made twice.
  template <typename Element, typename Index>
  void check(const ExpertShape &s, bool weighted, int64_t start) {
    const int64_t rows = s.rows * s.tokens * s.width;
    const int64_t choices = s.tokens * s.choices, width = s.width;
    const auto chosen =
        randomIntegers<Index>(choices, static_cast<int>(start) - 1,
                              static_cast<int>(start + s.experts()));
    const auto tokens = numbers<Element>(s.tokens * width);
    const auto weights = numbers<Element>(choices);
    const auto values = numbers<Element>(rows);
    std::vector<float> sent(rows), sums(s.tokens * width), inner(choices);
    for (int64_t c = 0; c < choices; ++c) {
      const int64_t t = c / s.choices, e = chosen[c] - start;
      if (e < 0 || e >= s.experts())
        continue;
      const int64_t row = rowOf(chosen, s.choices, start, t, e, s.groups);
      const auto ofToken = chosen.begin() + t * s.choices;
      const bool isNew = std::find(ofToken, chosen.begin() + c, chosen[c]) ==
                         chosen.begin() + c;
      // Without weights they are a set.
      const float weight = weighted ? float(weights[c]) : isNew ? 1 : 0;
      for (int64_t i = 0; i < width; ++i) {
        const int64_t at = (row * s.tokens + t) * width + i;
        sent[at] += weight * float(tokens[t * width + i]);
        sums[t * width + i] += weight * float(values[at]);
        inner[c] += float(values[at]) * float(tokens[t * width + i]);
      }
    }
    const Index *choicesAt = place(chosen);
    const Element *weightsAt = weighted ? place(weights) : nullptr;
    const Element *tokensAt = place(tokens), *valuesAt = place(values);
    const int64_t *first = start ? place(std::vector<int64_t>{start}) : nullptr;
    Element *sentAt = dirty<Element>(rows);
    Element *sumsAt = dirty<Element>(s.tokens * width);
    Element *innerAt = dirty<Element>(choices);
    moeDispatch<Element, Index>(stream(), {}, tokensAt, choicesAt, weightsAt,
                                first, sentAt, s);
    moeCombine<Element, Index>(stream(), {}, valuesAt, choicesAt, weightsAt,
                               first, sumsAt, s);
    moeWeightGradient<Element, Index>(stream(), {}, valuesAt, tokensAt,
                                      choicesAt, first, innerAt, s);
    EXPECT_EQ(widened(read(sentAt, rows)), sent);
    EXPECT_EQ(widened(read(sumsAt, s.tokens * width)), sums);
    EXPECT_EQ(widened(read(innerAt, choices)), rounded<Element>(inner));
  }

  /// Of m rows, n columns and k summed over; `checkProduct` gives the strides.
  static MatmulShape matrices(int64_t m, int64_t n, int64_t k) {
    return {m, n, k, 0, 0, 0, 0, 0, 0};
  }

  /// A product [m, n, k] for each expert of `s` against loops. Matrices are
  /// stored by rows, or by columns where `transposed` says so. A second call
  /// adds as much.
  template <typename Element, typename Index>
  void checkProduct(const ExpertProductShape &s, int64_t start,
                    bool transposed = false) {
    const MatmulShape &p = s.matrices;
    const auto chosen = randomIntegers<Index>(
        s.tokens() * s.choices, static_cast<int>(start) - 1,
        static_cast<int>(start + s.experts));
    auto row = [&](int64_t e, int64_t t) {
      return rowOf(chosen, s.choices, start, t, e, s.groups);
    };
    const int64_t ofRhs = s.sumsTokens ? s.rows() : s.experts;
    const int64_t ofOut = s.sumsTokens ? s.experts : s.rows();
    // Rows that are for no expert hold what must not be read.
    auto lhs = std::vector<Element>(static_cast<size_t>(s.rows() * p.m * p.k),
                                    Element(NAN));
    auto rhs = numbers<Element>(ofRhs * p.k * p.n);
    ExpertProductShape shape = s;
    auto stride = [&](int64_t rows, int64_t columns, int64_t &row,
                      int64_t &column) {
      row = transposed ? 1 : columns;
      column = transposed ? rows : 1;
    };
    MatmulShape &own = shape.matrices;
    stride(p.m, p.k, own.lhsRowStride, own.lhsColumnStride);
    stride(p.k, p.n, own.rhsRowStride, own.rhsColumnStride);
    stride(p.m, p.n, own.outRowStride, own.outColumnStride);
    shape.strides[0] = p.m * p.k;
    shape.strides[1] = p.k * p.n;
    shape.strides[2] = p.m * p.n;
    std::vector<float> expected(ofOut * p.m * p.n);
    for (int64_t e = 0; e < s.experts; ++e)
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t l = 0; l < p.k; ++l) {
          const int64_t at = row(e, s.sumsTokens ? l : i);
          if (at < 0)
            continue;
          Element &left = lhs[at * p.m * p.k + i * own.lhsRowStride +
                              l * own.lhsColumnStride];
          left = numbers<Element>(1).front();
          for (int64_t j = 0; j < p.n; ++j)
            expected[(s.sumsTokens ? e : at) * p.m * p.n +
                     i * own.outRowStride + j * own.outColumnStride] +=
                float(left) *
                float(rhs[(s.sumsTokens ? at : e) * p.k * p.n +
                          l * own.rhsRowStride + j * own.rhsColumnStride]);
        }
    const int64_t bytes = ExpertProductWorkspace(shape, sizeof(Element)).bytes;
    EXPECT_EQ(bytes == 0, shape.isOfVectors());
    Element *out = dirty<Element>(ofOut * p.m * p.n);
    const Element *lhsAt = place(lhs), *rhsAt = place(rhs);
    const Index *chosenAt = place(chosen);
    const int64_t *first = start ? place(std::vector<int64_t>{start}) : nullptr;
    const Workspace workspace =
        bytes ? Workspace{reserve<char>(bytes), bytes} : Workspace{};
    auto run = [&] {
      moeMatmul<Element, Index>(stream(), {}, lhsAt, rhsAt, chosenAt, first,
                                out, shape, workspace);
    };
    run();
    EXPECT_EQ(widened(read(out, ofOut * p.m * p.n)),
              rounded<Element>(expected));
    own.accumulate = true;
    run();
    for (float &sum : expected)
      sum *= 2;
    EXPECT_EQ(widened(read(out, ofOut * p.m * p.n)),
              rounded<Element>(expected));
  }

private:
  template <typename Element>
  static std::vector<float> rounded(std::vector<float> values) {
    for (float &value : values)
      value = float(Element(value));
    return values;
  }
};

TEST_F(ExpertTest, AllExpertsOfARank) {
  for (bool weighted : {false, true}) {
    check<float, int64_t>({4, 9, 33, 2}, weighted, 0);
    check<double, int32_t>({3, 5, 1, 3}, weighted, 0);
    check<float, int64_t>({1, 700, 7, 1}, weighted, 0);
    check<float, int64_t>({2, 3, 2500, 2}, weighted, 0);
  }
}

TEST_F(ExpertTest, ABlockOfThem) {
  for (bool weighted : {false, true}) {
    check<float, int64_t>({4, 9, 33, 2}, weighted, 4);
    check<float, int32_t>({2, 17, 16, 4}, weighted, 6);
  }
}

/// Of two, three and one row for groups of four, three and two experts.
TEST_F(ExpertTest, RowsOfGroups) {
  for (int64_t start : {0, 8}) {
    check<float, int64_t>({4, 9, 33, 2, {4, 2}}, true, start);
    check<double, int32_t>({3, 17, 5, 3, {3, 3}}, false, start);
    check<BFloat16, int64_t>({3, 12, 8, 1, {2, 1}}, true, start);
  }
}

TEST_F(ExpertTest, ProductsOfRowsOfGroups) {
  for (bool transposed : {false, true})
    for (bool sumsTokens : {false, true}) {
      const MatmulShape of9 =
          sumsTokens ? matrices(5, 7, 9) : matrices(9, 5, 7);
      checkProduct<float, int64_t>({8, 2, sumsTokens, {}, of9, {4, 2}}, 0,
                                   transposed);
      checkProduct<double, int32_t>({3, 3, sumsTokens, {}, of9, {3, 3}}, 6,
                                    transposed);
      checkProduct<Float16, int64_t>({6, 1, sumsTokens, {}, of9, {2, 1}}, 2,
                                     transposed);
    }
}

/// Biases and their gradients; tokens, columns and rows for several blocks.
TEST_F(ExpertTest, ProductsWithVectors) {
  for (bool transposed : {false, true})
    for (bool sumsTokens : {false, true}) {
      const MatmulShape of300 =
          sumsTokens ? matrices(1, 270, 300) : matrices(300, 270, 1);
      checkProduct<float, int64_t>({8, 2, sumsTokens, {}, of300, {4, 2}}, 0,
                                   transposed);
      checkProduct<double, int32_t>({3, 3, sumsTokens, {}, of300, {3, 3}}, 6,
                                    transposed);
      checkProduct<BFloat16, int64_t>(
          {6, 2, sumsTokens, {}, matrices(1, 9, 1), {2, 1}}, 2, transposed);
      checkProduct<float, int64_t>({300, 1, sumsTokens, {}, matrices(1, 2, 1)},
                                   0, transposed);
    }
}

TEST_F(ExpertTest, NarrowElements) {
  for (bool weighted : {false, true}) {
    check<BFloat16, int64_t>({4, 9, 33, 2}, weighted, 0);
    check<Float16, int64_t>({4, 9, 20, 2}, weighted, 2);
  }
}

TEST_F(ExpertTest, Nothing) {
  check<float, int64_t>({4, 0, 8, 2}, true, 0);
  check<float, int64_t>({0, 3, 8, 2}, false, 0);
}

TEST_F(ExpertTest, ProductsOfTheRowsOfTokens) {
  for (bool transposed : {false, true}) {
    checkProduct<float, int64_t>({4, 2, false, {}, matrices(9, 5, 7)}, 0,
                                 transposed);
    checkProduct<double, int32_t>({3, 1, false, {}, matrices(70, 3, 2)}, 5,
                                  transposed);
    checkProduct<BFloat16, int64_t>({2, 2, false, {}, matrices(6, 8, 8)}, 0,
                                    transposed);
  }
}

TEST_F(ExpertTest, ProductsSumOverTokens) {
  for (bool transposed : {false, true}) {
    checkProduct<float, int64_t>({4, 2, true, {}, matrices(5, 7, 9)}, 0,
                                 transposed);
    checkProduct<double, int32_t>({3, 1, true, {}, matrices(2, 3, 70)}, 5,
                                  transposed);
    checkProduct<Float16, int64_t>({2, 2, true, {}, matrices(8, 8, 6)}, 0,
                                   transposed);
  }
}

TEST_F(ExpertTest, ProductsOfMoreTokensThanLieSideBySide) {
  checkProduct<float, int64_t>({2, 3, false, {}, matrices(9000, 3, 2)}, 0);
  checkProduct<float, int64_t>({2, 3, true, {}, matrices(3, 2, 9000)}, 0);
}

TEST_F(ExpertTest, ProductsOfNoToken) {
  checkProduct<float, int64_t>({2, 1, false, {}, matrices(0, 3, 2)}, 0);
  checkProduct<float, int64_t>({2, 1, true, {}, matrices(3, 2, 0)}, 0);
  checkProduct<float, int64_t>({40, 1, true, {}, matrices(3, 2, 2)}, 0);
  checkProduct<float, int64_t>({2, 1, false, {}, matrices(0, 3, 1)}, 0);
  checkProduct<float, int64_t>({2, 1, true, {}, matrices(1, 2, 0)}, 0);
}

/// A number that is not finite stays with those who chose it.
TEST_F(ExpertTest, AnswersOfOtherExpertsAreNotRead) {
  const std::vector<int64_t> chosen = {1, 0};
  const std::vector<float> values = {NAN, 2, 3, INFINITY};
  float *out = dirty<float>(2);
  moeCombine<float, int64_t>(stream(), {}, place(values), place(chosen),
                             nullptr, nullptr, out, {2, 2, 1, 1});
  EXPECT_EQ(read(out, 2), (std::vector<float>{3, 2}));
}

} // namespace
} // namespace runtime
} // namespace parplan
