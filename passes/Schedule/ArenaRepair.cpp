//===- ArenaRepair.cpp - Packings pushed below a ceiling ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ArenaRepair.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace parplan {

/// Rounds between two presses, and for which what was placed rests.
static constexpr int64_t pressEvery = 100, restRounds = 3;
/// By how much a buffer that rests is worth more.
static constexpr double restWorth = 1000;

ArenaRepair::ArenaRepair(std::vector<Lifetime> given)
    : lifetimes(std::move(given)) {
  std::vector<uint32_t> byFirst(lifetimes.size());
  std::iota(byFirst.begin(), byFirst.end(), 0u);
  std::stable_sort(byFirst.begin(), byFirst.end(),
                   [&](uint32_t left, uint32_t right) {
                     return lifetimes[left].first < lifetimes[right].first;
                   });
  auto visitPairs = [&](auto visit) {
    for (auto left = byFirst.begin(); left != byFirst.end(); ++left)
      for (auto right = left + 1;
           right != byFirst.end() &&
           lifetimes[*right].first <= lifetimes[*left].last;
           ++right) {
        // What has no bytes is in nobody's way.
        if (lifetimes[*left].bytes == 0 || lifetimes[*right].bytes == 0)
          continue;
        visit(*left, *right);
        visit(*right, *left);
      }
  };
  firstNeighbor.assign(lifetimes.size() + 1, 0);
  visitPairs([&](uint32_t buffer, uint32_t) { ++firstNeighbor[buffer + 1]; });
  std::partial_sum(firstNeighbor.begin(), firstNeighbor.end(),
                   firstNeighbor.begin());
  neighbors.resize(firstNeighbor.back());
  std::vector<size_t> next(firstNeighbor.begin(), firstNeighbor.end() - 1);
  visitPairs([&](uint32_t buffer, uint32_t neighbor) {
    neighbors[next[buffer]++] = neighbor;
  });
  findFullness();
}

void ArenaRepair::findFullness() {
  fullness.assign(lifetimes.size(), 0);
  // The most are alive when one of them starts.
  for (uint32_t buffer = 0; buffer != lifetimes.size(); ++buffer) {
    int64_t start = lifetimes[buffer].first, alive = lifetimes[buffer].bytes;
    auto forAlive = [&](auto each) {
      for (uint32_t other : getNeighbors(buffer))
        if (lifetimes[other].first <= start)
          each(other);
    };
    forAlive([&](uint32_t other) { alive += lifetimes[other].bytes; });
    fullness[buffer] = std::max(fullness[buffer], alive);
    forAlive([&](uint32_t other) {
      fullness[other] = std::max(fullness[other], alive);
    });
  }
}

std::span<const uint32_t> ArenaRepair::getNeighbors(uint32_t buffer) const {
  return std::span(neighbors).subspan(
      firstNeighbor[buffer], firstNeighbor[buffer + 1] - firstNeighbor[buffer]);
}

bool ArenaRepair::find(int64_t highest, std::vector<int64_t> &packing,
                       int64_t limit, unsigned attempt) {
  ceiling = highest;
  offsets = packing;
  random.seed(attempt + 1);
  round = 0;
  restsUntil.assign(lifetimes.size(), 0);
  waiting.clear();
  growth.clear();
  for (uint32_t buffer = 0; buffer != lifetimes.size(); ++buffer) {
    // What is large is hard to place again, but not as hard as many small ones
    // of the same bytes. What is alive when there is room is easy.
    auto bytes = static_cast<double>(lifetimes[buffer].bytes);
    double share = static_cast<double>(fullness[buffer]) /
                   static_cast<double>(std::max<int64_t>(1, ceiling));
    growth.push_back(std::sqrt(bytes) * std::pow(share, 20));
    if (getEnd(buffer) > ceiling)
      driveOut(buffer);
  }
  worth = growth;
  int64_t end = looks + limit;
  while (!waiting.empty() && looks < end) {
    ++round;
    put(takeWaiting(/*worthiest=*/attempt % 2 == 0));
    if (round % pressEvery == 0)
      press(/*down=*/draw(2) == 0);
  }
  if (!waiting.empty())
    return false;
  packing = offsets;
  return true;
}

