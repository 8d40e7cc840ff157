//===- JoinedMesh.cpp - Meshes that are one to variables ------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "JoinedMesh.h"

#include "parplan/Planner/Candidates.h"

using namespace parplan;

static llvm::SmallVector<AxisList> getJoinedAxes(const Mesh &mesh) {
  AxisList replicas = getDataAxes(mesh);
  llvm::SmallVector<AxisList> joined;
  if (replicas.size() > 1) {
    joined.push_back({replicas.front()});
    replicas.erase(replicas.begin());
  }
  llvm::append_range(replicas, getAxes(mesh, AxisRole::context));
  if (!replicas.empty())
    joined.push_back(replicas);
  for (int axis = 0; axis < mesh.getAxisCount(); ++axis)
    if (AxisRole role = mesh.getAxis(axis).role;
        role != AxisRole::data && role != AxisRole::context)
      joined.push_back({axis});
  return joined;
}

Mesh parplan::joinReplicaAxes(const Mesh &mesh) {
  std::vector<MeshAxis> axes;
  for (const AxisList &joined : getJoinedAxes(mesh)) {
    MeshAxis axis = mesh.getAxis(joined.front());
    axis.size = mesh.getWidth(joined);
    if (axis.role == AxisRole::data || axis.role == AxisRole::context) {
      axis.role = AxisRole::data;
      axis.name = "dp" + std::to_string(axes.size());
    }
    axes.push_back(std::move(axis));
  }
  return Mesh(std::move(axes));
}

LayoutJoiner::LayoutJoiner(LayoutTable &layouts, LayoutTable &joined)
    : layouts(layouts), joined(joined), axes(getJoinedAxes(layouts.getMesh())) {
}

std::optional<int> LayoutJoiner::join(int layout) {
  auto [known, isNew] = numbers.try_emplace(layout, std::nullopt);
  if (isNew)
    if (std::optional<Sharding> sharding = join(layouts.get(layout)))
      known->second = joined.intern(*sharding);
  return known->second;
}

std::optional<Sharding> LayoutJoiner::join(Sharding sharding) const {
  for (AxisList &list : sharding.dims)
    if (!replace(list, /*isOfDimension=*/true))
      return std::nullopt;
  for (AxisList *list : {&sharding.storage, &sharding.partial})
    if (!replace(*list, /*isOfDimension=*/false))
      return std::nullopt;
  return sharding;
}

bool LayoutJoiner::replace(AxisList &list, bool isOfDimension) const {
  AxisList replaced;
  llvm::ArrayRef<int> left = list;
  while (!left.empty()) {
    const auto *found = llvm::find_if(axes, [&](const AxisList &group) {
      return group.front() == left.front();
    });
    if (found == axes.end() || (isOfDimension && found->size() > 1) ||
        left.size() < found->size() ||
        left.take_front(found->size()) != llvm::ArrayRef(*found))
      return false;
    replaced.push_back(static_cast<int>(found - axes.begin()));
    left = left.drop_front(found->size());
  }
  list = std::move(replaced);
  return true;
}
