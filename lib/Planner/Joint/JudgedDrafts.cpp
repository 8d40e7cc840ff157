//===- JudgedDrafts.cpp - What drafts leave out ---------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PlanDrafts.h"

#include "parplan/Planner/ScheduleBounds.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

using namespace parplan;

static constexpr double never = std::numeric_limits<double>::infinity();

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

PlanDrafts::Limits PlanDrafts::getLimits(const ScheduleShape &shape) const {
  Limits limits;
  limits.budgets.assign(shape.positions, freeBytes);
  for (int64_t position = 0; position < shape.positions; ++position)
    limits.moments.push_back(getFirstBackward(shape, position));
  return limits;
}

std::optional<PlanDrafts::Found> PlanDrafts::find(ScheduleShape shape,
                                                  const Cuts &cuts,
                                                  double knownSeconds,
                                                  bool isQuick) {
  std::optional<double> lateness;
  if (!splitsBackward(shape.kind))
    return findOfShape(shape, cuts, getLimits(shape), std::nullopt,
                       knownSeconds, isQuick, lateness);
  std::optional<Found> best;
  int64_t judged = 0;
  for (Waiting &waiting : draftWaiting(shape, cuts, knownSeconds)) {
    if (waiting.draft.seconds >= knownSeconds)
      break;
    shape.waitingHalves = waiting.halves;
    auto found =
        findOfShape(shape, cuts, std::move(waiting.limits),
                    std::move(waiting.draft), knownSeconds, isQuick, lateness);
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

std::vector<double>
PlanDrafts::getBytes(const ScheduleShape &shape, const Draft &draft,
                     const std::vector<Moment> &moments) const {
  std::vector<double> bytes(shape.positions, 0);
  std::vector<PositionPart> parts = getParts(shape, draft.counts, moments);
  for (size_t position = 0; position < parts.size(); ++position) {
    for (size_t chunk = 0; chunk < parts[position].ranges.size(); ++chunk)
      for (const BlockPlan *plan : draft.mixes[position].plans[chunk])
        bytes[position] += parts[position].getBytes(chunk, plan->cost);
  }
  return bytes;
}

std::vector<PlanDrafts::Waiting> PlanDrafts::draftWaiting(ScheduleShape shape,
                                                          const Cuts &cuts,
                                                          double knownSeconds) {
  std::vector<Waiting> all;
  // What takes how long is much the same, whatever waits.
  std::optional<Draft> any = draft(shape, cuts, getLimits(shape));
  if (!any || any->seconds >= knownSeconds)
    return all;
  std::vector<int64_t> allHalves = getWaitingHalves(shape.kind);
  auto makeWaiting = [&](size_t number) {
    shape.waitingHalves = allHalves[number];
    Waiting waiting{allHalves[number], getLimits(shape), *any};
    waiting.limits.moments = estimator.getPeakMoments(shape, *any);
    return waiting;
  };
  size_t number = 0;
  for (; number < allHalves.size(); ++number) {
    Waiting waiting = makeWaiting(number);
    std::vector<double> bytes = getBytes(shape, *any, waiting.limits.moments);
    if (llvm::any_of(bytes, [&](double each) { return each > freeBytes; }))
      continue;
    waiting.draft.seconds = estimator.getSeconds(shape, *any);
    all.push_back(std::move(waiting));
    break;
  }
  // More may wait for plans that need less.
  while (number-- > 0) {
    Waiting waiting = makeWaiting(number);
    std::optional<Draft> own = draftAgain(shape, *any, waiting.limits);
    // The last one needs least.
    if (!own && number + 1 == allHalves.size())
      own = draft(shape, cuts, waiting.limits);
    if (!own || (!all.empty() && own->seconds >= all.back().draft.seconds))
      break;
    waiting.draft = std::move(*own);
    all.push_back(std::move(waiting));
  }
  std::reverse(all.begin(), all.end());
  return all;
}

PlanDrafts::Lesson PlanDrafts::learn(const ScheduleShape &shape,
                                     const Draft &draft, const JudgedPlan &plan,
                                     int64_t judged, Limits &limits) const {
  constexpr double share = 0.01;
  // Less at one moment may be more at another one: both count.
  if (shape.chunks > 1 || splitsBackward(shape.kind))
    for (auto [mean, moment] : llvm::zip_equal(
             limits.moments, estimator.getPeakMoments(shape, draft)))
      addToMean(mean, moment, judged);
  std::vector<double> estimates = getBytes(shape, draft, limits.moments);
  Lesson lesson;
  lesson.isOver = plan.excessBytes > 0;
  limits.leftOut.resize(limits.budgets.size(), 0);
  for (size_t position = 0; position < limits.budgets.size(); ++position) {
    double &budget = limits.budgets[position];
    double &leftOut = limits.leftOut[position];
    const auto &peaks = plan.evaluation.positionPeakBytes;
    double over = position < peaks.size()
                      ? static_cast<double>(peaks[position]) - memoryLimitBytes
                      : static_cast<double>(plan.excessBytes);
    bool isOwnLimited = draft.prices[position] > 0;
    lesson.isLimited |= isOwnLimited;
    lesson.isClose &= !isOwnLimited || over > -share * memoryLimitBytes;
    leftOut = std::max(leftOut, over + freeBytes - estimates[position]);
    if (lesson.isOver)
      budget = std::min(budget, freeBytes - leftOut);
    else if (isOwnLimited)
      budget = std::max(budget, estimates[position] - (1 - share) * over);
  }
  return lesson;
}

std::optional<PlanDrafts::Found>
PlanDrafts::findOfShape(const ScheduleShape &shape, const Cuts &cuts,
                        Limits limits, std::optional<Draft> best,
                        double knownSeconds, bool isQuick,
                        std::optional<double> &lateness) {
  constexpr int rounds = 5;
  /// Budgets that drafts kept.
  std::vector<double> kept;
  std::optional<Found> found;
  int64_t judged = 0;
  // By seconds and bytes: other budgets need not give other plans.
  std::set<std::pair<double, std::vector<double>>> judgedDrafts;
  for (int round = 0; round < rounds; ++round) {
    if (best)
      best = draftAgain(shape, *best, limits);
    if (!best)
      best = draft(shape, cuts, limits);
    if (!best && !kept.empty() && knownSeconds == never) {
      // Of smaller plans less may be left out.
      for (auto [budget, before] : llvm::zip_equal(limits.budgets, kept))
        budget = (budget + before) / 2;
      continue;
    }
    if (!best)
      break;
    kept = limits.budgets;
    if (!isQuick)
      improve(shape, limits, *best);
    if (best->seconds + lateness.value_or(0) >= knownSeconds)
      break;
    std::vector<double> bytes;
    for (const StageMix &mix : best->mixes)
      bytes.push_back(mix.bytes);
    if (!judgedDrafts.emplace(best->seconds, std::move(bytes)).second)
      break;
    JudgedPlan plan = judge(shape, *best);
    lateness = std::min(
        lateness.value_or(never),
        std::max(0.0, plan.evaluation.stepTimeSeconds - best->seconds));
    Lesson lesson = learn(shape, *best, plan, ++judged, limits);
    bool isRefused = plan.refusal.has_value();
    if (!found || isBetter(plan, found->plan))
      found = Found{std::move(plan), 0};
    bool isEnough = isQuick || lesson.isClose || !lesson.isLimited;
    if (isRefused || (!lesson.isOver && isEnough))
      break;
  }
  if (found)
    found->judged = judged;
  return found;
}
