//===- Quantization.h - Numbers of eight and sixteen bits -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_OPERATORS_QUANTIZATION_H
#define PARPLAN_LIB_IMPORT_OPERATORS_QUANTIZATION_H

#include "lib/Import/Graph/GraphBuilder.h"

namespace parplan::importer {

/// Fails unless QuantizeLinear can give numbers of the type; the least and the
/// greatest of them.
std::pair<double, double> getQuantizedRange(ElementType type);

/// saturate(round(value) + zero) in `type`, of floats; `zero` may be missing.
ValueId saturate(GraphBuilder &builder, ValueId value, ValueId zero,
                 ElementType type);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_OPERATORS_QUANTIZATION_H
