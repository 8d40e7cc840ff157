//===- ProductFit.h - What products of all sizes take -----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_CLUSTER_PRODUCTFIT_H
#define PARPLAN_LIB_CLUSTER_PRODUCTFIT_H

#include <array>
#include <vector>

namespace parplan {

struct MeasuredProduct {
  /// Rows, columns, contracted.
  std::array<double, 3> sizes;
  double seconds;
};

/// 2 (m + a) (n + b) (k + c) / rate.
struct ProductFit {
  double flopsPerSecond = 0;
  std::array<double, 3> overhead = {};
};

/// The fit with the least squares of logarithms; the mean of them and no
/// overhead where too few sizes were measured to tell.
ProductFit fitProducts(const std::vector<MeasuredProduct> &products);

} // namespace parplan

#endif // PARPLAN_LIB_CLUSTER_PRODUCTFIT_H
