//===- NarrowFloat.h - Floats of eight bits and fewer -----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_GRAPH_NARROWFLOAT_H
#define PARPLAN_LIB_IMPORT_GRAPH_NARROWFLOAT_H

#include "lib/Import/Graph/Element.h"

namespace parplan::importer {

/// A sign, `exponentBits` and `mantissaBits`, as IEEE orders them.
struct NarrowFormat {
  /// What the highest codes mean.
  enum class Top : uint8_t {
    infinity, ///< As IEEE: infinities and NaN.
    nan,      ///< The one of all ones is NaN; there are no infinities.
    numbers,  ///< Numbers too. NaN is the code of minus zero, if anywhere.
  };

  int exponentBits, mantissaBits, bias;
  Top top;
  bool hasNaN, hasNegativeZero;
  double greatest;

  int getLeastExponent() const { return 1 - bias; }
};

/// Of a narrow type with a sign: all but f8e8m0, which are powers of two.
NarrowFormat getNarrowFormat(ElementType type);

/// The number that a code of a narrow type is.
double decodeNarrowFloat(unsigned code, ElementType type);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_GRAPH_NARROWFLOAT_H
