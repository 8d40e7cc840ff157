//===- scalar_math_test.cpp - Accuracy of the own functions ---------------===//

#include "parplan_runtime/scalar_math.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace parplan::runtime;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Largest error in units of |exact| over [low, high], or in units of `floor`
/// where the exact value is smaller.
template <typename Own, typename Exact>
double worst(float low, float high, Own own, Exact exact, double floor = 0) {
  constexpr int samples = 200000;
  double error = 0;
  for (int i = 0; i <= samples; ++i) {
    const float x = low + (high - low) * (static_cast<float>(i) / samples);
    const double expected = exact(static_cast<double>(x));
    error = std::max(error, std::abs(own(x) - expected) /
                                std::max(floor, std::abs(expected)));
  }
  return error;
}

TEST(ScalarMath, ExponentialIsAccurateToTheLastBits) {
  const auto own = [](float x) { return exponential(x); };
  const auto exact = [](double x) { return std::exp(x); };
  EXPECT_LT(worst(-87, 88.7f, own, exact), 2.5e-7);
  EXPECT_LT(worst(-1e-3f, 1e-3f, own, exact), 1.5e-7);
  EXPECT_EQ(exponential(0.0f), 1.0f);
  EXPECT_EQ(exponential(200.0f), infinity);
  EXPECT_EQ(exponential(infinity), infinity);
  EXPECT_EQ(exponential(-infinity), 0.0f);
  EXPECT_EQ(exponential(-200.0f), 0.0f);
  EXPECT_TRUE(std::isnan(exponential(nan)));
}

TEST(ScalarMath, LogarithmIsAccurateAlsoNearOneAndForDenormals) {
  const auto own = [](float x) { return logarithm(x); };
  const auto exact = [](double x) { return std::log(x); };
  EXPECT_LT(worst(1e-3f, 10, own, exact, 1e-3), 2.5e-7);
  EXPECT_LT(worst(1, 1e30f, own, exact, 1e-3), 2.5e-7);
  EXPECT_LT(worst(1e-41f, 1e-37f, own, exact), 2.5e-7);
  EXPECT_EQ(logarithm(1.0f), 0.0f);
  EXPECT_EQ(logarithm(0.0f), -infinity);
  EXPECT_EQ(logarithm(infinity), infinity);
  EXPECT_TRUE(std::isnan(logarithm(-1.0f)));
  EXPECT_TRUE(std::isnan(logarithm(nan)));
}

TEST(ScalarMath, HyperbolicTangentAndErrorFunction) {
  const auto tangent = [](float x) { return hyperbolicTangent(x); };
  const auto error = [](float x) { return errorFunction(x); };
  EXPECT_LT(worst(-12, 12, tangent, [](double x) { return std::tanh(x); }),
            3e-7);
  EXPECT_LT(
      worst(-1e-2f, 1e-2f, tangent, [](double x) { return std::tanh(x); }),
      3e-7);
  EXPECT_LT(worst(-6, 6, error, [](double x) { return std::erf(x); }), 3e-7);
  EXPECT_LT(worst(-1e-2f, 1e-2f, error, [](double x) { return std::erf(x); }),
            3e-7);
  EXPECT_EQ(hyperbolicTangent(infinity), 1.0f);
  EXPECT_EQ(hyperbolicTangent(-infinity), -1.0f);
  EXPECT_EQ(errorFunction(infinity), 1.0f);
  EXPECT_EQ(errorFunction(-infinity), -1.0f);
  EXPECT_TRUE(std::isnan(hyperbolicTangent(nan)));
  EXPECT_TRUE(std::isnan(errorFunction(nan)));
}

TEST(ScalarMath, SineAndCosineAlsoForLargeArguments) {
  const auto ownSine = [](float x) { return sine(x); };
  const auto ownCosine = [](float x) { return cosine(x); };
  const auto exactSine = [](double x) { return std::sin(x); };
  const auto exactCosine = [](double x) { return std::cos(x); };
  EXPECT_LT(worst(-10, 10, ownSine, exactSine, 1e-1), 3e-7);
  EXPECT_LT(worst(-10, 10, ownCosine, exactCosine, 1e-1), 3e-7);
  EXPECT_LT(worst(0, 1e5f, ownSine, exactSine, 1), 3e-7);
  EXPECT_LT(worst(0, 1e5f, ownCosine, exactCosine, 1), 3e-7);
  EXPECT_TRUE(std::isnan(sine(infinity)));
  EXPECT_TRUE(std::isnan(cosine(nan)));
}

