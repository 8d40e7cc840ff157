//===- Mesh.cpp - Named axes over devices ---------------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Sharding/Mesh.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

#include <algorithm>

namespace parplan {

namespace {

struct RoleName {
  AxisRole role;
  const char *name;
};

constexpr RoleName roleNames[] = {
    {AxisRole::data, "data"},         {AxisRole::tensor, "tensor"},
    {AxisRole::sequence, "sequence"}, {AxisRole::context, "context"},
    {AxisRole::expert, "expert"},     {AxisRole::pipeline, "pipeline"},
    {AxisRole::server, "server"}};

constexpr int64_t maxRankCount = (int64_t(1) << 31) - 1;

} // namespace

llvm::StringRef stringifyAxisRole(AxisRole role) {
  for (const RoleName &entry : roleNames)
    if (entry.role == role)
      return entry.name;
  PARPLAN_UNREACHABLE("unknown axis role ", static_cast<int>(role));
}

std::optional<AxisRole> parseAxisRole(llvm::StringRef text) {
  for (const RoleName &entry : roleNames)
    if (text == entry.name)
      return entry.role;
  return std::nullopt;
}

std::optional<std::string> verifyMeshAxes(llvm::ArrayRef<MeshAxis> axes) {
  if (axes.size() > static_cast<size_t>(Mesh::maxAxisCount))
    return concat("a mesh has at most ", Mesh::maxAxisCount, " axes, not ",
                  axes.size());
  int64_t rankCount = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    const MeshAxis &axis = axes[i];
    if (axis.name.empty())
      return concat("axis ", i, " of the mesh has no name");
    for (size_t j = 0; j < i; ++j)
      if (axes[j].name == axis.name)
        return concat("two axes of the mesh are named ", quoteName(axis.name));
    if (axis.size < 1)
      return concat("axis ", quoteName(axis.name), " has size ", axis.size,
                    "; at least 1 is needed");
    if (axis.role == AxisRole::server && i + 1 < axes.size())
      return concat("the axis ", quoteName(axis.name),
                    " of servers is not the last one");
    if (axis.size > maxRankCount / rankCount)
      return concat("the mesh has more than ", maxRankCount, " ranks");
    rankCount *= axis.size;
  }
  return std::nullopt;
}

Mesh::Mesh(std::vector<MeshAxis> axesOfMesh) : axes(std::move(axesOfMesh)) {
  if (std::optional<std::string> fault = verifyMeshAxes(axes))
    PARPLAN_UNREACHABLE(*fault);
  strides.resize(axes.size());
  for (int axis = getAxisCount() - 1; axis >= 0; --axis) {
    strides[axis] = workerCount;
    if (isServerAxis(axis))
      serverCount = axes[axis].size;
    else
      workerCount *= axes[axis].size;
  }
}

std::optional<int> Mesh::findAxis(llvm::StringRef name) const {
  for (int axis = 0; axis < getAxisCount(); ++axis)
    if (axes[axis].name == name)
      return axis;
  return std::nullopt;
}

int64_t Mesh::getWidth(llvm::ArrayRef<int> list) const {
  int64_t workers = 1, servers = 0;
  for (int axis : list)
    if (isServerAxis(axis))
      servers = serverCount;
    else
      workers *= axes[axis].size;
  // Servers alone, or behind the workers.
  return servers > 0 && list.size() == 1 ? servers : workers + servers;
}

int64_t Mesh::getCoordinate(int64_t rank, int axis) const {
  if (serverCount > 0 && (isServer(rank) || isServerAxis(axis)))
    return isServer(rank) && isServerAxis(axis) ? rank - workerCount : 0;
  return rank / strides[axis] % axes[axis].size;
}

int64_t Mesh::getIndex(int64_t rank, llvm::ArrayRef<int> list) const {
  int64_t index = 0;
  for (int axis : list) {
    // The last one of its list: behind the workers.
    if (isServerAxis(axis) && isServer(rank) && list.size() > 1)
      return getWidth(list.drop_back()) + getCoordinate(rank, axis);
    if (!isServerAxis(axis) || list.size() == 1)
      index = index * axes[axis].size + getCoordinate(rank, axis);
  }
  return index;
}

llvm::SmallVector<int64_t> Mesh::getGroup(int64_t rank,
                                          llvm::ArrayRef<int> list) const {
  if (list.empty())
    return {rank};
  AxisList shared;
  bool joinsServers = false;
  for (int axis : list)
    if (isServerAxis(axis))
      joinsServers = true;
    else
      shared.push_back(axis);
  llvm::SmallVector<int64_t> group;
  if (!shared.empty()) {
    int64_t first = isServer(rank) ? 0 : rank;
    for (int axis : shared)
      first -= getCoordinate(first, axis) * strides[axis];
    group = {first};
  }
  for (int axis : shared) {
    llvm::SmallVector<int64_t> wider;
    wider.reserve(group.size() * axes[axis].size);
    for (int64_t member : group)
      for (int64_t i = 0; i < axes[axis].size; ++i)
        wider.push_back(member + i * strides[axis]);
    group = std::move(wider);
  }
  for (int64_t server = 0; joinsServers && server < serverCount; ++server)
    group.push_back(workerCount + server);
  return group;
}

Interval Mesh::getInterval(int64_t size, llvm::ArrayRef<int> list,
                           int64_t rank) const {
  Interval held{0, size};
  int64_t block = size;
  // S3: each axis cuts the padded block that the axes before it left.
  for (int axis : list) {
    block = ceilDivide(block, axes[axis].size);
    held.start =
        std::min(held.start + block * getCoordinate(rank, axis), held.stop);
    held.stop = std::min(held.stop, held.start + block);
  }
  return held;
}

} // namespace parplan
