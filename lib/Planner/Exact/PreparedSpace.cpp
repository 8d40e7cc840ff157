//===- PreparedSpace.cpp - The fastest layouts of one mesh ----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PreparedSpace.h"

#include "lib/Planner/Completion/Completion.h"

#include "parplan/Planner/SearchSpace.h"

#include <algorithm>

using namespace parplan;

namespace {

using AssignmentLists = std::vector<std::vector<FactorAssignment>>;

/// Seconds of the ops of a space, decision by decision.
class OpSums {
public:
  OpSums(const PlanningProblem &problem, const PlanRequest &request,
         const PlanSpace &space, const AssignmentLists &assignments,
         const PlanCosts &costs)
      : problem(problem), mesh(space.mesh), assignments(assignments),
        costs(costs), decisions(getDecisions(problem)),
        isHostUpdating(mayUpdateOnHost(problem, request)) {}

  /// What every plan takes at least.
  double getLeast() const {
    double bound = 0;
    for (const Decision &decision : decisions.all) {
      double least = CostNetwork::forbidden;
      for (size_t choice = 0; choice < getChoiceCount(decision); ++choice) {
        double seconds = get(decision, choice, /*isOptimizer=*/false);
        // The host updates while the devices compute.
        if (!isHostUpdating)
          seconds += get(decision, choice, /*isOptimizer=*/true);
        least = std::min(least, seconds);
      }
      bound += least;
    }
    return getBoundOfPositions(bound, mesh);
  }

  /// What updates take at most, where the host may do them.
  double getMostOptimizer() const {
    if (!isHostUpdating)
      return 0;
    double sum = 0;
    for (const Decision &decision : decisions.all) {
      double most = 0;
      for (size_t choice = 0; choice < getChoiceCount(decision); ++choice)
        most = std::max(most, get(decision, choice, /*isOptimizer=*/true));
      sum += most;
    }
    return sum;
  }

private:
  size_t getChoiceCount(const Decision &decision) const {
    return assignments[decision.leader].size();
  }

  double get(const Decision &decision, size_t choice, bool isOptimizer) const {
    double seconds = 0;
    for (int member : decision.members) {
      const PlanningOp &op = problem.ops[member];
      const FactorAssignment &assignment = assignments[member][choice];
      if ((op.role == OpRole::optimizer) == isOptimizer)
        seconds += costs.getOpSeconds(problem, op, assignment, mesh) +
                   costs.getInnerSeconds(problem, op, assignment, mesh);
    }
    return seconds;
  }

  const PlanningProblem &problem;
  const Mesh &mesh;
  const AssignmentLists &assignments;
  const PlanCosts &costs;
  Decisions decisions;
  bool isHostUpdating;
};

} // namespace

double
parplan::getLeastSeconds(const PlanningProblem &problem,
                         const PlanRequest &request, const PlanCosts &costs,
                         std::chrono::steady_clock::time_point deadline) {
  double least = CostNetwork::forbidden;
  if (findImpossible(problem, request))
    return least;
  for (const PlanSpace &space : getSpaces(problem, request)) {
    if (std::chrono::steady_clock::now() > deadline)
      return 0;
    std::optional<std::string> refusal;
    auto assignments = getAllowedAssignments(problem, request, space, refusal);
    if (!refusal)
      least = std::min(
          least,
          OpSums(problem, request, space, assignments, costs).getLeast());
  }
  return least;
}

PreparedSpace parplan::prepareSpace(const PlanningProblem &problem,
                                    const PlanRequest &request,
                                    const PlanSpace &space,
                                    const PlanCosts &costs,
                                    double mostSeconds) {
  PreparedSpace prepared;
  auto assignments =
      getAllowedAssignments(problem, request, space, prepared.refusal);
  if (prepared.refusal)
    return prepared;
  OpSums sums(problem, request, space, assignments, costs);
  prepared.computeBound = sums.getLeast();
  bool isTooLong = mostSeconds != CostNetwork::forbidden &&
                   prepared.computeBound >= mostSeconds;
  if (isTooLong || request.control.isStopped())
    return prepared;
  prepared.mostOptimizerSeconds = sums.getMostOptimizer();
  prepared.problem = std::make_unique<MeshProblem>(
      problem, request, space, std::move(assignments), costs);
  const MeshProblem &made = *prepared.problem;
  if (made.isStopped() || made.isTooRich())
    return prepared;
  std::vector<int> nothing(made.getNetwork().getVariableCount(), -1);
  int64_t least =
      made.getLeastParameterBytes(nothing) / request.pipelineSize.value_or(1);
  if (!mayOffload(problem, request) && least > request.memoryLimitBytes)
    prepared.excessiveBytes = least;
  else
    prepared.fastest =
        minimise(made, made.getNetwork(), {}, request.tableLimit);
  return prepared;
}
