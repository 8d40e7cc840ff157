//===- attention_kernels_test.cpp - Statistics, blocks and gradients ------===//
//
// The oracle are loops in double precision over whole matrices. Operands are
// numbers that 16 bits hold, so that one oracle serves all types.
//
//===----------------------------------------------------------------------===//

#include "test_rank.h"

#include <algorithm>
#include <cmath>

namespace parplan {
namespace runtime {
namespace {

template <typename Stored> class AttentionKernels : public KernelTest {
protected:
  using Wide = Arithmetic<Stored>;
  using Numbers = std::vector<double>;

  struct Case {
    int64_t batch, queries, keys, heads, kvHeads, width, valueWidth;
    bool causal = false;
    MaskKind mask = MaskKind::None;
    /// Of the mask: [queries, keys], or only keys.
    bool perQuery = true;
    /// The position of query 0; in memory, or in the shape.
    int64_t position = 0;
    bool inMemory = false;
    /// Blocks that the keys come in.
    int64_t blocks = 1;
    /// Keys and queries count in zig-zag order over the blocks.
    bool zigzag = false;

    int64_t place(int64_t index) const {
      return zigzag ? zigzagPosition(index, keys, blocks) : index;
    }
  };

  /// What loops over whole matrices give.
  struct Oracle {
    Numbers out, logSumExp, dq, dk, dv;
  };

  Numbers random(int64_t count) {
    Numbers numbers;
    for (float x : randomFloats(count))
      numbers.push_back(Wide(Stored(x)));
    return numbers;
  }

  static std::vector<Stored> store(const Numbers &numbers) {
    std::vector<Stored> stored;
    for (double x : numbers)
      stored.push_back(Stored(static_cast<float>(x)));
    return stored;
  }

  void SetUp(const Case &c) {
    q = random(c.batch * c.queries * c.heads * c.width);
    k = random(c.batch * c.keys * c.kvHeads * c.width);
    v = random(c.batch * c.keys * c.kvHeads * c.valueWidth);
    d = random(c.batch * c.queries * c.heads * c.valueWidth);
    const int64_t maskRows = c.perQuery ? c.queries : 1;
    terms = random(maskRows * c.keys);
    flags = randomIntegers<uint8_t>(maskRows * c.keys, 0, 1);
  }

  double score(const Case &c, int64_t b, int64_t i, int64_t h, int64_t j) {
    if (c.causal && c.place(j) > c.place(i + c.position))
      return -INFINITY;
    const int64_t g = h / (c.heads / c.kvHeads);
    const int64_t at = (c.perQuery ? i * c.keys : 0) + j;
    if (c.mask == MaskKind::Bool && !flags[at])
      return -INFINITY;
    double sum = 0;
    for (int64_t e = 0; e < c.width; ++e)
      sum += q[((b * c.queries + i) * c.heads + h) * c.width + e] *
             k[((b * c.keys + j) * c.kvHeads + g) * c.width + e];
    return sum * scale + (c.mask == MaskKind::Float ? terms[at] : 0);
  }

  /// `out` and `logSumExp` of the gradient are those that kernels round to.
  Oracle compute(const Case &c, const Numbers &given = {}) {
    Oracle oracle;
    oracle.out.resize(d.size());
    oracle.logSumExp.resize(c.batch * c.heads * c.queries);
    oracle.dq.resize(q.size());
    oracle.dk.resize(k.size());
    oracle.dv.resize(v.size());
    for (int64_t b = 0; b < c.batch; ++b)
      for (int64_t h = 0; h < c.heads; ++h)
        for (int64_t i = 0; i < c.queries; ++i)
          computeRow(c, oracle, given, b, i, h);
    return oracle;
  }

  void computeRow(const Case &c, Oracle &oracle, const Numbers &given,
                  int64_t b, int64_t i, int64_t h) {
    const int64_t g = h / (c.heads / c.kvHeads), f = c.valueWidth;
    const int64_t row = ((b * c.queries + i) * c.heads + h) * f;
    const int64_t left = ((b * c.queries + i) * c.heads + h) * c.width;
    Numbers weights;
    double highest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < c.keys; ++j) {
      weights.push_back(score(c, b, i, h, j));
      highest = std::max(highest, weights.back());
    }
    for (double &weight : weights)
      sum += weight = highest == -INFINITY ? 0 : std::exp(weight - highest);
    oracle.logSumExp[(b * c.heads + h) * c.queries + i] =
        highest + std::log(sum);
    if (sum == 0)
      return;
    for (int64_t j = 0; j < c.keys; ++j)
      for (int64_t n = 0; n < f; ++n)
        oracle.out[row + n] +=
            weights[j] / sum * v[((b * c.keys + j) * c.kvHeads + g) * f + n];
    double mean = 0;
    for (int64_t n = 0; n < f; ++n)
      mean += d[row + n] * (given.empty() ? oracle.out : given)[row + n];
    for (int64_t j = 0; j < c.keys; ++j) {
      const int64_t from = ((b * c.keys + j) * c.kvHeads + g) * f;
      const int64_t right = ((b * c.keys + j) * c.kvHeads + g) * c.width;
      double product = 0;
      for (int64_t n = 0; n < f; ++n) {
        product += d[row + n] * v[from + n];
        oracle.dv[from + n] += weights[j] / sum * d[row + n];
      }
      const double change = weights[j] / sum * (product - mean) * scale;
      for (int64_t e = 0; e < c.width; ++e) {
        oracle.dq[left + e] += change * k[right + e];
        oracle.dk[right + e] += change * q[left + e];
      }
    }
  }

