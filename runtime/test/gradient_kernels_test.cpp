//===- gradient_kernels_test.cpp - Adjoints of indexing and pools ---------===//
//
// Sums of small integers are exact, so that any order gives the same bits.
//
//===----------------------------------------------------------------------===//

#include "test_rank.h"

#include <cmath>

namespace parplan {
namespace runtime {
namespace {

class GradientTest : public KernelTest {
protected:
  std::vector<float> clean(int64_t count) {
    return std::vector<float>(static_cast<size_t>(count));
  }
  /// Filled with garbage, which kernels have to overwrite.
  float *dirty(int64_t count) {
    return place(std::vector<float>(static_cast<size_t>(count), 99.0f));
  }

  template <typename Index>
  void checkEmbedding(int64_t count, int64_t rows, int64_t width) {
    const auto ids = randomIntegers<Index>(count, -2, static_cast<int>(rows));
    const auto gradient = randomIntegers<float>(count * width, -4, 4);
    auto expected = clean(rows * width);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < width; ++j)
        if (ids[i] >= 0 && ids[i] < rows)
          expected[ids[i] * width + j] += gradient[i * width + j];
    float *out = dirty(rows * width);
    embeddingGradient<float, Index>(stream(), {}, place(ids), place(gradient),
                                    out, count, rows, width);
    EXPECT_EQ(read(out, rows * width), expected);
  }
  template <typename Index>
  void checkGather(int64_t outer, int64_t length, int64_t count,
                   int64_t inner) {
    const auto indices = randomIntegers<Index>(
        count, -static_cast<int>(length) - 1, static_cast<int>(length));
    const auto gradient = randomIntegers<float>(outer * count * inner, -4, 4);
    auto expected = clean(outer * length * inner);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t c = 0; c < count; ++c) {
        const int64_t row = indices[c] < 0 ? indices[c] + length : indices[c];
        if (row < 0 || row >= length)
          continue;
        for (int64_t j = 0; j < inner; ++j)
          expected[(o * length + row) * inner + j] +=
              gradient[(o * count + c) * inner + j];
      }
    float *out = dirty(outer * length * inner);
    gatherGradient<float, Index>(stream(), {}, place(gradient), place(indices),
                                 out, outer, length, count, inner);
    EXPECT_EQ(read(out, outer * length * inner), expected);
  }

