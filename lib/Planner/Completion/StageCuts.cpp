//===- StageCuts.cpp - Where a model is cut into stages -------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "StageCuts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace parplan;

/// Cuts of which all are simulated.
static constexpr int64_t mostCutsToTry = 2000;
/// Cuts that are simulated to improve the best one.
static constexpr int mostMoves = 3000;
/// Places for cuts that the dynamic programme looks at.
static constexpr int mostPlaces = 320;

/// True where some op combines units of several positions.
static bool meets(const StageChain &chain, const ScheduleShape &shape,
                  const StageCuts &cuts) {
  auto getPositionOf = [&](int unit) {
    return getPosition(shape, llvm::upper_bound(cuts, unit) - cuts.begin() - 1);
  };
  return llvm::any_of(chain.meetings, [&](const std::vector<int> &units) {
    return llvm::any_of(units, [&](int unit) {
      return getPositionOf(unit) != getPositionOf(units.front());
    });
  });
}

CutSearch parplan::evaluateCuts(const StageChain &chain,
                                const ScheduleShape &shape,
                                const StageCuts &cuts) {
  StepWork work;
  work.meets = !hasBackward(shape.kind) || meets(chain, shape, cuts);
  work.stages.resize(cuts.size());
  work.positions.resize(shape.positions);
  work.messageSeconds.assign(shape.positions, 0);
  std::vector<int64_t> permanent(shape.positions, chain.fixedBytes);
  std::vector<int64_t> saved(cuts.size(), 0);
  int64_t messages = hasBackward(shape.kind) ? 2 : 1;
  for (size_t stage = 0; stage < cuts.size(); ++stage) {
    auto number = static_cast<int64_t>(stage);
    int64_t at = getPosition(shape, number);
    bool isLast = stage + 1 == cuts.size();
    int end = isLast ? static_cast<int>(chain.units.size()) : cuts[stage + 1];
    StageWork &ofStage = work.stages[stage];
    PositionWork &position = work.positions[at];
    for (int unit = cuts[stage]; unit < end; ++unit) {
      const StageChain::Unit &part = chain.units[unit];
      ofStage.forward.compute += part.pass.forwardSeconds;
      ofStage.inputGradient.compute += part.pass.inputGradientSeconds;
      ofStage.weightGradient.compute += part.pass.weightGradientSeconds;
      position.start.compute += part.startSeconds;
      position.beforeMeeting.compute += part.beforeMeetingSeconds;
      position.afterMeeting.compute += part.afterMeetingSeconds;
      permanent[at] += part.permanentBytes;
      saved[stage] += part.savedBytes;
    }
    if (isLast)
      break;
    int64_t next = getPosition(shape, number + 1);
    double latency = next == at ? 0 : chain.latencies[end - 1];
    work.latencies.push_back(latency);
    for (int64_t side : {at, next})
      work.messageSeconds[side] += static_cast<double>(messages) * latency;
  }
  if (work.latencies.empty())
    work.latencies.push_back(0);
  StageTimes times = work.getTimes();
  CutSearch result;
  result.cuts = cuts;
  result.seconds = getStepSeconds(work, shape, times, work.latencies);
  for (int64_t position = 0; position < shape.positions; ++position) {
    double seconds = 0;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      seconds += times[getStage(shape, position, chunk)].getSeconds();
    result.busiestSeconds = std::max(result.busiestSeconds, seconds);
  }
  PipelineSchedule schedule = makeSchedule(shape, times, work.latencies);
  for (int64_t position = 0; position < shape.positions; ++position) {
    // What is in flight is taken as spread over the chunks evenly.
    int64_t inFlight = hasBackward(shape.kind)
                           ? getInFlightPeak(schedule, position)
                           : shape.chunks;
    int64_t bytes = 0;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      bytes += saved[getStage(shape, position, chunk)];
    result.bytes = std::max(result.bytes, permanent[position] +
                                              bytes * inFlight / shape.chunks);
  }
  return result;
}

namespace {

class Cutter {
public:
  Cutter(const StageChain &chain, const ScheduleShape &shape,
         int64_t limitBytes, llvm::function_ref<bool()> isOver)
      : chain(chain), shape(shape), limitBytes(limitBytes), isOver(isOver),
        unitCount(static_cast<int>(chain.units.size())),
        stageCount(static_cast<int>(shape.getStageCount())) {
    secondsBefore = {0};
    permanentBefore = savedBefore = {0};
    for (const StageChain::Unit &unit : chain.units) {
      secondsBefore.push_back(secondsBefore.back() + getSeconds(unit.pass));
      permanentBefore.push_back(permanentBefore.back() + unit.permanentBytes);
      savedBefore.push_back(savedBefore.back() + unit.savedBytes);
    }
  }

