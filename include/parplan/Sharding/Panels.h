//===- Panels.h - The panels of a dimension ---------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SHARDING_PANELS_H
#define PARPLAN_SHARDING_PANELS_H

#include "parplan/Sharding/Sharding.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace parplan {

/// A range of one dimension that lies inside of one block of each tensor.
struct Panel {
  /// Where the range lies in one tensor.
  struct Place {
    /// The position, in the group along the tensor's axes, that owns it.
    int64_t owner = 0;
    /// Its first element in the owner's block.
    int64_t offset = 0;
  };

  int64_t start = 0;
  int64_t size = 0;
  /// One per axis list.
  llvm::SmallVector<Place, 3> places;
};

/// The panels of a dimension of `size` elements of which each tensor has the
/// blocks that its axes cut (S3, S21): the ranges between the boundaries of all
/// blocks, ascending, each with elements. An empty list is one block.
///
///   6 elements over x=2 and y=3: 0-1, 2, 3, 4-5; not six of lcm(2, 3)
llvm::SmallVector<Interval, 8>
getPanelIntervals(int64_t size, llvm::ArrayRef<AxisList> axesOfTensors,
                  const Mesh &mesh);

/// The same panels, with their places.
llvm::SmallVector<Panel> getPanels(int64_t size,
                                   llvm::ArrayRef<AxisList> axesOfTensors,
                                   const Mesh &mesh);

/// Of a tensor that moves between `ranks` ranks: for how many elements of the
/// dimension each of its slots has room. A rank has a panel in a slot while the
/// panel travels and is multiplied, unless it owns the panel `inPlace`. Panels
/// take two slots in turn, as the next one travels meanwhile; where no rank has
/// two that follow each other in slots, as between two ranks with one panel
/// each, one slot serves all.
llvm::SmallVector<int64_t, 2>
getSlotSizes(llvm::ArrayRef<Panel> panels, size_t tensor, int64_t ranks,
             llvm::function_ref<bool(const Panel &)> inPlace);

} // namespace parplan

#endif // PARPLAN_SHARDING_PANELS_H
