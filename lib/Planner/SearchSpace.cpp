//===- SearchSpace.cpp - Meshes, assignments and layouts of a request -----===//

#include "parplan/Planner/Decisions.h"
#include "parplan/Planner/Solver.h"
#include "parplan/Support/Text.h"

using namespace parplan;

/// How many data-parallel ranks of one tensor-parallel group are in a node,
/// where that makes an axis of its own.
static int64_t getInnerData(const PlanningProblem &problem,
                            const PlanRequest &request, int64_t tensor) {
  bool spansNodes = request.devicesPerNode > 0 &&
                    request.devicesPerNode < request.deviceCount;
  if (!isTraining(problem) || !spansNodes ||
      request.devicesPerNode % tensor != 0)
    return 1;
  return request.devicesPerNode / tensor;
}

std::vector<Mesh> parplan::getMeshes(const PlanningProblem &problem,
                                     const PlanRequest &request) {
  std::vector<Mesh> meshes;
  for (int64_t tensor = 1; tensor <= request.deviceCount; ++tensor) {
    if (request.deviceCount % tensor != 0)
      continue;
    int64_t data = request.deviceCount / tensor;
    if (request.dataSize.value_or(data) == data &&
        request.tensorSize.value_or(tensor) == tensor)
      meshes.push_back(
          makeMesh(data, tensor, getInnerData(problem, request, tensor)));
  }
  return meshes;
}

/// Keeps the assignments that do `algorithm` on all tensor axes.
static std::vector<FactorAssignment>
filterAssignments(const PlanningOp &op, const Mesh &mesh,
                  llvm::ArrayRef<FactorAssignment> assignments,
                  llvm::function_ref<bool(Algorithm)> isWanted) {
  std::vector<FactorAssignment> kept;
  for (const FactorAssignment &assignment : assignments) {
    Algorithm algorithm = getAlgorithm(op, assignment, mesh);
    if (!isWanted(algorithm))
      continue;
    int64_t tensorAxes = 0, usedAxes = 0;
    for (const MeshAxis &axis : mesh.getAxes())
      tensorAxes += axis.role != AxisRole::data;
    for (const AxisList &axes : assignment.axes)
      usedAxes += llvm::count_if(axes, [&](int axis) {
        return mesh.getAxis(axis).role != AxisRole::data;
      });
    if (algorithm == Algorithm::replicate || usedAxes == tensorAxes)
      kept.push_back(assignment);
  }
  return kept;
}

static bool hasContraction(const PlanningOp &op) {
  return llvm::any_of(op.rule.factors, [](const Factor &factor) {
    return factor.kind == FactorKind::reduceSum;
  });
}

/// The assignments of a leader that the request allows.
static std::vector<FactorAssignment>
getLeaderAssignments(const PlanningProblem &problem, const PlanningOp &op,
                     const PlanRequest &request, const Mesh &mesh,
                     llvm::ArrayRef<size_t> axisCounts, bool isStorable,
                     std::optional<std::string> &refusal) {
  std::vector<FactorAssignment> assignments =
      getAssignments(op, mesh, axisCounts, isStorable);
  // The bias of a Gemm is no product: split, it would cost a second call.
  if (request.tensorSize && isProduct(op) && hasContraction(op)) {
    auto kept = filterAssignments(op, mesh, assignments, [](Algorithm a) {
      return a == Algorithm::row || a == Algorithm::column;
    });
    if (!kept.empty())
      assignments = std::move(kept);
  }
  for (const ForcedAlgorithm &forced : request.forcedAlgorithms) {
    if (op.role != OpRole::forward || !matchesGlob(forced.nodeGlob, op.node))
      continue;
    auto kept =
        filterAssignments(op, mesh, getAssignments(op, mesh, axisCounts),
                          [&](Algorithm a) { return a == forced.algorithm; });
    if (kept.empty() && isProduct(op) && !hasContraction(op))
      continue; // The bias of a product follows it.
    if (kept.empty())
      refusal = "node '" + op.node + "' (" + op.type + ") cannot be '" +
                stringifyAlgorithm(forced.algorithm).str() + "' here";
    else
      assignments = std::move(kept);
  }
  if (request.zeroStage && isStorable) {
    // Sums of several gradients are left to the costs in stages 2 and 3.
    bool updates = isUpdate(problem, op);
    int least = updates ? 1 : op.role == OpRole::forward ? 3 : 2;
    bool isStored = *request.zeroStage >= least;
    bool isFree = isStored && op.role == OpRole::gradientSum && !op.accumulates;
    std::vector<FactorAssignment> kept;
    for (const FactorAssignment &assignment : assignments)
      if (isFree || assignment.storage.empty() != isStored)
        kept.push_back(assignment);
    if (!kept.empty())
      assignments = std::move(kept);
  }
  return assignments;
}

