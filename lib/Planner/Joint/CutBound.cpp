//===- CutBound.cpp - The least step over all cuts ------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "CutBound.h"

#include "parplan/Support/Never.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

#include <algorithm>
#include <cmath>

using namespace parplan;

/// Than the best so far; where none is found, also what is as long as the
/// cutoff.
static bool isBetter(double seconds, double best, bool isFound) {
  return seconds < best || (seconds == best && seconds < never && !isFound);
}

static Weights toWeights(const PassWeights &passes, double scale) {
  Weights weights;
  weights.forward = passes.forward * scale;
  weights.inputGradient = passes.inputGradient * scale;
  weights.weightGradient = passes.weightGradient * scale;
  weights.meeting = weights.ends = 0;
  return weights;
}

/// The first position is no centre, and what it does before meeting counts.
static bool meetsFirst(const StepBound &bound) {
  return bound.centre != 0 && bound.meetingPosition == 0;
}

CutBound::CutBound(const UnitChain &chain, const ScheduleShape &shape,
                   AskedOracles &oracles, const Options &options)
    : chain(chain), shape(shape), oracles(oracles), options(options),
      perChunk(chain.getBlocksPerChunk(shape)), raised(chain, shape) {
  if (perChunk == 0)
    return;
  auto batches = static_cast<double>(shape.microBatches);
  auto getSumsOfPasses = [&](const std::vector<PassWeights> &passes) {
    std::vector<Weights> weights;
    for (const PassWeights &ofChunk : passes)
      weights.push_back(toWeights(ofChunk, 1));
    return &getCutSums(weights);
  };
  leastPerBlock = never;
  forms.resize(shape.positions);
  sums.resize(shape.positions);
  for (int64_t position = 0; position < shape.positions; ++position) {
    std::vector<StepBound> bounds = {getWorkBound(shape, position)};
    if (options.effort != Effort::work)
      bounds = getStepBounds(shape, options.meeting, position);
    if (options.effort == Effort::shared)
      llvm::erase_if(bounds,
                     [](const StepBound &bound) { return !bound.isShared; });
    for (StepBound &bound : bounds) {
      Form form;
      for (const PassWeights &passes : bound.ofCentre) {
        Weights weights = toWeights(passes, 1 / batches);
        weights.ends = 1 / batches;
        weights.meeting = bound.meetingPosition == position ? 1 / batches : 0;
        form.weights.push_back(weights);
      }
      Sums sum;
      sum.before = getSumsOfPasses(bound.before);
      sum.centre = &getCutSums(form.weights);
      sum.behind = getSumsOfPasses(bound.behind);
      sum.ofFirst = getSumsOfFirst(bound);
      asksFirst |= meetsFirst(bound) && options.effort == Effort::all;
      sum.constant = bound.messages * options.leastMessageSeconds;
      form.bound = std::move(bound);
      forms[position].push_back(std::move(form));
      sums[position].push_back(sum);
    }
  }
  for (int type = 0; type < chain.getTypeCount(); ++type) {
    double least = 0;
    for (const Weights &weights : forms[0][0].weights)
      least += getPrice(type, weights);
    leastPerBlock = std::min(leastPerBlock, least * batches);
  }
}

const CutBound::CutSums *CutBound::getSumsOfFirst(const StepBound &bound) {
  bool meets = meetsFirst(bound);
  if (!meets && bound.ofFirst.isNone())
    return nullptr;
  std::vector<Weights> weights(shape.chunks, toWeights({}, 0));
  weights[0] = toWeights(bound.ofFirst, 1);
  for (Weights &ofChunk : weights)
    ofChunk.meeting = meets ? 1 : 0;
  return &getCutSums(weights);
}

double CutBound::getPrice(int type, const Weights &weights) {
  return options.isOfKnown ? oracles.getKnownPrice(type, weights)
                           : oracles.getPrice(type, weights);
}

const CutBound::Prefix &CutBound::getPrefix(const Weights &weights) {
  auto [it, isNew] = prefixes.try_emplace(toComponents(weights));
  if (isNew) {
    std::vector<double> prices;
    for (int type = 0; type < chain.getTypeCount(); ++type)
      prices.push_back(getPrice(type, weights));
    it->second.push_back(0);
    for (int unit = 0; unit < chain.getInstanceCount(); ++unit)
      it->second.push_back(it->second.back() + prices[chain.getType(unit)]);
  }
  return it->second;
}

