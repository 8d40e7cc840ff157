//===- Grids.h - Tensor axes in two and three dimensions --------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_GRIDS_H
#define PARPLAN_PLANNER_GRIDS_H

#include "parplan/Sharding/Mesh.h"

#include <optional>
#include <vector>

namespace parplan {

enum class GridKind { grid2d, grid2_5d, grid3d };

/// A tensor kind of more than one dimension, forced on all products.
struct ForcedGrid {
  using Kind = GridKind;
  Kind kind = Kind::grid2d;
  /// As `--force` has them: rows, columns; rows, columns, depth; A, B, C.
  llvm::SmallVector<int64_t, 3> sizes;

  int64_t getRankCount() const;
};

/// The sizes of the groups of its `Grid`, in their order.
llvm::SmallVector<int64_t, 3> getGroupSizes(const ForcedGrid &grid);

/// The tensor axes of a mesh, cut into groups, major to minor: rows, columns;
/// depth, rows, columns; A, B, C. A product Y = X W with the factors m (rows of
/// X and Y), k (contracted), n (columns of W and Y) spreads over them as
///
///            factors            X rests       W rests       Y rests
///   2D       m:R n:C | m:R k:C  m:R k:C       k:R n:C       m:R n:C
///   2.5D     the same, m:Z,R    m:Z,R k:C     k:R n:C       m:Z,R n:C
///   3D       m:A k:B n:C        m:A,C k:B     k:B,A n:C     m:A,B n:C
///
/// where 2D and 2.5D may loop over panels of the factor that carries nothing,
/// and the next product in 3D has B and C changed.
struct Grid {
  GridKind kind = GridKind::grid2d;
  llvm::SmallVector<AxisList, 3> groups;

  bool operator==(const Grid &other) const = default;
};

/// Row axes, which split the batch of what lies between two products, and
/// column axes, which split another factor of it.
struct RowsAndColumns {
  AxisList rows, columns;
};

/// (R, C); (Z+R, C); (A+C, B) and (A+B, C).
llvm::SmallVector<RowsAndColumns, 2> getRowsAndColumns(const Grid &grid);

/// Pairs of groups for the two dimensions of a weight at rest, in both orders:
/// what products of this grid read, spread over the axes that they lack.
std::vector<std::pair<AxisList, AxisList>> getWeightPairs(const Grid &grid);

/// The cut that is forced: groups of these sizes. Groups of one rank are empty.
/// The mesh is that of `makeMesh` for the grid.
Grid makeGrid(const Mesh &mesh, const ForcedGrid &forced);

/// The cuts of the tensor axes: all of them in order for up to three axes; for
/// more, one of each kind with groups as equal as possible.
std::vector<Grid> getGrids(const Mesh &mesh);

} // namespace parplan

#endif // PARPLAN_PLANNER_GRIDS_H
