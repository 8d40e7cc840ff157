//===- Grids.cpp - Cuts of the tensor axes of a mesh ----------------------===//

#include "parplan/Planner/Grids.h"

#include "parplan/Planner/Candidates.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/Sizes.h"

using namespace parplan;

int64_t ForcedGrid::getRankCount() const { return multiplySizes(sizes); }

llvm::SmallVector<int64_t, 3> parplan::getGroupSizes(const ForcedGrid &grid) {
  if (grid.kind == GridKind::grid2_5d)
    return {grid.sizes[2], grid.sizes[0], grid.sizes[1]};
  return grid.sizes;
}

static AxisList join(const AxisList &first, const AxisList &second) {
  AxisList joined = first;
  llvm::append_range(joined, second);
  return joined;
}

llvm::SmallVector<RowsAndColumns, 2>
parplan::getRowsAndColumns(const Grid &grid) {
  const auto &groups = grid.groups;
  switch (grid.kind) {
  case GridKind::grid2d:
    return {{groups[0], groups[1]}};
  case GridKind::grid2_5d:
    return {{join(groups[0], groups[1]), groups[2]}};
  case GridKind::grid3d:
    return {{join(groups[0], groups[2]), groups[1]},
            {join(groups[0], groups[1]), groups[2]}};
  }
  PARPLAN_UNREACHABLE("unknown grid ", static_cast<int>(grid.kind));
}

std::vector<std::pair<AxisList, AxisList>>
parplan::getWeightPairs(const Grid &grid) {
  std::vector<std::pair<AxisList, AxisList>> pairs;
  auto add = [&](AxisList first, AxisList second) {
    pairs.emplace_back(first, second);
    pairs.emplace_back(std::move(second), std::move(first));
  };
  const auto &groups = grid.groups;
  switch (grid.kind) {
  case GridKind::grid2d:
    add(groups[0], groups[1]);
    break;
  case GridKind::grid2_5d:
    add(groups[1], groups[2]);
    add(join(groups[1], groups[0]), groups[2]);
    break;
  case GridKind::grid3d:
    add(join(groups[1], groups[0]), groups[2]);
    add(join(groups[2], groups[0]), groups[1]);
    break;
  }
  return pairs;
}

/// Cuts the tensor axes behind the first `counts[0]`, the next `counts[1]`, ...
static Grid cut(const Mesh &mesh, GridKind kind,
                llvm::ArrayRef<size_t> counts) {
  AxisList axes = getTensorAxes(mesh);
  Grid grid;
  grid.kind = kind;
  auto next = axes.begin();
  for (size_t count : counts) {
    grid.groups.emplace_back(next, next + count);
    next += count;
  }
  return grid;
}

Grid parplan::makeGrid(const Mesh &mesh, const ForcedGrid &forced) {
  llvm::SmallVector<size_t, 3> counts;
  AxisList axes = getTensorAxes(mesh);
  size_t next = 0;
  for (int64_t size : getGroupSizes(forced)) {
    size_t first = next;
    for (int64_t width = 1; width < size; ++next) {
      PARPLAN_CHECK(next < axes.size(), "the mesh has another grid");
      width *= mesh.getAxis(axes[next]).size;
    }
    counts.push_back(next - first);
  }
  return cut(mesh, forced.kind, counts);
}

std::vector<Grid> parplan::getGrids(const Mesh &mesh) {
  size_t count = getTensorAxes(mesh).size();
  std::vector<Grid> grids;
  auto add = [&](GridKind kind, llvm::ArrayRef<size_t> counts) {
    grids.push_back(cut(mesh, kind, counts));
  };
  if (count < 2)
    return grids;
  size_t first = count <= 3 ? 1 : (count + 1) / 2;
  size_t last = count <= 3 ? count - 1 : first;
  for (size_t rows = first; rows <= last; ++rows)
    add(GridKind::grid2d, {rows, count - rows});
  if (count < 3)
    return grids;
  size_t side = (count + 1) / 3;
  add(GridKind::grid2_5d, {count - 2 * side, side, side});
  add(GridKind::grid3d, {(count + 2) / 3, (count + 1) / 3, count / 3});
  return grids;
}
