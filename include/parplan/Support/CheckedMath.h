//===- CheckedMath.h - Arithmetic that says when it overflows ---*- C++ -*-===//
//
// Part of parplan. Every size that comes from a file goes through these.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SUPPORT_CHECKEDMATH_H
#define PARPLAN_SUPPORT_CHECKEDMATH_H

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace parplan {

template <std::integral Integer>
std::optional<Integer> checkedAdd(Integer left,
                                  std::type_identity_t<Integer> right) {
  Integer result;
  if (__builtin_add_overflow(left, right, &result))
    return std::nullopt;
  return result;
}

template <std::integral Integer>
std::optional<Integer> checkedSubtract(Integer left,
                                       std::type_identity_t<Integer> right) {
  Integer result;
  if (__builtin_sub_overflow(left, right, &result))
    return std::nullopt;
  return result;
}

template <std::integral Integer>
std::optional<Integer> checkedMultiply(Integer left,
                                       std::type_identity_t<Integer> right) {
  Integer result;
  if (__builtin_mul_overflow(left, right, &result))
    return std::nullopt;
  return result;
}

/// Rounded towards zero; none for a zero divisor and for minimum / -1.
template <std::integral Integer>
std::optional<Integer> checkedDivide(Integer dividend,
                                     std::type_identity_t<Integer> divisor) {
  if (divisor == 0)
    return std::nullopt;
  if constexpr (std::is_signed_v<Integer>)
    if (divisor == -1)
      return checkedSubtract(Integer{0}, dividend);
  return dividend / divisor;
}

/// Product of a range of non-negative sizes; 1 for an empty range. None if a
/// size is negative or the product overflows, also when another size is 0: the
/// order of the sizes does not matter.
template <typename Range>
std::optional<int64_t> checkedProduct(const Range &sizes) {
  int64_t product = 1;
  bool hasZero = false;
  for (int64_t size : sizes) {
    if (size < 0)
      return std::nullopt;
    if (size == 0) {
      hasZero = true;
      continue;
    }
    std::optional<int64_t> next = checkedMultiply(product, size);
    if (!next)
      return std::nullopt;
    product = *next;
  }
  return hasZero ? 0 : product;
}

/// The least multiple of the positive `alignment` that is at least the
/// non-negative `value`.
inline std::optional<int64_t> checkedAlign(int64_t value, int64_t alignment) {
  if (value < 0 || alignment <= 0)
    return std::nullopt;
  std::optional<int64_t> raised = checkedAdd(value, alignment - 1);
  if (!raised)
    return std::nullopt;
  return *raised / alignment * alignment;
}

} // namespace parplan

#endif // PARPLAN_SUPPORT_CHECKEDMATH_H
