//===- ClusterCosts.cpp - Plan costs on a real cluster --------------------===//

#include "parplan/Planner/ClusterCosts.h"

#include "parplan/Cluster/Presets.h"

#include "llvm/ADT/STLExtras.h"

using namespace parplan;

double ClusterCosts::getOpSeconds(const OpCost &cost) const {
  return model.getOpSeconds(cost);
}

double ClusterCosts::getLeastOpSeconds(const OpCost &cost) const {
  return model.getLeastOpSeconds(cost);
}

RankGroup ClusterCosts::getGroup(const Mesh &mesh,
                                 llvm::ArrayRef<int> axes) const {
  // Workers and servers are ranks behind each other, not a grid.
  auto isOfServers = [&](int axis) {
    return mesh.getAxis(axis).role == AxisRole::server;
  };
  bool areServers = llvm::any_of(axes, isOfServers);
  std::vector<int64_t> sizes;
  for (int axis = 0; axis < mesh.getAxisCount(); ++axis)
    sizes.push_back(isOfServers(axis) == areServers ||
                            llvm::is_contained(axes, axis)
                        ? mesh.getAxis(axis).size
                        : 1);
  std::pair<std::vector<int64_t>, std::vector<int>> key = {
      std::move(sizes), {axes.begin(), axes.end()}};
  std::lock_guard<std::mutex> guard(lock);
  auto known = groups.find(key);
  if (known == groups.end()) {
    RankGroup group = model.getCluster().getGroup(key.first, key.second);
    known = groups.emplace(std::move(key), group).first;
  }
  return known->second;
}

double ClusterCosts::getCollectiveSeconds(CollectiveKind kind, const Mesh &mesh,
                                          llvm::ArrayRef<int> axes,
                                          int64_t bytes) const {
  return model.getCollectiveSeconds(kind, getGroup(mesh, axes), bytes);
}

double ClusterCosts::getMessageSeconds(const Mesh &mesh, int axis,
                                       int64_t bytes,
                                       int64_t pieceBytes) const {
  int64_t holders = pieceBytes > 0 ? bytes / pieceBytes : 1;
  return model.getMessageSeconds(getGroup(mesh, {axis}), bytes, holders);
}

double ClusterCosts::getSharing() const {
  const Cluster &cluster = model.getCluster();
  int64_t cores = cluster.description.node.cores;
  int64_t ranks = std::min(cluster.getDevicesPerNode(), cluster.deviceCount);
  return cores == 0 || ranks <= cores
             ? 1
             : static_cast<double>(ranks) / static_cast<double>(cores);
}

double ClusterCosts::getCopySeconds(int64_t bytes) const {
  return model.getCopySeconds(bytes);
}

double ClusterCosts::getTransferSeconds(MemoryTier from, MemoryTier to,
                                        int64_t bytes) const {
  if (from == to)
    return getCopySeconds(bytes);
  double seconds = 0;
  if (from == MemoryTier::device || to == MemoryTier::device)
    seconds += model.getHostCopySeconds(bytes);
  if (from == MemoryTier::nvme || to == MemoryTier::nvme)
    seconds += model.getNvmeSeconds(bytes, to == MemoryTier::nvme);
  return seconds;
}

double ClusterCosts::getHostOpSeconds(const OpCost &cost) const {
  return model.getHostOpSeconds(cost);
}

namespace {

struct OwnModel {
  CostModel model;
};

/// The model is made before the costs that refer to it.
class LoadedCosts : private OwnModel, public ClusterCosts {
public:
  explicit LoadedCosts(Cluster cluster)
      : OwnModel{CostModel(std::move(cluster), Precision::fp32)},
        ClusterCosts(OwnModel::model) {}
};

} // namespace

std::unique_ptr<PlanCosts> parplan::loadCosts(const std::string &nameOrFile,
                                              int64_t devices,
                                              DiagnosticEngine &engine) {
  std::optional<ClusterDescription> description =
      loadCluster(nameOrFile, engine);
  std::optional<Cluster> cluster =
      description ? makeCluster(*description, devices, engine) : std::nullopt;
  if (!cluster)
    return nullptr;
  return std::make_unique<LoadedCosts>(std::move(*cluster));
}
