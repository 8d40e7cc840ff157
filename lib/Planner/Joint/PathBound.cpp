//===- PathBound.cpp - Steps take the longest path at least ---------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "PathBound.h"

#include "parplan/Planner/ScheduleBounds.h"
#include "parplan/Support/Never.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace parplan;

/// Cuts that get the memory of their positions.
static constexpr int mostCuts = 8;

PathBound::PathBound(CutBound &cuts, const CutPath &likely,
                     const UnitChain &chain, const ScheduleShape &shape,
                     MemoryDual &dual, const Options &options)
    : cuts(cuts), chain(chain), shape(shape), dual(dual), options(options),
      batches(static_cast<double>(shape.microBatches)), raised(chain, shape) {
  StageTimes times = getLikelyTimes(likely);
  CriticalPath path =
      findCriticalPath(makeSchedule(shape), times, options.leastMessageSeconds);
  messageSeconds =
      static_cast<double>(path.messages) * options.leastMessageSeconds;
  setWeights(path, times);
  for (const std::vector<Weights> &ofChunks : weights)
    sums.push_back(&cuts.getCutSums(ofChunks));
}

StageTimes PathBound::getLikelyTimes(const CutPath &likely) {
  StageTimes times(shape.getStageCount(), PassTimes{0, 0, 0});
  Weights step;
  step.meeting = step.ends = 1 / batches;
  int64_t before = 0;
  for (auto [position, count] : llvm::enumerate(likely.counts)) {
    auto at = static_cast<int64_t>(position);
    PositionPart part = {chain.getContent(shape, before, count),
                         std::vector<Weights>(shape.chunks, step),
                         getFirstBackward(shape, at)};
    before += count;
    // At the best price, plans that fit cost as much as others do.
    constexpr double more = 1 + 1e-6;
    double price = dual.solve(part, options.freeBytes, never).price * more;
    for (auto [chunk, cost] : llvm::enumerate(dual.getCosts(part, price)))
      times[getStage(shape, at, static_cast<int64_t>(chunk))] = {
          cost.forward, cost.inputGradient, cost.weightGradient};
  }
  return times;
}

void PathBound::setWeights(const CriticalPath &path, const StageTimes &times) {
  size_t busiest = 0;
  double most = -1;
  for (int64_t position = 0; position < shape.positions; ++position) {
    std::vector<Weights> &ofChunks = weights.emplace_back();
    double seconds = 0;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      int64_t stage = getStage(shape, position, chunk);
      auto forwards = static_cast<double>(path.stages[stage].forwards);
      auto backwards = static_cast<double>(path.stages[stage].backwards);
      seconds += forwards * times[stage].forwardSeconds +
                 backwards * times[stage].getBackwardSeconds();
      Weights &priced = ofChunks.emplace_back(MemoryDual::getNoWeights());
      priced.forward = forwards / batches;
      priced.inputGradient = priced.weightGradient = backwards / batches;
    }
    if (seconds > most) {
      most = seconds;
      busiest = static_cast<size_t>(position);
    }
  }
  // The path ends on the first position. Where that has to meet others, they
  // wait for what it does before; else what one position does once per step is
  // added, whichever that is.
  size_t meets = options.meeting == Meeting::never ? busiest : 0;
  size_t ends = options.meeting == Meeting::bySomeCuts ? 0 : busiest;
  for (Weights &priced : weights[meets])
    priced.meeting = 1 / batches;
  for (Weights &priced : weights[ends])
    priced.ends = 1 / batches;
}

double PathBound::getCost(int64_t position,
                          const CutBound::Place &place) const {
  const CutBound::CutSums &sum = *sums[position];
  double plain = (sum[place.end] - sum[place.before]) * batches;
  int64_t count = place.end - place.before;
  const RaisedPlaces::Values *known =
      raised.find(position, place.before, count);
  return known ? std::max(plain, (*known)[0][count]) : plain;
}

CutPath
PathBound::findLeast(const std::vector<std::vector<CutBound::Place>> &places) {
  size_t perChunk = sums.front()->size() - 1;
  std::vector<double> least(perChunk + 1, never);
  std::vector<std::vector<int64_t>> from;
  least[0] = messageSeconds;
  for (auto [position, ofPosition] : llvm::enumerate(places)) {
    std::vector<double> next(perChunk + 1, never);
    from.emplace_back(perChunk + 1, -1);
    for (const CutBound::Place &place : ofPosition) {
      double seconds =
          least[place.before] + getCost(static_cast<int64_t>(position), place);
      if (seconds >= next[place.end])
        continue;
      next[place.end] = seconds;
      from.back()[place.end] = place.before;
    }
    least = std::move(next);
  }
  CutPath path;
  path.seconds = least.back();
  if (path.seconds == never)
    return path;
  auto end = static_cast<int64_t>(perChunk);
  for (const std::vector<int64_t> &ofPosition : llvm::reverse(from)) {
    path.counts.push_back(end - ofPosition[end]);
    end = ofPosition[end];
  }
  std::reverse(path.counts.begin(), path.counts.end());
  return path;
}

double PathBound::find(double cutoff) {
  std::vector<std::vector<CutBound::Place>> places = cuts.getPlaces(cutoff);
  CutPath best = findLeast(places);
  for (int round = 0; round < mostCuts && best.seconds < cutoff; ++round) {
    bool isRaised = false;
    int64_t before = 0;
    for (auto [number, count] : llvm::enumerate(best.counts)) {
      auto position = static_cast<int64_t>(number);
      PositionPart part = {chain.getContent(shape, before, count),
                           weights[number], getFirstBackward(shape, position)};
      double seconds =
          dual.solve(part, options.freeBytes, never).value * batches;
      if (seconds > getCost(position, {before, before + count}) * (1 + 1e-9)) {
        raised.raise(position, before, count, /*form=*/0, /*formCount=*/1,
                     seconds);
        isRaised = true;
      }
      before += count;
    }
    if (!isRaised)
      break;
    best = findLeast(places);
  }
  return best.seconds;
}
