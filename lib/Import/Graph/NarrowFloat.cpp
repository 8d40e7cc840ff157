//===- NarrowFloat.cpp - Floats of eight bits and fewer --------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/NarrowFloat.h"

#include "parplan/Support/Check.h"

#include <cmath>
#include <limits>

namespace parplan::importer {

NarrowFormat getNarrowFormat(ElementType type) {
  using Top = NarrowFormat::Top;
  switch (type) {
  case ElementType::f8e4m3fn:
    return {4, 3, 7, Top::nan, true, true, 448};
  case ElementType::f8e4m3fnuz:
    return {4, 3, 8, Top::numbers, true, false, 240};
  case ElementType::f8e5m2:
    return {5, 2, 15, Top::infinity, true, true, 57344};
  case ElementType::f8e5m2fnuz:
    return {5, 2, 16, Top::numbers, true, false, 57344};
  case ElementType::f4e2m1:
    return {2, 1, 1, Top::numbers, false, true, 6};
  default:
    PARPLAN_UNREACHABLE(printElementType(type), " has no sign or is wide");
  }
}

double decodeNarrowFloat(unsigned code, ElementType type) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (type == ElementType::f8e8m0)
    return code == 255 ? nan : std::ldexp(1.0, int(code) - 127);
  NarrowFormat format = getNarrowFormat(type);
  unsigned signBit = 1u << (format.exponentBits + format.mantissaBits);
  if (!format.hasNegativeZero && code == signBit)
    return nan;
  unsigned magnitude = code & (signBit - 1);
  unsigned fraction = magnitude & ((1u << format.mantissaBits) - 1);
  int exponent = int(magnitude >> format.mantissaBits);
  bool isTop = exponent == (1 << format.exponentBits) - 1;
  double value;
  if (isTop && format.top == NarrowFormat::Top::infinity)
    value = fraction ? nan : std::numeric_limits<double>::infinity();
  else if (magnitude == signBit - 1 && format.top == NarrowFormat::Top::nan)
    value = nan;
  else if (exponent == 0)
    value = std::ldexp(double(fraction),
                       format.getLeastExponent() - format.mantissaBits);
  else
    value = std::ldexp(double(fraction + (1u << format.mantissaBits)),
                       exponent - format.bias - format.mantissaBits);
  return code & signBit ? -value : value;
}

} // namespace parplan::importer
