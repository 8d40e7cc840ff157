//===- UnitWork.cpp - What passes over a unit need ------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitWork.h"

#include "lib/Planner/Evaluation/NumberedPlan.h"
#include "lib/Planner/Evaluation/StageBytes.h"

#include <algorithm>

using namespace parplan;

/// One micro-batch, whatever the step has.
static PlanningProblem getProblemOf(const PlanningProblem &sample,
                                    const UnitSample::Range &range) {
  PlanningProblem problem;
  problem.values.assign(sample.values.begin() + range.firstValue,
                        sample.values.begin() + range.endValue);
  for (PlanningValue &value : problem.values)
    if (value.updates >= 0)
      value.updates -= range.firstValue;
  problem.ops.assign(sample.ops.begin() + range.firstOp,
                     sample.ops.begin() + range.endOp);
  for (PlanningOp &op : problem.ops) {
    for (int &operand : op.operands)
      operand -= range.firstValue;
    for (int &result : op.results)
      result -= range.firstValue;
  }
  return problem;
}

UnitWork::UnitWork(const UnitSample &sample, int kind, const UnitTables &tables,
                   const PlanSpace &space)
    : sample(sample), range(sample.kinds[kind]), tables(tables), space(space),
      problem(getProblemOf(sample.problem, range)),
      numbers(problem, std::make_shared<ProblemFacts>(problem), space.mesh,
              /*costs=*/nullptr) {}

PlanningAnswer UnitWork::getAnswer(const BlockPlan &plan,
                                   const UnitVariables &variables,
                                   const UnitRemaking &remaking) const {
  PlanningAnswer answer;
  answer.mesh = space.mesh;
  // A unit that updates nothing does not look like one of a training step.
  answer.pipeline.emplace();
  answer.pipeline->shape.kind = llvm::any_of(sample.phases, isBackward)
                                    ? ScheduleKind::oneForwardOneBackward
                                    : ScheduleKind::forwardOnly;
  for (int op = range.firstOp; op < range.endOp; ++op) {
    int choice = plan.choices[variables.ofDecision[sample.decisions.ofOp[op]]];
    answer.assignments.push_back(tables.assignments[op][choice]);
    answer.recomputed.push_back(remaking.recomputed[op]);
  }
  for (int value = range.firstValue; value < range.endValue; ++value) {
    int variable = variables.ofValue[value];
    const std::vector<int> &rests = tables.rests[value];
    const PlanningValue &description = sample.problem.values[value];
    answer.rest.push_back(
        rests.empty() ? Sharding::getReplicated(description.shape.size())
                      : tables.layouts.get(
                            rests[variable < 0 ? 0 : plan.choices[variable]]));
    answer.gathersAgain.push_back(gathersAgain(sample, value, remaking));
  }
  return answer;
}

double UnitWork::getBytes(const BlockPlan &plan, const UnitVariables &variables,
                          const UnitRemaking &remaking) {
  PlanningAnswer answer = getAnswer(plan, variables, remaking);
  NumberedPlan numbered(numbers, answer);
  Execution execution = getExecution(numbered);
  StageBytes bytes(numbered, execution);
  double most = 0;
  for (Phase phase :
       {Phase::forward, Phase::inputGradient, Phase::weightGradient}) {
    const StageTimeline::Peak &peak = bytes.getStage(0).getPeak(phase);
    most = std::max(most, static_cast<double>(peak.bytes - peak.gradientBytes));
  }
  return std::max(0.0, most - plan.cost.savedBytes);
}
