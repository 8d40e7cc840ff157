//===- Completion.cpp - Stages, recomputation and tiers of a plan ---------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Completion.h"

#include "OffloadLess.h"
#include "Recompute.h"
#include "Staging.h"
#include "lib/Planner/Evaluation/Offload.h"
#include "lib/Planner/Evaluation/PlanRoom.h"

#include "parplan/Planner/Evaluator.h"

#include <array>
#include <tuple>

using namespace parplan;

bool parplan::needsCompletion(const PlanRequest &request) {
  return request.mayResort || request.pipelineSize.value_or(1) > 1 ||
         request.recompute.value_or(RecomputeKind::none) !=
             RecomputeKind::none ||
         (request.offload && !request.offload->isNone());
}

double parplan::getBoundOfPositions(double seconds, const Mesh &mesh) {
  // The busiest position works at least as long as the mean.
  int axis = findPipelineAxis(mesh);
  return axis < 0 ? seconds
                  : seconds / static_cast<double>(mesh.getAxis(axis).size);
}

std::vector<ScheduleShape> parplan::getShapes(const PlanningProblem &problem,
                                              const PlanRequest &request,
                                              int64_t positions) {
  bool trains = isTraining(problem);
  auto make = [&](ScheduleKind kind, int64_t chunks) {
    ScheduleShape shape;
    shape.kind = trains ? kind : ScheduleKind::forwardOnly;
    shape.positions = positions;
    shape.microBatches = problem.microBatches;
    int64_t required = getRequiredChunks(kind);
    shape.chunks = required > 0 ? required : chunks;
    return shape;
  };
  if (request.schedule)
    return {make(request.schedule->kind, request.schedule->chunks)};
  if (!trains && problem.microBatches == 1)
    return {make(ScheduleKind::forwardOnly, 1)};
  if (!trains)
    return {make(ScheduleKind::forwardOnly, 1),
            make(ScheduleKind::forwardOnly, 2)};
  return {make(ScheduleKind::oneForwardOneBackward, 1),
          make(ScheduleKind::oneForwardOneBackwardEager, 1),
          make(ScheduleKind::interleaved, 2),
          make(ScheduleKind::interleaved, 3),
          make(ScheduleKind::interleaved, 4),
          make(ScheduleKind::zbH1, 1),
          make(ScheduleKind::zbV, 2),
          make(ScheduleKind::vHalf, 2),
          make(ScheduleKind::vMin, 2),
          make(ScheduleKind::zbH2, 1)};
}

bool parplan::mayOffload(const PlanningProblem &problem,
                         const PlanRequest &request) {
  if (request.offload)
    return !request.offload->isNone();
  return request.mayResort && isTraining(problem) && request.hostLimitBytes > 0;
}

bool parplan::mayUpdateOnHost(const PlanningProblem &problem,
                              const PlanRequest &request) {
  return mayOffload(problem, request) &&
         (!request.offload || request.offload->optimizer != MemoryTier::device);
}

namespace {

/// What a plan may have besides layouts.
struct Resort {
  RecomputeKind recompute = RecomputeKind::none;
  /// As little of it as fits.
  bool isLeast = false;
  OffloadChoice offload;
};

/// From what is asked for to what saves most memory, in three lists: as
/// requested; with one thing more; with everything.
std::array<std::vector<Resort>, 3> getResorts(const PlanningProblem &problem,
                                              const PlanRequest &request) {
  Resort asked = {request.recompute.value_or(RecomputeKind::none), false,
                  request.offload.value_or(OffloadChoice())};
  std::array<std::vector<Resort>, 3> resorts;
  resorts[0] = {asked};
  if (!request.mayResort || !isTraining(problem))
    return resorts;
  Resort remaking = asked;
  if (!request.recompute) {
    remaking.recompute = RecomputeKind::selective;
    resorts[1].push_back(remaking);
    remaking.recompute = RecomputeKind::full;
    remaking.isLeast = true;
    resorts[1].push_back(remaking);
  }
  if (request.offload || request.hostLimitBytes == 0) {
    resorts[2] = std::move(resorts[1]);
    resorts[1].clear();
    return resorts;
  }
  auto with = [](Resort resort, OffloadChoice offload) {
    resort.offload = offload;
    return resort;
  };
  constexpr MemoryTier device = MemoryTier::device, host = MemoryTier::host,
                       nvme = MemoryTier::nvme;
  resorts[1].push_back(with(asked, {host, device, false}));
  resorts[1].push_back(with(asked, {device, device, true}));
  resorts[2].push_back(with(remaking, {host, device, false}));
  resorts[2].push_back(with(remaking, {host, host, false}));
  resorts[2].push_back(with(asked, {host, host, true}));
  if (request.nvmeLimitBytes > 0)
    resorts[2].push_back(with(remaking, {nvme, nvme, false}));
  return resorts;
}

/// The best of the plans that have the same layouts.
class Completing {
public:
  Completing(const PlanningProblem &problem, const PlanRequest &request,
             const PlanCosts &costs, const PlanningAnswer &layouts,
             double enoughSeconds,
             std::chrono::steady_clock::time_point deadline,
             std::string &refusal)
      : problem(problem), request(request), costs(costs), layouts(layouts),
        enoughSeconds(enoughSeconds), deadline(deadline), refusal(refusal) {}

