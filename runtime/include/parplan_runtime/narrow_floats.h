//===- narrow_floats.h - Storage in bfloat16 and float16 ------------------===//
//
// Types of arrays, not of arithmetic: an element becomes a float where it is
// read, and a float is rounded to nearest, ties to even, where it is stored.
// Conversions have no branches on the host, so that plain loops vectorise.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_NARROW_FLOATS_H
#define PARPLAN_RUNTIME_NARROW_FLOATS_H

#include "parplan_runtime/platform.h"

namespace parplan {
namespace runtime {

namespace detail {

PARPLAN_DEVICE uint32_t patternOf(float value) {
  uint32_t pattern;
  __builtin_memcpy(&pattern, &value, sizeof pattern);
  return pattern;
}
PARPLAN_DEVICE float floatOfPattern(uint32_t pattern) {
  float value;
  __builtin_memcpy(&value, &pattern, sizeof value);
  return value;
}

PARPLAN_DEVICE uint16_t roundToBFloat16(float value) {
#if defined(__CUDA_ARCH__)
  uint16_t result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(value));
  return result;
#else
  const uint32_t pattern = patternOf(value);
  const uint32_t rounded = pattern + 0x7fffu + ((pattern >> 16) & 1u);
  const uint32_t quiet = pattern | 0x400000u; // Rounding could make NaN a zero.
  const bool isNan = (pattern & 0x7fffffffu) > 0x7f800000u;
  return static_cast<uint16_t>((isNan ? quiet : rounded) >> 16);
#endif
}
PARPLAN_DEVICE float widenBFloat16(uint16_t bits) {
  return floatOfPattern(static_cast<uint32_t>(bits) << 16);
}

PARPLAN_DEVICE uint16_t roundToFloat16(float value) {
#if defined(__CUDA_ARCH__)
  uint16_t result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(value));
  return result;
#else
  const uint32_t pattern = patternOf(value);
  const uint32_t sign = pattern & 0x80000000u;
  const uint32_t magnitude = pattern ^ sign;
  // Normal results: a new exponent, and the mantissa rounded by an addition
  // that may carry into the exponent, up to infinity.
  const uint32_t normal =
      (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Denormal results: the addition of 0.5 aligns and rounds the mantissa.
  const uint32_t small =
      patternOf(floatOfPattern(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t finite = magnitude < 0x38800000u ? small : normal;
  const uint32_t result = magnitude >= 0x47800000u ? special : finite;
  return static_cast<uint16_t>(result | (sign >> 16));
#endif
}
PARPLAN_DEVICE float widenFloat16(uint16_t bits) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(bits));
  return result;
#else
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7fffu) << 13;
  const uint32_t exponent = magnitude & 0x0f800000u;
  const uint32_t moved = magnitude + 0x38000000u;
  // Infinity and NaN take the largest exponent. A denormal lies above 2^-14
  // by its value.
  const uint32_t special = moved + 0x38000000u;
  const uint32_t small =
      patternOf(floatOfPattern(moved + 0x00800000u) - 6.103515625e-5f);
  const uint32_t result = exponent == 0x0f800000u ? special
                          : exponent == 0         ? small
                                                  : moved;
  return floatOfPattern(result | sign);
#endif
}

} // namespace detail

struct BFloat16 {
  uint16_t bits;

  BFloat16() = default;
  explicit PARPLAN_DEVICE BFloat16(float value)
      : bits(detail::roundToBFloat16(value)) {}
  PARPLAN_DEVICE operator float() const { return detail::widenBFloat16(bits); }
};

struct Float16 {
  uint16_t bits;

  Float16() = default;
  explicit PARPLAN_DEVICE Float16(float value)
      : bits(detail::roundToFloat16(value)) {}
  PARPLAN_DEVICE operator float() const { return detail::widenFloat16(bits); }
};

namespace detail {
template <typename Element> struct ArithmeticType { using Type = Element; };
template <> struct ArithmeticType<BFloat16> { using Type = float; };
template <> struct ArithmeticType<Float16> { using Type = float; };
} // namespace detail

/// The type that kernels compute in with elements of a type.
template <typename Element>
using Arithmetic = typename detail::ArithmeticType<Element>::Type;

/// Whether elements are only stored.
template <typename Element> constexpr bool isNarrow = false;
template <> constexpr bool isNarrow<BFloat16> = true;
template <> constexpr bool isNarrow<Float16> = true;

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_NARROW_FLOATS_H