  /// Fills in the output sizes of a pool; compares both gradients with loops.
  void checkPools(PoolShape s) {
    int64_t inPlane = 1, outPlane = 1, taps = 1;
    for (int d = 0; d < s.spatialRank; ++d) {
      s.out[d] = (s.in[d] + s.padLow[d] + s.padHigh[d] -
                  s.dilation[d] * (s.kernel[d] - 1) - 1) /
                     s.stride[d] +
                 1;
      inPlane *= s.in[d];
      outPlane *= s.out[d];
      taps *= s.kernel[d];
    }
    const int64_t planes = s.batch * s.channels;
    // Few values: maxima repeat.
    auto in = randomIntegers<float>(planes * inPlane, -2, 2);
    in[0] = NAN;
    const auto gradient = randomIntegers<float>(planes * outPlane, -4, 4);
    for (bool include : {false, true}) {
      s.countIncludePad = include;
      auto highest = clean(planes * inPlane);
      std::vector<double> average(highest.size());
      for (int64_t plane = 0; plane < planes; ++plane)
        for (int64_t p = 0; p < outPlane; ++p) {
          int64_t first = -1, count = 0;
          std::vector<int64_t> elements;
          for (int64_t t = 0; t < taps; ++t) {
            int64_t position = p, tap = t, at = 0, stride = 1;
            bool inside = true, padded = true;
            for (int d = s.spatialRank - 1; d >= 0; --d) {
              const int64_t x = position % s.out[d] * s.stride[d] -
                                s.padLow[d] + tap % s.kernel[d] * s.dilation[d];
              inside &= x >= 0 && x < s.in[d];
              padded &= x < s.in[d] + s.padHigh[d];
              at += x * stride;
              stride *= s.in[d];
              position /= s.out[d];
              tap /= s.kernel[d];
            }
            count += inside || (include && padded);
            if (!inside)
              continue;
            at += plane * inPlane;
            elements.push_back(at);
            if (first < 0 || in[at] > in[first] ||
                (std::isnan(in[at]) && !std::isnan(in[first])))
              first = at;
          }
          const float given = gradient[plane * outPlane + p];
          if (first >= 0)
            highest[first] += given;
          for (int64_t at : elements)
            average[at] += double(given) / count;
        }
      float *out = dirty(planes * inPlane);
      maxPoolGradient<float>(stream(), {}, place(in), place(gradient), out, s);
      EXPECT_EQ(read(out, planes * inPlane), highest);
      out = dirty(planes * inPlane);
      averagePoolGradient<float>(stream(), {}, place(gradient), out, s);
      EXPECT_LT(relativeError(read(out, planes * inPlane), average), 1e-6);
    }
  }
};

TEST_F(GradientTest, Embedding) {
  checkEmbedding<int64_t>(40, 6, 33);
  checkEmbedding<int32_t>(5, 100, 7);
  checkEmbedding<int64_t>(700, 3, 1);
  checkEmbedding<int64_t>(0, 4, 3);
}

TEST_F(GradientTest, EmbeddingSumsInTheOrderOfIds) {
  // Not exact: equal runs give equal bits.
  const auto gradient = place(randomFloats(600 * 40));
  const auto ids = place(randomIntegers<int64_t>(600, 0, 4));
  float *first = dirty(200), *second = dirty(200);
  for (float *out : {first, second})
    embeddingGradient<float, int64_t>(stream(), {}, ids, gradient, out, 600, 5,
                                      40);
  EXPECT_EQ(read(first, 200), read(second, 200));
}

TEST_F(GradientTest, Gather) {
  checkGather<int64_t>(3, 5, 12, 4);
  checkGather<int32_t>(1, 9, 300, 17);
  checkGather<int64_t>(20, 4, 2, 1);
}

TEST_F(GradientTest, GatherElements) {
  const auto indices = randomIntegers<int64_t>(2 * 6 * 5, -5, 4);
  const auto gradient = randomIntegers<float>(60, -4, 4);
  auto expected = clean(3 * 4 * 5);
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 6; ++b)
      for (int c = 0; c < 5; ++c) {
        const int at = (a * 6 + b) * 5 + c;
        const int64_t row = indices[at] < 0 ? indices[at] + 4 : indices[at];
        if (row >= 0 && row < 4)
          expected[(a * 4 + row) * 5 + c] += gradient[at];
      }
  float *out = dirty(60);
  gatherElementsGradient<float, int64_t>(stream(), {}, place(gradient),
                                         place(indices), out, {3, 4, 5},
                                         {2, 6, 5}, 1);
  EXPECT_EQ(read(out, 60), expected);
}

TEST_F(GradientTest, GatherNd) {
  const auto gradient = randomIntegers<float>(12, -4, 4);
  const std::vector<int64_t> tuples = {3, 2, 3, -1, 4,  0, // last: outside
                                       1, 1, 2, 0,  -4, -3};
  const int64_t rows[] = {11, 11, -1, 12 + 4, 12 + 6, 12};
  auto expected = clean(2 * 12 * 2);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 2; ++j)
      if (rows[i] >= 0)
        expected[rows[i] * 2 + j] += gradient[i * 2 + j];
  float *out = dirty(48);
  gatherNdGradient<float, int64_t>(stream(), {}, place(gradient), place(tuples),
                                   out, 2, 3, {4, 3}, 2);
  EXPECT_EQ(read(out, 48), expected);
}

TEST_F(GradientTest, PoolsInOneToThreeDimensions) {
  checkPools({2, 3, 2, {7, 8}, {}, {3, 2}, {2, 3}, {1, 1}, {1, 0}, {1, 1}});
  checkPools({1, 2, 2, {9, 9}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  checkPools({1, 2, 2, {9, 8}, {}, {2, 3}, {2, 1}, {3, 2}, {0, 2}, {2, 0}});
  checkPools({3, 1, 1, {11}, {}, {3}, {2}, {2}, {1}, {2}});
  checkPools({1,
              1,
              3,
              {4, 5, 6},
              {},
              {2, 3, 2},
              {2, 1, 3},
              {1, 1, 1},
              {0, 1, 0},
              {1, 1, 0}});
}

} // namespace
} // namespace runtime
} // namespace parplan
