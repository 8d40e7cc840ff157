//===- PlanDrafts.cpp - Plans from sums over units ------------------------===//
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

std::vector<PositionPart>
PlanDrafts::getParts(const ScheduleShape &shape,
                     const std::vector<int64_t> &counts) const {
  std::vector<PositionPart> parts;
  Weights weights;
  weights.meeting = weights.ends = 1 / static_cast<double>(shape.microBatches);
  int64_t before = 0;
  for (int64_t position = 0; position < shape.positions; ++position) {
    parts.push_back({chain.getContent(shape, before, counts[position]),
                     std::vector<Weights>(shape.chunks, weights),
                     getLeastInFlight(shape, position)});
    before += counts[position];
  }
  return parts;
}

namespace {

/// Units in a row with the costs of all of them for the states on both sides.
struct Row {
  int first = 0, end = 0;
  BoundaryMatrix costs;
};

struct Way {
  double cost = never;
  ChainStates states;
};

} // namespace

/// The cheapest states between rows, with those behind one row forced (-1:
/// none).
static std::optional<Way> findWay(const std::vector<Row> &rows, int forcedRow,
                                  int forced) {
  std::vector<std::vector<int>> from(rows.size());
  std::vector<double> least(rows.front().costs.inCount, 0);
  for (size_t index = 0; index < rows.size(); ++index) {
    const BoundaryMatrix &costs = rows[index].costs;
    std::vector<double> next(costs.outCount, never);
    from[index].assign(costs.outCount, -1);
    for (int in = 0; in < costs.inCount; ++in)
      for (int out = 0; out < costs.outCount; ++out) {
        if (static_cast<int>(index) == forcedRow && out != forced)
          continue;
        double cost = least[in] + costs.get(in, out);
        if (cost < next[out]) {
          next[out] = cost;
          from[index][out] = in;
        }
      }
    least = std::move(next);
  }
  auto end = std::min_element(least.begin(), least.end());
  if (*end == never)
    return std::nullopt;
  int count = rows.back().end;
  Way way{*end, {std::vector<int>(count), std::vector<int>(count)}};
  auto state = static_cast<int>(end - least.begin());
  for (size_t index = rows.size(); index-- > 0;) {
    int before = from[index][state];
    for (int unit = rows[index].first; unit < rows[index].end; ++unit) {
      way.states.in[unit] = before;
      way.states.out[unit] = state;
    }
    state = before;
  }
  return way;
}

std::vector<Weights>
PlanDrafts::getUnitWeights(const std::vector<PositionPart> &parts,
                           const std::vector<double> &prices,
                           bool isBytesAlone) const {
  std::vector<Weights> weights(chain.getInstanceCount());
  for (size_t position = 0; position < parts.size(); ++position) {
    const PositionPart &part = parts[position];
    for (size_t chunk = 0; chunk < part.ranges.size(); ++chunk)
      for (int unit = part.ranges[chunk].first; unit < part.ranges[chunk].end;
           ++unit)
        weights[unit] = MemoryDual::addPrice(
            isBytesAlone ? MemoryDual::getNoWeights() : part.weights[chunk],
            isBytesAlone ? 1 : prices[position], part, chunk);
  }
  return weights;
}

