//===- Fraction.h - Exact shares ------------------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_STRATEGIES_FRACTION_H
#define PARPLAN_TEST_UNIT_STRATEGIES_FRACTION_H

#include <cstdint>
#include <numeric>
#include <ostream>

namespace parplan::test {

/// A quotient in lowest terms, so that formulas can be written as they are
/// published and compared exactly.
class Fraction {
public:
  Fraction(int64_t value = 0) : Fraction(value, 1) {}
  /// `divisor` is positive.
  Fraction(int64_t dividend, int64_t divisor)
      : above(dividend / std::gcd(dividend, divisor)),
        below(divisor / std::gcd(dividend, divisor)) {}

  friend Fraction operator+(Fraction left, Fraction right) {
    return {left.above * right.below + right.above * left.below,
            left.below * right.below};
  }
  friend Fraction operator*(Fraction left, Fraction right) {
    return {left.above * right.above, left.below * right.below};
  }
  Fraction &operator+=(Fraction other) { return *this = *this + other; }
  bool operator==(const Fraction &other) const = default;

  friend std::ostream &operator<<(std::ostream &stream, Fraction value) {
    stream << value.above;
    return value.below == 1 ? stream : stream << "/" << value.below;
  }

private:
  int64_t above, below;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_STRATEGIES_FRACTION_H
