//===- row_kernels_test.cpp - Row kernels against plain loops -------------===//

#include "test_rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace parplan {
namespace runtime {
namespace {

struct RowShape {
  int64_t outer, length, inner;
};
const RowShape rowShapes[] = {{3, 1, 1},  {4, 15, 1},   {5, 777, 1},
                              {2, 7, 5},  {3, 33, 130}, {1, 50257, 1},
                              {2, 16, 64}};

class RowTest : public KernelTest {
protected:
  /// Calls row(x, y) for each row of doubles; y is stored strided.
  template <typename Row>
  std::vector<double> byRow(const std::vector<float> &in, RowShape s, Row row) {
    std::vector<double> out(in.size());
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t j = 0; j < s.inner; ++j) {
        std::vector<double> x, y(static_cast<size_t>(s.length));
        for (int64_t i = 0; i < s.length; ++i)
          x.push_back(in[(o * s.length + i) * s.inner + j]);
        row(x, y);
        for (int64_t i = 0; i < s.length; ++i)
          out[(o * s.length + i) * s.inner + j] = y[i];
      }
    return out;
  }

  /// Of integers, whose sums are exact in any order.
  void checkReduce(const RowShape &s) {
    for (Reduction kind :
         {Reduction::Sum, Reduction::Max, Reduction::Min, Reduction::Product}) {
      const bool product = kind == Reduction::Product;
      const auto in = randomIntegers<float>(s.outer * s.length * s.inner,
                                            product ? -1 : -9, product ? 1 : 9);
      std::vector<float> expected;
      for (int64_t o = 0; o < s.outer; ++o)
        for (int64_t j = 0; j < s.inner; ++j) {
          float value = in[o * s.length * s.inner + j];
          for (int64_t i = 1; i < s.length; ++i) {
            const float x = in[(o * s.length + i) * s.inner + j];
            value = kind == Reduction::Sum   ? value + x
                    : kind == Reduction::Max ? std::max(value, x)
                    : kind == Reduction::Min ? std::min(value, x)
                                             : value * x;
          }
          expected.push_back(value);
        }
      float *out = reserve<float>(s.outer * s.inner);
      reduce<float>(stream(), {}, kind, place(in), out, s.outer, s.length,
                    s.inner);
      EXPECT_EQ(read(out, s.outer * s.inner), expected);
    }
  }
};

TEST_F(RowTest, ReduceSumsMaximaMinimaAndProducts) {
  for (const RowShape &s : rowShapes)
    checkReduce(s);
}

/// Many threads share a column.
TEST_F(RowTest, ReduceLongColumns) {
  for (const RowShape &s : {RowShape{1, 3000, 70}, RowShape{2, 100, 33},
                            RowShape{3, 1000, 1}, RowShape{1, 9000, 2}})
    checkReduce(s);
}

TEST_F(RowTest, ReduceIntegersAndBools) {
  const auto in = randomIntegers<int64_t>(3 * 20, -9, 9);
  int64_t *sums = reserve<int64_t>(3);
  reduce<int64_t>(stream(), {}, Reduction::Sum, place(in), sums, 3, 20, 1);
  const auto got = read(sums, 3);
  for (int o = 0; o < 3; ++o)
    EXPECT_EQ(got[o], std::accumulate(in.begin() + o * 20,
                                      in.begin() + (o + 1) * 20, int64_t(0)));
  const auto flags =
      reinterpret_cast<bool *>(place(std::vector<uint8_t>{0, 0, 0, 0, 1, 0}));
  bool *any = reserve<bool>(2);
  reduce<bool>(stream(), {}, Reduction::Max, flags, any, 2, 3, 1);
  const auto bytes = read(reinterpret_cast<uint8_t *>(any), 2);
  EXPECT_EQ(bytes[0], 0);
  EXPECT_EQ(bytes[1], 1);
}

TEST_F(RowTest, ReduceOverNothingGivesTheNeutralElement) {
  float *out = reserve<float>(2);
  reduce<float>(stream(), {}, Reduction::Max, out, out, 2, 0, 1);
  EXPECT_EQ(read(out, 2), std::vector<float>(2, -INFINITY));
}

TEST_F(RowTest, ReduceKeepsNan) {
  std::vector<float> in(40, 1.0f);
  in[33] = NAN;
  float *out = reserve<float>(1);
  reduce<float>(stream(), {}, Reduction::Max, place(in), out, 1, 40, 1);
  EXPECT_TRUE(std::isnan(read(out, 1)[0]));
}

TEST_F(RowTest, SoftmaxAndLogSoftmax) {
  for (const RowShape &s : rowShapes) {
    auto in = randomFloats(s.outer * s.length * s.inner);
    for (float &x : in)
      x = x * 10 + 100;
    const auto expected =
        byRow(in, s, [](const std::vector<double> &x, std::vector<double> &y) {
          const double top = *std::max_element(x.begin(), x.end());
          double sum = 0;
          for (size_t i = 0; i < x.size(); ++i)
            sum += y[i] = std::exp(x[i] - top);
          for (double &value : y)
            value /= sum;
        });
    const auto logs =
        byRow(in, s, [](const std::vector<double> &x, std::vector<double> &y) {
          const double top = *std::max_element(x.begin(), x.end());
          double sum = 0;
          for (double value : x)
            sum += std::exp(value - top);
          for (size_t i = 0; i < x.size(); ++i)
            y[i] = x[i] - top - std::log(sum);
        });
    const int64_t count = static_cast<int64_t>(in.size());
    float *out = place(in); // In place.
    softmax<float>(stream(), {}, out, out, s.outer, s.length, s.inner);
    EXPECT_LT(relativeError(read(out, count), expected), 1e-6);
    float *outLog = reserve<float>(count);
    logSoftmax<float>(stream(), {}, place(in), outLog, s.outer, s.length,
                      s.inner);
    EXPECT_LT(relativeError(read(outLog, count), logs), 1e-6);
  }
}

TEST_F(RowTest, SoftmaxOfAFullyMaskedRowIsNan) {
  float *data = place(std::vector<float>(20, -INFINITY));
  softmax<float>(stream(), {}, data, data, 1, 20, 1);
  EXPECT_TRUE(std::isnan(read(data, 20)[3]));
}

TEST_F(RowTest, LayerNormAndRmsNorm) {
  for (const RowShape &s : rowShapes) {
    if (s.inner != 1)
      continue;
    auto in = randomFloats(s.outer * s.length);
    for (float &x : in)
      x += 3;
    const auto scale = randomFloats(s.length), bias = randomFloats(s.length);
    const int64_t count = s.outer * s.length;
    for (bool centred : {true, false})
      for (bool affine : {true, false}) {
        const auto expected = byRow(
            in, s, [&](const std::vector<double> &x, std::vector<double> &y) {
              double mean = 0, square = 0;
              if (centred)
                for (double value : x)
                  mean += value / x.size();
              for (double value : x)
                square += (value - mean) * (value - mean) / x.size();
              for (size_t i = 0; i < x.size(); ++i)
                y[i] = (x[i] - mean) / std::sqrt(square + 1e-5) *
                           (affine ? scale[i] : 1) +
                       (affine && centred ? bias[i] : 0);
            });
        float *out = reserve<float>(count);
        if (centred)
          layerNorm<float>(
              stream(), {}, place(in), affine ? place(scale) : nullptr,
              affine ? place(bias) : nullptr, out, s.outer, s.length, 1e-5);
        else
          rmsNorm<float>(stream(), {}, place(in),
                         affine ? place(scale) : nullptr, out, s.outer,
                         s.length, 1e-5);
        EXPECT_LT(relativeError(read(out, count), expected), 2e-6);
      }
  }
}

TEST_F(RowTest, Cumsum) {
  for (const RowShape &s : {RowShape{2, 9, 1}, RowShape{2, 5, 70}})
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true}) {
        const auto in =
            randomIntegers<float>(s.outer * s.length * s.inner, -5, 5);
        const auto expected = byRow(
            in, s, [&](const std::vector<double> &x, std::vector<double> &y) {
              double sum = 0;
              for (size_t step = 0; step < x.size(); ++step) {
                const size_t i = reverse ? x.size() - 1 - step : step;
                y[i] = exclusive ? sum : sum + x[i];
                sum += x[i];
              }
            });
        const int64_t count = static_cast<int64_t>(in.size());
        float *out = reserve<float>(count);
        cumsum<float>(stream(), {}, place(in), out, s.outer, s.length, s.inner,
                      exclusive, reverse);
        EXPECT_EQ(relativeError(read(out, count), expected), 0);
      }
}

