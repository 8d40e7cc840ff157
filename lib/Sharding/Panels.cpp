//===- Panels.cpp - The panels of a dimension -----------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Sharding/Panels.h"

#include "parplan/Sharding/Blocks.h"

#include <algorithm>
#include <set>

using namespace parplan;

llvm::SmallVector<Interval, 8>
parplan::getPanelIntervals(int64_t size, llvm::ArrayRef<AxisList> axesOfTensors,
                           const Mesh &mesh) {
  std::set<int64_t> stops = {size};
  for (const AxisList &axes : axesOfTensors) {
    llvm::SmallVector<int64_t> widths;
    for (int axis : axes)
      widths.push_back(mesh.getAxis(axis).size);
    for (int64_t index = 0; index < mesh.getWidth(axes); ++index)
      stops.insert(getNestedInterval(size, widths, index).stop);
  }
  llvm::SmallVector<Interval, 8> panels;
  int64_t start = 0;
  for (int64_t stop : stops) {
    if (stop > start)
      panels.push_back({start, stop});
    start = std::max(start, stop);
  }
  return panels;
}
