//===- UnitOracles.h - Oracles of the units of a real model -----*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_UNITORACLES_H
#define PARPLAN_PLANNER_UNITORACLES_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanRequest.h"
#include "parplan/Planner/UnitModel.h"

namespace parplan {

/// The modes of `BlockPlan`.
enum class UnitMode {
  keep,
  /// Copies in other layouts are made again for the backward pass.
  gatherAgain,
  /// Of the ops that are no products those whose operands are kept anyway:
  /// without attention, attention alone, both.
  cheap,
  attention,
  selective,
  /// All that a unit does not hand on, and copies.
  full,
};
constexpr int unitModeCount = 6;

/// The modes that a request leaves open.
std::vector<UnitMode> getAllowedModes(const PlanRequest &request);

/// What an op may do, and what each choice takes. Refers to what oracles keep.
struct OpChoices {
  llvm::ArrayRef<FactorAssignment> assignments;
  llvm::ArrayRef<double> secondsOfRun;
  /// Of a step.
  double runs = 1;

  size_t size() const { return assignments.size(); }
  double getSeconds(size_t choice) const { return runs * secondsOfRun[choice]; }
};

/// The share of what the ops of one step take that those of another, in more
/// micro-batches, take at least, whatever both choose; at most 1. 0: the other
/// has other choices.
double getLeastShare(llvm::ArrayRef<OpChoices> whole,
                     llvm::ArrayRef<OpChoices> parts);

/// The same but for some seconds of a step per op, which may be much of what
/// little ops take.
struct PartBound {
  double share = 0;
  std::vector<double> lackSeconds;
};
PartBound boundParts(llvm::ArrayRef<OpChoices> whole,
                     llvm::ArrayRef<OpChoices> parts);

/// What the costs of units cover; those of a part are a bound.
enum class UnitScope {
  all,
  /// Ops and values that have samples.
  samples,
  /// Values that have none: parameters, states, their gradients and casts. In
  /// the first mode that is allowed, which takes no longer than the others, but
  /// may have more bytes of passes. Boundaries and choices are of no plan.
  variables,
};
constexpr int unitScopeCount = 3;

/// What oracles found out about one mesh and may share: costs of reshards, and
/// what became of equal tables. What has no samples has equal ones whatever the
/// number of micro-batches. All of them ask about one model. Any thread may use
/// it.
struct MeshKnowledge;
std::shared_ptr<MeshKnowledge> makeMeshKnowledge(const Mesh &mesh,
                                                 const PlanCosts &costs);

/// The oracles of a model on one mesh, which outlives them, as do the costs.
/// They are made when they are first asked for.
class UnitOracles {
public:
  /// `known` is of the mesh of `space`, `joined` of the mesh `joinReplicaAxes`
  /// of that; null: nothing is shared.
  UnitOracles(const UnitModel &model, const PlanRequest &request,
              const PlanSpace &space, const PlanCosts &costs,
              std::shared_ptr<MeshKnowledge> known = nullptr,
              std::shared_ptr<MeshKnowledge> joined = nullptr);
  ~UnitOracles();

  /// Makes now what is else made when somebody asks. Any thread may, while the
  /// one that asks goes on.
  void prepare(UnitScope scope);

  /// Why there is no plan; nothing else may be asked then.
  std::optional<std::string> getRefusal() const;

  /// Runs of equal units are one entry.
  std::vector<SearchUnit> getUnits(UnitScope scope = UnitScope::all);
  /// See `SpaceModel`.
  void forget();

  /// See `SpaceModel`: units that read one variable, or add up one gradient,
  /// have it in the layout for which all of them are charged least.
  std::vector<BlockPlan> agree(std::vector<BlockPlan> plans,
                               llvm::ArrayRef<Weights> weights);

  /// The plan on one position: layouts, what is recomputed and gathered again.
  /// One plan per unit, whose boundaries agree. What is in no unit, and what
  /// several units read, lies for the fewest seconds.
  PlanningAnswer getAnswer(llvm::ArrayRef<BlockPlan> plans);

  /// Of a rank whatever the plan.
  double getFixedBytes() const;

  /// Bytes of a rank that cross the boundary behind a unit in a state, forward
  /// and backward, for one micro-batch.
  std::pair<int64_t, int64_t> getMessageBytes(int unit, int state) const;

  /// Per entry of `getUnits` what every plan costs at least, component by
  /// component, from ops and parameters alone: cheap, without oracles.
  std::vector<CostVector> getLeastOpCosts();
  /// Per op of the units, as long as the oracles stay.
  std::vector<OpChoices> getChoices() const;
  /// Per entry of `getUnits` what so many seconds of a step per op come to.
  std::vector<CostVector> sumByUnits(llvm::ArrayRef<double> secondsOfOps) const;

private:
  struct Storage;
  std::unique_ptr<Storage> storage;
};

} // namespace parplan

#endif // PARPLAN_PLANNER_UNITORACLES_H