/// The best few ways: equal units in a row lie alike on both sides, and ways
/// differ in how the longest such row lies; then each unit as is cheapest, and,
/// where memory is short, as is smallest.
std::vector<ChainStates>
PlanDrafts::chooseStates(const std::vector<PositionPart> &parts,
                         const std::vector<double> &prices) {
  int count = chain.getInstanceCount();
  std::vector<Weights> weightsOf = getUnitWeights(parts, prices),
                       bytesOf = getUnitWeights(parts, prices,
                                                /*isBytesAlone=*/true);
  std::vector<Row> rows, single, smallest;
  bool isLimited = llvm::any_of(prices, [](double price) { return price > 0; });
  ModeSet modes = isLimited ? allModes : oracles.getFastest();
  for (int unit = 0; unit < count;) {
    Row row{unit, unit, {}};
    int type = chain.getType(unit);
    while (row.end < count && chain.getType(row.end) == type)
      ++row.end;
    for (; unit < row.end; ++unit) {
      const BoundaryMatrix &costs =
          oracles.getMatrix(type, weightsOf[unit], modes);
      single.push_back({unit, unit + 1, costs});
      if (isLimited)
        smallest.push_back(
            {unit, unit + 1, oracles.getMatrix(type, bytesOf[unit], modes)});
      if (unit == row.first) {
        row.costs = costs;
        continue;
      }
      for (size_t entry = 0; entry < costs.costs.size(); ++entry)
        row.costs.costs[entry] += costs.costs[entry];
    }
    if (row.end - row.first > 1)
      for (int in = 0; in < row.costs.inCount; ++in)
        for (int out = 0; out < row.costs.outCount; ++out)
          if (in != out)
            row.costs.costs[in * row.costs.outCount + out] = never;
    rows.push_back(std::move(row));
  }
  auto longest = static_cast<int>(
      std::max_element(rows.begin(), rows.end(),
                       [](const Row &one, const Row &other) {
                         return one.end - one.first < other.end - other.first;
                       }) -
      rows.begin());
  std::vector<Way> ways;
  for (int forced = 0; forced < rows[longest].costs.outCount; ++forced)
    if (auto way = findWay(rows, longest, forced))
      ways.push_back(std::move(*way));
  llvm::stable_sort(ways, [](const Way &one, const Way &other) {
    return one.cost < other.cost;
  });
  constexpr size_t mostWays = 3;
  ways.resize(std::min(ways.size(), mostWays));
  for (const std::vector<Row> *free : {&single, &smallest}) {
    if (free->empty())
      continue;
    if (auto way = findWay(*free, -1, 0))
      ways.push_back(std::move(*way));
  }
  std::vector<ChainStates> states;
  for (Way &way : ways)
    if (!llvm::is_contained(states, way.states))
      states.push_back(std::move(way.states));
  return states;
}

std::optional<PlanDrafts::Draft>
PlanDrafts::draft(const ScheduleShape &shape,
                  const std::vector<int64_t> &counts,
                  const std::vector<double> &budgets) {
  constexpr double shares[] = {1, 0.93, 0.8};
  constexpr size_t mostPriced = 8;
  std::vector<PositionPart> parts = getParts(shape, counts);
  // Neighbours differ little: the price of one in a few is near enough.
  size_t step = (parts.size() + mostPriced - 1) / mostPriced;
  auto isPriced = [&](size_t position) {
    return position % step == 0 || position + 1 == parts.size();
  };
  std::vector<double> prices;
  for (size_t position = 0; position < parts.size(); ++position) {
    if (!isPriced(position)) {
      prices.push_back(prices.back());
      continue;
    }
    MemoryDual::Result result =
        dual.solve(parts[position], budgets[position], never);
    if (result.value == never)
      return std::nullopt;
    prices.push_back(result.price);
  }
  std::optional<Draft> best;
  for (ChainStates &states : chooseStates(parts, prices)) {
    for (size_t position = 0; position < parts.size(); ++position) {
      if (!isPriced(position))
        continue;
      std::vector<double> near;
      for (double share : shares)
        if (double price =
                dual.solve(parts[position], budgets[position] * share, never)
                    .price;
            price > 0 && !llvm::is_contained(near, price))
          near.push_back(price);
      mixer.collect(parts[position], states, near);
    }
    Draft candidate;
    candidate.counts = counts;
    candidate.prices = prices;
    for (size_t position = 0; position < parts.size(); ++position) {
      auto mix = mixer.find(parts[position], states, budgets[position]);
      if (!mix)
        break;
      candidate.mixes.push_back(std::move(*mix));
    }
    if (candidate.mixes.size() != parts.size())
      continue;
    candidate.states = std::move(states);
    candidate.seconds = estimate(shape, candidate);
    if (!best || candidate.seconds < best->seconds)
      best = std::move(candidate);
  }
  return best;
}