const CutBound::CutSums &
CutBound::getCutSums(const std::vector<Weights> &weights) {
  std::vector<double> key;
  for (const Weights &ofChunk : weights)
    llvm::append_range(key, toComponents(ofChunk));
  auto [it, isNew] = cutSums.try_emplace(std::move(key));
  CutSums &sumsOfCuts = it->second;
  if (!isNew)
    return sumsOfCuts;
  sumsOfCuts.assign(perChunk + 1, 0);
  for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
    if (toComponents(weights[chunk]) == Components{})
      continue;
    const Prefix &prefix = getPrefix(weights[chunk]);
    for (int64_t count = 1; count <= perChunk; ++count) {
      UnitRange range = chain.getContent(shape, 0, count, chunk);
      sumsOfCuts[count] += prefix[range.end] - prefix[range.first];
    }
  }
  return sumsOfCuts;
}

double CutBound::getCentre(int64_t position, size_t form, int64_t before,
                           int64_t count) const {
  const CutSums &centre = *sums[position][form].centre;
  double plain = (centre[before + count] - centre[before]) *
                 static_cast<double>(shape.microBatches);
  const RaisedPlaces::Values *known = raised.find(position, before, count);
  return known ? std::max(plain, (*known)[form][count]) : plain;
}

void CutBound::raiseCentre(int64_t position, size_t form, int64_t before,
                           int64_t count, double value) {
  raised.raise(position, before, count, form, forms[position].size(), value);
}

double CutBound::getOthers(int64_t position, size_t form, int64_t before,
                           int64_t count) const {
  const Sums &sum = sums[position][form];
  int64_t end = before + count;
  return sum.constant + getOfFirst(sum) + (*sum.before)[before] +
         sum.behind->back() - (*sum.behind)[end];
}

double CutBound::getFrom(const Sums &sum, int64_t before) const {
  return sum.constant + getOfFirst(sum) + (*sum.before)[before] -
         (*sum.centre)[before] * static_cast<double>(shape.microBatches);
}

double CutBound::getUntil(const Sums &sum, int64_t end) const {
  return (*sum.centre)[end] * static_cast<double>(shape.microBatches) +
         sum.behind->back() - (*sum.behind)[end];
}

double CutBound::getBound(int64_t position, int64_t before,
                          int64_t count) const {
  const RaisedPlaces::Values *known = raised.find(position, before, count);
  double worst = 0;
  int64_t end = before + count;
  for (size_t form = 0; form < sums[position].size(); ++form) {
    const Sums &sum = sums[position][form];
    worst = std::max(worst, getFrom(sum, before) + getUntil(sum, end));
    if (known)
      worst = std::max(worst, getOthers(position, form, before, count) +
                                  (*known)[form][count]);
  }
  return worst;
}

CutPath CutBound::getEqual() {
  CutPath path;
  path.seconds = 0;
  int64_t before = 0;
  for (int64_t position = 0; position < shape.positions; ++position) {
    int64_t end = perChunk * (position + 1) / shape.positions;
    path.counts.push_back(end - before);
    if (position == 0)
      blocksOfFirst = end;
    path.seconds =
        std::max(path.seconds, getBound(position, before, end - before));
    before = end;
  }
  return path;
}

CutPath CutBound::find(double cutoff) {
  if (perChunk == 0)
    return {};
  CutPath best = getEqual();
  if (best.seconds > cutoff) {
    best = {};
    best.seconds = cutoff;
  }
  if (shape.positions == 1)
    return best.counts.empty() ? CutPath() : best;
  // Of each number of blocks of the first position; what it does besides counts
  // at least for those that have more.
  std::vector<double> least(perChunk - shape.positions + 2, 0);
  least[0] = never;
  auto most = static_cast<int64_t>(least.size()) - 1;
  int64_t first = 1;
  do {
    blocksOfFirst = first;
    Completions rest = getCompletions(best.seconds);
    for (int64_t more = first; more <= most; ++more)
      least[more] =
          std::max({least[more], getBound(0, 0, more), rest.seconds[1][more]});
    if (!asksFirst)
      first = llvm::min_element(least) - least.begin();
    if (isBetter(least[first], best.seconds, !best.counts.empty())) {
      best.seconds = least[first];
      best.counts = {first};
      for (int64_t position = 1, before = first; position < shape.positions;
           ++position) {
        int64_t end = rest.ends[position][before];
        best.counts.push_back(end - before);
        before = end;
      }
    }
    least[first] = never;
    first = llvm::min_element(least) - least.begin();
  } while (asksFirst &&
           isBetter(least[first], best.seconds, !best.counts.empty()));
  if (best.counts.empty())
    return {};
  if (asksFirst)
    blocksOfFirst = best.counts.front();
  return best;
}

