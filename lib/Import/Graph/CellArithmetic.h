//===- CellArithmetic.h - Arithmetic on elements of constants ---*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_GRAPH_CELLARITHMETIC_H
#define PARPLAN_LIB_IMPORT_GRAPH_CELLARITHMETIC_H

#include "lib/Import/Graph/Graph.h"

namespace parplan::importer {

/// Applies an op of one operand, casts included.
Cell evaluateUnary(OpKind kind, Cell input, ElementType type,
                   ElementType resultType);

/// Applies an op of two operands of `type`. Integer division by zero is a
/// NodeFailure.
Cell evaluateBinary(OpKind kind, Predicate predicate, Cell lhs, Cell rhs,
                    ElementType type);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_GRAPH_CELLARITHMETIC_H
