//===- SourceModel.cpp - One mesh of a model, for a search ----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "SourceModel.h"

#include "lib/Planner/Completion/Completion.h"
#include "lib/Planner/Completion/StageAssignment.h"
#include "lib/Planner/Units/JoinedMesh.h"

#include "parplan/Planner/SearchSpace.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace parplan;

SourceModel::SourceModel(SourceStep &step, int64_t positions,
                         const PlanSpace &space, const PlanRequest &request,
                         const PlanCosts &costs, KnownMeshes &meshes)
    : step(step), mesh(addPipelineAxis(space.mesh, positions)),
      positions(positions), request(request), costs(costs),
      oracles(std::make_shared<UnitOracles>(
          step.units, request, space, costs, meshes.get(space.mesh),
          meshes.get(joinReplicaAxes(space.mesh)))) {}

double SourceModel::getLatency(int instance, int state) const {
  if (positions == 1)
    return 0;
  auto [forward, backward] = oracles->getMessageBytes(instance, state);
  int64_t bytes = std::max({int64_t(1), forward, backward});
  return costs.getCollectiveSeconds(CollectiveKind::send, mesh, {0}, bytes);
}

JudgedPlan SourceModel::judge(const std::vector<BlockPlan> &plans,
                              const StageChoice &stages, double limitBytes) {
  JudgedPlan judged;
  judged.answer = oracles->getAnswer(plans);
  if (positions > 1)
    addStages(judged.answer, stages);
  constexpr double most = 1e18;
  PlanJudgement judgement = step.timeAndJudge(
      judged.answer, static_cast<int64_t>(std::min(limitBytes, most)));
  if (!judgement.faults.empty()) {
    judged.refusal = judgement.faults.front();
    return judged;
  }
  judged.evaluation = std::move(judgement.evaluation);
  judged.excessBytes = static_cast<int64_t>(std::max(
      static_cast<double>(judged.evaluation.peakBytes) - limitBytes, -most));
  if (auto tier = findSmallTier(request, judged.evaluation))
    judged.refusal = *tier;
  return judged;
}

void SourceModel::addStages(PlanningAnswer &answer,
                            const StageChoice &choice) const {
  shiftAxes(answer);
  const PlanningProblem &problem = step.units.getProblem();
  StageUnits parts = getStageUnits(problem, answer, costs);
  // A part is where the unit of its first op is, and never before the one
  // before it.
  std::vector<int> stageOfPart;
  int last = 0;
  const std::vector<int> &unitOfOp = step.units.getUnitOfOp();
  for (const std::vector<int> &ops : parts.units) {
    if (int unit = unitOfOp[ops.front()]; unit >= 0)
      last =
          std::max(last, static_cast<int>(llvm::upper_bound(choice.cuts, unit) -
                                          choice.cuts.begin() - 1));
    stageOfPart.push_back(last);
  }
  answer.stages = spreadStages(problem, parts, stageOfPart);
  answer.pipeline = PipelineChoice{
      choice.shape, StageTimes(choice.shape.getStageCount()), {}, {}};
}

/// The axis of the pipeline comes before all others.
void SourceModel::shiftAxes(PlanningAnswer &answer) const {
  answer.mesh = mesh;
  auto shift = [](AxisList &axes) {
    for (int &axis : axes)
      ++axis;
  };
  for (FactorAssignment &assignment : answer.assignments) {
    for (AxisList &axes : assignment.axes)
      shift(axes);
    shift(assignment.pending);
    shift(assignment.storage);
    shift(assignment.panels.axes);
  }
  for (Sharding &layout : answer.rest) {
    for (AxisList &axes : layout.dims)
      shift(axes);
    shift(layout.partial);
    shift(layout.storage);
  }
}