  CutSearch run() {
    if (isSmall()) {
      StageCuts cuts = {0};
      tryAll(cuts);
      return *best;
    }
    choosePlaces();
    std::vector<double> limits = {getLeastLimit(/*withMemory=*/true)};
    if (!std::isfinite(limits.front()))
      limits = {getLeastLimit(/*withMemory=*/false)};
    for (double factor : {1.005, 1.02, 1.05, 1.1, 1.2, 1.4})
      limits.push_back(limits.front() * factor);
    for (bool withMemory : {true, false}) {
      for (double limit : limits)
        if (auto cuts = findByLimit(limit, withMemory))
          take(*cuts);
      if (best && best->bytes <= limitBytes)
        break;
    }
    if (!best)
      take(getEqualCuts());
    improve();
    return *best;
  }

private:
  double getSeconds(const PassTimes &pass) const {
    return hasBackward(shape.kind) ? pass.getSeconds() : pass.forwardSeconds;
  }

  /// There are C(units - 1, stages - 1) cuts.
  bool isSmall() const {
    double count = 1;
    for (int i = 1; i < stageCount; ++i)
      count *= static_cast<double>(unitCount - i) / i;
    return count <= static_cast<double>(mostCutsToTry);
  }

  void tryAll(StageCuts &cuts) {
    if (static_cast<int>(cuts.size()) == stageCount)
      return take(cuts);
    int left = stageCount - static_cast<int>(cuts.size());
    for (int next = cuts.back() + 1; next + left <= unitCount; ++next) {
      cuts.push_back(next);
      tryAll(cuts);
      cuts.pop_back();
    }
  }

  /// Fits first, then time; of equal times (one micro-batch, forward) the least
  /// work of a position, then cuts between blocks, then the earliest.
  bool isBetter(const CutSearch &first, const CutSearch &second) const {
    bool fits = first.bytes <= limitBytes;
    if (fits != (second.bytes <= limitBytes))
      return fits;
    if (!fits && first.bytes != second.bytes)
      return first.bytes < second.bytes;
    double tolerance = 1e-9 * second.seconds;
    if (std::abs(first.seconds - second.seconds) > tolerance)
      return first.seconds < second.seconds;
    if (std::abs(first.busiestSeconds - second.busiestSeconds) > tolerance)
      return first.busiestSeconds < second.busiestSeconds;
    return countBlockStarts(first.cuts) > countBlockStarts(second.cuts);
  }
  int64_t countBlockStarts(const StageCuts &cuts) const {
    return llvm::count_if(
        cuts, [&](int unit) { return chain.units[unit].startsBlock; });
  }

  void take(const StageCuts &cuts) {
    CutSearch found = evaluateCuts(chain, shape, cuts);
    if (!best || isBetter(found, *best))
      best = std::move(found);
  }

  StageCuts getEqualCuts() const {
    StageCuts cuts;
    for (int stage = 0; stage < stageCount; ++stage)
      cuts.push_back(static_cast<int>(int64_t(stage) * unitCount / stageCount));
    return cuts;
  }

  /// Every unit may be the first of a stage, or of many the ones with the
  /// shortest messages before them, evenly over the time.
  void choosePlaces() {
    places = {0};
    int most = std::max(mostPlaces, 4 * stageCount);
    if (unitCount <= most) {
      for (int unit = 1; unit < unitCount; ++unit)
        places.push_back(unit);
    } else {
      std::vector<int> bestOf(most, -1);
      for (int unit = 1; unit < unitCount; ++unit) {
        auto window = std::min<int>(
            most - 1, static_cast<int>(most * secondsBefore[unit] /
                                       std::max(secondsBefore.back(), 1e-30)));
        int &known = bestOf[window];
        if (known < 0 || isBetterPlace(unit, known))
          known = unit;
      }
      llvm::copy_if(bestOf, std::back_inserter(places),
                    [](int unit) { return unit > 0; });
    }
    places.push_back(unitCount);
  }
  bool isBetterPlace(int first, int second) const {
    double difference =
        chain.latencies[first - 1] - chain.latencies[second - 1];
    if (difference != 0)
      return difference < 0;
    return chain.units[first].startsBlock > chain.units[second].startsBlock;
  }

