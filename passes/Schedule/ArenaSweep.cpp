//===- ArenaSweep.cpp - Packings in the order of time ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ArenaSweep.h"

#include <algorithm>
#include <numeric>

namespace parplan {

ArenaSweep::ArenaSweep(const std::vector<Lifetime> &lifetimes)
    : lifetimes(lifetimes), byEnd(lifetimes.size()), offsets(lifetimes.size()) {
  std::iota(byEnd.begin(), byEnd.end(), size_t(0));
  std::stable_sort(byEnd.begin(), byEnd.end(), [&](size_t left, size_t right) {
    return lifetimes[left].last < lifetimes[right].last;
  });
}

void ArenaSweep::pack(int64_t shortLife, int64_t ceiling) {
  gaps = {{0, INT64_MAX}};
  auto ended = byEnd.begin();
  for (size_t index = 0; index != lifetimes.size(); ++index) {
    const Lifetime &life = lifetimes[index];
    for (; lifetimes[*ended].last < life.first; ++ended)
      release(offsets[*ended], offsets[*ended] + lifetimes[*ended].bytes);
    bool isShort = life.last - life.first <= shortLife;
    // What has no bytes is in nobody's way.
    offsets[index] = life.bytes == 0 ? 0
                     : isShort       ? takeHighest(life.bytes, ceiling)
                                     : takeLowest(life.bytes);
  }
}

int64_t ArenaSweep::takeLowest(int64_t bytes) {
  auto gap = std::find_if(gaps.begin(), gaps.end(), [&](const Range &each) {
    return each.to - each.from >= bytes;
  });
  int64_t from = gap->from;
  gap->from += bytes;
  if (gap->from == gap->to)
    gaps.erase(gap);
  return from;
}

int64_t ArenaSweep::takeHighest(int64_t bytes, int64_t ceiling) {
  auto gap = std::find_if(gaps.rbegin(), gaps.rend(), [&](const Range &each) {
    return std::min(each.to, ceiling) - each.from >= bytes;
  });
  if (gap == gaps.rend())
    return takeLowest(bytes);
  Range whole = *gap;
  int64_t to = std::min(whole.to, ceiling);
  auto place = gap.base() - 1;
  if (to == whole.to) {
    place->to = to - bytes;
    if (place->from == place->to)
      gaps.erase(place);
    return to - bytes;
  }
  *place = {to, whole.to};
  if (whole.from != to - bytes)
    gaps.insert(place, {whole.from, to - bytes});
  return to - bytes;
}

void ArenaSweep::release(int64_t from, int64_t to) {
  if (from == to)
    return;
  auto next =
      std::partition_point(gaps.begin(), gaps.end(),
                           [&](const Range &gap) { return gap.to < from; });
  // The last gap has no end, so that there is one.
  if (next->to == from) {
    next->to = to;
    auto behind = next + 1;
    if (behind != gaps.end() && behind->from == to) {
      next->to = behind->to;
      gaps.erase(behind);
    }
    return;
  }
  if (next->from == to)
    next->from = from;
  else
    gaps.insert(next, {from, to});
}

} // namespace parplan