TEST_F(RowTest, TopkIsOrderedAndPrefersLowIndices) {
  for (const RowShape &s : {RowShape{3, 40, 1}, RowShape{2, 11, 3}})
    for (bool largest : {true, false})
      for (int64_t k : {int64_t(1), int64_t(4), s.length}) {
        const auto in =
            randomIntegers<float>(s.outer * s.length * s.inner, -5, 5);
        std::vector<float> values(s.outer * k * s.inner);
        std::vector<int64_t> indices(values.size());
        for (int64_t o = 0; o < s.outer; ++o)
          for (int64_t j = 0; j < s.inner; ++j) {
            std::vector<int64_t> order(s.length);
            for (int64_t i = 0; i < s.length; ++i)
              order[i] = i;
            const auto at = [&](int64_t i) {
              return in[(o * s.length + i) * s.inner + j];
            };
            std::stable_sort(order.begin(), order.end(),
                             [&](int64_t a, int64_t b) {
                               return largest ? at(a) > at(b) : at(a) < at(b);
                             });
            for (int64_t i = 0; i < k; ++i) {
              values[(o * k + i) * s.inner + j] = at(order[i]);
              indices[(o * k + i) * s.inner + j] = order[i];
            }
          }
        const int64_t count = static_cast<int64_t>(values.size());
        float *outValues = reserve<float>(count);
        int64_t *outIndices = reserve<int64_t>(count);
        topk<float>(stream(), {}, place(in), outValues, outIndices, s.outer,
                    s.length, s.inner, k, largest);
        EXPECT_EQ(read(outValues, count), values);
        EXPECT_EQ(read(outIndices, count), indices);
        // Either result alone.
        float *onlyValues = reserve<float>(count);
        int64_t *onlyIndices = reserve<int64_t>(count);
        topk<float>(stream(), {}, place(in), onlyValues, nullptr, s.outer,
                    s.length, s.inner, k, largest);
        topk<float>(stream(), {}, place(in), nullptr, onlyIndices, s.outer,
                    s.length, s.inner, k, largest);
        EXPECT_EQ(read(onlyValues, count), values);
        EXPECT_EQ(read(onlyIndices, count), indices);
      }
}

} // namespace
} // namespace runtime
} // namespace parplan
