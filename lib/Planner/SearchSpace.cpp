//===- SearchSpace.cpp - Meshes, assignments and layouts of a request -----===//

#include "parplan/Planner/Solver.h"
#include "parplan/Support/Text.h"

using namespace parplan;

std::vector<Mesh> parplan::getMeshes(const PlanRequest &request) {
  std::vector<Mesh> meshes;
  for (int64_t tensor = 1; tensor <= request.deviceCount; ++tensor) {
    if (request.deviceCount % tensor != 0)
      continue;
    int64_t data = request.deviceCount / tensor;
    if (request.dataSize.value_or(data) == data &&
        request.tensorSize.value_or(tensor) == tensor)
      meshes.push_back(makeMesh(data, tensor));
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

std::vector<std::vector<FactorAssignment>>
parplan::getAllowedAssignments(const PlanningProblem &problem,
                               const PlanRequest &request, const Mesh &mesh,
                               std::optional<std::string> &refusal) {
  std::vector<std::vector<FactorAssignment>> allowed;
  llvm::SmallVector<size_t> axisCounts = getAxisCounts(problem, mesh);
  for (const PlanningOp &op : problem.ops) {
    std::vector<FactorAssignment> assignments =
        getAssignments(op, mesh, axisCounts);
    if (request.tensorSize && isProduct(op)) {
      auto kept = filterAssignments(op, mesh, assignments, [](Algorithm a) {
        return a == Algorithm::row || a == Algorithm::column;
      });
      if (!kept.empty())
        assignments = std::move(kept);
    }
    for (const ForcedAlgorithm &forced : request.forcedAlgorithms) {
      if (!matchesGlob(forced.nodeGlob, op.node))
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
    allowed.push_back(std::move(assignments));
  }
  for (const ForcedAlgorithm &forced : request.forcedAlgorithms)
    if (llvm::none_of(problem.ops, [&](const PlanningOp &op) {
          return matchesGlob(forced.nodeGlob, op.node);
        }))
      refusal = "no node is called '" + forced.nodeGlob + "'";
  return allowed;
}

std::vector<std::vector<Sharding>> parplan::getRestCandidates(
    const PlanningProblem &problem, const Mesh &mesh,
    const std::vector<std::vector<FactorAssignment>> &assignments) {
  std::vector<std::vector<Sharding>> made(problem.values.size());
  std::vector<std::vector<Sharding>> used(problem.values.size());
  auto add = [](std::vector<Sharding> &list, Sharding sharding) {
    if (!llvm::is_contained(list, sharding))
      list.push_back(std::move(sharding));
  };
  for (auto [index, op] : llvm::enumerate(problem.ops))
    for (const FactorAssignment &assignment : assignments[index]) {
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

  std::vector<std::vector<Sharding>> candidates(problem.values.size());
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    Sharding replicated = Sharding::getReplicated(value.shape.size());
    std::vector<Sharding> &list = candidates[index];
    if (value.kind == ValueKind::input) {
      if (value.batchDimension >= 0)
        for (int axis = 0; axis < mesh.getAxisCount(); ++axis)
          if (mesh.getAxis(axis).role == AxisRole::data)
            replicated.dims[value.batchDimension].push_back(axis);
      list.push_back(replicated);
    } else if (value.kind == ValueKind::constant) {
      list.push_back(replicated);
    } else {
      for (Sharding &sharding : made[index])
        add(list, std::move(sharding));
      for (Sharding &sharding : used[index])
        add(list, std::move(sharding));
      if (list.empty())
        list.push_back(replicated);
    }
  }
  return candidates;
}