  /// A stage of the units from `first` to before `end` may be that long.
  bool fits(int stage, int first, int end, double limit,
            bool withMemory) const {
    if (secondsBefore[end] - secondsBefore[first] > limit * (1 + 1e-12))
      return false;
    if (!withMemory)
      return true;
    int64_t inFlight = hasBackward(shape.kind)
                           ? getInFlightLimit(shape, getPosition(shape, stage))
                           : shape.chunks;
    int64_t bytes =
        (permanentBefore[end] - permanentBefore[first]) * shape.chunks +
        (savedBefore[end] - savedBefore[first]) * inFlight;
    return chain.fixedBytes + bytes <= limitBytes;
  }

  /// For a limit on the time of a stage, the cuts with the shortest messages.
  std::optional<StageCuts> findByLimit(double limit, bool withMemory) const {
    constexpr double impossible = std::numeric_limits<double>::infinity();
    size_t count = places.size();
    std::vector<double> least(count, impossible);
    std::vector<std::vector<int>> from(stageCount, std::vector<int>(count, -1));
    least[0] = 0;
    for (int stage = 0; stage < stageCount; ++stage) {
      std::vector<double> next(count, impossible);
      for (size_t begin = 0; begin < count; ++begin) {
        if (least[begin] == impossible)
          continue;
        for (size_t end = begin + 1; end < count; ++end) {
          if (secondsBefore[places[end]] - secondsBefore[places[begin]] >
              limit * (1 + 1e-12))
            break;
          if (!fits(stage, places[begin], places[end], limit, withMemory))
            continue;
          double cost = least[begin] + getCutCost(places[end]);
          if (cost < next[end]) {
            next[end] = cost;
            from[stage][end] = static_cast<int>(begin);
          }
        }
      }
      least = std::move(next);
    }
    if (least.back() == impossible)
      return std::nullopt;
    StageCuts cuts(stageCount);
    int end = static_cast<int>(count) - 1;
    for (int stage = stageCount; stage-- > 0;) {
      end = from[stage][end];
      cuts[stage] = places[end];
    }
    return cuts;
  }

  /// Of equal messages, those between blocks.
  double getCutCost(int unit) const {
    if (unit == unitCount)
      return 0;
    return chain.latencies[unit - 1] *
           (chain.units[unit].startsBlock ? 1 : 1 + 1e-6);
  }

  double getLeastLimit(bool withMemory) const {
    double low = secondsBefore.back() / stageCount, high = secondsBefore.back();
    if (!findByLimit(high, withMemory))
      return std::numeric_limits<double>::infinity();
    if (findByLimit(low, withMemory))
      return low;
    constexpr int steps = 24;
    for (int step = 0; step < steps; ++step) {
      double middle = (low + high) / 2;
      (findByLimit(middle, withMemory) ? high : low) = middle;
    }
    return high;
  }

  /// Moves single cuts as long as that helps.
  void improve() {
    for (int moves = 0; moves < mostMoves;) {
      CutSearch before = *best;
      for (int cut = 1; cut < stageCount; ++cut) {
        if (isOver())
          return;
        for (int distance : {1, 2, 3, 5, 8, 13, 21})
          for (int direction : {-1, 1}) {
            StageCuts moved = before.cuts;
            moved[cut] += direction * distance;
            int low = moved[cut - 1];
            int high = cut + 1 < stageCount ? moved[cut + 1] : unitCount;
            if (moved[cut] <= low || moved[cut] >= high)
              continue;
            take(moved);
            ++moves;
          }
      }
      if (best->cuts == before.cuts)
        return;
    }
  }

  const StageChain &chain;
  const ScheduleShape &shape;
  int64_t limitBytes;
  llvm::function_ref<bool()> isOver;
  int unitCount, stageCount;
  std::vector<double> secondsBefore;
  std::vector<int64_t> permanentBefore, savedBefore;
  std::vector<int> places;
  std::optional<CutSearch> best;
};

} // namespace

CutSearch parplan::findCuts(const StageChain &chain, const ScheduleShape &shape,
                            int64_t limitBytes,
                            llvm::function_ref<bool()> isOver) {
  return Cutter(chain, shape, limitBytes, isOver).run();
}