  std::optional<CompletedPlan> run() {
    auto [asked, single, all] = getResorts(problem, request);
    for (llvm::ArrayRef<Resort> resorts : {asked, single, all})
      if (!fits())
        tryAll(resorts);
    return std::move(best);
  }

private:
  bool fits(const PlanEvaluation &evaluation) const {
    return evaluation.peakBytes <= request.memoryLimitBytes &&
           !findSmallTier(request, evaluation);
  }
  bool fits() const { return best && fits(best->evaluation); }

  void tryAll(llvm::ArrayRef<Resort> resorts) {
    for (const Resort &resort : resorts) {
      if (fits() && request.isOver(deadline))
        return;
      PlanningAnswer answer = layouts;
      answer.recomputed = getRecomputed(problem, answer, resort.recompute);
      answer.tiers = getTiers(problem, answer, resort.offload);
      answer.inPieces = findUpdatedPieces(problem, answer);
      if (int axis = findPipelineAxis(answer.mesh); axis >= 0)
        if (auto fault = cutIntoStages(problem, request, costs,
                                       answer.mesh.getAxis(axis).size, deadline,
                                       answer)) {
          refusal = *fault;
          continue;
        }
      if (resort.isLeast) {
        PlanningAnswer less = answer;
        if (recomputeUntilFits(problem, costs, less,
                               request.memoryLimitBytes)) {
          take(std::move(less));
        }
      }
      take(std::move(answer));
    }
  }

  /// What fits first, by time; else what needs least.
  std::tuple<bool, bool, double> getRank(const PlanEvaluation &of) const {
    bool isTooLarge = of.peakBytes > request.memoryLimitBytes;
    return {findSmallTier(request, of).has_value(), isTooLarge,
            isTooLarge ? static_cast<double>(of.peakBytes)
                       : of.stepTimeSeconds};
  }

  /// Where nothing is forced, and the plan would be fast enough if everything
  /// were on the device, updates not counted.
  bool mayOffloadLess(const CompletedPlan &plan) const {
    if (request.offload || plan.answer.tiers.empty() || !fits(plan.evaluation))
      return false;
    double enough = enoughSeconds;
    if (fits())
      enough = std::min(enough, best->evaluation.stepTimeSeconds);
    PlanningAnswer whole = plan.answer;
    whole.tiers.clear();
    whole.inPieces.clear();
    PlanEvaluation least = evaluatePlan(problem, whole, costs);
    return least.stepTimeSeconds - least.optimizerSeconds < enough;
  }

  /// With as much waiting for weight gradients as is best.
  void take(PlanningAnswer answer) {
    setPipelineRoom(problem, costs, request.memoryLimitBytes, answer);
    PlanEvaluation evaluation = evaluatePlan(problem, answer, costs);
    CompletedPlan plan = {std::move(answer), std::move(evaluation)};
    if (mayOffloadLess(plan))
      plan = offloadLess(problem, request, costs, std::move(plan), deadline);
    if (!best || getRank(plan.evaluation) < getRank(best->evaluation))
      best = std::move(plan);
  }

  const PlanningProblem &problem;
  const PlanRequest &request;
  const PlanCosts &costs;
  const PlanningAnswer &layouts;
  double enoughSeconds;
  std::chrono::steady_clock::time_point deadline;
  std::string &refusal;
  std::optional<CompletedPlan> best;
};

} // namespace

std::optional<CompletedPlan> parplan::completePlan(
    const PlanningProblem &problem, const PlanRequest &request,
    const PlanCosts &costs, const PlanningAnswer &layouts, double enoughSeconds,
    std::chrono::steady_clock::time_point deadline, std::string &refusal) {
  return Completing(problem, request, costs, layouts, enoughSeconds, deadline,
                    refusal)
      .run();
}
