//===- PlanCosts.h - Seconds, as the planner asks for them ------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_PLANCOSTS_H
#define PARPLAN_PLANNER_PLANCOSTS_H

#include "parplan/CostModel/Collective.h"
#include "parplan/CostModel/MemoryTier.h"
#include "parplan/Planner/PlanningProblem.h"
#include "parplan/Sharding/Reshard.h"

namespace parplan {

/// The collective that carries out a move that communicates.
CollectiveKind getCollectiveKind(MoveKind kind);

/// Prices the parts of a plan. The planner and the evaluator know no more of a
/// machine; tests plan with costs of their own. Several threads ask at a time.
class PlanCosts {
public:
  virtual ~PlanCosts() = default;

  virtual double getOpSeconds(const OpCost &cost) const = 0;

  /// What equal parts of an op take together at least, however many they are;
  /// one part is the op. 0: nothing is known.
  virtual double getLeastOpSeconds(const OpCost & /*cost*/) const { return 0; }

  /// A collective of `bytes` (in the counting of docs/cli.md) over `axes`.
  virtual double getCollectiveSeconds(CollectiveKind kind, const Mesh &mesh,
                                      llvm::ArrayRef<int> axes,
                                      int64_t bytes) const = 0;
  double getCollectiveSeconds(MoveKind kind, const Mesh &mesh,
                              llvm::ArrayRef<int> axes, int64_t bytes) const {
    return getCollectiveSeconds(getCollectiveKind(kind), mesh, axes, bytes);
  }

  /// A message of every rank to its neighbour on the axis of the pipeline; of
  /// `pieceBytes` if ranks with the same value may send a piece of it each.
  virtual double getMessageSeconds(const Mesh &mesh, int axis, int64_t bytes,
                                   int64_t pieceBytes) const;

  /// A local copy that reads and writes `bytes`.
  virtual double getCopySeconds(int64_t bytes) const = 0;

  /// A transfer between two tiers by one rank, while all other ranks of its
  /// machine do the same. Device and NVMe meet through the host.
  virtual double getTransferSeconds(MemoryTier from, MemoryTier to,
                                    int64_t bytes) const;

  /// An op that the host computes, while all other ranks do the same.
  virtual double getHostOpSeconds(const OpCost &cost) const;

  /// How much faster a rank computes while those that it shares processors with
  /// wait. All other seconds are those beside ranks that compute.
  virtual double getSharing() const { return 1; }

  /// True if a recomputed block is computed again to its end, also what no
  /// gradient reads.
  virtual bool recomputesWholeBlocks() const { return false; }

  /// The computation of an op under an assignment, as often as it runs in a
  /// step; of a loop, panel by panel.
  double getOpSeconds(const PlanningProblem &problem, const PlanningOp &op,
                      const FactorAssignment &assignment,
                      const Mesh &mesh) const;

  /// The communication inside an op, likewise: reductions of what its coupled
  /// factors couple, and the panels of a loop.
  double getInnerSeconds(const PlanningProblem &problem, const PlanningOp &op,
                         const FactorAssignment &assignment,
                         const Mesh &mesh) const;

  /// All moves of a path of a value, as far as they are exposed.
  double getPathSeconds(const ReshardPath &path, const Mesh &mesh,
                        const PlanningValue &value) const;

private:
  double getMoveSeconds(const Move &move, const Mesh &mesh,
                        const PlanningValue &value) const;
};

/// No bucket of more than one gradient is larger: half of it takes half the
/// time, so nothing is left to gain.
inline constexpr int64_t mostBucketBytes = int64_t(1) << 28;

/// Gradient bytes of a bucket: as few as do not make reductions over data,
/// context and expert axes dearer; 0: there are none.
int64_t getBucketBytes(const Mesh &mesh, const PlanCosts &costs);

} // namespace parplan

#endif // PARPLAN_PLANNER_PLANCOSTS_H
