//===- ClusterCosts.cpp - Plan costs on a real cluster --------------------===//

#include "parplan/Planner/ClusterCosts.h"

#include "parplan/Support/Check.h"

using namespace parplan;

CollectiveKind parplan::getCollectiveKind(MoveKind kind) {
  switch (kind) {
  case MoveKind::allGather:
    return CollectiveKind::allGather;
  case MoveKind::allReduce:
    return CollectiveKind::allReduce;
  case MoveKind::reduceScatter:
    return CollectiveKind::reduceScatter;
  case MoveKind::allToAll:
    return CollectiveKind::allToAll;
  case MoveKind::send:
    return CollectiveKind::send;
  case MoveKind::slice:
  case MoveKind::pend:
  case MoveKind::view:
    break;
  }
  checkFailed(__FILE__, __LINE__, "communicates", "a local move has no kind");
}

double ClusterCosts::getOpSeconds(const OpCost &cost) const {
  return model.getOpSeconds(cost);
}

double ClusterCosts::getCollectiveSeconds(MoveKind kind, const Mesh &mesh,
                                          llvm::ArrayRef<int> axes,
                                          int64_t bytes) const {
  std::vector<int64_t> sizes;
  for (const MeshAxis &axis : mesh.getAxes())
    sizes.push_back(axis.size);
  RankGroup group = model.getCluster().getGroup(
      sizes, std::vector<int>(axes.begin(), axes.end()));
  return model.getCollectiveSeconds(getCollectiveKind(kind), group, bytes);
}

double ClusterCosts::getCopySeconds(int64_t bytes) const {
  return model.getCopySeconds(bytes);
}
