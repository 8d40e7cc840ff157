//===- VerifyServers.cpp - Legality of plans with servers -----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "VerifyServers.h"

#include "parplan/Planner/Servers.h"

using namespace parplan;

void parplan::verifyServersMesh(const PlanningAnswer &answer,
                                std::vector<std::string> &problems) {
  const Mesh &mesh = answer.mesh;
  for (const MeshAxis &axis : mesh.getAxes()) {
    if (axis.role == AxisRole::server)
      problems.push_back("mesh axis '" + axis.name +
                         "' has the role server: the mesh of a plan is that "
                         "of the workers (P17)");
    else if (answer.servers && axis.role != AxisRole::data &&
             axis.role != AxisRole::context)
      problems.push_back("mesh axis '" + axis.name + "' has the role " +
                         stringifyAxisRole(axis.role).str() +
                         ": workers share samples and positions of a sequence "
                         "alone (P17)");
  }
  if (!answer.servers)
    return;
  int64_t ranks = answer.servers->staleness ? 1 : answer.servers->workers;
  if (mesh.getRankCount() != ranks)
    problems.push_back("the mesh has " + std::to_string(mesh.getRankCount()) +
                       " ranks, the plan of " +
                       std::to_string(answer.servers->workers) +
                       " workers has " + std::to_string(ranks) + " (P17)");
}

void parplan::verifyServed(const PlanningProblem &problem,
                           const PlanningAnswer &answer,
                           std::vector<std::string> &problems) {
  WorkersProblem workers = getWorkersProblem(problem);
  PlanningAnswer whole = getStepAnswer(
      problem, workers, getWorkersAnswer(workers, answer), *answer.servers);
  for (auto [number, index] : llvm::enumerate(workers.values))
    if (workers.problem.values[number].isServed &&
        problem.values[index].kind == ValueKind::parameter)
      whole.rest[index] =
          Sharding::getReplicated(problem.values[index].shape.size());
  for (auto [index, op] : llvm::enumerate(problem.ops))
    if (!(answer.assignments[index] == whole.assignments[index]))
      problems.push_back("operator '" + op.node + "' (" + op.type +
                         "): is the servers', and is shared by workers (P18)");
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    bool isVariable =
        value.kind == ValueKind::parameter || value.kind == ValueKind::state;
    if (!(answer.rest[index] == whole.rest[index]))
      problems.push_back("value '" + value.name + "' lies " +
                         toString(answer.rest[index], answer.mesh) +
                         ": what servers take or send is whole on every "
                         "worker (P18)");
    else if ((isVariable || value.updates >= 0) &&
             answer.getTier(index) != MemoryTier::device)
      problems.push_back("value '" + value.name +
                         "' is not on the device, where workers and servers "
                         "keep every variable (P18)");
  }
}
