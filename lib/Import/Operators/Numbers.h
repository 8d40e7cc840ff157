//===- Numbers.h - Indices against the numbers of a dimension ---*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_OPERATORS_NUMBERS_H
#define PARPLAN_LIB_IMPORT_OPERATORS_NUMBERS_H

#include "lib/Import/Graph/GraphBuilder.h"

namespace parplan::importer {

/// `indices` [.., n, ..] compared with the numbers of [.., n, m, ..], where
/// dimension `dim` of the result, behind that of the n, is the m.
ValueId compareWithNumbers(GraphBuilder &builder, ValueId indices, int64_t dim,
                           int64_t size);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_OPERATORS_NUMBERS_H
