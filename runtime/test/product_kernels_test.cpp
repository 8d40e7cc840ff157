//===- product_kernels_test.cpp - Products against plain loops ------------===//

#include "test_rank.h"

#include <cmath>

namespace parplan {
namespace runtime {
namespace {

class ProductTest : public KernelTest {
protected:
  template <typename Element> void checkMatmul(const MatmulShape &s) {
    const auto reach = [&](const int64_t *batchStrides, int64_t rows,
                           int64_t rowStride, int64_t columns,
                           int64_t columnStride) {
      int64_t last = (rows - 1) * rowStride + (columns - 1) * columnStride;
      for (int d = 0; d < s.batchRank; ++d)
        last += (s.batch[d] - 1) * batchStrides[d];
      return last + 1;
    };
    const auto lhs = randomIntegers<Element>(
        reach(s.lhsBatchStride, s.m, s.lhsRowStride, s.k, s.lhsColumnStride),
        -4, 4);
    const auto rhs = randomIntegers<Element>(
        reach(s.rhsBatchStride, s.k, s.rhsRowStride, s.n, s.rhsColumnStride),
        -4, 4);
    auto expected = randomIntegers<Element>(
        reach(s.outBatchStride, s.m, s.outRowStride, s.n, s.outColumnStride),
        -4, 4);
    Element *out = place(expected);
    matmul<Element>(stream(), {{offsetOf(out), 4}}, place(lhs), place(rhs), out,
                    s);
    for (int64_t a = 0; a < s.batch[0]; ++a)
      for (int64_t b = 0; b < s.batch[1]; ++b)
        for (int64_t c = 0; c < s.batch[2]; ++c)
          for (int64_t d = 0; d < s.batch[3]; ++d)
            for (int64_t i = 0; i < s.m; ++i)
              for (int64_t j = 0; j < s.n; ++j) {
                const auto at = [&](const int64_t *strides) {
                  return a * strides[0] + b * strides[1] + c * strides[2] +
                         d * strides[3];
                };
                Element sum = 0;
                for (int64_t l = 0; l < s.k; ++l)
                  sum += lhs[at(s.lhsBatchStride) + i * s.lhsRowStride +
                             l * s.lhsColumnStride] *
                         rhs[at(s.rhsBatchStride) + l * s.rhsRowStride +
                             j * s.rhsColumnStride];
                Element &target =
                    expected[at(s.outBatchStride) + i * s.outRowStride +
                             j * s.outColumnStride];
                target = s.accumulate ? target + sum : sum;
              }
    EXPECT_EQ(read(out, static_cast<int64_t>(expected.size())), expected);
  }
};

TEST_F(ProductTest, MatmulInAllOrientations) {
  for (int bits = 0; bits < 8; ++bits) {
    MatmulShape shape = {};
    shape.m = 13;
    shape.n = 37;
    shape.k = 21;
    shape.lhsRowStride = bits & 1 ? 1 : 21;
    shape.lhsColumnStride = bits & 1 ? 13 : 1;
    shape.rhsRowStride = bits & 2 ? 1 : 37;
    shape.rhsColumnStride = bits & 2 ? 21 : 1;
    shape.outRowStride = bits & 4 ? 1 : 37;
    shape.outColumnStride = bits & 4 ? 13 : 1;
    checkMatmul<float>(shape);
    checkMatmul<double>(shape);
    shape.accumulate = true;
    checkMatmul<float>(shape);
  }
}

TEST_F(ProductTest, WeightGradientsAddUpManyPositions) {
  // X^T dY and its transposed form, with the batch as the inner dimension.
  checkMatmul<float>({24, 40, 3000, 1, 24, 40, 1, 40, 1});
  checkMatmul<float>({24, 40, 3000, 1, 24, 40, 1, 1, 24});
  checkMatmul<float>({40, 24, 3000, 1, 40, 24, 1, 24, 1});
}

TEST_F(ProductTest, MatmulWithSingleRowsAndColumns) {
  checkMatmul<float>({1, 33, 5, 5, 1, 33, 1, 33, 1});
  checkMatmul<float>({33, 1, 5, 5, 1, 1, 1, 1, 1});
  checkMatmul<float>({7, 9, 1, 1, 1, 9, 1, 9, 1});
  checkMatmul<float>({1, 1, 40, 40, 1, 1, 1, 1, 1});
}

TEST_F(ProductTest, MatmulOverNothingGivesZeros) {
  checkMatmul<float>({3, 5, 0, 1, 1, 5, 1, 5, 1});
}

TEST_F(ProductTest, MatmulWithoutUnitStride) {
  checkMatmul<float>({5, 6, 7, 20, 2, 40, 3, 30, 2});
}

TEST_F(ProductTest, MatmulBatchesAndBroadcasts) {
  // lhs [2, 3, 4, 5], rhs [3, 5, 6] broadcast over the first batch dimension.
  MatmulShape shape = {4, 6, 5, 5, 1, 6, 1, 6, 1};
  shape.batchRank = 2;
  shape.batch[0] = 2;
  shape.batch[1] = 3;
  shape.lhsBatchStride[0] = 60;
  shape.lhsBatchStride[1] = 20;
  shape.rhsBatchStride[0] = 0;
  shape.rhsBatchStride[1] = 30;
  shape.outBatchStride[0] = 72;
  shape.outBatchStride[1] = 24;
  checkMatmul<float>(shape);
  // A broadcast weight: the batch joins the rows.
  shape.rhsBatchStride[1] = 0;
  checkMatmul<float>(shape);
  checkMatmul<double>(shape);
  // Heads inside rows: [b, s, h, e] operands, four batch dimensions.
  MatmulShape heads = {4, 3, 2, 6, 1, 6, 1, 9, 1};
  heads.batchRank = 4;
  const int64_t batch[] = {2, 1, 3, 2}, lhs[] = {48, 0, 2, 24},
                rhs[] = {24, 0, 2, 12}, out[] = {72, 0, 3, 36};
  for (int d = 0; d < 4; ++d) {
    heads.batch[d] = batch[d];
    heads.lhsBatchStride[d] = lhs[d];
    heads.rhsBatchStride[d] = rhs[d];
    heads.outBatchStride[d] = out[d];
  }
  heads.rhsRowStride = 6;
  checkMatmul<float>(heads);
}

struct ConvolutionCase {
  ConvolutionShape shape;
  bool bias;
};

class ConvolutionTest : public ProductTest {
protected:
  /// Fills in the output sizes and compares.
  void check(ConvolutionShape s, const std::vector<int64_t> &padHigh,
             bool withBias) {
    int64_t inPlane = 1, outPlane = 1, taps = 1;
    for (int d = 0; d < s.spatialRank; ++d) {
      s.out[d] = (s.in[d] + s.padLow[d] + padHigh[d] -
                  s.dilation[d] * (s.kernel[d] - 1) - 1) /
                     s.stride[d] +
                 1;
      inPlane *= s.in[d];
      outPlane *= s.out[d];
      taps *= s.kernel[d];
    }
    const int64_t groupIn = s.inChannels / s.groups;
    const int64_t groupOut = s.outChannels / s.groups;
    const auto in =
        randomIntegers<float>(s.batch * s.inChannels * inPlane, -4, 4);
    const auto weight =
        randomIntegers<float>(s.outChannels * groupIn * taps, -4, 4);
    const auto bias = randomIntegers<float>(s.outChannels, -4, 4);
    std::vector<float> expected(
        static_cast<size_t>(s.batch * s.outChannels * outPlane));
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t o = 0; o < s.outChannels; ++o)
        for (int64_t p = 0; p < outPlane; ++p) {
          float sum = withBias ? bias[o] : 0.0f;
          for (int64_t c = 0; c < groupIn; ++c)
            for (int64_t t = 0; t < taps; ++t) {
              int64_t position = p, tap = t, at = 0, stride = 1;
              bool inside = true;
              for (int d = s.spatialRank - 1; d >= 0; --d) {
                const int64_t x = position % s.out[d] * s.stride[d] -
                                  s.padLow[d] +
                                  tap % s.kernel[d] * s.dilation[d];
                inside &= x >= 0 && x < s.in[d];
                at += x * stride;
                stride *= s.in[d];
                position /= s.out[d];
                tap /= s.kernel[d];
              }
              if (inside)
                sum += in[(b * s.inChannels + o / groupOut * groupIn + c) *
                              inPlane +
                          at] *
                       weight[(o * groupIn + c) * taps + t];
            }
          expected[(b * s.outChannels + o) * outPlane + p] = sum;
        }
    const int64_t bytes = convolutionWorkspaceBytes(s);
    Workspace workspace = {reserve<char>(bytes), bytes};
    float *out = place(std::vector<float>(expected.size(), 99.0f));
    convolution<float>(stream(), {}, place(in), place(weight),
                       withBias ? place(bias) : nullptr, out, s, workspace);
    EXPECT_EQ(read(out, static_cast<int64_t>(expected.size())), expected);
  }
};

TEST_F(ConvolutionTest, TwoDimensions) {
  check({2, 3, 5, 1, 2, {9, 11}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}}, {1, 1},
        true);
  check({1, 4, 6, 2, 2, {9, 11}, {}, {3, 2}, {2, 3}, {1, 1}, {1, 0}}, {0, 2},
        false);
  check({1, 3, 8, 1, 2, {15, 15}, {}, {7, 7}, {2, 2}, {1, 1}, {3, 3}}, {3, 3},
        true);
}

TEST_F(ConvolutionTest, PointwiseNeedsNoWorkspace) {
  const ConvolutionShape shape = {2,      6,      4,      1,      2,     {5, 7},
                                  {5, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0}};
  EXPECT_EQ(convolutionWorkspaceBytes(shape), 0);
  check(shape, {0, 0}, true);
  check(shape, {0, 0}, false);
}

TEST_F(ConvolutionTest, DepthwiseAndDilated) {
  check({1, 6, 6, 6, 2, {9, 8}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}}, {1, 1},
        true);
  check({1, 6, 12, 6, 2, {9, 8}, {}, {3, 3}, {2, 1}, {1, 1}, {0, 1}}, {1, 1},
        false);
  check({1, 2, 3, 1, 2, {12, 13}, {}, {3, 3}, {1, 2}, {2, 3}, {2, 3}}, {2, 1},
        true);
}

