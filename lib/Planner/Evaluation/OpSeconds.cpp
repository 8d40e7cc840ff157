//===- OpSeconds.cpp - What each operator of a plan takes -----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/OpSeconds.h"

#include "Execution.h"

#include "parplan/Planner/Servers.h"

using namespace parplan;

static void add(OpSeconds &seconds, const WorkSeconds &spent, double times) {
  seconds.compute += times * spent.compute;
  seconds.optimizer += times * spent.optimizer;
  seconds.tensorCommunication += times * spent.tensor;
  seconds.dataCommunication += times * spent.data;
}

/// The workers' ops, and updates on the servers.
static std::vector<OpSeconds>
getSecondsWithServers(const PlanningProblem &problem,
                      const PlanningAnswer &answer, const PlanCosts &costs) {
  WorkersProblem workers = getWorkersProblem(problem);
  std::vector<OpSeconds> own =
      getOpSeconds(workers.problem, getWorkersAnswer(workers, answer), costs);
  std::vector<OpSeconds> seconds(problem.ops.size());
  std::vector<bool> areWorkers(problem.ops.size(), false);
  for (auto [op, spent] : llvm::zip_equal(workers.ops, own)) {
    seconds[op] = spent;
    areWorkers[op] = true;
  }
  Mesh one;
  for (auto [index, op] : llvm::enumerate(problem.ops))
    if (!areWorkers[index])
      seconds[index].optimizer =
          costs.getOpSeconds(problem, op,
                             FactorAssignment::getReplicated(op.rule), one) /
          static_cast<double>(answer.servers->servers);
  return seconds;
}

std::vector<OpSeconds> parplan::getOpSeconds(const PlanningProblem &problem,
                                             const PlanningAnswer &answer,
                                             const PlanCosts &costs) {
  if (answer.servers)
    return getSecondsWithServers(problem, answer, costs);
  OwnTables tables(problem, answer, &costs);
  Execution execution = getExecution(tables.get());
  std::vector<RunSeconds> spent = getRunSeconds(tables.get(), execution);
  std::vector<OpSeconds> seconds(problem.ops.size());
  for (auto [run, each] : llvm::zip_equal(execution.runs, spent)) {
    add(seconds[run.op], each.once, 1);
    bool isOfPass = run.phase != Phase::start && run.phase != Phase::end;
    add(seconds[run.op], each.each,
        isOfPass ? static_cast<double>(problem.microBatches) : 1);
  }
  return seconds;
}
