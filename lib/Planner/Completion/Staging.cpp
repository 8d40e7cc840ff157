//===- Staging.cpp - A plan with layouts, cut into stages -----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Staging.h"

#include "Completion.h"
#include "StageAssignment.h"
#include "StageCuts.h"
#include "lib/Planner/Evaluation/StepTime.h"
#include "lib/Planner/Evaluation/Traffic.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/VisitSums.h"

#include <tuple>

using namespace parplan;

namespace {

/// Cuts one plan into stages.
class Staging {
public:
  Staging(const PlanningProblem &problem, const PlanRequest &request,
          const PlanCosts &costs, PlanningAnswer &answer, int64_t positions,
          std::chrono::steady_clock::time_point deadline)
      : problem(problem), request(request), costs(costs), answer(answer),
        positions(positions), deadline(deadline),
        units(getStageUnits(problem, answer, costs)),
        chain(getStageChain(problem, answer, costs, units)) {}

  std::optional<std::string> run() {
    if (units.getCount() == 0)
      return "the model has no operator that a stage could have";
    std::optional<std::string> refusal;
    struct Estimate {
      ScheduleShape shape;
      CutSearch cuts;
    };
    std::vector<Estimate> estimates;
    for (const ScheduleShape &shape : getShapes(problem, request, positions)) {
      if (auto fault = parplan::getRefusal(shape, units.getCount())) {
        if (!refusal)
          refusal = fault;
        continue;
      }
      estimates.push_back(
          {shape, findCuts(chain, shape, request.memoryLimitBytes,
                           [&] { return isOver(); })});
      if (isOver())
        break;
    }
    // What fits first, by time; then the smallest.
    auto getRank = [&](const Estimate &estimate) {
      bool fits = estimate.cuts.bytes <= request.memoryLimitBytes;
      return std::tuple(!fits, fits ? estimate.cuts.seconds
                                    : static_cast<double>(estimate.cuts.bytes));
    };
    llvm::stable_sort(estimates, [&](const auto &first, const auto &second) {
      return getRank(first) < getRank(second);
    });
    for (const Estimate &estimate : estimates)
      if (isPromising(estimate.cuts))
        plan(estimate.shape, estimate.cuts);
    if (!best)
      return refusal;
    answer = std::move(best->answer);
    return std::nullopt;
  }

private:
  bool isOver() const { return request.isOver(deadline); }

  /// The chain's seconds are a little wrong, and more where stages beside each
  /// other are not the only ones that exchange messages.
  bool isPromising(const CutSearch &cuts) const {
    constexpr double error = 0.05;
    if (!best || cuts.bytes > request.memoryLimitBytes)
      return !best;
    return best->bytes > request.memoryLimitBytes ||
           cuts.seconds <= best->seconds * (1 + error);
  }

  /// Sums of the chain are estimates: where they say that a plan fits and it
  /// does not, they are believed that much less.
  void plan(const ScheduleShape &shape, CutSearch found) {
    constexpr int rounds = 4;
    int64_t limit = request.memoryLimitBytes;
    for (int round = 0; round < rounds; ++round) {
      Candidate candidate = make(shape, found.cuts);
      int64_t over = candidate.bytes - request.memoryLimitBytes;
      bool mayFit = over > 0 && found.bytes <= limit && limit > over;
      take(std::move(candidate));
      if (!mayFit)
        return;
      limit -= over;
      if (isOver())
        return;
      found = findCuts(chain, shape, limit, [&] { return isOver(); });
    }
  }

  struct Candidate {
    PlanningAnswer answer;
    double seconds = 0;
    int64_t bytes = 0;
  };

  Candidate make(const ScheduleShape &shape, const StageCuts &cuts) {
    std::vector<int> stageOfUnit;
    for (int unit = 0, stage = 0; unit < units.getCount(); ++unit) {
      if (stage + 1 < static_cast<int>(cuts.size()) && cuts[stage + 1] == unit)
        ++stage;
      stageOfUnit.push_back(stage);
    }
    Candidate candidate;
    candidate.answer = answer;
    candidate.answer.stages = spreadStages(problem, units, stageOfUnit);
    candidate.answer.pipeline = PipelineChoice{
        shape, StageTimes(static_cast<size_t>(shape.getStageCount())), {}, {}};
    candidate.answer.relayed.clear();
    candidate.answer.perVisit.clear();
    judge(candidate);
    Candidate visiting = candidate;
    reducePerVisit(visiting.answer);
    if (!visiting.answer.perVisit.empty()) {
      judge(visiting);
      if (isBetter(visiting, candidate))
        candidate = std::move(visiting);
    }
    // Ways follow from the times of direct messages.
    Candidate handing = candidate;
    chooseWays(problem, handing.answer);
    if (!handing.answer.relayed.empty()) {
      judge(handing);
      if (handing.seconds <= candidate.seconds * (1 + 1e-9))
        candidate = std::move(handing);
    }
    if (candidate.bytes > request.memoryLimitBytes) {
      relayUntilFits(problem, costs, candidate.answer,
                     request.memoryLimitBytes);
      judge(candidate);
    }
    return candidate;
  }

  /// Fewer bytes, and more memory: all sums that can be or none.
  void reducePerVisit(PlanningAnswer &visiting) const {
    for (int op : findVisitSums(problem, visiting)) {
      visiting.perVisit.resize(problem.ops.size(), false);
      visiting.perVisit[op] = true;
    }
  }

  /// Sets the times of a candidate, and what it costs. Without a room: where
  /// all that waits does not fit, other cuts may be faster than waiting less.
  void judge(Candidate &candidate) {
    StepWork work = getStepWork(problem, candidate.answer, costs);
    setPipelineTimes(work, candidate.answer);
    const PipelineChoice &pipeline = *candidate.answer.pipeline;
    candidate.seconds =
        getStepSeconds(work, pipeline.shape, pipeline.times, work.latencies);
    candidate.bytes = getPeakBytes(problem, candidate.answer);
  }

  /// What fits first, by time; else what is smaller.
  bool isBetter(const Candidate &first, const Candidate &second) const {
    bool fits = first.bytes <= request.memoryLimitBytes;
    if (fits != (second.bytes <= request.memoryLimitBytes))
      return fits;
    return fits ? first.seconds < second.seconds * (1 - 1e-9)
                : first.bytes < second.bytes;
  }

  void take(Candidate candidate) {
    if (!best || isBetter(candidate, *best))
      best = std::move(candidate);
  }

  const PlanningProblem &problem;
  const PlanRequest &request;
  const PlanCosts &costs;
  PlanningAnswer &answer;
  int64_t positions;
  std::chrono::steady_clock::time_point deadline;
  StageUnits units;
  StageChain chain;
  std::optional<Candidate> best;
};

} // namespace

std::optional<std::string> parplan::cutIntoStages(
    const PlanningProblem &problem, const PlanRequest &request,
    const PlanCosts &costs, int64_t positions,
    std::chrono::steady_clock::time_point deadline, PlanningAnswer &answer) {
  return Staging(problem, request, costs, answer, positions, deadline).run();
}
