//===- JudgedDrafts.cpp - Plans that fit, from drafts ---------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PlanDrafts.h"

#include "parplan/Support/Never.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

using namespace parplan;

namespace {

bool fits(const JudgedPlan &plan) {
  return !plan.refusal && plan.excessBytes <= 0;
}

bool isBetter(const JudgedPlan &plan, const JudgedPlan &other) {
  auto getRank = [](const JudgedPlan &of) {
    return std::tuple(of.refusal.has_value(),
                      std::max<int64_t>(of.excessBytes, 0),
                      of.evaluation.stepTimeSeconds);
  };
  return getRank(plan) < getRank(other);
}

} // namespace

DraftLimits PlanDrafts::getLimits(const ScheduleShape &shape) const {
  DraftLimits limits;
  limits.budgets.assign(shape.positions, freeBytes);
  for (int64_t position = 0; position < shape.positions; ++position)
    limits.moments.push_back(getFirstBackward(shape, position));
  return limits;
}

std::optional<PlanDrafts::Found> PlanDrafts::find(const ScheduleShape &shape,
                                                  const Cuts &cuts,
                                                  double knownSeconds,
                                                  bool isQuick) {
  if (!splitsBackward(shape.kind))
    return findFrom(shape, cuts, getLimits(shape), std::nullopt, knownSeconds,
                    isQuick);
  std::optional<Found> best;
  int64_t judged = 0;
  for (Draft &draft : draftSplit(shape, cuts, knownSeconds)) {
    if (draft.seconds >= knownSeconds)
      break;
    DraftLimits limits = draft.limits;
    auto found = findFrom(shape, cuts, std::move(limits), std::move(draft),
                          knownSeconds, isQuick);
    if (!found)
      continue;
    judged += found->judged;
    if (!best || isBetter(found->plan, best->plan))
      best = std::move(found);
    if (best->plan.refusal)
      break;
    if (fits(best->plan))
      knownSeconds =
          std::min(knownSeconds, best->plan.evaluation.stepTimeSeconds);
  }
  if (best)
    best->judged = judged;
  return best;
}

std::vector<Draft> PlanDrafts::draftSplit(const ScheduleShape &shape,
                                          const Cuts &cuts,
                                          double knownSeconds) {
  std::vector<Draft> drafts;
  std::optional<Draft> first = draft(shape, cuts, getLimits(shape));
  if (!first ||
      estimator.getSeconds(shape, *first, /*isLimited=*/false) >= knownSeconds)
    return drafts;
  // Where what waits needs less, more may wait.
  DraftLimits priced = first->limits;
  priced.waitingPrices = estimator.getWaitingPrices(shape, *first);
  std::optional<Draft> second = draftAgain(shape, *first, priced);
  drafts.push_back(std::move(*first));
  if (second)
    drafts.push_back(std::move(*second));
  llvm::stable_sort(drafts, [](const Draft &one, const Draft &other) {
    return one.seconds < other.seconds;
  });
  return drafts;
}

DraftBudgets::Plan PlanDrafts::describe(const ScheduleShape &shape,
                                        const Draft &draft,
                                        const JudgedPlan &plan) const {
  // With one chunk and one backward pass it is known when a position has most.
  bool isKnown = shape.chunks == 1 && !splitsBackward(shape.kind);
  std::vector<Moment> peaks =
      isKnown ? draft.limits.moments : estimator.getPeakMoments(shape, draft);
  std::vector<CostVector> costs = estimator.getStageCosts(shape, draft);
  const std::vector<int64_t> &bytes = plan.evaluation.positionPeakBytes;
  DraftBudgets::Plan positions(shape.positions);
  for (auto [number, position] : llvm::enumerate(positions)) {
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      position.chunks.push_back(
          costs[getStage(shape, static_cast<int64_t>(number), chunk)]);
    position.excessBytes =
        number < bytes.size()
            ? static_cast<double>(bytes[number]) - memoryLimitBytes
            : static_cast<double>(plan.excessBytes);
    position.workBytes = draft.mixes[number].workBytes;
    position.isLimited = draft.prices[number] > 0;
    position.peak = peaks[number];
  }
  return positions;
}

std::optional<PlanDrafts::Found>
PlanDrafts::findFrom(const ScheduleShape &shape, const Cuts &cuts,
                     DraftLimits limits, std::optional<Draft> best,
                     double knownSeconds, bool isQuick) {
  constexpr double largeLoss = 1.03;
  std::optional<Found> found =
      learn(shape, cuts, limits, std::move(best), knownSeconds, isQuick);
  bool hasPlan = found && fits(found->plan);
  if ((found && found->plan.refusal) || (hasPlan && isQuick))
    return found;
  if (hasPlan)
    knownSeconds =
        std::min(knownSeconds, found->plan.evaluation.stepTimeSeconds);
  limits.countsWork = false;
  std::optional<Draft> other = draft(shape, cuts, limits);
  if (!other || other->seconds * largeLoss >= knownSeconds)
    return found;
  std::optional<Found> learnt = learn(shape, cuts, std::move(limits),
                                      std::move(other), knownSeconds, isQuick);
  if (!found || !learnt)
    return found ? found : learnt;
  learnt->judged += found->judged;
  if (isBetter(found->plan, learnt->plan))
    std::swap(found->plan, learnt->plan);
  return learnt;
}

std::optional<PlanDrafts::Found>
PlanDrafts::learn(const ScheduleShape &shape, const Cuts &cuts,
                  DraftLimits limits, std::optional<Draft> best,
                  double knownSeconds, bool isQuick) {
  constexpr size_t mostPlans = 5;
  DraftBudgets budgets(std::move(limits), freeBytes,
                       /*hasRoom=*/splitsBackward(shape.kind));
  // What stages cost: other budgets need not give other plans.
  std::vector<std::vector<CostVector>> judged;
  // Quickly: by how much plans were slower than their drafts, at least. Those
  // of neighbours are mostly no less so, but some are.
  double lateness = 0;
  std::optional<Found> found;
  while (judged.size() < mostPlans) {
    if (best && !judged.empty())
      best = draftAgain(shape, *best, budgets.getLimits());
    if (!best)
      best = draft(shape, cuts, budgets.getLimits());
    if (!best) {
      bool isKnown = knownSeconds < never || (found && fits(found->plan));
      if (isKnown || !budgets.relax())
        break;
      continue;
    }
    if (!isQuick)
      improve(shape, budgets.getLimits(), *best);
    if (best->seconds + lateness >= knownSeconds)
      break;
    std::vector<CostVector> costs = estimator.getStageCosts(shape, *best);
    if (llvm::is_contained(judged, costs))
      break;
    judged.push_back(std::move(costs));
    JudgedPlan plan = judge(shape, *best);
    bool isRefused = plan.refusal.has_value();
    bool isEnough = isRefused || !budgets.learn(describe(shape, *best, plan)) ||
                    (isQuick && fits(plan));
    double late =
        std::max(0.0, plan.evaluation.stepTimeSeconds - best->seconds);
    if (isQuick)
      lateness = judged.size() == 1 ? late : std::min(late, lateness);
    if (!found || isBetter(plan, found->plan))
      found = Found{std::move(plan), 0};
    if (isEnough)
      break;
  }
  if (found)
    found->judged = static_cast<int64_t>(judged.size());
  return found;
}
