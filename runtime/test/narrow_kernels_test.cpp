//===- narrow_kernels_test.cpp - Kernels on 16-bit elements ---------------===//
//
// The oracle is the same kernel on float: the operands are numbers that 16
// bits hold, so that the results differ by one rounding.
//
//===----------------------------------------------------------------------===//

#include "test_rank.h"

#include <cmath>

namespace parplan {
namespace runtime {
namespace {

template <typename Element> std::vector<Element> round(std::vector<float> in) {
  std::vector<Element> out;
  for (float x : in)
    out.push_back(Element(x));
  return out;
}
template <typename Element>
std::vector<float> widened(const std::vector<Element> &in) {
  return std::vector<float>(in.begin(), in.end());
}

template <typename Element> class NarrowTest : public KernelTest {
protected:
  /// Random numbers of the narrow type, in the arena twice.
  struct Pair {
    Element *narrow;
    float *wide;
  };
  Pair random(int64_t count) {
    const auto narrow = round<Element>(randomFloats(count));
    return {place(narrow), place(widened(narrow))};
  }
  Pair results(int64_t count) {
    return {place(round<Element>(std::vector<float>(count, 99.0f))),
            place(std::vector<float>(count, 99.0f))};
  }
  /// One rounding apart; sums of floats may take another order. A library may
  /// also round before it adds a bias, and a GPU the scores of attention.
  void compare(const Pair &result, int64_t count, bool isRoundedTwice = false) {
    const auto got = widened(read(result.narrow, count));
    const auto expected = read(result.wide, count);
    float largest = 0;
    for (float x : expected)
      largest = std::max(largest, std::abs(x));
    const float step =
        std::is_same<Element, BFloat16>::value ? 0.00391f : 0.00049f;
    for (int64_t i = 0; i < count; ++i)
      ASSERT_NEAR(got[i], expected[i],
                  step * std::abs(expected[i]) +
                      (isRoundedTwice ? step : 1e-6f) * largest)
          << i;
  }
  Workspace workspace(int64_t bytes) { return {reserve<char>(bytes), bytes}; }

  void checkMatmul(MatmulShape s, int64_t lhsCount, int64_t rhsCount,
                   int64_t outCount) {
    const Pair lhs = random(lhsCount), rhs = random(rhsCount);
    for (bool accumulate : {false, true}) {
      s.accumulate = accumulate;
      const Pair out = results(outCount);
      float *mixed = place(std::vector<float>(outCount, 99.0f));
      matmul<Element>(stream(), {}, lhs.narrow, rhs.narrow, out.narrow, s);
      matmul<Element>(stream(), {}, lhs.narrow, rhs.narrow, mixed, s);
      matmul<float>(stream(), {}, lhs.wide, rhs.wide, out.wide, s);
      compare(out, outCount);
      const auto expected = read(out.wide, outCount);
      // Tensor cores cut the sums of floats where others round them.
      EXPECT_LT(
          relativeError(read(mixed, outCount),
                        std::vector<double>(expected.begin(), expected.end())),
          5e-6);
    }
  }

  void checkConvolution(ConvolutionShape s) {
    int64_t in = s.batch * s.inChannels, out = s.batch * s.outChannels,
            weights = s.outChannels * s.inChannels / s.groups;
    for (int d = 0; d < s.spatialRank; ++d) {
      s.out[d] =
          (s.in[d] + 2 * s.padLow[d] - s.dilation[d] * (s.kernel[d] - 1) - 1) /
              s.stride[d] +
          1;
      in *= s.in[d];
      out *= s.out[d];
      weights *= s.kernel[d];
    }
    const Pair x = random(in), w = random(weights), b = random(s.outChannels),
               g = random(out);
    const Pair y = results(out), dx = results(in), dw = results(weights);
    convolution<Element>(stream(), {}, x.narrow, w.narrow, b.narrow, y.narrow,
                         s, workspace(convolutionWorkspaceBytes(s, 2)));
    convolution<float>(stream(), {}, x.wide, w.wide, b.wide, y.wide, s,
                       workspace(convolutionWorkspaceBytes(s)));
    compare(y, out, true);
    convolutionInputGradient<Element>(
        stream(), {}, g.narrow, w.narrow, dx.narrow, s,
        workspace(convolutionInputGradientWorkspaceBytes(s, 2)));
    convolutionInputGradient<float>(
        stream(), {}, g.wide, w.wide, dx.wide, s,
        workspace(convolutionInputGradientWorkspaceBytes(s)));
    compare(dx, in);
    convolutionWeightGradient<Element>(
        stream(), {}, x.narrow, g.narrow, dw.narrow, s,
        workspace(convolutionWeightGradientWorkspaceBytes(s, 2)));
    convolutionWeightGradient<float>(
        stream(), {}, x.wide, g.wide, dw.wide, s,
        workspace(convolutionWeightGradientWorkspaceBytes(s)));
    compare(dw, weights);
  }
};

using NarrowTypes = testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(NarrowTest, NarrowTypes);

TYPED_TEST(NarrowTest, MatmulInAllOrientations) {
  for (int bits = 0; bits < 8; ++bits) {
    MatmulShape s = {};
    s.m = 13;
    s.n = 37;
    s.k = 21;
    s.lhsRowStride = bits & 1 ? 1 : 21;
    s.lhsColumnStride = bits & 1 ? 13 : 1;
    s.rhsRowStride = bits & 2 ? 1 : 37;
    s.rhsColumnStride = bits & 2 ? 21 : 1;
    s.outRowStride = bits & 4 ? 1 : 37;
    s.outColumnStride = bits & 4 ? 13 : 1;
    this->checkMatmul(s, 13 * 21, 21 * 37, 13 * 37);
  }
}

TYPED_TEST(NarrowTest, MatmulOfManyBlocks) {
  this->checkMatmul({300, 600, 700, 700, 1, 600, 1, 600, 1}, 300 * 700,
                    700 * 600, 300 * 600);
  this->checkMatmul({5, 600, 1100, 1, 5, 1, 1100, 600, 1}, 5 * 1100, 1100 * 600,
                    5 * 600);
  this->checkMatmul({4, 6, 0, 1, 1, 6, 1, 6, 1}, 1, 1, 24);
  this->checkMatmul({5, 6, 7, 20, 2, 40, 3, 30, 2}, 100, 300, 150);
}

TYPED_TEST(NarrowTest, MatmulBatches) {
  MatmulShape s = {4, 6, 5, 5, 1, 6, 1, 6, 1};
  s.batchRank = 1;
  s.batch[0] = 3;
  s.lhsBatchStride[0] = 20;
  s.rhsBatchStride[0] = 30;
  s.outBatchStride[0] = 24;
  this->checkMatmul(s, 60, 90, 72);
}

TYPED_TEST(NarrowTest, ConvolutionsAndTheirAdjoints) {
  this->checkConvolution(
      {3, 6, 10, 2, 2, {9, 11}, {}, {3, 2}, {2, 1}, {1, 2}, {1, 1}});
  this->checkConvolution(
      {2, 5, 7, 1, 2, {17, 18}, {}, {1, 1}, {1, 1}, {1, 1}, {0, 0}});
  this->checkConvolution(
      {2, 6, 6, 6, 2, {9, 21}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}});
  this->checkConvolution({9, 4, 6, 1, 1, {50}, {}, {5}, {1}, {1}, {2}});
}

TYPED_TEST(NarrowTest, Attention) {
  AttentionShape s = {};
  s.batch = 2;
  s.queries = 70;
  s.keys = 150;
  s.heads = 4;
  s.kvHeads = 2;
  s.width = 16;
  s.valueWidth = 24;
  s.scale = 0.25;
  const int64_t query[] = {70 * 64, 64, 16}, key[] = {150 * 32, 32, 16},
                value[] = {150 * 48, 48, 24}, out[] = {70 * 96, 96, 24};
  for (int d = 0; d < 3; ++d) {
    s.queryStride[d] = query[d];
    s.keyStride[d] = key[d];
    s.valueStride[d] = value[d];
    s.outStride[d] = out[d];
  }
  s.mask = MaskKind::Float;
  s.maskStride[2] = 150;
  s.maskStride[3] = 1;
  const auto q = this->random(2 * 70 * 64), k = this->random(2 * 150 * 32),
             v = this->random(2 * 150 * 48), mask = this->random(70 * 150);
  for (bool causal : {false, true}) {
    s.causal = causal;
    const int64_t count = 2 * 70 * 96;
    const auto result = this->results(count);
    attention<TypeParam>(this->stream(), {}, q.narrow, k.narrow, v.narrow,
                         mask.narrow, nullptr, result.narrow, nullptr, s,
                         this->workspace(attentionWorkspaceBytes(s, 2)));
    attention<float>(this->stream(), {}, q.wide, k.wide, v.wide, mask.wide,
                     nullptr, result.wide, nullptr, s,
                     this->workspace(attentionWorkspaceBytes(s)));
    this->compare(result, count, /*isRoundedTwice=*/true);
  }
}

TYPED_TEST(NarrowTest, Reductions) {
  for (int64_t inner : {1, 70})
    for (Reduction kind : {Reduction::Sum, Reduction::Max, Reduction::Min}) {
      const auto in = this->random(3 * 900 * inner);
      const auto out = this->results(3 * inner);
      reduce<TypeParam>(this->stream(), {}, kind, in.narrow, out.narrow, 3, 900,
                        inner);
      reduce<float>(this->stream(), {}, kind, in.wide, out.wide, 3, 900, inner);
      this->compare(out, 3 * inner);
    }
}

TYPED_TEST(NarrowTest, IndexingAndItsAdjoints) {
  const auto table = this->random(5 * 33), gradient = this->random(400 * 33);
  const auto ids =
      this->place(this->template randomIntegers<int64_t>(400, -1, 5));
  auto out = this->results(400 * 33);
  embedding<TypeParam, int64_t>(this->stream(), {}, ids, table.narrow, nullptr,
                                out.narrow, 400, 5, 33);
  embedding<float, int64_t>(this->stream(), {}, ids, table.wide, nullptr,
                            out.wide, 400, 5, 33);
  this->compare(out, 400 * 33);
  out = this->results(5 * 33);
  embeddingGradient<TypeParam, int64_t>(
      this->stream(), {}, ids, gradient.narrow, out.narrow, 400, 5, 33);
  embeddingGradient<float, int64_t>(this->stream(), {}, ids, gradient.wide,
                                    out.wide, 400, 5, 33);
  this->compare(out, 5 * 33);
  out = this->results(2 * 5 * 11);
  gatherGradient<TypeParam, int64_t>(this->stream(), {}, gradient.narrow, ids,
                                     out.narrow, 2, 5, 300, 11);
  gatherGradient<float, int64_t>(this->stream(), {}, gradient.wide, ids,
                                 out.wide, 2, 5, 300, 11);
  this->compare(out, 2 * 5 * 11);
  out = this->results(5 * 12);
  gatherElementsGradient<TypeParam, int64_t>(this->stream(), {},
                                             gradient.narrow, ids, out.narrow,
                                             {5, 12}, {40, 10}, 0);
  gatherElementsGradient<float, int64_t>(this->stream(), {}, gradient.wide, ids,
                                         out.wide, {5, 12}, {40, 10}, 0);
  this->compare(out, 5 * 12);
}

TYPED_TEST(NarrowTest, PoolsAndTheirAdjoints) {
  const PoolShape s = {2,      3,      2,      {7, 9}, {4, 5},
                       {3, 2}, {2, 2}, {1, 1}, {1, 1}, {1, 0}};
  const auto in = this->random(2 * 3 * 63), gradient = this->random(2 * 3 * 20);
  auto out = this->results(120);
  maxPool<TypeParam>(this->stream(), {}, in.narrow, out.narrow, s);
  maxPool<float>(this->stream(), {}, in.wide, out.wide, s);
  this->compare(out, 120);
  averagePool<TypeParam>(this->stream(), {}, in.narrow, out.narrow, s);
  averagePool<float>(this->stream(), {}, in.wide, out.wide, s);
  this->compare(out, 120);
  out = this->results(378);
  maxPoolGradient<TypeParam>(this->stream(), {}, in.narrow, gradient.narrow,
                             out.narrow, s);
  maxPoolGradient<float>(this->stream(), {}, in.wide, gradient.wide, out.wide,
                         s);
  this->compare(out, 378);
  averagePoolGradient<TypeParam>(this->stream(), {}, gradient.narrow,
                                 out.narrow, s);
  averagePoolGradient<float>(this->stream(), {}, gradient.wide, out.wide, s);
  this->compare(out, 378);
}

TYPED_TEST(NarrowTest, LossesNormsAndGradientsOfOptimizers) {
  const auto logits = this->random(6 * 3000);
  const auto labels =
      this->place(this->template randomIntegers<int64_t>(6, 0, 2999));
  float *loss = this->template reserve<float>(6),
        *expected = this->template reserve<float>(6);
  crossEntropy<TypeParam, int64_t>(this->stream(), {}, logits.narrow, labels,
                                   loss, nullptr, 6, 3000);
  crossEntropy<float, int64_t>(this->stream(), {}, logits.wide, labels,
                               expected, nullptr, 6, 3000);
  EXPECT_EQ(this->read(loss, 6), this->read(expected, 6));
  double *sum = this->template reserve<double>(1),
         *expectedSum = this->template reserve<double>(1);
  squareSum<TypeParam>(this->stream(), {}, logits.narrow, sum, 18000);
  squareSum<float>(this->stream(), {}, logits.wide, expectedSum, 18000);
  EXPECT_EQ(this->read(sum, 1), this->read(expectedSum, 1));
  const OptimizerShape shape = {OptimizerKind::Momentum, 0, 0, 0, 0.01, 0.9};
  OptimizerScalars<float> scalars;
  scalars.learningRate = this->place(std::vector<float>{0.1f});
  const float *parameter = this->place(this->randomFloats(333));
  const float *momentum = this->place(this->randomFloats(333));
  std::vector<float *> out;
  for (int i = 0; i < 4; ++i)
    out.push_back(this->template reserve<float>(333));
  optimizerUpdate<float>(this->stream(), {}, shape, scalars, parameter,
                         logits.narrow, momentum, nullptr, out[0], out[1],
                         nullptr, 333);
  optimizerUpdate<float>(this->stream(), {}, shape, scalars, parameter,
                         logits.wide, momentum, nullptr, out[2], out[3],
                         nullptr, 333);
  EXPECT_EQ(this->read(out[0], 333), this->read(out[2], 333));
  EXPECT_EQ(this->read(out[1], 333), this->read(out[3], 333));
}

} // namespace
} // namespace runtime
} // namespace parplan
