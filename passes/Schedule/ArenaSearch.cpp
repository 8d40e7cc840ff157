//===- ArenaSearch.cpp - Packings below a ceiling -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ArenaSearch.h"

#include <algorithm>

namespace parplan {

ArenaSearch::ArenaSearch(std::vector<Lifetime> sorted)
    : lifetimes(std::move(sorted)), offsets(lifetimes.size()) {
  findMoments();
}

void ArenaSearch::findMoments() {
  std::vector<int64_t> ends;
  for (const Lifetime &life : lifetimes)
    ends.push_back(life.last);
  std::sort(ends.begin(), ends.end());
  std::vector<int64_t> times;
  for (size_t index = 0; index != lifetimes.size(); ++index) {
    // The last start before something ends.
    int64_t start = lifetimes[index].first;
    auto end = std::lower_bound(ends.begin(), ends.end(), start);
    if (index + 1 == lifetimes.size() || lifetimes[index + 1].first > *end)
      times.push_back(start);
  }
  moments.resize(times.size());
  for (size_t index = 0; index != lifetimes.size(); ++index) {
    const Lifetime &life = lifetimes[index];
    auto from = std::lower_bound(times.begin(), times.end(), life.first);
    auto to = std::upper_bound(times.begin(), times.end(), life.last);
    spans.push_back({from - times.begin(), to - times.begin()});
    for (size_t moment = spans.back().first; moment != spans.back().second;
         ++moment) {
      moments[moment].alive.push_back(static_cast<uint32_t>(index));
      moments[moment].load += life.bytes;
    }
  }
  for (const Moment &moment : moments)
    bound = std::max(bound, moment.load);
}

bool ArenaSearch::find(int64_t highest, Preference preference, int64_t limit) {
  if (highest < bound)
    return false;
  ceiling = highest;
  stepsLeft = limit;
  size_t count = lifetimes.size();
  isPlaced.assign(count, 0);
  floors.assign(count, 0);
  ranks.resize(count);
  for (size_t index = 0; index != count; ++index) {
    auto bytes = static_cast<double>(lifetimes[index].bytes);
    auto length = static_cast<double>(spans[index].second - spans[index].first);
    ranks[index] = preference == Preference::longest   ? length
                   : preference == Preference::largest ? bytes
                                                       : bytes * length;
  }
  for (Moment &moment : moments) {
    moment.top = 0;
    moment.rest = moment.load;
  }
  changes.clear();
  return descend(0, 0);
}

/// Buffers that may be placed next, the lowest first.
std::vector<uint32_t> ArenaSearch::getCandidates(int64_t lowest) const {
  int64_t firstEnd = INT64_MAX;
  for (size_t index = 0; index != lifetimes.size(); ++index)
    if (!isPlaced[index])
      firstEnd = std::min(firstEnd, std::max(floors[index], lowest) +
                                        lifetimes[index].bytes);
  std::vector<uint32_t> candidates;
  for (uint32_t index = 0; index != lifetimes.size(); ++index)
    // What could lie below another that is not placed yet comes later.
    if (!isPlaced[index] && floors[index] >= lowest &&
        floors[index] < firstEnd && canStand(index))
      candidates.push_back(index);
  std::stable_sort(
      candidates.begin(), candidates.end(), [&](uint32_t left, uint32_t right) {
        return floors[left] != floors[right] ? floors[left] < floors[right]
                                             : ranks[left] > ranks[right];
      });
  return candidates;
}

/// Whether what stays empty below a buffer leaves room for the rest.
bool ArenaSearch::canStand(uint32_t buffer) const {
  auto [from, to] = spans[buffer];
  return std::all_of(moments.begin() + from, moments.begin() + to,
                     [&](const Moment &moment) {
                       return floors[buffer] + moment.rest <= ceiling;
                     });
}

void ArenaSearch::place(uint32_t buffer) {
  isPlaced[buffer] = 1;
  offsets[buffer] = floors[buffer];
  int64_t end = floors[buffer] + lifetimes[buffer].bytes;
  auto set = [&](int64_t &value, int64_t next) {
    changes.push_back({&value, value});
    value = next;
  };
  for (size_t index = spans[buffer].first; index != spans[buffer].second;
       ++index) {
    Moment &moment = moments[index];
    set(moment.top, end);
    set(moment.rest, moment.rest - lifetimes[buffer].bytes);
    work += static_cast<int64_t>(moment.alive.size());
    for (uint32_t other : moment.alive)
      if (!isPlaced[other] && floors[other] < end)
        set(floors[other], end);
  }
}

/// Whether the rest may fit at every moment, the lowest of it on its floor.
bool ArenaSearch::isHopeful(int64_t lowest) {
  for (const Moment &moment : moments) {
    if (moment.rest == 0)
      continue;
    if (std::max(moment.top, lowest) + moment.rest > ceiling)
      return false;
    // Only where it is full does it cost more than it tells.
    if (moment.load < ceiling / 5 * 4)
      continue;
    int64_t floor = INT64_MAX;
    work += static_cast<int64_t>(moment.alive.size());
    for (uint32_t index : moment.alive)
      if (!isPlaced[index])
        floor = std::min(floor, std::max(floors[index], lowest));
    if (floor + moment.rest > ceiling)
      return false;
  }
  return true;
}

bool ArenaSearch::descend(size_t placedCount, int64_t lowest) {
  if (placedCount == lifetimes.size())
    return true;
  work += static_cast<int64_t>(lifetimes.size());
  for (uint32_t buffer : getCandidates(lowest)) {
    if (--stepsLeft < 0)
      return false;
    size_t before = changes.size();
    place(buffer);
    if (isHopeful(offsets[buffer]) && descend(placedCount + 1, offsets[buffer]))
      return true;
    for (; changes.size() != before; changes.pop_back())
      *changes.back().value = changes.back().old;
    isPlaced[buffer] = 0;
  }
  return false;
}

} // namespace parplan
