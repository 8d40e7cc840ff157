//===- Mesh.h - Named axes over devices -------------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SHARDING_MESH_H
#define PARPLAN_SHARDING_MESH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace parplan {

/// What an axis is for. The algebra does not read it, but for `server`; planner
/// and reports do.
enum class AxisRole {
  data,
  tensor,
  sequence,
  context,
  expert,
  pipeline,
  server
};

llvm::StringRef stringifyAxisRole(AxisRole role);
std::optional<AxisRole> parseAxisRole(llvm::StringRef text);

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  AxisRole role = AxisRole::tensor;

  bool operator==(const MeshAxis &other) const = default;
};

/// Positions of axes in their mesh, major to minor.
using AxisList = llvm::SmallVector<int, 2>;

/// Half-open range of indices of one dimension.
struct Interval {
  int64_t start = 0;
  int64_t stop = 0;

  int64_t size() const { return stop - start; }
  bool operator==(const Interval &other) const = default;
};

/// Checks that names are not empty and distinct, that sizes are positive, that
/// only the last axis has the role `server`, that there are at most
/// `Mesh::maxAxisCount` axes and that there are less than 2^31 ranks.
/// Returns what is violated, or nullopt.
std::optional<std::string> verifyMeshAxes(llvm::ArrayRef<MeshAxis> axes);

/// Named axes with sizes. A rank is one coordinate per axis; the last axis
/// varies fastest.
///
/// Example: x=2, y=3 has the ranks (0,0) (0,1) (0,2) (1,0) (1,1) (1,2). Rank 4
/// is the second along y, and its group along {x} is 1, 4.
///
/// Servers stand beside the workers, not among them: an axis with the role
/// `server` has ranks of its own behind those of the other axes. They have
/// coordinate 0 on the other axes, and workers have 0 on theirs; a group over
/// both kinds of axes are the workers, then all servers.
///
/// Example: dp=3, ps=2 (server) has the workers 0, 1, 2 and the servers 3, 4.
class Mesh {
public:
  static constexpr int maxAxisCount = 32;

  Mesh() = default;
  /// `axes` obey `verifyMeshAxes`.
  explicit Mesh(std::vector<MeshAxis> axes);

  llvm::ArrayRef<MeshAxis> getAxes() const { return axes; }
  const MeshAxis &getAxis(int axis) const { return axes[axis]; }
  int getAxisCount() const { return static_cast<int>(axes.size()); }
  std::optional<int> findAxis(llvm::StringRef name) const;

  /// Product of all axis sizes, but that of servers, which is added.
  int64_t getRankCount() const { return workerCount + serverCount; }
  /// The ranks before those of servers.
  int64_t getWorkerCount() const { return workerCount; }
  /// 0 without an axis of servers.
  int64_t getServerCount() const { return serverCount; }
  bool isServer(int64_t rank) const { return rank >= workerCount; }

  /// The ranks of a group over `list`: the product of the sizes, 1 for an empty
  /// list; servers are added to others.
  int64_t getWidth(llvm::ArrayRef<int> list) const;

  int64_t getCoordinate(int64_t rank, int axis) const;

  /// Position of `rank` along `list`, major to minor.
  int64_t getIndex(int64_t rank, llvm::ArrayRef<int> list) const;

  /// Ranks that differ from `rank` on `list` only, ordered by
  /// `getIndex(., list)`.
  llvm::SmallVector<int64_t> getGroup(int64_t rank,
                                      llvm::ArrayRef<int> list) const;

  /// The block of a dimension of `size` elements that `rank` holds when `list`
  /// splits it: nested ceilings, one axis after the other (S3). Five elements
  /// over x=2, y=2 are 0-1, 2, 3-4 and none. Empty blocks start where they
  /// stop.
  Interval getInterval(int64_t size, llvm::ArrayRef<int> list,
                       int64_t rank) const;

  bool operator==(const Mesh &other) const { return axes == other.axes; }

private:
  bool isServerAxis(int axis) const {
    return axes[axis].role == AxisRole::server;
  }

  std::vector<MeshAxis> axes;
  /// Distance between two ranks that are neighbours along each axis.
  llvm::SmallVector<int64_t, 8> strides;
  int64_t workerCount = 1;
  int64_t serverCount = 0;
};

/// ceil(dividend / divisor) for non-negative dividend and positive divisor.
inline int64_t ceilDivide(int64_t dividend, int64_t divisor) {
  return dividend / divisor + (dividend % divisor != 0);
}

} // namespace parplan

#endif // PARPLAN_SHARDING_MESH_H
