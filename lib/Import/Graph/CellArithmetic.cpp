//===- CellArithmetic.cpp - Arithmetic on elements of constants -*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/CellArithmetic.h"

#include "lib/Import/Graph/NodeFailure.h"

#include <algorithm>
#include <cmath>

namespace parplan::importer {

static double evaluateReal(OpKind kind, double x) {
  switch (kind) {
  case OpKind::abs:
    return std::fabs(x);
  case OpKind::neg:
    return -x;
  case OpKind::sign:
    return x > 0 ? 1.0 : x < 0 ? -1.0 : x;
  case OpKind::exp:
    return std::exp(x);
  case OpKind::log:
    return std::log(x);
  case OpKind::sqrt:
    return std::sqrt(x);
  case OpKind::reciprocal:
    return 1.0 / x;
  case OpKind::sin:
    return std::sin(x);
  case OpKind::cos:
    return std::cos(x);
  case OpKind::tan:
    return std::tan(x);
  case OpKind::asin:
    return std::asin(x);
  case OpKind::acos:
    return std::acos(x);
  case OpKind::atan:
    return std::atan(x);
  case OpKind::sinh:
    return std::sinh(x);
  case OpKind::cosh:
    return std::cosh(x);
  case OpKind::asinh:
    return std::asinh(x);
  case OpKind::acosh:
    return std::acosh(x);
  case OpKind::atanh:
    return std::atanh(x);
  case OpKind::tanh:
    return std::tanh(x);
  case OpKind::sigmoid:
    return 1.0 / (1.0 + std::exp(-x));
  case OpKind::erf:
    return std::erf(x);
  case OpKind::floor:
    return std::floor(x);
  case OpKind::ceil:
    return std::ceil(x);
  case OpKind::round:
    return std::nearbyint(x);
  case OpKind::relu:
    return x > 0 || std::isnan(x) ? x : 0.0;
  case OpKind::silu:
    return x / (1.0 + std::exp(-x));
  default:
    PARPLAN_UNREACHABLE("no arithmetic for op kind ", int(kind));
  }
}

static int64_t evaluateInteger(OpKind kind, int64_t x) {
  switch (kind) {
  case OpKind::abs:
    return x < 0 ? int64_t(0 - uint64_t(x)) : x;
  case OpKind::neg:
    return int64_t(0 - uint64_t(x));
  case OpKind::sign:
    return x > 0 ? 1 : x < 0 ? -1 : 0;
  case OpKind::relu:
    return std::max<int64_t>(x, 0);
  case OpKind::logicalNot:
    return ~x;
  default:
    PARPLAN_UNREACHABLE("no integer arithmetic for op kind ", int(kind));
  }
}

Cell evaluateUnary(OpKind kind, Cell input, ElementType type,
                   ElementType resultType) {
  Cell result;
  if (kind == OpKind::cast)
    return convertCell(input, type, resultType);
  if (kind == OpKind::bitcast) {
    char bytes[sizeof(Cell)];
    writeCell(input, type, bytes);
    return readCell(bytes, resultType);
  }
  if (kind == OpKind::isNaN)
    result.integer = std::isnan(input.real);
  else if (kind == OpKind::isInf)
    result.integer = std::isinf(input.real);
  else if (isFloat(type))
    result.real = roundToType(evaluateReal(kind, input.real), type);
  else if (type == ElementType::u64 &&
           (kind == OpKind::abs || kind == OpKind::relu))
    result = input;
  else if (type == ElementType::u64 && kind == OpKind::sign)
    result.integer = input.integer != 0;
  else if (isBool(type))
    result.integer = !input.integer; // The only one of bools.
  else
    result.integer = wrapToType(evaluateInteger(kind, input.integer), type);
  return result;
}

static double evaluateReal(OpKind kind, double x, double y) {
  switch (kind) {
  case OpKind::add:
    return x + y;
  case OpKind::sub:
    return x - y;
  case OpKind::mul:
    return x * y;
  case OpKind::div:
    return x / y;
  case OpKind::pow:
    return std::pow(x, y);
  case OpKind::mod:
    return std::fmod(x, y);
  case OpKind::max:
    return std::isnan(x) || x > y ? x : y;
  case OpKind::min:
    return std::isnan(x) || x < y ? x : y;
  default:
    PARPLAN_UNREACHABLE("no arithmetic for op kind ", int(kind));
  }
}

static uint64_t powerUnsigned(uint64_t factor, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return result;
}

static int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  return int64_t(powerUnsigned(uint64_t(base), uint64_t(exponent)));
}

