//===- Panels.cpp - The panels of a dimension -----------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Sharding/Panels.h"

#include "parplan/Sharding/Blocks.h"
#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>

using namespace parplan;

/// The blocks of a dimension, by position in the group along `axes`.
static llvm::SmallVector<Interval>
getBlocks(int64_t size, llvm::ArrayRef<int> axes, const Mesh &mesh) {
  llvm::SmallVector<int64_t> widths;
  for (int axis : axes)
    widths.push_back(mesh.getAxis(axis).size);
  int64_t count = mesh.getWidth(axes);
  llvm::SmallVector<Interval> blocks;
  for (int64_t position = 0; position < count; ++position)
    // Of equal blocks no axis has to be looked at.
    blocks.push_back(size % count == 0
                         ? Interval{position * (size / count),
                                    (position + 1) * (size / count)}
                         : getNestedInterval(size, widths, position));
  return blocks;
}

llvm::SmallVector<Interval, 8>
parplan::getPanelIntervals(int64_t size, llvm::ArrayRef<AxisList> axesOfTensors,
                           const Mesh &mesh) {
  llvm::SmallVector<int64_t> stops = {size};
  for (const AxisList &axes : axesOfTensors)
    for (const Interval &block : getBlocks(size, axes, mesh))
      stops.push_back(block.stop);
  llvm::sort(stops);
  llvm::SmallVector<Interval, 8> panels;
  int64_t start = 0;
  for (int64_t stop : stops) {
    if (stop > start)
      panels.push_back({start, stop});
    start = std::max(start, stop);
  }
  return panels;
}

llvm::SmallVector<Panel>
parplan::getPanels(int64_t size, llvm::ArrayRef<AxisList> axesOfTensors,
                   const Mesh &mesh) {
  llvm::SmallVector<llvm::SmallVector<Interval>> blocks;
  for (const AxisList &axes : axesOfTensors)
    blocks.push_back(getBlocks(size, axes, mesh));
  llvm::SmallVector<Panel> panels;
  for (const Interval &range : getPanelIntervals(size, axesOfTensors, mesh)) {
    Panel &panel = panels.emplace_back();
    panel.start = range.start;
    panel.size = range.stop - range.start;
    for (llvm::ArrayRef<Interval> tensor : blocks) {
      const auto *owner = llvm::find_if(tensor, [&](const Interval &block) {
        return block.start <= panel.start && panel.start < block.stop;
      });
      PARPLAN_CHECK(owner != tensor.end(), "S21: no block has a panel");
      panel.places.push_back(
          {owner - tensor.begin(), panel.start - owner->start});
    }
  }
  return panels;
}

llvm::SmallVector<int64_t, 2>
parplan::getSlotSizes(llvm::ArrayRef<Panel> panels, size_t tensor,
                      int64_t ranks,
                      llvm::function_ref<bool(const Panel &)> inPlace) {
  if (ranks < 2)
    return {};
  bool takesTurns = false;
  for (size_t next = 1; next < panels.size(); ++next) {
    std::set<int64_t> owners;
    for (const Panel &panel : panels.slice(next - 1, 2))
      if (inPlace(panel))
        owners.insert(panel.places[tensor].owner);
    takesTurns |= static_cast<int64_t>(owners.size()) < ranks;
  }
  llvm::SmallVector<int64_t, 2> sizes(takesTurns ? 2 : 1, 0);
  for (auto [number, panel] : llvm::enumerate(panels)) {
    int64_t &size = sizes[number % sizes.size()];
    size = std::max(size, panel.size);
  }
  return sizes;
}