double PlanDrafts::estimate(const ScheduleShape &shape,
                            const Draft &draft) const {
  StageTimes times(shape.getStageCount(), PassTimes{0, 0, 0});
  std::vector<double> beforeMeeting(shape.positions, 0), ends = beforeMeeting;
  for (int64_t position = 0; position < shape.positions; ++position)
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      PassTimes &stage = times[getStage(shape, position, chunk)];
      for (const BlockPlan *plan : draft.mixes[position].plans[chunk]) {
        stage.forwardSeconds += plan->cost.forward;
        stage.inputGradientSeconds += plan->cost.inputGradient;
        stage.weightGradientSeconds += plan->cost.weightGradient;
        beforeMeeting[position] += plan->cost.meeting;
        ends[position] += plan->cost.ends;
      }
    }
  if (shape.positions == 1)
    return static_cast<double>(shape.microBatches) * times[0].getSeconds() +
           beforeMeeting[0] + ends[0];
  std::vector<int> cuts = chain.getCuts(shape, draft.counts);
  std::vector<double> latencies;
  for (size_t stage = 1; stage < cuts.size(); ++stage)
    latencies.push_back(
        model.getLatency(cuts[stage] - 1, draft.states.out[cuts[stage] - 1]));
  PipelineSchedule schedule = makeSchedule(shape, times, latencies);
  constexpr int64_t steps = 5;
  bool meets = getMeeting(meeting, shape) == Meeting::always;
  Timeline timeline = simulate(schedule, times, latencies, meets ? 1 : steps);
  double last = meets ? 0 : timeline.periodSeconds, atEnds = 0;
  for (int64_t position = 0; position < shape.positions; ++position) {
    if (meets)
      last = std::max(last, timeline.passes[position].back().endSeconds +
                                beforeMeeting[position]);
    atEnds = std::max(atEnds,
                      ends[position] + (meets ? 0 : beforeMeeting[position]));
  }
  return last + atEnds;
}

/// Moves blocks between neighbours as long as that helps.
void PlanDrafts::improve(const ScheduleShape &shape,
                         const std::vector<double> &budgets, Draft &draft) {
  double passes = 3.0 * static_cast<double>(shape.getStageCount()) *
                  static_cast<double>(shape.microBatches);
  auto tries = static_cast<int64_t>(std::clamp(
      1e6 / passes, 4.0, 8.0 * static_cast<double>(shape.positions)));
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t border = 0; border + 1 < shape.positions; ++border)
      for (int64_t direction : {-1, 1}) {
        if (tries-- <= 0)
          return;
        Draft other = draft;
        other.counts[border] += direction;
        other.counts[border + 1] -= direction;
        if (other.counts[border] < 1 || other.counts[border + 1] < 1)
          continue;
        std::vector<PositionPart> parts = getParts(shape, other.counts);
        bool fits = true;
        for (int64_t position : {border, border + 1}) {
          auto mix =
              mixer.find(parts[position], draft.states, budgets[position]);
          fits = mix.has_value();
          if (!fits)
            break;
          other.mixes[position] = std::move(*mix);
        }
        if (!fits)
          continue;
        other.seconds = estimate(shape, other);
        if (other.seconds < draft.seconds * (1 - 1e-9)) {
          draft = std::move(other);
          moved = true;
        }
      }
  }
}

std::optional<PlanDrafts::Draft>
PlanDrafts::draft(const ScheduleShape &shape, const Cuts &cuts,
                  const std::vector<double> &budgets) {
  std::optional<Draft> best;
  for (const std::vector<int64_t> &counts : cuts)
    if (auto candidate = draft(shape, counts, budgets);
        candidate && (!best || candidate->seconds < best->seconds))
      best = std::move(candidate);
  return best;
}

JudgedPlan PlanDrafts::judge(const ScheduleShape &shape,
                             const Draft &draft) const {
  std::vector<BlockPlan> plans(chain.getInstanceCount());
  std::vector<PositionPart> parts = getParts(shape, draft.counts);
  for (size_t position = 0; position < parts.size(); ++position)
    for (size_t chunk = 0; chunk < parts[position].ranges.size(); ++chunk)
      for (int unit = parts[position].ranges[chunk].first;
           unit < parts[position].ranges[chunk].end; ++unit)
        plans[unit] =
            *draft.mixes[position]
                 .plans[chunk][unit - parts[position].ranges[chunk].first];
  plans = model.agree(std::move(plans), getUnitWeights(parts, draft.prices));
  return model.judge(plans, {shape, chain.getCuts(shape, draft.counts)},
                     memoryLimitBytes);
}

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

