//===- convolution_gradient_test.cpp - Adjoints against plain loops -------===//

#include "test_rank.h"

namespace parplan {
namespace runtime {
namespace {

class ConvolutionGradientTest : public KernelTest {
protected:
  /// Fills in the output sizes; small integers, whose sums are exact.
  template <typename Element>
  void check(ConvolutionShape s, const std::vector<int64_t> &padHigh) {
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
        randomIntegers<Element>(s.batch * s.inChannels * inPlane, -2, 2);
    const auto weight =
        randomIntegers<Element>(s.outChannels * groupIn * taps, -2, 2);
    const auto gradient =
        randomIntegers<Element>(s.batch * s.outChannels * outPlane, -2, 2);
    std::vector<Element> inExpected(in.size()), weightExpected(weight.size());
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t o = 0; o < s.outChannels; ++o)
        for (int64_t p = 0; p < outPlane; ++p) {
          const Element given =
              gradient[(b * s.outChannels + o) * outPlane + p];
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
              if (!inside)
                continue;
              at += (b * s.inChannels + o / groupOut * groupIn + c) * inPlane;
              const int64_t factor = (o * groupIn + c) * taps + t;
              inExpected[at] += given * weight[factor];
              weightExpected[factor] += given * in[at];
            }
        }
    const auto dirty = [&](size_t count) {
      return place(std::vector<Element>(count, Element(99)));
    };
    int64_t bytes = convolutionInputGradientWorkspaceBytes(s, sizeof(Element));
    Element *out = dirty(in.size());
    convolutionInputGradient<Element>(stream(), {}, place(gradient),
                                      place(weight), out, s,
                                      {reserve<char>(bytes), bytes});
    EXPECT_EQ(read(out, static_cast<int64_t>(in.size())), inExpected);
    bytes = convolutionWeightGradientWorkspaceBytes(s, sizeof(Element));
    out = dirty(weight.size());
    convolutionWeightGradient<Element>(stream(), {}, place(in), place(gradient),
                                       out, s, {reserve<char>(bytes), bytes});
    EXPECT_EQ(read(out, static_cast<int64_t>(weight.size())), weightExpected);
  }
};

TEST_F(ConvolutionGradientTest, TwoDimensions) {
  check<float>({2, 3, 5, 1, 2, {9, 11}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
               {1, 1});
  check<double>({1, 4, 6, 2, 2, {9, 11}, {}, {3, 2}, {2, 3}, {1, 1}, {1, 0}},
                {0, 2});
  check<float>({1, 3, 8, 1, 2, {15, 15}, {}, {7, 7}, {2, 2}, {1, 1}, {3, 3}},
               {3, 3});
  check<float>({3, 4, 10, 2, 2, {12, 13}, {}, {3, 3}, {1, 2}, {2, 3}, {2, 3}},
               {2, 1});
}

TEST_F(ConvolutionGradientTest, Pointwise) {
  check<float>({2, 6, 4, 1, 2, {5, 7}, {}, {1, 1}, {1, 1}, {1, 1}, {0, 0}},
               {0, 0});
  check<double>({2, 6, 10, 2, 2, {17, 19}, {}, {1, 1}, {1, 1}, {1, 1}, {0, 0}},
                {0, 0});
  check<float>({2, 6, 4, 1, 2, {5, 7}, {}, {1, 1}, {2, 2}, {1, 1}, {0, 0}},
               {0, 0});
}

TEST_F(ConvolutionGradientTest, Depthwise) {
  check<float>({2, 6, 6, 6, 2, {9, 38}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
               {1, 1});
  check<double>({1, 6, 12, 6, 2, {9, 8}, {}, {3, 3}, {2, 1}, {1, 1}, {0, 1}},
                {1, 1});
  check<float>({1, 4, 4, 2, 2, {9, 40}, {}, {3, 2}, {1, 2}, {2, 1}, {0, 1}},
               {1, 1});
}

TEST_F(ConvolutionGradientTest, OneAndThreeDimensions) {
  check<float>({2, 3, 4, 1, 1, {17}, {}, {5}, {2}, {1}, {2}}, {1});
  check<float>({2,
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
               {1, 1, 1});
}

TEST_F(ConvolutionGradientTest, ManyChunksAndJoinedImages) {
  check<float>({1, 32, 4, 1, 2, {64, 64}, {}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
               {1, 1});
  // 49 positions: six images make a product, the last one has two.
  const ConvolutionShape small = {8,      5,      7,      1,      2,     {7, 7},
                                  {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}};
  EXPECT_EQ(detail::convolutionJoinedImages(small), 6);
  check<float>(small, {1, 1});
}

TEST_F(ConvolutionGradientTest, WindowBeyondTheInput) {
  check<float>({1, 1, 1, 1, 2, {2, 2}, {}, {2, 2}, {1, 1}, {1, 1}, {4, 4}},
               {4, 4});
}

/// What cuDNN 9 asked for in bf16 on an H100, in bytes, at most of the
/// convolution and both gradients.
TEST(ConvolutionWorkspace, HoldsWhatTensorCoresNeed) {
  struct Layer {
    int64_t batch, in, size, out, kernel, stride, pad;
    int64_t asked;
  };
  for (const Layer &layer : {Layer{64, 3, 224, 64, 7, 2, 3, 160'310'000},
                             Layer{64, 64, 56, 64, 3, 1, 1, 53'370'000},
                             Layer{64, 256, 56, 64, 1, 1, 0, 128'450'000},
                             Layer{64, 128, 56, 128, 3, 2, 1, 66'880'000},
                             Layer{64, 256, 56, 512, 1, 2, 0, 155'980'000},
                             Layer{64, 512, 7, 512, 3, 1, 1, 11'140'000},
                             Layer{32, 3, 224, 1024, 16, 16, 0, 67'900'000}}) {
    const int64_t out =
        (layer.size + 2 * layer.pad - layer.kernel) / layer.stride + 1;
    const ConvolutionShape shape = {layer.batch,
                                    layer.in,
                                    layer.out,
                                    1,
                                    2,
                                    {layer.size, layer.size},
                                    {out, out},
                                    {layer.kernel, layer.kernel},
                                    {layer.stride, layer.stride},
                                    {1, 1},
                                    {layer.pad, layer.pad}};
    for (int64_t bytes : {convolutionWorkspaceBytes(shape, 2),
                          convolutionInputGradientWorkspaceBytes(shape, 2),
                          convolutionWeightGradientWorkspaceBytes(shape, 2)}) {
      EXPECT_GE(bytes, layer.asked) << layer.in << " to " << layer.out;
      EXPECT_LE(bytes, layer.asked + 40'000'000)
          << layer.in << " to " << layer.out;
    }
  }
}

} // namespace
} // namespace runtime
} // namespace parplan
