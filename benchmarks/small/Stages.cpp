//===- Stages.cpp - Every schedule and every cut --------------------------===//

#include "Stages.h"

#include "lib/Planner/Completion/Completion.h"
#include "lib/Planner/Completion/StageAssignment.h"
#include "lib/Planner/Units/StepUnits.h"

#include "parplan/Planner/FindPlan.h"

#include "llvm/ADT/STLExtras.h"

using namespace parplan;
using namespace parplan::small;

StageCutter::StageCutter(const PlanningProblem &problem,
                         const Instance &instance,
                         llvm::ArrayRef<int64_t> limits)
    : problem(problem), instance(instance), limits(limits) {
  if (instance.searched != Searched::jointly)
    return;
  StepUnits units = getStepUnits(problem, foldProblem(problem));
  unitOfOp = units.unitOfOp;
  for (auto [number, unit] : llvm::enumerate(units.units)) {
    bool isOutermost = number == 0 || number + 1 == units.units.size();
    chain.add(unit.kind, 1,
              unit.block < 0 && units.units.size() > 1 && isOutermost);
  }
}

/// The schedules that a joint search looks at.
std::vector<ScheduleShape>
StageCutter::getShapesOfUnits(int64_t positions) const {
  std::vector<ScheduleShape> shapes;
  auto add = [&](ScheduleKind kind, int64_t chunks) {
    int64_t required = getRequiredChunks(kind);
    shapes.push_back({kind, positions, problem.microBatches,
                      required > 0 ? required : chunks});
  };
  if (const auto &forced = instance.request.schedule) {
    add(forced->kind, forced->chunks);
  } else if (!isTraining(problem)) {
    for (int64_t chunks = 1; chunks <= 4; ++chunks)
      add(ScheduleKind::forwardOnly, chunks);
  } else {
    for (ScheduleKind kind : getScheduleKinds())
      if (kind == ScheduleKind::interleaved)
        for (int64_t chunks = 2; chunks <= FindPlanOptions().mostChunks;
             ++chunks)
          add(kind, chunks);
      else if (kind != ScheduleKind::forwardOnly && kind != ScheduleKind::gpipe)
        add(kind, 1);
  }
  return shapes;
}

/// Ascending numbers from 0 that begin with `cuts`.
static void forAllCuts(int count, size_t stages, std::vector<int> &cuts,
                       llvm::function_ref<void()> visit) {
  if (cuts.size() == stages)
    return visit();
  for (int next = cuts.back() + 1; next < count; ++next) {
    cuts.push_back(next);
    forAllCuts(count, stages, cuts, visit);
    cuts.pop_back();
  }
}

/// Of the blocks of a chunk, each position has at least one.
static void forAllCounts(int64_t left, int64_t positions,
                         std::vector<int64_t> &counts,
                         llvm::function_ref<void()> visit) {
  if (positions == 1) {
    counts.push_back(left);
    visit();
    counts.pop_back();
    return;
  }
  for (int64_t count = 1; count <= left - positions + 1; ++count) {
    counts.push_back(count);
    forAllCounts(left - count, positions - 1, counts, visit);
    counts.pop_back();
  }
}

std::vector<Stages> StageCutter::list(int64_t positions,
                                      const PlanningAnswer &layouts) const {
  std::vector<Stages> all;
  auto addAll = [&](const ScheduleShape &shape, const std::vector<int> &cuts) {
    for (int64_t limit :
         splitsBackward(shape.kind) ? limits : limits.take_back())
      all.push_back({shape, cuts, limit});
  };
  if (instance.searched == Searched::jointly) {
    for (const ScheduleShape &shape : getShapesOfUnits(positions)) {
      int64_t blocks = getRefusal(shape) ? 0 : chain.getBlocksPerChunk(shape);
      std::vector<int64_t> counts;
      if (blocks > 0)
        forAllCounts(blocks, positions, counts,
                     [&] { addAll(shape, chain.getCuts(shape, counts)); });
    }
    return all;
  }
  int parts = getStageUnits(problem, layouts, *instance.costs).getCount();
  for (const ScheduleShape &shape :
       getShapes(problem, instance.request, positions)) {
    std::vector<int> cuts = {0};
    if (!getRefusal(shape, parts))
      forAllCuts(parts, shape.getStageCount(), cuts,
                 [&] { addAll(shape, cuts); });
  }
  return all;
}

void StageCutter::cut(const Stages &stages, PlanningAnswer &answer) const {
  StageUnits parts = getStageUnits(problem, answer, *instance.costs);
  std::vector<int> stageOfPart;
  int last = 0;
  for (auto [number, ops] : llvm::enumerate(parts.units)) {
    int unit =
        unitOfOp.empty() ? static_cast<int>(number) : unitOfOp[ops.front()];
    auto stage = llvm::upper_bound(stages.cuts, unit) - stages.cuts.begin() - 1;
    if (unit >= 0)
      last = std::max(last, static_cast<int>(stage));
    stageOfPart.push_back(last);
  }
  answer.stages = spreadStages(problem, parts, stageOfPart);
  answer.pipeline = PipelineChoice{
      stages.shape, StageTimes(stages.shape.getStageCount()), {}, {}};
}
