//===- Panels.h - The panels of a dimension ---------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SHARDING_PANELS_H
#define PARPLAN_SHARDING_PANELS_H

#include "parplan/Sharding/Sharding.h"

namespace parplan {

/// The panels of a dimension of `size` elements of which each tensor has the
/// blocks that its axes cut (S3, S21): the ranges between the boundaries of all
/// blocks, ascending, each with elements. An empty list is one block.
///
///   6 elements over x=2 and y=3: 0-1, 2, 3, 4-5; not six of lcm(2, 3)
llvm::SmallVector<Interval, 8>
getPanelIntervals(int64_t size, llvm::ArrayRef<AxisList> axesOfTensors,
                  const Mesh &mesh);

} // namespace parplan

#endif // PARPLAN_SHARDING_PANELS_H
