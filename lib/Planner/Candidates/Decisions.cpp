//===- Decisions.cpp - Ops that are decided together ----------------------===//

#include "parplan/Planner/Decisions.h"

#include "parplan/Support/Sizes.h"

#include "lib/Planner/Problem/Contents.h"

#include <map>

using namespace parplan;

Decisions parplan::getDecisions(const PlanningProblem &problem) {
  Decisions decisions;
  std::map<int64_t, int> ofGroup;
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    int number = static_cast<int>(decisions.all.size());
    if (op.group >= 0)
      number = ofGroup.try_emplace(op.group, number).first->second;
    if (number == static_cast<int>(decisions.all.size()))
      decisions.all.emplace_back();
    Decision &decision = decisions.all[number];
    decision.members.push_back(static_cast<int>(index));
    if (op.isLeader)
      decision.leader = static_cast<int>(index);
    decisions.ofOp.push_back(number);
  }
  return decisions;
}

std::vector<int> parplan::findFirstEqual(const PlanningProblem &problem,
                                         const Decisions &decisions) {
  Contents contents = getContents(problem, {});
  std::vector<bool> storable = findStorable(problem);
  std::map<llvm::SmallVector<int, 32>, int> known;
  std::vector<int> first;
  for (auto [number, decision] : llvm::enumerate(decisions.all)) {
    llvm::SmallVector<int, 32> key = {storable[decision.leader]};
    llvm::SmallVector<int, 16> values;
    auto append = [&](int value) {
      auto place = llvm::find(values, value) - values.begin();
      if (place == static_cast<std::ptrdiff_t>(values.size()))
        values.push_back(value);
      key.push_back(static_cast<int>(place));
    };
    for (int member : decision.members) {
      const PlanningOp &op = problem.ops[member];
      key.append({contents.ofOp[member], isUpdate(problem, op)});
      llvm::for_each(op.operands, append);
      llvm::for_each(op.results, append);
    }
    first.push_back(known.try_emplace(std::move(key), static_cast<int>(number))
                        .first->second);
  }
  return first;
}

namespace {

Sharding complete(Sharding sharding) {
  sharding.partial.clear();
  sharding.reduction = ReductionKind::sum;
  return sharding;
}

class Inference {
public:
  Inference(const PlanningProblem &problem, const Decision &decision,
            const FactorAssignment &leader, llvm::ArrayRef<int> pending,
            const MeshAxes &axes, const Mesh &mesh)
      : problem(problem), leader(problem.ops[decision.leader]),
        assignment(leader), pending(pending), axes(axes), mesh(mesh) {
    for (auto [position, operand] : llvm::enumerate(this->leader.operands))
      known[operand] = complete(getUseSharding(this->leader.rule, leader,
                                               static_cast<int>(position)));
    for (auto [position, result] : llvm::enumerate(this->leader.results))
      known[result] = complete(getMadeSharding(this->leader.rule, leader,
                                               static_cast<int>(position)));
  }

  FactorAssignment infer(const PlanningOp &op) {
    std::optional<FactorAssignment> looped = inferLoop(op);
    FactorAssignment inferred = looped ? *looped : inferBlocks(op);
    for (auto [position, result] : llvm::enumerate(op.results))
      known.try_emplace(result, getMadeSharding(op.rule, inferred,
                                                static_cast<int>(position)));
    return inferred;
  }

private:
  /// The leader's factor of the same name and size.
  std::optional<int> findSame(const Factor &factor) const {
    std::optional<int> same = leader.rule.findFactor(factor.name);
    if (same && leader.rule.factors[*same].size != factor.size)
      return std::nullopt;
    return same;
  }

  /// The leader's loop over panels, where the op can run it.
  std::optional<FactorAssignment> inferLoop(const PlanningOp &op) const {
    if (!assignment.panels.exists())
      return std::nullopt;
    FactorAssignment inferred = FactorAssignment::getReplicated(op.rule);
    for (auto [factor, description] : llvm::enumerate(op.rule.factors)) {
      std::optional<int> same = findSame(description);
      if (!same)
        continue;
      inferred.axes[factor] = assignment.axes[*same];
      if (*same == assignment.panels.factor)
        inferred.panels = {static_cast<int>(factor), assignment.panels.axes};
    }
    removeForbiddenAxes(op, inferred);
    if (!inferred.panels.exists() || verifyAssignment(op.rule, inferred, mesh))
      return std::nullopt;
    return inferred;
  }