/// Axes over which the gradients of a leader's results may be read pending by
/// its backward ops: where all of these are linear, a sum of gradients can be
/// reduced later. The empty set comes first.
static llvm::SmallVector<AxisList>
getGradientPendings(const PlanningProblem &problem, const Decision &decision,
                    const FactorAssignment &assignment, const Mesh &mesh,
                    llvm::ArrayRef<size_t> axisCounts) {
  llvm::SmallVector<AxisList> pendings = {{}};
  const PlanningOp &leader = problem.ops[decision.leader];
  bool isLinear = llvm::all_of(decision.members, [&](int member) {
    return member == decision.leader ||
           problem.ops[member].rule.linearity == Linearity::jointly;
  });
  if (!isBeforeBackward(leader.role) || !isLinear ||
      decision.members.size() < 2)
    return pendings;
  AxisList used, tensorAxes = getTensorAxes(mesh);
  for (const AxisList &axes : assignment.axes)
    llvm::append_range(used, axes);
  auto add = [&](AxisList axes) {
    llvm::erase_if(axes,
                   [&](int axis) { return llvm::is_contained(used, axis); });
    if (!llvm::is_contained(pendings, axes))
      pendings.push_back(std::move(axes));
  };
  AxisList dataAxes;
  if (leader.batchFactor < 0)
    dataAxes = getDataAxes(mesh);
  add(dataAxes);
  for (size_t count : axisCounts) {
    AxisList first(tensorAxes.begin(), tensorAxes.begin() + count);
    add(first);
    AxisList both = dataAxes;
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

std::vector<std::vector<FactorAssignment>>
parplan::getAllowedAssignments(const PlanningProblem &problem,
                               const PlanRequest &request, const Mesh &mesh,
                               std::optional<std::string> &refusal) {
  std::vector<std::vector<FactorAssignment>> allowed(problem.ops.size());
  llvm::SmallVector<size_t> axisCounts = getAxisCounts(problem, mesh);
  std::vector<bool> storable = findStorable(problem);
  for (const Decision &decision : getDecisions(problem).all) {
    std::vector<std::vector<FactorAssignment>> choices;
    for (const FactorAssignment &assignment : getLeaderAssignments(
             problem, problem.ops[decision.leader], request, mesh, axisCounts,
             storable[decision.leader], refusal))
      for (const AxisList &pending : getGradientPendings(
               problem, decision, assignment, mesh, axisCounts)) {
        auto choice =
            inferMembers(problem, decision, assignment, pending, mesh);
        if (isLegal(problem, decision, choice, mesh) &&
            !llvm::is_contained(choices, choice))
          choices.push_back(std::move(choice));
      }
    for (const std::vector<FactorAssignment> &choice : choices)
      for (auto [member, assignment] :
           llvm::zip_equal(decision.members, choice))
        allowed[member].push_back(assignment);
  }
  for (const ForcedAlgorithm &forced : request.forcedAlgorithms)
    if (llvm::none_of(problem.ops, [&](const PlanningOp &op) {
          return matchesGlob(forced.nodeGlob, op.node);
        }))
      refusal = "no node is called '" + forced.nodeGlob + "'";
  if (request.zeroStage.value_or(0) > 0 && getDataAxes(mesh).empty())
    refusal = "zero=" + std::to_string(*request.zeroStage) +
              " spreads over data-parallel ranks, and there is one";
  else if (auto unspread = findUnspreadParameter(
               problem, request.zeroStage.value_or(0), allowed))
    refusal = unspread;
  return allowed;
}

namespace {

/// Collects layouts per value, each once.
class RestCandidates {
public:
  RestCandidates(const PlanningProblem &problem, const Mesh &mesh)
      : problem(problem), mesh(mesh), made(problem.values.size()),
        used(problem.values.size()) {}

  void addOp(const PlanningOp &op,
             llvm::ArrayRef<FactorAssignment> assignments) {
    for (const FactorAssignment &assignment : assignments) {
      for (auto [position, result] : llvm::enumerate(op.results)) {
        Sharding sharding =
            getMadeSharding(op.rule, assignment, static_cast<int>(position));
        sharding.partial.clear();
        sharding.reduction = ReductionKind::sum;
        add(made[result], std::move(sharding));
      }
      for (auto [position, operand] : llvm::enumerate(op.operands))
        add(used[operand],
            getUseSharding(op.rule, assignment, static_cast<int>(position)));
    }
  }

  std::vector<Sharding> get(int index) const {
    const PlanningValue &value = problem.values[index];
    Sharding replicated = Sharding::getReplicated(value.shape.size());
    if (value.kind == ValueKind::input && value.batchDimension >= 0)
      replicated.dims[value.batchDimension] = getDataAxes(mesh);
    if (value.kind == ValueKind::input || value.kind == ValueKind::constant)
      return {replicated};
    std::vector<Sharding> list;
    bool isLoaded = value.kind != ValueKind::activation;
    for (const Sharding &sharding : made[index])
      add(list, sharding);
    for (const Sharding &sharding : used[index])
      if (!sharding.isPartial() || !(isLoaded || value.isOutput))
        add(list, sharding);
    if (value.isOutput)
      llvm::erase_if(list, [](const Sharding &rest) {
        return rest.isPartial() || rest.isStored();
      });
    if (list.empty())
      list.push_back(replicated);
    return list;
  }

private:
  static void add(std::vector<Sharding> &list, Sharding sharding) {
    if (!llvm::is_contained(list, sharding))
      list.push_back(std::move(sharding));
  }

  const PlanningProblem &problem;
  const Mesh &mesh;
  std::vector<std::vector<Sharding>> made, used;
};

/// Leaves the layouts of a trained parameter, or of its cast, that the stage
/// asks for. A parameter has some, or `findUnspreadParameter` has refused it.
void applyZeroStage(std::vector<Sharding> &list, int stage) {
  std::vector<Sharding> kept;
  for (const Sharding &rest : list)
    if (rest.isStored() == (stage == 3))
      kept.push_back(rest);
  if (!kept.empty())
    list = std::move(kept);
}

/// Stores what a frozen parameter may lie in. No op runs on its pieces, so no
/// op has asked for that.
void storeFrozen(std::vector<Sharding> &list, const Mesh &mesh) {
  AxisList dataAxes = getDataAxes(mesh);
  std::vector<Sharding> stored;
  for (Sharding rest : list)
    for (const AxisList &storage : getStorageLists(mesh)) {
      for (AxisList &axes : rest.dims)
        llvm::erase_if(
            axes, [&](int axis) { return llvm::is_contained(dataAxes, axis); });
      rest.storage = storage;
      if (rest.isStored() && !verifySharding(rest, mesh, rest.dims.size()) &&
          !llvm::is_contained(stored, rest))
        stored.push_back(rest);
    }
  if (!stored.empty())
    list = std::move(stored);
}

} // namespace

std::vector<std::vector<Sharding>> parplan::getRestCandidates(
    const PlanningProblem &problem, const PlanRequest &request,
    const Mesh &mesh,
    const std::vector<std::vector<FactorAssignment>> &assignments) {
  RestCandidates collected(problem, mesh);
  for (auto [op, choices] : llvm::zip_equal(problem.ops, assignments))
    collected.addOp(op, choices);
  std::vector<std::vector<Sharding>> candidates;
  for (size_t value = 0; value < problem.values.size(); ++value)
    candidates.push_back(collected.get(static_cast<int>(value)));
  std::vector<bool> isFrozen(problem.values.size(), true);
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    if (value.updates < 0)
      continue;
    isFrozen[value.updates] = false;
    const PlanningValue &variable = problem.values[value.updates];
    std::vector<Sharding> &list = candidates[value.updates];
    if (request.zeroStage && variable.kind == ValueKind::parameter &&
        !variable.shape.empty())
      applyZeroStage(list, *request.zeroStage);
    candidates[index] = list;
  }
  if (request.zeroStage != 3)
    return candidates;
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.kind == ValueKind::parameter && isFrozen[index] &&
        !value.shape.empty())
      storeFrozen(candidates[index], mesh);
  // The short copy of a parameter rests as the parameter does.
  std::vector<bool> storable = findStorable(problem);
  for (auto [index, op] : llvm::enumerate(problem.ops))
    if (storable[index] && op.role == OpRole::forward)
      applyZeroStage(candidates[op.results[0]], 3);
  return candidates;
}
