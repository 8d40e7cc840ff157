//===- ClusterCosts.h - Plan costs on a real cluster ------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_CLUSTERCOSTS_H
#define PARPLAN_PLANNER_CLUSTERCOSTS_H

#include "parplan/CostModel/CostModel.h"
#include "parplan/Planner/PlanCosts.h"

#include <memory>
#include <mutex>
#include <string>

namespace parplan {

class DiagnosticEngine;

/// Prices plans by the cost model of a cluster, whose devices are the ranks of
/// the mesh in order. Any thread may ask.
class ClusterCosts : public PlanCosts {
public:
  explicit ClusterCosts(const CostModel &model) : model(model) {}

  using PlanCosts::getCollectiveSeconds;
  using PlanCosts::getOpSeconds;
  double getOpSeconds(const OpCost &cost) const override;
  double getLeastOpSeconds(const OpCost &cost) const override;
  double getCollectiveSeconds(CollectiveKind kind, const Mesh &mesh,
                              llvm::ArrayRef<int> axes,
                              int64_t bytes) const override;
  double getMessageSeconds(const Mesh &mesh, int axis, int64_t bytes,
                           int64_t pieceBytes) const override;
  double getCopySeconds(int64_t bytes) const override;
  double getTransferSeconds(MemoryTier from, MemoryTier to,
                            int64_t bytes) const override;
  double getHostOpSeconds(const OpCost &cost) const override;
  double getSharing() const override;

  bool recomputesWholeBlocks() const override {
    return model.getCluster().description.stack.recomputesWholeBlocks;
  }

private:
  RankGroup getGroup(const Mesh &mesh, llvm::ArrayRef<int> axes) const;

  const CostModel &model;
  mutable std::mutex lock;
  /// By the sizes of a mesh and the axes of a group: to find the worst group
  /// looks at all ranks.
  mutable std::map<std::pair<std::vector<int64_t>, std::vector<int>>, RankGroup>
      groups;
};

/// By what factor passes take estimates of time to be wrong.
inline constexpr double estimateMargin = 2;

/// Costs of `devices` devices of a preset or a cluster file, in fp32; null,
/// with a diagnostic, where there are none.
std::unique_ptr<PlanCosts> loadCosts(const std::string &nameOrFile,
                                     int64_t devices, DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_PLANNER_CLUSTERCOSTS_H
