//===- AscendingFit.h - Figures that never fall -----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_CLUSTER_ASCENDINGFIT_H
#define PARPLAN_LIB_CLUSTER_ASCENDINGFIT_H

#include <vector>

namespace parplan {

/// The positive figures of which none is below the one before and whose
/// logarithms have the least squares to those measured: isotonic regression. A
/// run that falls gets its geometric mean.
void makeAscending(std::vector<double> &figures);

} // namespace parplan

#endif // PARPLAN_LIB_CLUSTER_ASCENDINGFIT_H
