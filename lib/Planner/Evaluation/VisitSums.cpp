//===- VisitSums.cpp - Gradients that are reduced once per visit ----------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/VisitSums.h"

#include "parplan/Pipeline/Visits.h"
#include "parplan/Planner/PlanCosts.h"

using namespace parplan;

static bool communicates(const ReshardPath &path) {
  return llvm::any_of(path.moves,
                      [](const Move &move) { return !move.isLocal(); });
}

std::vector<int> parplan::findVisitSums(const PlanningProblem &problem,
                                        const PlanningAnswer &answer) {
  std::vector<int> sums;
  // Others have one visit, for which the sum would be there whole all the time,
  // or change the chunk nearly every time.
  if (!answer.pipeline || answer.stages.empty() ||
      answer.pipeline->shape.kind != ScheduleKind::interleaved ||
      answer.pipeline->shape.chunks == 1)
    return sums;
  std::vector<int> producers(problem.values.size(), -1),
      readers(problem.values.size(), 0);
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    for (int result : op.results)
      producers[result] = static_cast<int>(index);
    for (int operand : op.operands)
      ++readers[operand];
  }
  PipelineSchedule schedule = makeSchedule(answer.pipeline->shape);
  ReshardCache reshards(answer.mesh);
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    if (!op.accumulates || op.operands.size() != 1)
      continue;
    int value = op.operands.front(), producer = producers[value];
    if (producer < 0 || readers[value] != 1 || problem.values[value].isOutput)
      continue;
    const PlanningOp &maker = problem.ops[producer];
    int stage = answer.getStage(producer);
    if (!maker.perMicroBatch || maker.accumulates ||
        maker.results.size() != 1 || isBeforeBackward(maker.role) ||
        stage < 0 || answer.getStage(index) != stage ||
        countVisits(schedule, stage) >= problem.microBatches)
      continue;
    const auto &shape = problem.values[value].shape;
    Sharding made = getMadeSharding(maker.rule, answer.assignments[producer],
                                    /*result=*/0);
    Sharding use =
        getUseSharding(op.rule, answer.assignments[index], /*operand=*/0);
    if (communicates(reshards.get(shape, made, answer.rest[value])) ||
        communicates(reshards.get(shape, answer.rest[value], use)))
      sums.push_back(static_cast<int>(index));
  }
  return sums;
}

std::vector<int64_t> parplan::getVisitCounts(const PlanningProblem &problem,
                                             const PlanningAnswer &answer) {
  std::vector<int64_t> counts(problem.values.size(), 0);
  if (!answer.pipeline ||
      llvm::none_of(answer.perVisit, [](bool isSum) { return isSum; }))
    return counts;
  PipelineSchedule schedule = makeSchedule(answer.pipeline->shape);
  for (auto [index, op] : llvm::enumerate(problem.ops))
    if (answer.isPerVisit(index))
      counts[op.operands.front()] =
          countVisits(schedule, answer.getStage(index));
  return counts;
}
