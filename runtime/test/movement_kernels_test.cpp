//===- movement_kernels_test.cpp - Copies, indexing, pools and maps -------===//

#include "test_rank.h"

#include <cmath>

namespace parplan {
namespace runtime {
namespace {

class MovementTest : public KernelTest {
protected:
  void checkCopy(const Shape &extents, const Shape &inStrides,
                 const Shape &outStrides, int64_t inStart = 0) {
    const auto in = randomIntegers<float>(5000, -100, 100);
    auto expected = randomIntegers<float>(5000, -100, 100);
    float *out = place(expected);
    copy(stream(), {}, ElementType::Float32, place(in) + inStart, out, extents,
         inStrides, outStrides);
    for (int64_t i = 0; i < extents.elements(); ++i) {
      int64_t rest = i, from = inStart, to = 0;
      for (int d = extents.rank - 1; d >= 0; --d) {
        const int64_t position = rest % extents.size[d];
        rest /= extents.size[d];
        from += position * inStrides.size[d];
        to += position * outStrides.size[d];
      }
      expected[to] = in[from];
    }
    EXPECT_EQ(read(out, 5000), expected);
  }
};

TEST_F(MovementTest, CopiesOfAnyStrides) {
  checkCopy({}, {}, {});
  checkCopy({7}, {1}, {1});
  checkCopy({4, 5, 6}, {30, 6, 1}, {30, 6, 1});
  checkCopy({33, 40}, {40, 1}, {1, 33});
  checkCopy({33, 40}, {1, 33}, {40, 1});
  checkCopy({3, 4, 5}, {1, 3, 12}, {20, 5, 1});
  checkCopy({3, 4, 5}, {0, 0, 1}, {20, 5, 1});
  checkCopy({3, 4, 5}, {1, 0, 0}, {20, 5, 1});
  checkCopy({2, 1, 3, 2, 4}, {100, 7, 20, 5, 1}, {24, 1, 8, 4, 1});
  checkCopy({6, 4}, {-4, 1}, {4, 1}, 20);
  checkCopy({5, 0, 3}, {1, 1, 1}, {1, 1, 1});
}

TEST_F(MovementTest, CopiesOfEveryWidth) {
  const auto in = randomIntegers<int64_t>(12, -100, 100);
  int64_t *out = reserve<int64_t>(12);
  copy(stream(), {}, ElementType::Int64, place(in), out, {3, 4}, {1, 3},
       {4, 1});
  const auto got = read(out, 12);
  EXPECT_EQ(got[1], in[3]);
  const auto bytes = randomIntegers<uint8_t>(12, 0, 100);
  uint8_t *outBytes = reserve<uint8_t>(12);
  copy(stream(), {}, ElementType::Bool, place(bytes), outBytes, {3, 4}, {1, 3},
       {4, 1});
  EXPECT_EQ(read(outBytes, 12)[1], bytes[3]);
  copyBytes(stream(), {}, outBytes, outBytes + 1, 11); // Overlapping.
  EXPECT_EQ(read(outBytes, 12)[2], bytes[3]);
  zero(stream(), {}, outBytes, 5);
  EXPECT_EQ(read(outBytes, 12)[4], 0);
}

TEST_F(MovementTest, EmbeddingOfForeignIdsIsZero) {
  const auto table = randomFloats(4 * 3);
  float *out = reserve<float>(15);
  const auto ids = place(std::vector<int64_t>{10, 13, 9, 14, -1});
  embedding<float, int64_t>(stream(), {}, ids, place(table),
                            place(std::vector<int64_t>{10}), out, 5, 4, 3);
  auto got = read(out, 15);
  EXPECT_EQ(got[2], table[2]);
  EXPECT_EQ(got[3], table[9]);
  EXPECT_EQ(std::vector<float>(got.begin() + 6, got.end()),
            std::vector<float>(9));
  const auto small = place(std::vector<int32_t>{3, 0, 4, -1, 1});
  embedding<float, int32_t>(stream(), {}, small, place(table), nullptr, out, 5,
                            4, 3);
  got = read(out, 15);
  EXPECT_EQ(got[0], table[9]);
  EXPECT_EQ(got[6], 0);
  EXPECT_EQ(got[12], table[3]);
}

TEST_F(MovementTest, GatherWithNegativeAndForeignIndices) {
  const auto data = randomFloats(2 * 5 * 3);
  const std::vector<int64_t> indices = {4, -1, 0, 7};
  float *out = reserve<float>(2 * 4 * 3);
  gather<float, int64_t>(stream(), {}, place(data), place(indices), out, 2, 5,
                         4, 3);
  const auto got = read(out, 24);
  for (int o = 0; o < 2; ++o)
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(got[(o * 4 + 0) * 3 + i], data[(o * 5 + 4) * 3 + i]);
      EXPECT_EQ(got[(o * 4 + 1) * 3 + i], data[(o * 5 + 4) * 3 + i]);
      EXPECT_EQ(got[(o * 4 + 2) * 3 + i], data[(o * 5 + 0) * 3 + i]);
      EXPECT_EQ(got[(o * 4 + 3) * 3 + i], 0);
    }
}

TEST_F(MovementTest, GatherElements) {
  const auto data = randomFloats(3 * 4 * 5);
  const auto indices = randomIntegers<int64_t>(2 * 6 * 5, -4, 3);
  float *out = reserve<float>(60);
  gatherElements<float, int64_t>(stream(), {}, place(data), place(indices), out,
                                 {3, 4, 5}, {2, 6, 5}, 1);
  const auto got = read(out, 60);
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 6; ++b)
      for (int c = 0; c < 5; ++c) {
        int64_t index = indices[(a * 6 + b) * 5 + c];
        index += index < 0 ? 4 : 0;
        EXPECT_EQ(got[(a * 6 + b) * 5 + c], data[(a * 4 + index) * 5 + c]);
      }
}

TEST_F(MovementTest, GatherNd) {
  // [batch 2][4][3][inner 2], tuples of two.
  const auto data = randomFloats(2 * 4 * 3 * 2);
  const std::vector<int64_t> tuples = {3, 2, 0, -1, 4,  0, // last: outside
                                       1, 1, 2, 0,  -4, -3};
  float *out = reserve<float>(12);
  gatherNd<float, int64_t>(stream(), {}, place(data), place(tuples), out, 2, 3,
                           {4, 3}, 2);
  const auto got = read(out, 12);
  const auto at = [&](int b, int i, int j) {
    return data[((b * 4 + i) * 3 + j) * 2 + 1];
  };
  EXPECT_EQ(got[1], at(0, 3, 2));
  EXPECT_EQ(got[3], at(0, 0, 2));
  EXPECT_EQ(got[5], 0);
  EXPECT_EQ(got[7], at(1, 1, 1));
  EXPECT_EQ(got[9], at(1, 2, 0));
  EXPECT_EQ(got[11], at(1, 0, 0));
}

TEST_F(MovementTest, PoolsInTwoDimensions) {
  PoolShape s = {};
  s.batch = 2;
  s.channels = 3;
  s.spatialRank = 2;
  const int64_t in[] = {7, 8}, kernel[] = {3, 2}, stride[] = {2, 3},
                low[] = {1, 0}, high[] = {1, 1};
  for (int d = 0; d < 2; ++d) {
    s.in[d] = in[d];
    s.kernel[d] = kernel[d];
    s.stride[d] = stride[d];
    s.dilation[d] = 1;
    s.padLow[d] = low[d];
    s.padHigh[d] = high[d];
  }
  // Rounded up: the last window of the width leaves the padding too.
  s.out[0] = 4;
  s.out[1] = 4;
  const auto data = randomIntegers<float>(2 * 3 * 7 * 8, -9, 9);
  for (bool include : {false, true}) {
    s.countIncludePad = include;
    std::vector<float> highest, average;
    for (int plane = 0; plane < 6; ++plane)
      for (int oh = 0; oh < 4; ++oh)
        for (int ow = 0; ow < 4; ++ow) {
          float top = -INFINITY, sum = 0;
          int count = 0;
          for (int kh = 0; kh < 3; ++kh)
            for (int kw = 0; kw < 2; ++kw) {
              const int h = oh * 2 - 1 + kh, w = ow * 3 + kw;
              const bool inside = h >= 0 && h < 7 && w >= 0 && w < 8;
              count += inside || (include && h < 8 && w < 9);
              if (!inside)
                continue;
              const float x = data[(plane * 7 + h) * 8 + w];
              top = std::max(top, x);
              sum += x;
            }
          highest.push_back(top);
          average.push_back(count ? sum / static_cast<float>(count) : 0);
        }
    float *outMax = reserve<float>(96);
    float *outAverage = reserve<float>(96);
    maxPool<float>(stream(), {}, place(data), outMax, s);
    averagePool<float>(stream(), {}, place(data), outAverage, s);
    EXPECT_EQ(read(outMax, 96), highest);
    EXPECT_EQ(read(outAverage, 96), average);
  }
}

TEST_F(MovementTest, PoolsInOneAndThreeDimensions) {
  PoolShape line = {};
  line.batch = line.channels = 1;
  line.spatialRank = 1;
  line.in[0] = 6;
  line.out[0] = 2;
  line.kernel[0] = 3;
  line.stride[0] = 1;
  line.dilation[0] = 2;
  float *out = reserve<float>(2);
  maxPool<float>(stream(), {}, place(std::vector<float>{1, 9, 2, 3, 5, 4}), out,
                 line);
  EXPECT_EQ(read(out, 2), (std::vector<float>{5, 9}));
  PoolShape cube = {};
  cube.batch = cube.channels = 1;
  cube.spatialRank = 3;
  for (int d = 0; d < 3; ++d) {
    cube.in[d] = cube.kernel[d] = 2;
    cube.out[d] = cube.stride[d] = cube.dilation[d] = 1;
  }
  averagePool<float>(stream(), {},
                     place(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}), out,
                     cube);
  EXPECT_EQ(read(out, 1)[0], 4.5f);
}

