//===- SearchSpace.cpp - Meshes, assignments and layouts of a request -----===//

#include "Refusals.h"

#include "parplan/Planner/Decisions.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

using namespace parplan;

using Assignments = std::vector<FactorAssignment>;
using IsWanted = llvm::function_ref<bool(const FactorAssignment &)>;

/// Keeps what is wanted, if anything is; else everything. True in the first
/// case.
static bool keepWanted(Assignments &assignments, IsWanted isWanted) {
  Assignments kept;
  llvm::copy_if(assignments, std::back_inserter(kept), isWanted);
  if (kept.empty())
    return false;
  assignments = std::move(kept);
  return true;
}

/// What products do on a forced grid, the first that is possible. 2D is asked
/// for to save memory: it is the loop over panels where an op can run it.
static llvm::SmallVector<Algorithm, 2>
getGridAlgorithms(const ForcedGrid &grid) {
  switch (grid.kind) {
  case GridKind::grid2d:
    return {Algorithm::summa2d, Algorithm::gather2d};
  case GridKind::grid2_5d:
    return {Algorithm::tensor2_5d, Algorithm::gather2d};
  case GridKind::grid3d:
    return {Algorithm::tensor3d};
  }
  PARPLAN_UNREACHABLE("unknown grid ", static_cast<int>(grid.kind));
}

namespace {

/// What a request allows on one mesh.
class AllowedAssignments {
public:
  AllowedAssignments(const PlanningProblem &problem, const PlanRequest &request,
                     const PlanSpace &space)
      : problem(problem), request(request), mesh(space.mesh),
        axes(getMeshAxes(problem, space)), storable(findStorable(problem)),
        tensorWidth(mesh.getWidth(axes.tensor)) {}

  const MeshAxes &getAxes() const { return axes; }
  std::optional<std::string> getRefusal() const { return refusal; }

  /// The assignments of a leader. Forced expert parallelism exchanges tokens by
  /// all-to-all.
  Assignments get(int leader) {
    const PlanningOp &op = problem.ops[leader];
    Assignments assignments = getAssignments(op, mesh, axes, storable[leader]);
    if (assignments.empty())
      refusal = "node '" + op.node + "' (" + op.type +
                ") is no ring over the " + std::to_string(op.zigzag) +
                " ranks of its zig-zag order";
    bool isForced = forceByName(op, assignments);
    if (!isForced && isBeforeBackward(op.role))
      forceKind(op, assignments);
    if (op.role == OpRole::forward)
      forceSequence(op, assignments);
    if (request.expertSize && routesTokens(op))
      keepWanted(assignments, [&](const FactorAssignment &choice) {
        return choice.axes[op.expertFactor].empty();
      });
    if (storable[leader])
      forceStage(op, assignments);
    return assignments;
  }

private:
  bool isWhole(const FactorAssignment &assignment) const {
    return getTensorWidth(assignment, mesh) == tensorWidth;
  }

  /// What was forced on the node, in place of what is forced on products. The
  /// bias of a product follows it.
  bool forceByName(const PlanningOp &op, Assignments &assignments) {
    bool isForced = false;
    for (const ForcedAlgorithm &forced : request.forcedAlgorithms) {
      if (op.role != OpRole::forward ||
          !matchesGlob(forced.nodeGlob, op.node) ||
          isBeside(op, forced.algorithm))
        continue;
      bool isDone =
          keepWanted(assignments, [&](const FactorAssignment &choice) {
            return doesFully(op, choice, forced.algorithm);
          });
      isForced |= isDone;
      if (!isDone && (!isProduct(op) || isMultiplied(op)))
        refuse(op, forced.algorithm, assignments);
    }
    return isForced;
  }

  /// What the node of an attention or of a product also computes, as the shapes
  /// of heads or rows, does not do what attention or the product does.
  bool isBeside(const PlanningOp &op, Algorithm algorithm) const {
    if (algorithm == Algorithm::replicate || algorithm == Algorithm::local)
      return false;
    bool isOfAttention = algorithm == Algorithm::ring ||
                         algorithm == Algorithm::allToAll ||
                         algorithm == Algorithm::gather;
    auto isMeant = [&](const PlanningOp &other) {
      return isOfAttention ? other.keyFactor >= 0 : isProduct(other);
    };
    return !isMeant(op) &&
           llvm::any_of(problem.ops, [&](const PlanningOp &other) {
             return other.node == op.node && isMeant(other);
           });
  }

