//===- Panels.h - The panels of a product -----------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_PANELS_H
#define PARPLAN_DIALECTS_PARPLAN_PANELS_H

#include "dialects/parplan/ParplanOps.h"

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
/// blocks that its axes cut (S3): the ranges between the boundaries of all
/// blocks, ascending. What lies past `size` is in none. An empty list is one
/// block.
///
///   6 elements over x=2 and y=3: 0-1, 2, 3, 4-5; not six of lcm(2, 3)
llvm::SmallVector<Panel> getPanels(int64_t size,
                                   llvm::ArrayRef<AxisList> axesOfTensors,
                                   const Mesh &mesh);

/// The panels of a product; places are those of operands and result. A tensor
/// without the letter has a place that means nothing.
llvm::SmallVector<Panel> getPanels(PanelMatmulOp op, const Mesh &mesh);

/// Where `tensor` (0, 1, or 2 for the result) has the panel letter.
std::optional<unsigned> findPanelDim(PanelMatmulOp op, unsigned tensor);

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_PANELS_H