std::optional<PlanDrafts::Found> PlanDrafts::find(ScheduleShape shape,
                                                  const Cuts &cuts,
                                                  double knownSeconds,
                                                  bool isQuick) {
  std::vector<int64_t> allHalves = getWaitingHalves(shape.kind);
  int64_t judged = 0;
  std::optional<Found> best;
  for (size_t number =
           findNearlyFitting(shape, cuts, allHalves, knownSeconds, judged);
       number < allHalves.size();) {
    shape.waitingHalves = allHalves[number];
    std::optional<Found> found =
        findOfShape(shape, cuts, knownSeconds, isQuick);
    if (found)
      judged += found->judged;
    bool isNew = found && (!best || isBetter(found->plan, best->plan));
    if (isNew)
      best = std::move(found);
    if (best && best->plan.refusal)
      break;
    bool isLast = number + 1 == allHalves.size();
    if (best && fits(best->plan)) {
      // The less may wait from there on, the longer it takes.
      if (!isNew)
        break;
      knownSeconds =
          std::min(knownSeconds, best->plan.evaluation.stepTimeSeconds);
      ++number;
    } else {
      // If anything fits, it is what needs the least memory.
      number = isLast ? allHalves.size() : allHalves.size() - 1;
    }
  }
  if (best)
    best->judged = judged;
  return best;
}

size_t PlanDrafts::findNearlyFitting(ScheduleShape shape, const Cuts &cuts,
                                     const std::vector<int64_t> &allHalves,
                                     double knownSeconds, int64_t &judged) {
  constexpr double nearby = 0.15;
  if (allHalves.size() == 1)
    return 0;
  size_t least = allHalves.size();
  int64_t leastExcess = std::numeric_limits<int64_t>::max();
  for (auto [number, halves] : llvm::enumerate(allHalves)) {
    shape.waitingHalves = halves;
    std::vector<double> budgets(shape.positions, freeBytes);
    std::optional<Draft> one = draft(shape, cuts, budgets);
    if (!one)
      return allHalves.size();
    if (one->seconds >= knownSeconds)
      continue;
    JudgedPlan plan = judge(shape, *one);
    ++judged;
    if (plan.refusal ||
        static_cast<double>(plan.excessBytes) <= nearby * memoryLimitBytes)
      return number;
    if (plan.excessBytes < leastExcess) {
      leastExcess = plan.excessBytes;
      least = number;
    }
  }
  return least;
}

std::optional<PlanDrafts::Found>
PlanDrafts::findOfShape(const ScheduleShape &shape, const Cuts &cuts,
                        double knownSeconds, bool isQuick) {
  constexpr int rounds = 5;
  std::vector<double> budgets(shape.positions, freeBytes);
  std::vector<double> leftOut(shape.positions, 0);
  std::optional<Found> found;
  int64_t judged = 0;
  // By seconds and bytes: other budgets need not give other plans.
  std::set<std::pair<double, std::vector<double>>> judgedDrafts;
  for (int round = 0; round < rounds; ++round) {
    std::optional<Draft> best = draft(shape, cuts, budgets);
    if (!best)
      break;
    if (!isQuick)
      improve(shape, budgets, *best);
    if (best->seconds >= knownSeconds)
      break;
    std::vector<double> bytes;
    for (const StageMix &mix : best->mixes)
      bytes.push_back(mix.bytes);
    if (!judgedDrafts.emplace(best->seconds, std::move(bytes)).second)
      break;
    JudgedPlan plan = judge(shape, *best);
    ++judged;
    // Sums are estimates. What they left out at most is left free until a plan
    // fits; then positions that have more to spare get it back.
    bool isClose = true, isLimited = false, isOver = plan.excessBytes > 0;
    for (size_t position = 0; position < budgets.size(); ++position) {
      double estimated = best->mixes[position].bytes;
      const auto &peaks = plan.evaluation.positionPeakBytes;
      double over =
          position < peaks.size()
              ? static_cast<double>(peaks[position]) - memoryLimitBytes
              : static_cast<double>(plan.excessBytes);
      constexpr double share = 0.01;
      bool isOwnLimited = best->prices[position] > 0;
      isLimited |= isOwnLimited;
      isClose &= !isOwnLimited || over > -share * memoryLimitBytes;
      leftOut[position] =
          std::max(leftOut[position], over + freeBytes - estimated);
      if (isOver)
        budgets[position] =
            std::min(budgets[position], freeBytes - leftOut[position]);
      else if (isOwnLimited)
        budgets[position] =
            std::max(budgets[position], estimated - (1 - share) * over);
    }
    bool isRefused = plan.refusal.has_value();
    if (!found || isBetter(plan, found->plan))
      found = Found{std::move(plan), 0};
    if (isRefused || (!isOver && (isClose || !isLimited)))
      break;
  }
  if (found)
    found->judged = judged;
  return found;
}