  /// Algorithms over tensor axes are over all of them.
  bool doesFully(const PlanningOp &op, const FactorAssignment &choice,
                 Algorithm algorithm) const {
    switch (algorithm) {
    case Algorithm::replicate:
    case Algorithm::ring:
    case Algorithm::allToAll:
    case Algorithm::gather:
    case Algorithm::expert:
      return getAlgorithm(op, choice, mesh) == algorithm;
    default:
      return isWhole(choice) &&
             (getAlgorithm(op, choice, mesh) == algorithm ||
              getTensorAlgorithm(op, choice, mesh) == algorithm);
    }
  }

  void refuse(const PlanningOp &op, Algorithm algorithm,
              const Assignments &assignments) {
    refusal = "node '" + op.node + "' (" + op.type + ") cannot be '" +
              stringifyAlgorithm(algorithm).str() + "' here (" +
              describeMesh(mesh) + ")";
    std::string others;
    for (Algorithm other : allAlgorithms)
      if (llvm::any_of(assignments, [&](const FactorAssignment &choice) {
            return doesFully(op, choice, other);
          }))
        others += (others.empty() ? "'" : ", '") +
                  stringifyAlgorithm(other).str() + "'";
    if (!others.empty())
      *refusal += "; it can be " + others;
    if (algorithm == Algorithm::allToAll && op.headFactor >= 0)
      *refusal += ": it has " +
                  std::to_string(op.rule.factors[op.headFactor].size) +
                  " heads of keys for " +
                  std::to_string(mesh.getWidth(axes.context)) + " ranks";
    if (algorithm == Algorithm::expert && op.expertFactor < 0)
      *refusal += ": it has no experts";
  }

  /// The tensor kind holds for every product for which it is possible, over all
  /// tensor axes; on a grid what lies between follows as far as it can. The
  /// bias of a Gemm is no product: split, it would cost a second call.
  void forceKind(const PlanningOp &op, Assignments &assignments) const {
    if (isMultiplied(op) && request.tensorSize) {
      keepWanted(assignments, [&](const FactorAssignment &choice) {
        Algorithm algorithm = getTensorAlgorithm(op, choice, mesh);
        return isWhole(choice) &&
               (algorithm == Algorithm::row || algorithm == Algorithm::column);
      });
      return;
    }
    if (isMultiplied(op) && request.grid) {
      for (Algorithm algorithm : getGridAlgorithms(*request.grid))
        if (keepWanted(assignments, [&](const FactorAssignment &choice) {
              return isWhole(choice) &&
                     getTensorAlgorithm(op, choice, mesh) == algorithm;
            }))
          return;
      // A group of one rank makes it a grid of fewer dimensions.
      if (keepWanted(assignments, [&](const FactorAssignment &choice) {
            return isWhole(choice);
          }))
        return;
    }
    if (request.grid && op.batchFactor >= 0) {
      int64_t most = 1;
      for (const FactorAssignment &choice : assignments)
        most = std::max(most, getTensorWidth(choice, mesh));
      keepWanted(assignments, [&](const FactorAssignment &choice) {
        return getTensorWidth(choice, mesh) == most;
      });
    }
  }

  /// sp=on: what is no product splits its samples and positions over the tensor
  /// axes, or its last dimension where that is not normalised. sp=off: no
  /// tensor axis is on a sequence.
  void forceSequence(const PlanningOp &op, Assignments &assignments) const {
    if (!request.sequenceParallel || op.sequenceFactor < 0)
      return;
    auto carries = [&](const FactorAssignment &choice, int factor) {
      return llvm::any_of(choice.axes[factor], [&](int axis) {
        return mesh.getAxis(axis).role == AxisRole::tensor;
      });
    };
    if (!*request.sequenceParallel) {
      keepWanted(assignments, [&](const FactorAssignment &choice) {
        return !carries(choice, op.sequenceFactor);
      });
      return;
    }
    if (op.batchFactor < 0 || op.keyFactor >= 0 || isProduct(op))
      return;
    keepWanted(assignments, [&](const FactorAssignment &choice) {
      for (auto [factor, description] : llvm::enumerate(op.rule.factors))
        if (description.kind == FactorKind::coupled &&
            carries(choice, static_cast<int>(factor)))
          return false;
      return isWhole(choice);
    });
  }

  /// Sums of several gradients are left to the costs in stages 2 and 3.
  void forceStage(const PlanningOp &op, Assignments &assignments) const {
    if (!request.zeroStage)
      return;
    bool updates = isUpdate(problem, op);
    int least = updates ? 1 : op.role == OpRole::forward ? 3 : 2;
    bool isStored = *request.zeroStage >= least;
    bool isFree = isStored && op.role == OpRole::gradientSum && !op.accumulates;
    if (!isFree)
      keepWanted(assignments, [&](const FactorAssignment &choice) {
        return choice.storage.empty() != isStored;
      });
  }

