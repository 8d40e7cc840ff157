//===- ClusterCosts.cpp - Plan costs on a real cluster --------------------===//

#include "parplan/Planner/ClusterCosts.h"

using namespace parplan;

double ClusterCosts::getOpSeconds(const OpCost &cost) const {
  return model.getOpSeconds(cost);
}

double ClusterCosts::getCollectiveSeconds(CollectiveKind kind, const Mesh &mesh,
                                          llvm::ArrayRef<int> axes,
                                          int64_t bytes) const {
  std::vector<int64_t> sizes;
  for (const MeshAxis &axis : mesh.getAxes())
    sizes.push_back(axis.size);
  RankGroup group = model.getCluster().getGroup(
      sizes, std::vector<int>(axes.begin(), axes.end()));
  return model.getCollectiveSeconds(kind, group, bytes);
}

double ClusterCosts::getCopySeconds(int64_t bytes) const {
  return model.getCopySeconds(bytes);
}