uint32_t ArenaRepair::takeWaiting(bool worthiest) {
  auto taken = waiting.begin();
  if (worthiest)
    taken = std::max_element(waiting.begin(), waiting.end(),
                             [&](uint32_t left, uint32_t right) {
                               return worth[left] < worth[right];
                             });
  else
    taken += static_cast<int64_t>(draw(waiting.size()));
  uint32_t buffer = *taken;
  waiting.erase(taken);
  return buffer;
}

void ArenaRepair::put(uint32_t buffer) {
  offsets[buffer] = choosePlace(buffer);
  restsUntil[buffer] = round + restRounds;
  bool isCrowded = false;
  for (uint32_t other : getNeighbors(buffer))
    if (isPlaced(other) && offsets[other] < getEnd(buffer) &&
        offsets[buffer] < getEnd(other)) {
      driveOut(other);
      isCrowded = true;
    }
  if (isCrowded)
    worth[buffer] += growth[buffer];
}

void ArenaRepair::driveOut(uint32_t buffer) {
  offsets[buffer] = -1;
  waiting.push_back(buffer);
}

/// Where `buffer` drives out what is worth least: at the floor, the ceiling, or
/// next to another buffer.
int64_t ArenaRepair::choosePlace(uint32_t buffer) {
  int64_t bytes = lifetimes[buffer].bytes;
  byStart.clear();
  places = {0, ceiling - bytes};
  std::span<const uint32_t> others = getNeighbors(buffer);
  looks += static_cast<int64_t>(others.size()) + 1;
  for (uint32_t other : others) {
    if (!isPlaced(other))
      continue;
    int64_t from = offsets[other], to = getEnd(other);
    bool rests = restsUntil[other] > round;
    byStart.push_back({from, to, worth[other] * (rests ? restWorth : 1)});
    if (to + bytes <= ceiling)
      places.push_back(to);
    if (from >= bytes)
      places.push_back(from - bytes);
  }
  byEnd = byStart;
  std::sort(byStart.begin(), byStart.end(),
            [](const Taken &left, const Taken &right) {
              return left.from < right.from;
            });
  std::sort(
      byEnd.begin(), byEnd.end(),
      [](const Taken &left, const Taken &right) { return left.to < right.to; });
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  // What a place drives out starts below its end and does not end below it.
  double cost = 0, least = INFINITY;
  int64_t chosen = 0;
  size_t started = 0, ended = 0, equal = 0;
  for (int64_t place : places) {
    for (; started != byStart.size() && byStart[started].from < place + bytes;
         ++started)
      cost += byStart[started].worth;
    for (; ended != byEnd.size() && byEnd[ended].to <= place; ++ended)
      cost -= byEnd[ended].worth;
    if (started == ended)
      cost = 0;
    if (cost < least) {
      least = cost;
      chosen = place;
      equal = 1;
    } else if (cost == least && draw(++equal) == 0) {
      chosen = place;
    }
  }
  return chosen;
}

/// Moves all that is placed down, or up, as far as nothing is in the way.
void ArenaRepair::press(bool down) {
  std::vector<uint32_t> order;
  for (uint32_t buffer = 0; buffer != lifetimes.size(); ++buffer)
    if (isPlaced(buffer))
      order.push_back(buffer);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t left, uint32_t right) {
                     return down ? offsets[left] < offsets[right]
                                 : getEnd(left) > getEnd(right);
                   });
  for (uint32_t buffer : order) {
    int64_t bytes = lifetimes[buffer].bytes, old = offsets[buffer];
    int64_t next = down ? 0 : ceiling - bytes;
    std::span<const uint32_t> others = getNeighbors(buffer);
    looks += static_cast<int64_t>(others.size());
    for (uint32_t other : others)
      if (isPlaced(other) && down && offsets[other] < old)
        next = std::max(next, getEnd(other));
      else if (isPlaced(other) && !down && offsets[other] > old)
        next = std::min(next, offsets[other] - bytes);
    offsets[buffer] = next;
  }
}

} // namespace parplan
