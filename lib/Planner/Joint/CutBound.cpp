//===- CutBound.cpp - The least step over all cuts ------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "CutBound.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

#include <algorithm>
#include <cmath>

using namespace parplan;

static constexpr double never = std::numeric_limits<double>::infinity();

static Weights toWeights(const PassWeights &passes, double scale) {
  Weights weights;
  weights.forward = passes.forward * scale;
  weights.inputGradient = passes.inputGradient * scale;
  weights.weightGradient = passes.weightGradient * scale;
  weights.meeting = weights.ends = 0;
  return weights;
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
      sum.meetsFirst = bound.meetingPosition == 0 && position != 0;
      asksFirst |= sum.meetsFirst && options.effort == Effort::all;
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
  Weights meeting = toWeights({}, 0);
  meeting.meeting = 1;
  firstMeeting = &getCutSums(
      std::vector<Weights>(static_cast<size_t>(shape.chunks), meeting));
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
      UnitRange range = chain.getContent(shape, 0, count)[chunk];
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
  return sum.constant + (*sum.before)[before] + sum.behind->back() -
         (*sum.behind)[end] + (sum.meetsFirst ? meetingOfFirst : 0);
}

double CutBound::getBound(int64_t position, int64_t before, int64_t count,
                          double *withoutRaise) const {
  const RaisedPlaces::Values *known = raised.find(position, before, count);
  double worst = 0, plain = 0;
  int64_t end = before + count;
  auto batches = static_cast<double>(shape.microBatches);
  for (size_t form = 0; form < sums[position].size(); ++form) {
    const CutSums &sum = *sums[position][form].centre;
    double centre = (sum[end] - sum[before]) * batches;
    double others = getOthers(position, form, before, count);
    plain = std::max(plain, others + centre);
    if (known)
      centre = std::max(centre, (*known)[form][count]);
    worst = std::max(worst, others + centre);
  }
  if (withoutRaise)
    *withoutRaise = plain;
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
      meetingOfFirst = (*firstMeeting)[end];
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
  if (!asksFirst) {
    meetingOfFirst = (*firstMeeting)[1];
    CutPath found = findFrom(0, best.seconds);
    if (!found.counts.empty() && found.seconds <= best.seconds)
      best = std::move(found);
  } else {
    // From the equal share outwards, so that the best cut comes early.
    int64_t most = perChunk - shape.positions + 1;
    int64_t middle = std::min(most, perChunk / shape.positions);
    for (int64_t step = 0; step < 2 * most; ++step) {
      int64_t first = middle + (step % 2 == 0 ? -step / 2 : step / 2 + 1);
      if (first < 1 || first > most)
        continue;
      meetingOfFirst = (*firstMeeting)[first];
      if (getBound(0, 0, first) > best.seconds)
        continue;
      CutPath found = findFrom(first, best.seconds);
      if (!found.counts.empty() &&
          (found.seconds < best.seconds || best.counts.empty()))
        best = std::move(found);
    }
  }
  if (best.counts.empty())
    return {};
  if (asksFirst)
    meetingOfFirst = (*firstMeeting)[best.counts.front()];
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
  llvm::SaveAndRestore fewest(meetingOfFirst, (*firstMeeting)[1]);
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

/// With so many blocks in the first position; 0: any number.
CutPath CutBound::findFrom(int64_t first, double cutoff) {
  int64_t positions = shape.positions;
  int64_t most = getMostBlocks(cutoff);
  if (most < 1)
    return {};
  std::vector<double> least(perChunk + 1, never);
  std::vector<std::vector<int>> from(positions,
                                     std::vector<int>(perChunk + 1, -1));
  least[0] = 0;
  for (int64_t position = 0; position < positions; ++position) {
    std::vector<double> next(perChunk + 1, never);
    int64_t behind = positions - 1 - position;
    // What is left fits the positions behind.
    int64_t low = std::max<int64_t>(position + 1, perChunk - behind * most);
    int64_t high = perChunk - behind;
    if (position + 1 == positions)
      low = perChunk;
    for (int64_t before = position; before < high; ++before) {
      if (least[before] > cutoff)
        continue;
      int64_t begin = std::max(low, before + 1);
      int64_t end = std::min(high, before + most);
      if (position == 0 && first > 0) {
        if (first < begin || first > end)
          continue;
        begin = end = first;
      }
      for (int64_t after = begin; after <= end; ++after) {
        double plain = 0;
        double bound = getBound(position, before, after - before, &plain);
        if (plain > cutoff)
          break;
        bound = std::max(bound, least[before]);
        if (bound > cutoff || bound >= next[after])
          continue;
        next[after] = bound;
        from[position][after] = static_cast<int>(before);
      }
    }
    least = std::move(next);
  }
  CutPath path;
  if (least[perChunk] == never)
    return path;
  path.seconds = least[perChunk];
  path.counts.resize(positions);
  auto after = static_cast<int>(perChunk);
  for (int64_t position = positions; position-- > 0;) {
    int before = from[position][after];
    path.counts[position] = after - before;
    after = before;
  }
  return path;
}