  AttentionShape shapeOf(const Case &c, int64_t block) {
    AttentionShape s = {};
    s.batch = c.batch;
    s.queries = c.queries;
    s.keys = (c.keys + c.blocks - 1) / c.blocks;
    s.heads = c.heads;
    s.kvHeads = c.kvHeads;
    s.width = c.width;
    s.valueWidth = c.valueWidth;
    const auto strides = [](int64_t *to, int64_t length, int64_t heads,
                            int64_t width) {
      to[0] = length * heads * width;
      to[1] = heads * width;
      to[2] = width;
    };
    strides(s.queryStride, c.queries, c.heads, c.width);
    strides(s.keyStride, s.keys, c.kvHeads, c.width);
    strides(s.valueStride, s.keys, c.kvHeads, c.valueWidth);
    strides(s.outStride, c.queries, c.heads, c.valueWidth);
    s.mask = c.mask;
    s.maskStride[2] = c.perQuery ? c.keys : 0;
    s.maskStride[3] = 1;
    s.scale = scale;
    s.causal = c.causal;
    s.firstQuery = c.inMemory ? 0 : c.position;
    s.zigzag = c.zigzag ? c.blocks : 1;
    if (c.blocks > 1) {
      s.wholeMask = c.mask != MaskKind::None;
      s.firstKey = std::min(block * s.keys, c.keys);
      s.validKeys = std::min(s.keys, c.keys - s.firstKey);
    }
    return s;
  }

  /// Block `block` of the keys or values, of rows of `width`, padded with
  /// zeros.
  Numbers cut(const Case &c, const AttentionShape &s, const Numbers &all,
              int64_t width) {
    if (c.blocks == 1)
      return all;
    Numbers cut;
    const int64_t row = c.kvHeads * width;
    for (int64_t b = 0; b < c.batch; ++b)
      for (int64_t j = 0; j < s.keys; ++j)
        for (int64_t n = 0; n < row; ++n)
          cut.push_back(j < s.validKeys
                            ? all[(b * c.keys + s.firstKey + j) * row + n]
                            : 0);
    return cut;
  }

  Numbers widened(const std::vector<Stored> &stored) {
    return Numbers(stored.begin(), stored.end());
  }

  static double error(const Numbers &got, const Numbers &expected) {
    double largest = 1e-30, difference = 0;
    EXPECT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size() && i < expected.size(); ++i) {
      if (got[i] == expected[i])
        continue;
      difference = std::max(difference, std::abs(got[i] - expected[i]));
      largest = std::max(largest, std::abs(expected[i]));
      if (!(std::abs(got[i] - expected[i]) >= 0))
        return 1e30;
    }
    return difference / largest;
  }

