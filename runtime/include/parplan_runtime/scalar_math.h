//===- scalar_math.h - Mathematics of emitted kernels ---------------------===//
//
// One overload set for float and double (`exponential(x)`, `tanhOf(x)`, ...).
// On the host the float forms are branch-free polynomials, so that plain loops
// over them vectorise; libm calls would not. Largest errors are about 3e-7 of
// the result. Double goes through libm, CUDA through its own functions.
// NaN gives NaN, infinities give their limits.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_SCALAR_MATH_H
#define PARPLAN_RUNTIME_SCALAR_MATH_H

#include "parplan_runtime/narrow_floats.h"
#include "parplan_runtime/platform.h"

namespace parplan {
namespace runtime {

namespace detail {
PARPLAN_DEVICE int32_t bitsOf(float value) {
  int32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
PARPLAN_DEVICE float floatOf(int32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
/// 2^exponent for exponents of normal numbers; anything for others.
PARPLAN_DEVICE float powerOfTwo(int32_t exponent) {
  return floatOf(
      static_cast<int32_t>(static_cast<uint32_t>(exponent + 127) << 23));
}
/// Nearest integer for |value| < 2^22, without a call.
PARPLAN_DEVICE float nearest(float value) {
  const float magic = 12582912.0f; // 1.5 * 2^23
  return (value + magic) - magic;
}
} // namespace detail

// --- without a polynomial ---------------------------------------------------

template <typename T> PARPLAN_DEVICE T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}
template <typename T> PARPLAN_DEVICE T minimum(T a, T b) {
  return a < b || a != a ? a : b;
}
/// False for unsigned types, without a comparison that compilers wonder at.
template <typename T> PARPLAN_DEVICE bool isNegative(T x) {
  if constexpr (T(-1) < T(0))
    return x < T(0);
  return false;
}
template <typename T> PARPLAN_DEVICE T absolute(T x) {
  return isNegative(x) ? T(-x) : x;
}
PARPLAN_DEVICE float absolute(float x) { return __builtin_fabsf(x); }
PARPLAN_DEVICE double absolute(double x) { return __builtin_fabs(x); }
template <typename T> PARPLAN_DEVICE T signOf(T x) {
  return x > T(0) ? T(1) : isNegative(x) ? T(-1) : x;
}
template <typename T> PARPLAN_DEVICE bool isNan(T x) { return x != x; }
template <typename T> PARPLAN_DEVICE bool isInfinite(T x) {
  return x == x && x - x != x - x;
}
PARPLAN_DEVICE float squareRoot(float x) { return __builtin_sqrtf(x); }
PARPLAN_DEVICE double squareRoot(double x) { return __builtin_sqrt(x); }
template <typename T> PARPLAN_DEVICE T reciprocalSquareRoot(T x) {
  return T(1) / squareRoot(x);
}
template <typename T> PARPLAN_DEVICE T relu(T x) {
  return x > T(0) || x != x ? x : T(0);
}
PARPLAN_DEVICE float floorOf(float x) { return __builtin_floorf(x); }
PARPLAN_DEVICE double floorOf(double x) { return __builtin_floor(x); }
PARPLAN_DEVICE float ceilOf(float x) { return __builtin_ceilf(x); }
PARPLAN_DEVICE double ceilOf(double x) { return __builtin_ceil(x); }
/// Half to even, as ONNX asks for.
PARPLAN_DEVICE float roundOf(float x) { return __builtin_rintf(x); }
PARPLAN_DEVICE double roundOf(double x) { return __builtin_rint(x); }

/// ONNX Mod: `truncated` is fmod = 1 (sign of a), else the sign of b.
template <typename T>
PARPLAN_DEVICE T modulo(T a, T b, bool truncated = false) {
  if (b == T(0) || (b == T(-1) && T(-1) < T(0)))
    return T(0);
  const T rest = a % b;
  return !truncated && rest != T(0) && isNegative(rest) != isNegative(b)
             ? T(rest + b)
             : rest;
}
PARPLAN_DEVICE float modulo(float a, float b, bool truncated = true) {
  const float rest = __builtin_fmodf(a, b);
  return !truncated && rest != 0.0f && ((rest < 0.0f) != (b < 0.0f)) ? rest + b
                                                                     : rest;
}
PARPLAN_DEVICE double modulo(double a, double b, bool truncated = true) {
  const double rest = __builtin_fmod(a, b);
  return !truncated && rest != 0.0 && ((rest < 0.0) != (b < 0.0)) ? rest + b
                                                                  : rest;
}
/// Integer division towards zero; by zero gives 0 instead of a trap.
template <typename T> PARPLAN_DEVICE T divide(T a, T b) {
  if (b == T(0))
    return T(0);
  if (T(-1) < T(0) && b == T(-1))
    return T(T(0) - a);
  return a / b;
}
PARPLAN_DEVICE float divide(float a, float b) { return a / b; }
PARPLAN_DEVICE double divide(double a, double b) { return a / b; }

// --- exponentials
// -------------------------------------------------------------

PARPLAN_DEVICE double exponential(double x) { return __builtin_exp(x); }
PARPLAN_DEVICE double logarithm(double x) { return __builtin_log(x); }
PARPLAN_DEVICE double hyperbolicTangent(double x) { return __builtin_tanh(x); }
PARPLAN_DEVICE double errorFunction(double x) { return __builtin_erf(x); }
PARPLAN_DEVICE double sine(double x) { return __builtin_sin(x); }
PARPLAN_DEVICE double cosine(double x) { return __builtin_cos(x); }
PARPLAN_DEVICE double power(double x, double y) { return __builtin_pow(x, y); }
PARPLAN_DEVICE double sigmoid(double x) {
  return 1.0 / (1.0 + exponential(-x));
}

// Functions that few models use: float goes through double, which is exact
// enough and needs no code of its own.
#define PARPLAN_THROUGH_DOUBLE(name, function)                                 \
  PARPLAN_DEVICE double name(double x) { return __builtin_##function(x); }     \
  PARPLAN_DEVICE float name(float x) {                                         \
    return static_cast<float>(__builtin_##function(static_cast<double>(x)));   \
  }
PARPLAN_THROUGH_DOUBLE(tangent, tan)
PARPLAN_THROUGH_DOUBLE(arcSine, asin)
PARPLAN_THROUGH_DOUBLE(arcCosine, acos)
PARPLAN_THROUGH_DOUBLE(arcTangent, atan)
PARPLAN_THROUGH_DOUBLE(hyperbolicSine, sinh)
PARPLAN_THROUGH_DOUBLE(hyperbolicCosine, cosh)
PARPLAN_THROUGH_DOUBLE(areaSine, asinh)
PARPLAN_THROUGH_DOUBLE(areaCosine, acosh)
PARPLAN_THROUGH_DOUBLE(areaTangent, atanh)
#undef PARPLAN_THROUGH_DOUBLE

#if defined(PARPLAN_CUDA)
PARPLAN_DEVICE float exponential(float x) { return expf(x); }
PARPLAN_DEVICE float logarithm(float x) { return logf(x); }
PARPLAN_DEVICE float hyperbolicTangent(float x) { return tanhf(x); }
PARPLAN_DEVICE float errorFunction(float x) { return erff(x); }
PARPLAN_DEVICE float sine(float x) { return sinf(x); }
PARPLAN_DEVICE float cosine(float x) { return cosf(x); }
#else
/// x = n ln 2 + r, |r| <= ln 2 / 2; exp(r) by a polynomial of degree 6; the
/// scale 2^n in two factors, so that results down to the denormals are right.
PARPLAN_DEVICE float exponential(float x) {
  float clamped = x < -104.0f ? -104.0f : x;
  clamped = clamped > 89.0f ? 89.0f : clamped;
  const float n = detail::nearest(clamped * 1.44269504088896341f);
  float r = clamped - n * 0.693145751953125f;
  r = r - n * 1.42860682030941723e-6f;
  float p = 1.3981999e-3f;
  p = p * r + 8.3334519e-3f;
  p = p * r + 4.1665795e-2f;
  p = p * r + 1.6666657e-1f;
  p = p * r + 0.5f;
  p = p * r * r + r + 1.0f;
  const int32_t exponent = static_cast<int32_t>(n);
  const int32_t half = exponent >> 1;
  const float result =
      p * detail::powerOfTwo(half) * detail::powerOfTwo(exponent - half);
  return x != x ? x : result;
}

/// x = 2^e m, m in [sqrt(1/2), sqrt(2)); log1p by a polynomial.
PARPLAN_DEVICE float logarithm(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float scaled = tiny ? x * 8388608.0f : x;
  // Unsigned: for negative x and NaN the differences wrap, to no effect.
  const uint32_t bits = static_cast<uint32_t>(detail::bitsOf(scaled));
  const int32_t exponent = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;
  const uint32_t mantissa = bits - (static_cast<uint32_t>(exponent) << 23);
  const float m = detail::floatOf(static_cast<int32_t>(mantissa)) - 1.0f;
  const float e = static_cast<float>(exponent) - (tiny ? 23.0f : 0.0f);
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float square = m * m;
  float result = p * m * square;
  result += e * -2.12194440e-4f;
  result -= 0.5f * square;
  result = m + result + e * 0.693359375f;
  result = x == __builtin_inff() ? x : result;
  result = x == 0.0f ? -__builtin_inff() : result;
  return x < 0.0f || x != x ? __builtin_nanf("") : result;
}

/// Near zero a polynomial in x^2, elsewhere 1 - 2 / (exp(2|x|) + 1).
PARPLAN_DEVICE float hyperbolicTangent(float x) {
  const float magnitude = __builtin_fabsf(x);
  const float square = x * x;
  float p = -5.70498872745e-3f;
  p = p * square + 2.06390887954e-2f;
  p = p * square - 5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square - 3.33332819422e-1f;
  const float low = p * square * x + x;
  const float large = 1.0f - 2.0f / (exponential(magnitude + magnitude) + 1.0f);
  const float high = __builtin_copysignf(large, x);
  const float result = magnitude < 0.625f ? low : high;
  return x != x ? x : result;
}

/// Below 1 the series x p(x^2); above, 1 - exp(q(|x|)).
PARPLAN_DEVICE float errorFunction(float x) {
  const float magnitude = __builtin_fabsf(x);
  const float square = x * x;
  // After N. Juffa's public-domain error functions for single precision.
  float large = -1.72853470e-5f;
  large = large * magnitude + 3.83197126e-4f;
  large = large * magnitude - 3.88396438e-3f;
  large = large * magnitude + 2.42546219e-2f;
  large = large * magnitude - 1.06777877e-1f;
  large = large * magnitude - 6.34846687e-1f;
  large = large * magnitude - 1.28717512e-1f;
  large = large * magnitude - magnitude;
  const float limited = magnitude > 4.0f ? -30.0f : large;
  const float high = __builtin_copysignf(1.0f - exponential(limited), x);
  float small = -5.96761703e-4f;
  small = small * square + 4.99119423e-3f;
  small = small * square - 2.67681349e-2f;
  small = small * square + 1.12819925e-1f;
  small = small * square - 3.76125336e-1f;
  small = small * square + 1.28379166e-1f;
  const float low = small * x + x;
  const float result = magnitude > 0.921875f ? high : low;
  return x != x ? x : result;
}

namespace detail {
/// sin(x + quarter * pi/2), |x| up to about 1e4 (three-part reduction);
/// larger arguments are reduced in double.
PARPLAN_DEVICE float sineQuarter(float x, int32_t quarter) {
  const double turns = static_cast<double>(x) * 0.63661977236758134308;
  const double magic = 6755399441055744.0; // 1.5 * 2^52
  const double whole = (turns + magic) - magic;
  const float r = static_cast<float>(static_cast<double>(x) -
                                     whole * 1.57079632679489661923);
  const double wrapped = whole - 4.0 * (((whole * 0.25) + magic) - magic);
  const int32_t q = static_cast<int32_t>(wrapped) + quarter;
  const float square = r * r;
  float s = -1.9515295891e-4f;
  s = s * square + 8.3321608736e-3f;
  s = s * square - 1.6666654611e-1f;
  s = s * square * r + r;
  float c = 2.443315711809948e-5f;
  c = c * square - 1.388731625493765e-3f;
  c = c * square + 4.166664568298827e-2f;
  c = c * square * square - 0.5f * square + 1.0f;
  const float value = (q & 1) ? c : s;
  return (q & 2) ? -value : value;
}
} // namespace detail

PARPLAN_DEVICE float sine(float x) {
  const float result = detail::sineQuarter(x, 0);
  return x - x != 0.0f ? __builtin_nanf("") : result;
}
PARPLAN_DEVICE float cosine(float x) {
  const float result = detail::sineQuarter(x, 1);
  return x - x != 0.0f ? __builtin_nanf("") : result;
}
#endif

PARPLAN_DEVICE float sigmoid(float x) {
  return 1.0f / (1.0f + exponential(-x));
}
/// Exact for the exponents that models use (2, 3, 0.5); else through double.
PARPLAN_DEVICE float power(float x, float y) {
  return static_cast<float>(
      __builtin_pow(static_cast<double>(x), static_cast<double>(y)));
}
/// Repeated squaring; a negative exponent of an integer gives 0 or +-1.
template <typename T> PARPLAN_DEVICE T power(T x, T y) {
  if (isNegative(y))
    return x == T(1) ? T(1) : x == T(-1) ? T((y & 1) ? -1 : 1) : T(0);
  uint64_t result = 1, base = static_cast<uint64_t>(x);
  for (uint64_t left = static_cast<uint64_t>(y); left > 0;
       left >>= 1, base *= base)
    if (left & 1)
      result *= base;
  return static_cast<T>(result);
}

// --- activations ------------------------------------------------------------

template <typename T> PARPLAN_DEVICE T silu(T x) { return x * sigmoid(x); }
template <typename T> PARPLAN_DEVICE T geluErf(T x) {
  return T(0.5) * x * (T(1) + errorFunction(x * T(0.70710678118654752440)));
}
/// 0.5 x (1 + tanh u) = x / (1 + exp(-2u)).
template <typename T> PARPLAN_DEVICE T geluTanh(T x) {
  const T u = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
  return x * sigmoid(u + u);
}

/// Float to integer as ONNX Cast asks for: towards zero; saturating, and NaN
/// as 0, where C++ leaves the result undefined.
template <typename Integer> PARPLAN_DEVICE Integer truncateTo(double x) {
  constexpr bool isSigned = Integer(-1) < Integer(0);
  constexpr int bits = int(8 * sizeof(Integer)) - isSigned;
  constexpr auto greatest = Integer(~uint64_t(0) >> (64 - bits));
  constexpr auto least = Integer(isSigned ? -greatest - 1 : 0);
  constexpr double end = 2.0 * double(uint64_t(1) << (bits - 1));
  if (x != x)
    return Integer(0);
  if (x >= end)
    return greatest;
  return x <= double(least) ? least : static_cast<Integer>(x);
}

/// The bits of a value as another type of the same size.
template <typename To, typename From> PARPLAN_DEVICE To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_SCALAR_MATH_H
