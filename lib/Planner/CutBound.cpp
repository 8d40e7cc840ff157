//===- CutBound.cpp - The least step over all cuts ------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "CutBound.h"

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
      isUniform(chain.isUniform()), perChunk(chain.getBlocksPerChunk(shape)) {
  if (perChunk == 0)
    return;
  auto batches = static_cast<double>(shape.microBatches);
  // Sums of weighted passes of what lies before or behind a centre.
  auto getWay = [&](const std::vector<PassWeights> &weights, bool isBefore) {
    std::vector<double> key = {isBefore ? 1.0 : 0.0};
    for (const PassWeights &passes : weights)
      key.insert(key.end(),
                 {passes.forward, passes.inputGradient, passes.weightGradient});
    auto [it, isNew] = ways.try_emplace(std::move(key));
    if (isNew) {
      it->second.assign(perChunk + 1, 0);
      for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
        if (weights[chunk].isNone())
          continue;
        const Prefix &prefix = getPrefix(toWeights(weights[chunk], 1));
        for (int64_t count = 0; count <= perChunk; ++count)
          it->second[count] +=
              getSum(prefix, (isBefore ? chain.getStart(shape, count)
                                       : chain.getRest(shape, count))[chunk]);
      }
    }
    return &it->second;
  };
  leastPerBlock = never;
  forms.resize(shape.positions);
  sums.resize(shape.positions);
  for (int64_t position = 0; position < shape.positions; ++position) {
    std::vector<StepBound> bounds =
        getStepBounds(shape, options.meets, position);
    // The first ones have weights that all positions share.
    size_t shared = options.meets ? 2 : 1;
    if (!options.isThorough && bounds.size() > shared)
      bounds.resize(shared);
    for (StepBound &bound : bounds) {
      Form form;
      Sums sum;
      sum.before = getWay(bound.before, /*isBefore=*/true);
      sum.behind = getWay(bound.behind, /*isBefore=*/false);
      sum.meetsFirst = bound.meeting == 0 && position != 0;
      sum.constant = bound.messages * options.leastMessageSeconds;
      for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
        Weights weights = toWeights(bound.ofCentre[chunk], 1 / batches);
        weights.ends = 1 / batches;
        weights.meeting = bound.meeting == position ? 1 / batches : 0;
        sum.centre.push_back(&getPrefix(weights));
        form.weights.push_back(weights);
      }
      form.bound = std::move(bound);
      forms[position].push_back(std::move(form));
      sums[position].push_back(std::move(sum));
    }
  }
  for (int type = 0; type < chain.getTypeCount(); ++type) {
    double least = 0;
    for (const Weights &weights : forms[0][0].weights)
      least += oracles.getPrice(type, weights);
    leastPerBlock = std::min(leastPerBlock, least * batches);
  }
  Weights meeting = toWeights({}, 0);
  meeting.meeting = 1;
  const Prefix &prefix = getPrefix(meeting);
  for (int64_t count = 0; count <= perChunk; ++count) {
    double seconds = 0;
    for (const UnitRange &range : chain.getStart(shape, count))
      seconds += getSum(prefix, range);
    firstMeeting.push_back(seconds);
  }
}

const CutBound::Prefix &CutBound::getPrefix(const Weights &weights) {
  std::array<double, 8> key = {weights.forward,        weights.inputGradient,
                               weights.weightGradient, weights.meeting,
                               weights.ends,           weights.permanentBytes,
                               weights.savedBytes,     weights.hostBytes};
  auto [it, isNew] = prefixes.try_emplace(key);
  if (isNew) {
    std::vector<double> prices;
    for (int type = 0; type < chain.getTypeCount(); ++type)
      prices.push_back(oracles.getPrice(type, weights));
    it->second.push_back(0);
    for (int unit = 0; unit < chain.getInstanceCount(); ++unit)
      it->second.push_back(it->second.back() + prices[chain.getType(unit)]);
  }
  return it->second;
}

double CutBound::getCentre(int64_t position, size_t form, int64_t before,
                           int64_t count) const {
  auto found = raised.find(getPlace(position, form, before, count));
  if (found != raised.end())
    return found->second;
  double sum = 0;
  std::vector<UnitRange> content = chain.getContent(shape, before, count);
  for (size_t chunk = 0; chunk < content.size(); ++chunk)
    sum += getSum(*sums[position][form].centre[chunk], content[chunk]);
  return sum * static_cast<double>(shape.microBatches);
}

void CutBound::raiseCentre(int64_t position, size_t form, int64_t before,
                           int64_t count, double value) {
  double known = getCentre(position, form, before, count);
  raised[getPlace(position, form, before, count)] = std::max(known, value);
}

bool CutBound::isRaised(int64_t position, size_t form, int64_t before,
                        int64_t count) const {
  return raised.count(getPlace(position, form, before, count)) != 0;
}

double CutBound::getBound(int64_t position, int64_t before, int64_t count,
                          double *withoutRaise) const {
  double worst = 0, plain = 0;
  std::vector<UnitRange> content = chain.getContent(shape, before, count);
  auto batches = static_cast<double>(shape.microBatches);
  for (size_t form = 0; form < sums[position].size(); ++form) {
    const Sums &sum = sums[position][form];
    double centre = 0;
    for (size_t chunk = 0; chunk < content.size(); ++chunk)
      centre += getSum(*sum.centre[chunk], content[chunk]);
    centre *= batches;
    double others = sum.constant + (*sum.before)[before] +
                    (*sum.behind)[before + count] +
                    (sum.meetsFirst ? meetingOfFirst : 0);
    plain = std::max(plain, others + centre);
    if (!raised.empty()) {
      auto found = raised.find(getPlace(position, form, before, count));
      if (found != raised.end())
        centre = std::max(centre, found->second);
    }
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
      meetingOfFirst = firstMeeting[end];
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
  if (!options.isThorough) {
    meetingOfFirst = firstMeeting[1];
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
      meetingOfFirst = firstMeeting[first];
      CutPath found = findFrom(first, best.seconds);
      if (!found.counts.empty() &&
          (found.seconds < best.seconds || best.counts.empty()))
        best = std::move(found);
    }
  }
  return best.counts.empty() ? CutPath() : best;
}

/// With so many blocks in the first position; 0: any number.
CutPath CutBound::findFrom(int64_t first, double cutoff) {
  int64_t positions = shape.positions;
  int64_t most = perChunk;
  // Where not even the equal cut fits, there is no cutoff.
  if (cutoff < leastPerBlock * static_cast<double>(perChunk))
    most = std::min(most, static_cast<int64_t>(
                              std::floor(cutoff * (1 + 1e-9) / leastPerBlock)));
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