  /// Sums are wide; results of 16 bits are rounded once. On a GPU so are scores
  /// before the second product, whose sums may be smaller than what they add.
  static constexpr double wideTolerance =
      std::is_same<Wide, double>::value ? 1e-12 : 1e-5;
#ifdef __CUDACC__
  static constexpr bool roundsScores = isNarrow<Stored>;
#else
  static constexpr bool roundsScores = false;
#endif
  static constexpr double tolerance =
      (roundsScores ? 2 : 1) * (std::is_same<Stored, BFloat16>::value ? 0.005
                                : std::is_same<Stored, Float16>::value
                                    ? 0.0008
                                    : wideTolerance);

  /// The result of all blocks, wide where there are several.
  template <typename Out>
  void check(const Case &c, double outTolerance, double gradientTolerance) {
    SetUp(c);
    const Oracle oracle = compute(c);
    const auto *query = place(store(q));
    const auto *gradient = place(store(d));
    const void *mask = nullptr;
    if (c.mask == MaskKind::Float)
      mask = place(store(terms));
    else if (c.mask == MaskKind::Bool)
      mask = place(flags);
    const int64_t *offset =
        c.inMemory ? place(std::vector<int64_t>{c.position}) : nullptr;
    auto *out = reserve<Out>(d.size());
    auto *logSumExp = reserve<Wide>(oracle.logSumExp.size());
    for (int64_t block = 0; block < c.blocks; ++block) {
      AttentionShape s = shapeOf(c, block);
      s.accumulate = block > 0;
      const int64_t bytes = attentionWorkspaceBytes(s, sizeof(Stored));
      attention<Stored, Out>(
          stream(), {}, query, place(store(cut(c, s, k, c.width))),
          place(store(cut(c, s, v, c.valueWidth))), mask, offset, out,
          logSumExp, s, {reserve<char>(bytes), bytes});
    }
    const auto got = read(out, d.size());
    const Numbers outs(got.begin(), got.end());
    EXPECT_LT(error(outs, oracle.out), outTolerance);
    const auto statistics = read(logSumExp, oracle.logSumExp.size());
    EXPECT_LT(
        error(Numbers(statistics.begin(), statistics.end()), oracle.logSumExp),
        wideTolerance);

    const Numbers rounded = widened(store(oracle.out));
    const Oracle gradients = compute(c, rounded);
    const auto *result = place(store(rounded));
    auto *dq = reserve<Out>(q.size());
    for (int64_t block = 0; block < c.blocks; ++block) {
      AttentionShape s = shapeOf(c, block);
      s.accumulate = block > 0;
      const auto keys = cut(c, s, k, c.width),
                 values = cut(c, s, v, c.valueWidth);
      auto *dk = place(std::vector<Stored>(keys.size(), Stored(99.0f)));
      auto *dv = place(std::vector<Stored>(values.size(), Stored(99.0f)));
      const int64_t bytes = attentionGradientWorkspaceBytes(s, sizeof(Stored));
      attentionGradient<Stored, Out>(
          stream(), {}, query, place(store(keys)), place(store(values)), result,
          logSumExp, gradient, mask, offset, dq, dk, dv, s,
          {s.outStride[0], s.outStride[1], s.outStride[2]},
          {reserve<char>(bytes), bytes});
      EXPECT_LT(error(widened(read(dk, keys.size())),
                      cut(c, s, gradients.dk, c.width)),
                tolerance);
      EXPECT_LT(error(widened(read(dv, values.size())),
                      cut(c, s, gradients.dv, c.valueWidth)),
                tolerance);
    }
    const auto queryGradient = read(dq, q.size());
    EXPECT_LT(error(Numbers(queryGradient.begin(), queryGradient.end()),
                    gradients.dq),
              gradientTolerance);
  }

  void checkWhole(const Case &c) { check<Stored>(c, tolerance, tolerance); }
  void checkBlocks(const Case &c) {
    check<Wide>(c, roundsScores ? tolerance : wideTolerance, tolerance);
  }