TEST_F(ConvolutionTest, OneAndThreeDimensions) {
  check({2, 3, 4, 1, 1, {17}, {}, {5}, {2}, {1}, {2}}, {1}, true);
  check({1,
         2,
         3,
         1,
         3,
         {5, 6, 7},
         {},
         {3, 2, 3},
         {1, 2, 1},
         {1, 1, 1},
         {1, 0, 1}},
        {1, 1, 1}, true);
}

TEST_F(ConvolutionTest, ManyChunks) {
  // 1 MiB of columns holds 1088 positions of 288 rows; there are 4096.
  check({1, 32, 4, 1, 2, {64, 64}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}}, {1, 1},
        true);
}

TEST_F(ConvolutionTest, WindowBeyondTheInput) {
  check({1, 1, 1, 1, 2, {2, 2}, {}, {2, 2}, {1, 1}, {1, 1}, {4, 4}}, {4, 4},
        true);
}

class AttentionTest : public ProductTest {
protected:
  void check(AttentionShape s, int64_t offset, bool withOffset) {
    // [b, s, h, e], all dense.
    const auto strides = [](int64_t *target, int64_t length, int64_t heads,
                            int64_t width) {
      target[0] = length * heads * width;
      target[1] = heads * width;
      target[2] = width;
    };
    strides(s.queryStride, s.queries, s.heads, s.width);
    strides(s.keyStride, s.keys, s.kvHeads, s.width);
    strides(s.valueStride, s.keys, s.kvHeads, s.valueWidth);
    strides(s.outStride, s.queries, s.heads, s.valueWidth);
    const auto q = randomFloats(s.batch * s.queryStride[0]);
    const auto k = randomFloats(s.batch * s.keyStride[0]);
    const auto v = randomFloats(s.batch * s.valueStride[0]);
    int64_t maskElements = 1;
    const int64_t extents[] = {s.batch, s.heads, s.queries, s.keys};
    for (int d = 0; d < 4; ++d)
      maskElements += (extents[d] - 1) * s.maskStride[d];
    auto boolMask = randomIntegers<uint8_t>(maskElements, 0, 1);
    auto floatMask = randomFloats(maskElements);
    std::vector<double> expected;
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t i = 0; i < s.queries; ++i)
        for (int64_t h = 0; h < s.heads; ++h) {
          std::vector<double> weights;
          double sum = 0, highest = -INFINITY;
          const int64_t g = h / (s.heads / s.kvHeads);
          for (int64_t j = 0; j < s.keys; ++j) {
            double score = 0;
            for (int64_t e = 0; e < s.width; ++e)
              score += double(q[b * s.queryStride[0] + i * s.queryStride[1] +
                                h * s.queryStride[2] + e]) *
                       k[b * s.keyStride[0] + j * s.keyStride[1] +
                         g * s.keyStride[2] + e];
            score *= s.scale;
            const int64_t at = b * s.maskStride[0] + h * s.maskStride[1] +
                               i * s.maskStride[2] + j * s.maskStride[3];
            if (s.mask == MaskKind::Float)
              score += floatMask[at];
            if ((s.mask == MaskKind::Bool && !boolMask[at]) ||
                (s.causal && j > i + offset))
              score = -INFINITY;
            weights.push_back(score);
            highest = std::max(highest, score);
          }
          for (double &weight : weights)
            sum += weight =
                highest == -INFINITY ? 0 : std::exp(weight - highest);
          for (int64_t f = 0; f < s.valueWidth; ++f) {
            double value = 0;
            for (int64_t j = 0; j < s.keys; ++j)
              value +=
                  weights[j] * v[b * s.valueStride[0] + j * s.valueStride[1] +
                                 g * s.valueStride[2] + f];
            expected.push_back(sum == 0 ? 0 : value / sum);
          }
        }
    const int64_t bytes = attentionWorkspaceBytes(s);
    Workspace workspace = {reserve<char>(bytes), bytes};
    float *out = reserve<float>(static_cast<int64_t>(expected.size()));
    const void *mask = nullptr;
    if (s.mask == MaskKind::Bool)
      mask = place(boolMask);
    else if (s.mask == MaskKind::Float)
      mask = place(floatMask);
    attention<float>(stream(), {}, place(q), place(k), place(v), mask,
                     withOffset ? place(std::vector<int64_t>{offset}) : nullptr,
                     out, nullptr, s, workspace);
    EXPECT_LT(relativeError(read(out, static_cast<int64_t>(expected.size())),
                            expected),
              3e-6);
  }
  static AttentionShape shape(int64_t batch, int64_t queries, int64_t keys,
                              int64_t heads, int64_t kvHeads, int64_t width,
                              int64_t valueWidth) {
    AttentionShape s = {};
    s.batch = batch;
    s.queries = queries;
    s.keys = keys;
    s.heads = heads;
    s.kvHeads = kvHeads;
    s.width = width;
    s.valueWidth = valueWidth;
    s.scale = 1 / std::sqrt(double(width));
    return s;
  }
};

