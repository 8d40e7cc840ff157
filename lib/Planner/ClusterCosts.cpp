//===- ClusterCosts.cpp - Plan costs on a real cluster --------------------===//

#include "parplan/Planner/ClusterCosts.h"

using namespace parplan;

double ClusterCosts::getOpSeconds(const OpCost &cost) const {
  return model.getOpSeconds(cost);
}

RankGroup ClusterCosts::getGroup(const Mesh &mesh,
                                 llvm::ArrayRef<int> axes) const {
  std::vector<int64_t> sizes;
  for (const MeshAxis &axis : mesh.getAxes())
    sizes.push_back(axis.size);
  return model.getCluster().getGroup(
      sizes, std::vector<int>(axes.begin(), axes.end()));
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