/// Where integers of u64, which are their bits, differ from those of i64.
static std::optional<int64_t> evaluateUnsigned(OpKind kind, uint64_t x,
                                               uint64_t y) {
  switch (kind) {
  case OpKind::div:
  case OpKind::mod:
    if (y == 0)
      failNode(codes::badNode, "division of constants by zero");
    return int64_t(kind == OpKind::div ? x / y : x % y);
  case OpKind::pow:
    return int64_t(powerUnsigned(x, y));
  case OpKind::max:
    return int64_t(std::max(x, y));
  case OpKind::min:
    return int64_t(std::min(x, y));
  default:
    return std::nullopt;
  }
}

static int64_t evaluateInteger(OpKind kind, int64_t x, int64_t y) {
  switch (kind) {
  case OpKind::add:
    return int64_t(uint64_t(x) + uint64_t(y));
  case OpKind::sub:
    return int64_t(uint64_t(x) - uint64_t(y));
  case OpKind::mul:
    return int64_t(uint64_t(x) * uint64_t(y));
  case OpKind::div:
    if (y == 0)
      failNode(codes::badNode, "division of constants by zero");
    return y == -1 ? int64_t(0 - uint64_t(x)) : x / y;
  case OpKind::mod: {
    if (y == 0)
      failNode(codes::badNode, "division of constants by zero");
    int64_t remainder = y == -1 ? 0 : x % y;
    return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y
                                                        : remainder;
  }
  case OpKind::pow:
    return power(x, y);
  case OpKind::max:
    return std::max(x, y);
  case OpKind::min:
    return std::min(x, y);
  case OpKind::logicalAnd:
    return x & y;
  case OpKind::logicalOr:
    return x | y;
  case OpKind::logicalXor:
    return x ^ y;
  default:
    PARPLAN_UNREACHABLE("no integer arithmetic for op kind ", int(kind));
  }
}

template <typename Number>
static bool evaluatePredicate(Predicate predicate, Number x, Number y) {
  switch (predicate) {
  case Predicate::eq:
    return x == y;
  case Predicate::ne:
    return x != y;
  case Predicate::lt:
    return x < y;
  case Predicate::le:
    return x <= y;
  case Predicate::gt:
    return x > y;
  case Predicate::ge:
    return x >= y;
  }
  PARPLAN_UNREACHABLE("no such predicate");
}

Cell evaluateBinary(OpKind kind, Predicate predicate, Cell lhs, Cell rhs,
                    ElementType type) {
  Cell result;
  if (kind == OpKind::compare)
    result.integer =
        isFloat(type) ? evaluatePredicate(predicate, lhs.real, rhs.real)
        : type == ElementType::u64
            ? evaluatePredicate(predicate, uint64_t(lhs.integer),
                                uint64_t(rhs.integer))
            : evaluatePredicate(predicate, lhs.integer, rhs.integer);
  else if (isFloat(type))
    result.real = roundToType(evaluateReal(kind, lhs.real, rhs.real), type);
  else if (std::optional<int64_t> bits =
               type == ElementType::u64
                   ? evaluateUnsigned(kind, lhs.integer, rhs.integer)
                   : std::nullopt)
    result.integer = *bits;
  else
    result.integer =
        wrapToType(evaluateInteger(kind, lhs.integer, rhs.integer), type);
  return result;
}

} // namespace parplan::importer