TEST_F(AttentionTest, Plain) {
  check(shape(2, 70, 300, 3, 3, 16, 24), 0, false);
}

TEST_F(AttentionTest, CausalWithGroupedHeads) {
  AttentionShape s = shape(1, 150, 150, 6, 2, 8, 8);
  s.causal = true;
  check(s, 0, false);
}

TEST_F(AttentionTest, CausalWithQueryOffset) {
  AttentionShape s = shape(1, 9, 140, 2, 2, 8, 8);
  s.causal = true;
  check(s, 131, true);
  s.zeroMaskedRows = true;
  check(s, -4, true); // The first four rows see nothing.
}

TEST_F(AttentionTest, MasksBroadcast) {
  AttentionShape s = shape(2, 10, 130, 2, 2, 8, 8);
  s.zeroMaskedRows = true;
  s.mask = MaskKind::Bool;
  s.maskStride[0] = 130; // [b, 1, 1, t]
  s.maskStride[3] = 1;
  check(s, 0, false);
  s.mask = MaskKind::Float;
  s.maskStride[0] = 0;
  s.maskStride[1] = 1300; // [1, h, s, t]
  s.maskStride[2] = 130;
  check(s, 0, false);
}

TEST_F(AttentionTest, MaskedRowsAreNanUnlessZerosAreAskedFor) {
  AttentionShape s = shape(1, 2, 4, 1, 1, 4, 4);
  s.queryStride[0] = s.keyStride[0] = s.valueStride[0] = s.outStride[0] = 16;
  s.queryStride[1] = s.keyStride[1] = s.valueStride[1] = s.outStride[1] = 4;
  s.mask = MaskKind::Bool;
  s.maskStride[2] = 4;
  s.maskStride[3] = 1;
  const auto mask = place(std::vector<uint8_t>{0, 0, 0, 0, 1, 1, 1, 1});
  const auto data = place(std::vector<float>(16, 1.0f));
  float *out = reserve<float>(8);
  const int64_t bytes = attentionWorkspaceBytes(s);
  Workspace workspace = {reserve<char>(bytes), bytes};
  attention<float>(stream(), {}, data, data, data, mask, nullptr, out, nullptr,
                   s, workspace);
  const auto got = read(out, 8);
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_EQ(got[4], 1.0f);
}

} // namespace
} // namespace runtime
} // namespace parplan