TEST(ScalarMath, RareFunctionsAreExact) {
  EXPECT_LT(worst(
                -1, 1, [](float x) { return arcSine(x); },
                [](double x) { return std::asin(x); }),
            1e-7);
  EXPECT_LT(worst(
                -30, 30, [](float x) { return areaSine(x); },
                [](double x) { return std::asinh(x); }),
            1e-7);
  EXPECT_LT(worst(
                -0.99f, 0.99f, [](float x) { return areaTangent(x); },
                [](double x) { return std::atanh(x); }),
            1e-7);
  EXPECT_LT(worst(
                1, 30, [](float x) { return areaCosine(x); },
                [](double x) { return std::acosh(x); }),
            1e-7);
  EXPECT_EQ(tangent(0.0f), 0.0f);
  EXPECT_EQ(arcTangent(infinity), static_cast<float>(M_PI / 2));
  EXPECT_EQ(arcCosine(1.0), 0.0);
  EXPECT_EQ(hyperbolicCosine(0.0), 1.0);
  EXPECT_EQ(hyperbolicSine(-infinity), -infinity);
  EXPECT_TRUE(std::isnan(arcSine(2.0f)));
}

TEST(ScalarMath, IntegersOfAllKinds) {
  EXPECT_EQ(power<uint64_t>(2, 63), uint64_t(1) << 63);
  EXPECT_EQ(power<uint8_t>(3, 5), 243);
  EXPECT_EQ(power<int16_t>(-1, -3), -1);
  EXPECT_EQ(power<int64_t>(7, -1), 0);
  EXPECT_EQ((divide<uint64_t>(UINT64_MAX, 3)), UINT64_MAX / 3);
  EXPECT_EQ((modulo<uint32_t>(5, UINT32_MAX)), 5u);
  EXPECT_EQ(truncateTo<uint64_t>(1.5e19), 15000000000000000000u);
  EXPECT_EQ(truncateTo<uint64_t>(-3), 0u);
  EXPECT_EQ(truncateTo<uint64_t>(1e30), UINT64_MAX);
  EXPECT_EQ(truncateTo<uint32_t>(4294967295.5), UINT32_MAX);
  EXPECT_EQ(truncateTo<uint8_t>(-0.5), 0);
  EXPECT_EQ(truncateTo<int8_t>(300), 127);
  EXPECT_EQ(truncateTo<int8_t>(-128.5), -128);
  EXPECT_EQ(bitCast<int32_t>(1.0f), 0x3f800000);
  EXPECT_EQ(bitCast<double>(int64_t(0)), 0.0);
}

TEST(ScalarMath, ActivationsKeepTheirTails) {
  const auto exactSigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_LT(worst(
                -80, 80, [](float x) { return sigmoid(x); }, exactSigmoid),
            5e-7);
  EXPECT_LT(
      worst(
          -8, 8, [](float x) { return geluErf(x); },
          [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); },
          0.1),
      1e-6);
  EXPECT_LT(worst(
                -8, 8, [](float x) { return geluTanh(x); },
                [](double x) {
                  return 0.5 * x *
                         (1 + std::tanh(std::sqrt(2 / M_PI) *
                                        (x + 0.044715 * x * x * x)));
                },
                0.1),
            1e-6);
  EXPECT_LT(worst(
                -40, 40, [](float x) { return silu(x); },
                [&](double x) { return x * exactSigmoid(x); }, 0.1),
            1e-6);
}

TEST(ScalarMath, PowersAreThoseOfTheLibrary) {
  EXPECT_EQ(power(-3.0f, 3.0f), -27.0f);
  EXPECT_EQ(power(2.0f, 0.5f), std::sqrt(2.0f));
  EXPECT_EQ(power(int64_t(-2), int64_t(5)), -32);
  EXPECT_EQ(power(int32_t(7), int32_t(0)), 1);
  EXPECT_EQ(power(int64_t(2), int64_t(-1)), 0);
}