struct AddIndices {
  int64_t *out;
  PARPLAN_DEVICE void operator()(int64_t a, int64_t b, int64_t c) const {
    out[(a * 3 + b) * 5 + c] = a * 100 + b * 10 + c;
  }
};

TEST_F(MovementTest, MapVisitsEveryIndex) {
  int64_t *out = reserve<int64_t>(30);
  map<3>(stream(), {{offsetOf(out), 240}}, {2, 3, 5}, AddIndices{out});
  const auto got = read(out, 30);
  for (int64_t i = 0; i < 30; ++i)
    EXPECT_EQ(got[i], i / 15 * 100 + i / 5 % 3 * 10 + i % 5);
}

TEST_F(MovementTest, TheHighestEndOfAMarkedBufferIsThePeak) {
  int64_t *out = reserve<int64_t>(30);
  const int64_t before = rank->peakBytes();
  map<3>(stream(), {{offsetOf(out), 240}, {4096, 100}}, {0, 3, 5},
         AddIndices{out});
  EXPECT_EQ(before, 0);
  EXPECT_EQ(rank->peakBytes(), 4196);
}

struct Increment {
  int64_t *cell;
  int64_t expected;
  PARPLAN_DEVICE void operator()(int64_t) const {
    if (*cell == expected)
      ++*cell;
  }
};

TEST_F(MovementTest, ManyTasksKeepTheirOrder) {
  // More than the queue holds; each task reads what the one before wrote.
  int64_t *cell = place(std::vector<int64_t>{0});
  for (int i = 0; i < 2000; ++i) {
    map<1>(stream(), {}, {1}, Increment{cell, i});
  }
  EXPECT_EQ(read(cell, 1)[0], 2000);
}

} // namespace
} // namespace runtime
} // namespace parplan