  Numbers q, k, v, d, terms;
  std::vector<uint8_t> flags;
  static constexpr double scale = 0.3;
};

using Types = testing::Types<float, double, BFloat16, Float16>;
TYPED_TEST_SUITE(AttentionKernels, Types);

TYPED_TEST(AttentionKernels, Plain) {
  this->checkWhole({2, 70, 140, 3, 3, 12, 20});
}

TYPED_TEST(AttentionKernels, CausalWithGroupedHeads) {
  this->checkWhole({1, 150, 150, 6, 2, 8, 6, /*causal=*/true});
}

TYPED_TEST(AttentionKernels, MoreThanOneBlockOfScores) {
  this->checkWhole({1, 140, 1100, 2, 1, 4, 4, /*causal=*/true, MaskKind::None,
                    true, /*position=*/900});
}

/// Whole tiles and parts of them, of the widths that models have.
TYPED_TEST(AttentionKernels, WideHeads) {
  this->checkWhole({1, 130, 200, 4, 2, 64, 64, true, MaskKind::None, true, 70});
  this->checkWhole({2, 65, 64, 2, 2, 128, 128, false, MaskKind::Float});
  this->checkWhole({1, 40, 70, 2, 1, 96, 128, true, MaskKind::None, true, 30});
  this->checkWhole({1, 20, 30, 2, 1, 192, 160, true, MaskKind::None, true, 10});
  // Rows that do not begin at multiples of 16 bytes.
  this->checkWhole({1, 70, 90, 2, 1, 70, 99, true, MaskKind::None, true, 20});
  this->checkBlocks({1, 70, 150, 2, 1, 128, 96, true, MaskKind::None, true,
                     /*position=*/80, false, /*blocks=*/2});
}

/// The least number of a type, as exporters write it, in all of a row.
TYPED_TEST(AttentionKernels, RowsOfTheLeastNumberHaveTheMeanOfAllValues) {
  using Stored = TypeParam;
  const Stored least(std::is_same<Stored, Float16>::value ? -65504.0f
                                                          : -3.3895e38f);
  AttentionShape s = {};
  s.batch = s.queries = s.heads = s.kvHeads = 1;
  s.keys = 3;
  s.width = s.valueWidth = 8;
  for (auto *stride : {s.queryStride, s.keyStride, s.valueStride, s.outStride})
    stride[1] = 8;
  s.mask = MaskKind::Float;
  s.maskStride[3] = 1;
  s.scale = 1;
  std::vector<Stored> values;
  for (int i = 0; i < 24; ++i)
    values.push_back(Stored(static_cast<float>(i / 8)));
  const auto *rows = this->place(std::vector<Stored>(24, Stored(0.5f)));
  auto *out = this->place(std::vector<Stored>(8, Stored(9.0f)));
  const int64_t bytes = attentionWorkspaceBytes(s, sizeof(Stored));
  attention<Stored>(this->stream(), {}, rows, rows, this->place(values),
                    this->place(std::vector<Stored>(3, least)), nullptr, out,
                    nullptr, s, {this->template reserve<char>(bytes), bytes});
  for (Stored x : this->read(out, 8))
    EXPECT_NEAR(double(x), 1, 0.01);
}

TYPED_TEST(AttentionKernels, QueriesWithoutKeysGiveNothing) {
  this->checkWhole({2, 9, 40, 2, 2, 8, 8, /*causal=*/true, MaskKind::None, true,
                    /*position=*/-4, /*inMemory=*/true});
  this->checkWhole({2, 9, 3, 2, 1, 8, 8, false, MaskKind::Bool});
}

TYPED_TEST(AttentionKernels, Masks) {
  this->checkWhole({2, 33, 47, 2, 2, 8, 8, false, MaskKind::Float});
  this->checkWhole({2, 33, 47, 2, 2, 8, 8, true, MaskKind::Bool, true, 14});
  this->checkWhole({2, 33, 47, 2, 2, 8, 8, false, MaskKind::Bool, false});
}

TYPED_TEST(AttentionKernels, BlocksOfKeysJoin) {
  this->checkBlocks({2, 40, 90, 4, 2, 8, 6, false, MaskKind::None, true, 0,
                     false, /*blocks=*/4});
  this->checkBlocks({1, 40, 90, 4, 2, 8, 6, true, MaskKind::None, true,
                     /*position=*/50, false, /*blocks=*/3});
}

/// Five keys in four blocks: two, two, one and none.
TYPED_TEST(AttentionKernels, BlocksMayBePaddedOrEmpty) {
  this->checkBlocks({1, 6, 5, 2, 2, 4, 4, false, MaskKind::Float, true, 0,
                     false, /*blocks=*/4});
  this->checkBlocks({1, 6, 5, 2, 2, 4, 4, true, MaskKind::Bool, true,
                     /*position=*/-2, true, /*blocks=*/4});
}

/// Blocks that no query sees leave everything as it is.
TYPED_TEST(AttentionKernels, LaterBlocksAreSkipped) {
  this->checkBlocks({2, 16, 64, 2, 1, 8, 8, true, MaskKind::None, true,
                     /*position=*/0, false, /*blocks=*/4});
  this->checkBlocks({2, 16, 64, 2, 1, 8, 8, true, MaskKind::Float, false,
                     /*position=*/20, true, /*blocks=*/4});
}

/// One block of queries, of each rank, against the blocks of all.
TYPED_TEST(AttentionKernels, BlocksInZigzagOrderJoin) {
  for (int64_t ranks : {2, 3})
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (int64_t block : {4, 34, 140}) {
        this->checkBlocks({2, block, ranks * block, 2, 1, 4, 6, true,
                           MaskKind::None, true, rank * block, false, ranks,
                           /*zigzag=*/true});
        this->checkBlocks({1, block, ranks * block, 2, 2, 4, 4, true,
                           MaskKind::Bool, true, rank * block, false, ranks,
                           /*zigzag=*/true});
      }
}

/// Scores that a kernel computes for blocks of queries of `limit` rows.
int64_t countScores(AttentionShape shape, int64_t limit) {
  int64_t scores = 0;
  for (int64_t first = 0, rows; first < shape.queries; first += rows) {
    rows = detail::attentionRows(shape, first, limit);
    const int64_t keys =
        detail::attentionVisibleKeys(shape, first + rows - 1, 0);
    scores += rows * std::clamp<int64_t>(keys, 0, shape.keys);
  }
  return scores;
}

TEST(ZigzagOrder, GivesEveryRankTheSameWork) {
  for (int64_t ranks : {2, 3, 4, 8})
    for (int64_t block : {2, 6, 64, 200, 1024}) {
      AttentionShape shape = {};
      shape.queries = shape.keys = block;
      shape.causal = true;
      std::vector<int64_t> contiguous, zigzag;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        int64_t scores[2] = {};
        for (int64_t other = 0; other < ranks; ++other)
          for (int order : {0, 1}) {
            shape.zigzag = order == 0 ? 1 : ranks;
            shape.firstQuery = rank * block;
            shape.firstKey = other * block;
            scores[order] += countScores(shape, detail::attentionQueryBlock);
          }
        contiguous.push_back(scores[0]);
        zigzag.push_back(scores[1]);
      }
      for (int64_t rank = 1; rank < ranks; ++rank) {
        EXPECT_EQ(zigzag[rank], zigzag[0]) << ranks << " of " << block;
        EXPECT_GT(contiguous[rank], contiguous[rank - 1]);
      }
      EXPECT_LE(zigzag[0], contiguous[ranks - 1]);
    }
}

TEST(ZigzagOrder, IsAPermutationOfPairedChunks) {
  for (int64_t ranks : {1, 2, 3, 5}) {
    const int64_t size = 2 * ranks * 3;
    std::vector<bool> seen(size);
    for (int64_t index = 0; index < size; ++index) {
      const int64_t position = zigzagPosition(index, size, ranks);
      ASSERT_TRUE(position >= 0 && position < size && !seen[position]);
      seen[position] = true;
      const int64_t chunk = position / 3, rank = index / 6;
      if (ranks > 1) {
        EXPECT_EQ(chunk, index % 6 < 3 ? rank : 2 * ranks - 1 - rank);
      }
    }
  }
}

} // namespace
} // namespace runtime
} // namespace parplan