TEST(ScalarMath, ModuloFollowsTheSignThatIsAskedFor) {
  EXPECT_EQ(modulo(int64_t(-7), int64_t(3)), 2);
  EXPECT_EQ(modulo(int64_t(-7), int64_t(3), true), -1);
  EXPECT_EQ(modulo(int64_t(7), int64_t(-3)), -2);
  EXPECT_EQ(modulo(-7.5f, 3.0f), -1.5f);
  EXPECT_EQ(modulo(-7.5f, 3.0f, false), 1.5f);
}

TEST(ScalarMath, IntegerDivisionNeverTraps) {
  EXPECT_EQ(divide(int64_t(7), int64_t(0)), 0);
  EXPECT_EQ(divide(INT64_MIN, int64_t(-1)), INT64_MIN);
  EXPECT_EQ(divide(int32_t(-7), int32_t(2)), -3);
  EXPECT_EQ(modulo(int64_t(7), int64_t(0)), 0);
  EXPECT_EQ(modulo(INT64_MIN, int64_t(-1)), 0);
}

TEST(ScalarMath, CastsSaturate) {
  EXPECT_EQ(truncateTo<int64_t>(-2.9), -2);
  EXPECT_EQ(truncateTo<int64_t>(1e30), INT64_MAX);
  EXPECT_EQ(truncateTo<int32_t>(-1e30), INT32_MIN);
  EXPECT_EQ(truncateTo<int32_t>(std::nan("")), 0);
}

TEST(ScalarMath, NarrowFloatsRoundToNearestEven) {
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(1.00390625f).bits, 0x3f80); // A tie, to even.
  EXPECT_EQ(BFloat16(1.01171875f).bits, 0x3f82); // A tie, to even.
  EXPECT_EQ(BFloat16(1.00390637f).bits, 0x3f81);
  EXPECT_EQ(BFloat16(3.4e38f).bits, 0x7f80);
  EXPECT_EQ(BFloat16(-0.0f).bits, 0x8000);
  EXPECT_TRUE(std::isnan(BFloat16(nan)));
  EXPECT_EQ(Float16(1.0f).bits, 0x3c00);
  EXPECT_EQ(Float16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Float16(65519.9f).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Float16(1.00048828125f).bits, 0x3c00); // A tie, to even.
  EXPECT_EQ(Float16(1.00146484375f).bits, 0x3c02); // A tie, to even.
  EXPECT_EQ(Float16(5.9604645e-8f).bits, 1);       // The least denormal.
  EXPECT_EQ(Float16(2.9802322e-8f).bits, 0);       // A tie, to even.
  EXPECT_EQ(Float16(-6.0975552e-5f).bits, 0x83ff);
  EXPECT_EQ(Float16(-infinity).bits, 0xfc00);
  EXPECT_TRUE(std::isnan(Float16(nan)));
}

TEST(ScalarMath, NarrowFloatsSurviveTheWayThroughFloat) {
  for (int pattern = 0; pattern < 65536; ++pattern) {
    BFloat16 brain;
    brain.bits = static_cast<uint16_t>(pattern);
    Float16 half;
    half.bits = brain.bits;
    const float brainValue = brain, halfValue = half;
    if (!std::isnan(brainValue)) {
      EXPECT_EQ(BFloat16(brainValue).bits, brain.bits);
    }
    if (!std::isnan(halfValue)) {
      EXPECT_EQ(Float16(halfValue).bits, half.bits);
    }
    const int exponent = pattern >> 10 & 31, mantissa = pattern & 1023;
    const double sign = pattern & 0x8000 ? -1 : 1;
    if (exponent == 31)
      EXPECT_EQ(std::isnan(halfValue), mantissa != 0);
    else
      EXPECT_EQ(halfValue,
                sign * (exponent ? std::ldexp(1024 + mantissa, exponent - 25)
                                 : std::ldexp(mantissa, -24)));
  }
}

TEST(ScalarMath, MaximumKeepsNan) {
  EXPECT_TRUE(std::isnan(maximum(nan, 1.0f)));
  EXPECT_TRUE(std::isnan(maximum(1.0f, nan)));
  EXPECT_TRUE(std::isnan(minimum(1.0f, nan)));
  EXPECT_EQ(maximum(int64_t(2), int64_t(3)), 3);
  EXPECT_TRUE(std::isnan(relu(nan)));
  EXPECT_TRUE(isInfinite(-infinity));
  EXPECT_FALSE(isInfinite(nan));
}

} // namespace
