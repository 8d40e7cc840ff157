//===- AscendingFit.h - Figures that never fall -----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_CLUSTER_ASCENDINGFIT_H
#define PARPLAN_LIB_CLUSTER_ASCENDINGFIT_H

#include <vector>

namespace parplan {

/// The figures with the least squares to those measured of which none is below
/// the one before: isotonic regression. What falls gets the mean of its
/// neighbours.
void makeAscending(std::vector<double> &figures);

} // namespace parplan

#endif // PARPLAN_LIB_CLUSTER_ASCENDINGFIT_H
