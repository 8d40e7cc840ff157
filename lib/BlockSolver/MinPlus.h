//===- MinPlus.h - The inner loop: minima over rows of tables ---*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_BLOCKSOLVER_MINPLUS_H
#define PARPLAN_LIB_BLOCKSOLVER_MINPLUS_H

#include "parplan/BlockSolver/Solver.h"

namespace parplan::block {

/// out[column] = min over rows of table[row * columns + column] + offsets[row].
/// `columns` is a multiple of `Graph::lanes`, `rows` is positive. Only adds and
/// compares, each entry by itself, so that all versions give the same bits.
using MinPlus = void (*)(double *out, const double *table,
                         const double *offsets, int rows, int columns);

/// The version for a kernel; `best`: the fastest that this processor has.
/// Where it has no AVX-512, all are the generic one.
MinPlus getMinPlus(Kernel kernel);

} // namespace parplan::block

#endif // PARPLAN_LIB_BLOCKSOLVER_MINPLUS_H