  const PlanningProblem &problem;
  const PlanRequest &request;
  const Mesh &mesh;
  MeshAxes axes;
  std::vector<bool> storable;
  int64_t tensorWidth;
  std::optional<std::string> refusal;
};

} // namespace

/// Axes over which the gradients of a leader's results may be read pending by
/// its backward ops: where all of these are linear, a sum of gradients can be
/// reduced later. The empty set comes first.
static llvm::SmallVector<AxisList>
getGradientPendings(const PlanningProblem &problem, const Decision &decision,
                    const FactorAssignment &assignment, const MeshAxes &axes) {
  llvm::SmallVector<AxisList> pendings = {{}};
  const PlanningOp &leader = problem.ops[decision.leader];
  bool isLinear = llvm::all_of(decision.members, [&](int member) {
    return member == decision.leader ||
           problem.ops[member].rule.linearity == Linearity::jointly;
  });
  if (!isBeforeBackward(leader.role) || !isLinear ||
      decision.members.size() < 2)
    return pendings;
  AxisList used;
  for (const AxisList &split : assignment.axes)
    llvm::append_range(used, split);
  auto add = [&](AxisList pending) {
    llvm::erase_if(pending,
                   [&](int axis) { return llvm::is_contained(used, axis); });
    if (!llvm::is_contained(pendings, pending))
      pendings.push_back(std::move(pending));
  };
  AxisList batchAxes;
  if (leader.batchFactor < 0)
    batchAxes = axes.batch;
  add(batchAxes);
  for (size_t count : axes.counts) {
    AxisList first(axes.tensor.begin(), axes.tensor.begin() + count);
    add(first);
    AxisList both = batchAxes;
    llvm::append_range(both, first);
    add(std::move(both));
  }
  return pendings;
}

static bool isLegal(const PlanningProblem &problem, const Decision &decision,
                    llvm::ArrayRef<FactorAssignment> choice, const Mesh &mesh) {
  return llvm::all_of(
      llvm::zip_equal(decision.members, choice), [&](auto pair) {
        auto &[member, assignment] = pair;
        return !verifyAssignment(problem.ops[member].rule, assignment, mesh);
      });
}

/// What all members of a decision may do together.
static std::vector<Assignments> getChoices(const PlanningProblem &problem,
                                           const Decision &decision,
                                           AllowedAssignments &ofLeaders,
                                           const Mesh &mesh) {
  std::vector<Assignments> choices;
  for (const FactorAssignment &assignment : ofLeaders.get(decision.leader))
    for (const AxisList &pending : getGradientPendings(
             problem, decision, assignment, ofLeaders.getAxes())) {
      auto choice = inferMembers(problem, decision, assignment, pending,
                                 ofLeaders.getAxes(), mesh);
      if (isLegal(problem, decision, choice, mesh) &&
          !llvm::is_contained(choices, choice))
        choices.push_back(std::move(choice));
    }
  return choices;
}

std::vector<std::vector<FactorAssignment>> parplan::getAllowedAssignments(
    const PlanningProblem &problem, const PlanRequest &request,
    const PlanSpace &space, std::optional<std::string> &refusal) {
  Decisions decisions = getDecisions(problem);
  return getAllowedAssignments(problem, decisions,
                               findFirstEqual(problem, decisions), request,
                               space, refusal);
}

std::vector<std::vector<FactorAssignment>> parplan::getAllowedAssignments(
    const PlanningProblem &problem, const Decisions &decisions,
    llvm::ArrayRef<int> firstEqual, const PlanRequest &request,
    const PlanSpace &space, std::optional<std::string> &refusal) {
  std::vector<Assignments> allowed(problem.ops.size());
  AllowedAssignments ofLeaders(problem, request, space);
  for (auto [number, decision] : llvm::enumerate(decisions.all)) {
    // What is forced is forced by name, which equal decisions differ in.
    int first = firstEqual[number];
    if (request.forcedAlgorithms.empty() && first < static_cast<int>(number)) {
      for (auto [member, other] :
           llvm::zip_equal(decision.members, decisions.all[first].members))
        allowed[member] = allowed[other];
      continue;
    }
    for (const Assignments &choice :
         getChoices(problem, decision, ofLeaders, space.mesh))
      for (auto [member, assignment] :
           llvm::zip_equal(decision.members, choice))
        allowed[member].push_back(assignment);
  }
  if (ofLeaders.getRefusal())
    refusal = ofLeaders.getRefusal();
  else if (auto fault =
               findImpossibleOnMesh(problem, request, space.mesh, allowed))
    refusal = fault;
  return allowed;
}