int64_t CutBound::getMostBlocks(double cutoff) const {
  // Where not even the equal cut fits, there is no cutoff.
  if (cutoff >= leastPerBlock * static_cast<double>(perChunk))
    return perChunk;
  return std::min(perChunk, static_cast<int64_t>(std::floor(
                                cutoff * (1 + 1e-9) / leastPerBlock)));
}

std::vector<std::vector<CutBound::Place>> CutBound::getPlaces(double cutoff) {
  llvm::SaveAndRestore fewest(blocksOfFirst, int64_t(1));
  int64_t most = getMostBlocks(cutoff);
  std::vector<std::vector<Place>> places(shape.positions);
  std::vector<bool> isReached(perChunk + 1, false);
  isReached[0] = true;
  for (int64_t position = 0; position < shape.positions; ++position) {
    std::vector<bool> next(perChunk + 1, false);
    int64_t behind = shape.positions - 1 - position;
    // What is left fits the positions behind.
    int64_t low = std::max<int64_t>(position + 1, perChunk - behind * most);
    int64_t high = perChunk - behind;
    for (int64_t before = position; before < high; ++before) {
      if (!isReached[before])
        continue;
      for (int64_t end = std::max(low, before + 1);
           end <= std::min(high, before + most); ++end) {
        if (getBound(position, before, end - before) > cutoff)
          continue;
        places[position].push_back({before, end});
        next[end] = true;
      }
    }
    isReached = std::move(next);
  }
  return places;
}

CutBound::Completions CutBound::getCompletions(double cutoff) const {
  int64_t most = getMostBlocks(cutoff);
  std::vector<double> none(perChunk + 1, never);
  Completions all;
  all.seconds.assign(shape.positions + 1, none);
  all.ends.assign(shape.positions, std::vector<int64_t>(perChunk + 1, -1));
  all.seconds[shape.positions][perChunk] = 0;
  for (int64_t position = shape.positions; position-- > 1;)
    complete(position, most, cutoff, all);
  return all;
}

void CutBound::complete(int64_t position, int64_t most, double cutoff,
                        Completions &all) const {
  const std::vector<double> &behind = all.seconds[position + 1];
  // What is left fits the positions behind, what is before those before.
  int64_t others = shape.positions - 1 - position;
  int64_t lowEnd = std::max(position + 1, perChunk - others * most);
  int64_t highEnd = perChunk - others;
  int64_t lowBefore = std::max(position, perChunk - (others + 1) * most);
  int64_t highBefore = std::min(highEnd - 1, position * most);
  // The positions behind with that end or an earlier one, the centre with that
  // end or a later one.
  std::vector<double> leastBehind(behind);
  for (int64_t end = lowEnd + 1; end <= highEnd; ++end)
    leastBehind[end] = std::min(leastBehind[end], leastBehind[end - 1]);
  std::vector<std::vector<double>> leastCentres;
  for (const Sums &sum : sums[position]) {
    auto &least = leastCentres.emplace_back(perChunk + 2, never);
    for (int64_t end = highEnd; end >= lowEnd; --end)
      least[end] = std::min(getUntil(sum, end), least[end + 1]);
  }
  int64_t likely = highEnd;
  for (int64_t before = highBefore; before >= lowBefore; --before) {
    int64_t low = std::max(lowEnd, before + 1);
    int64_t high = std::min(highEnd, before + most);
    if (low > high)
      continue;
    double best = cutoff;
    int64_t bestEnd = -1;
    auto improves = [&](double seconds) {
      return isBetter(seconds, best, bestEnd >= 0);
    };
    auto tryEnd = [&](int64_t end) {
      if (!improves(behind[end]))
        return;
      double bound =
          std::max(behind[end], getBound(position, before, end - before));
      if (!improves(bound))
        return;
      best = bound;
      bestEnd = end;
    };
    auto improvesBehind = [&](int64_t end) {
      for (auto [sum, least] : llvm::zip_equal(sums[position], leastCentres))
        if (!improves(getFrom(sum, before) + least[end]))
          return false;
      return true;
    };
    // Near the best end of the neighbour: with more blocks the centre takes
    // longer, with fewer the positions behind do.
    likely = std::clamp(likely - 1, low, high);
    for (int64_t end = likely; end <= high && improvesBehind(end); ++end)
      tryEnd(end);
    for (int64_t end = likely - 1; end >= low && improves(leastBehind[end]);
         --end)
      tryEnd(end);
    if (bestEnd < 0)
      continue;
    likely = bestEnd;
    all.seconds[position][before] = best;
    all.ends[position][before] = bestEnd;
  }
}