  FactorAssignment inferBlocks(const PlanningOp &op) const {
    llvm::SmallVector<Sharding> operands;
    for (int operand : op.operands)
      operands.push_back(getLayout(operand));
    limitPending(op, operands);
    FactorAssignment inferred = inferAssignment(op.rule, operands, mesh);
    removeForbiddenAxes(op, inferred);
    takeLeaderAxes(op, inferred);
    // What was removed may have been the major part of a dimension (S10).
    if (verifyAssignment(op.rule, inferred, mesh))
      inferred = FactorAssignment::getReplicated(op.rule);
    return inferred;
  }

  Sharding getLayout(int value) const {
    if (auto it = known.find(value); it != known.end())
      return it->second;
    const PlanningValue &description = problem.values[value];
    // The gradient of a result; of a variable, that of an update's operand.
    for (int result : leader.results) {
      if (problem.values[result].shape != description.shape)
        continue;
      Sharding layout = known.at(result);
      for (int axis : pending)
        if (!llvm::is_contained(layout.getUsedAxes(), axis))
          layout.partial.push_back(axis);
      llvm::sort(layout.partial);
      return layout;
    }
    return getLoadedSharding(description, axes, mesh);
  }

  int64_t getElementCount(int value) const {
    return multiplySizes(problem.values[value].shape);
  }

  /// Leaves pending what all operands of a jointly linear op are pending over,
  /// as long as no result has more elements than a pending operand.
  void limitPending(const PlanningOp &op,
                    llvm::MutableArrayRef<Sharding> operands) const {
    int64_t made = 0;
    for (int result : op.results)
      made = std::max(made, getElementCount(result));
    auto isCommon = [&](int axis) {
      return llvm::all_of(operands, [&](const Sharding &layout) {
        return llvm::is_contained(layout.partial, axis);
      });
    };
    llvm::SmallVector<AxisList> kept;
    for (auto [layout, operand] : llvm::zip_equal(operands, op.operands)) {
      AxisList axes;
      for (int axis : layout.partial)
        if (layout.reduction == ReductionKind::sum &&
            getElementCount(operand) >= made &&
            (op.rule.linearity == Linearity::separately || isCommon(axis)))
          axes.push_back(axis);
      kept.push_back(std::move(axes));
    }
    for (auto [layout, axes] : llvm::zip_equal(operands, kept)) {
      layout.reduction = ReductionKind::sum;
      layout.partial = std::move(axes);
    }
  }

  /// Data axes split the batch and nothing else; members that follow are not
  /// decomposed.
  void removeForbiddenAxes(const PlanningOp &op,
                           FactorAssignment &inferred) const {
    for (size_t factor = 0; factor < inferred.axes.size(); ++factor)
      removeForbiddenAxes(op, static_cast<int>(factor), inferred.axes[factor]);
  }
  void removeForbiddenAxes(const PlanningOp &op, int factor,
                           AxisList &axes) const {
    if (op.rule.factors[factor].kind == FactorKind::coupled)
      axes.clear();
    if (factor != op.batchFactor)
      llvm::erase_if(axes, [&](int axis) {
        return mesh.getAxis(axis).role == AxisRole::data;
      });
  }

  void takeLeaderAxes(const PlanningOp &op, FactorAssignment &inferred) const {
    for (auto [factor, description] : llvm::enumerate(op.rule.factors)) {
      AxisList &own = inferred.axes[factor];
      if (!own.empty())
        continue;
      std::optional<int> same = findSame(description);
      if (!same)
        continue;
      own = assignment.axes[*same];
      removeForbiddenAxes(op, static_cast<int>(factor), own);
      if (!own.empty() && verifyAssignment(op.rule, inferred, mesh))
        own.clear();
    }
  }

  const PlanningProblem &problem;
  const PlanningOp &leader;
  const FactorAssignment &assignment;
  llvm::ArrayRef<int> pending;
  const MeshAxes &axes;
  const Mesh &mesh;
  std::map<int, Sharding> known;
};

} // namespace

std::vector<FactorAssignment>
parplan::inferMembers(const PlanningProblem &problem, const Decision &decision,
                      const FactorAssignment &leader,
                      llvm::ArrayRef<int> pending, const MeshAxes &axes,
                      const Mesh &mesh) {
  Inference inference(problem, decision, leader, pending, axes, mesh);
  std::vector<FactorAssignment> assignments;
  for (int member : decision.members)
    assignments.push_back(member == decision.leader
                              ? leader
                              : inference.infer(problem.ops[member]));
  return assignments;
}
