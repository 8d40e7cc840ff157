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
    : lifetimes(lifetimes), byEnd(lifetimes.size()),
      offsets(lifetimes.size(), -1) {
  std::iota(byEnd.begin(), byEnd.end(), 0u);
  std::stable_sort(byEnd.begin(), byEnd.end(),
                   [&](uint32_t left, uint32_t right) {
                     return lifetimes[left].last < lifetimes[right].last;
                   });
}

void ArenaSweep::clear() { std::fill(offsets.begin(), offsets.end(), -1); }

void ArenaSweep::place(const std::vector<uint32_t> &some, Fit fit) {
  // In the order of their starts: `next` is the first that does not live yet.
  std::vector<uint32_t> others;
  for (uint32_t buffer = 0; buffer != lifetimes.size(); ++buffer)
    if (offsets[buffer] >= 0)
      others.push_back(buffer);
  size_t next = 0;
  gaps = {{0, INT64_MAX}};
  auto ended = byEnd.begin();
  auto releaseBefore = [&](int64_t time) {
    for (; ended != byEnd.end() && lifetimes[*ended].last < time; ++ended)
      release(*ended);
  };
  for (uint32_t buffer : some) {
    const Lifetime &life = lifetimes[buffer];
    for (; next != others.size() && lifetimes[others[next]].first <= life.first;
         ++next) {
      releaseBefore(lifetimes[others[next]].first);
      take(others[next]);
    }
    releaseBefore(life.first);
    findBlocks(buffer, others, next);
    // What has no bytes is in nobody's way.
    offsets[buffer] = life.bytes == 0 ? 0 : findGap(life.bytes, fit);
    take(buffer);
  }
}

void ArenaSweep::findBlocks(uint32_t buffer,
                            const std::vector<uint32_t> &others, size_t next) {
  blocks.clear();
  for (; next != others.size() &&
         lifetimes[others[next]].first <= lifetimes[buffer].last;
       ++next) {
    int64_t from = offsets[others[next]];
    blocks.push_back({from, from + lifetimes[others[next]].bytes});
  }
  std::sort(blocks.begin(), blocks.end(),
            [](const Range &left, const Range &right) {
              return left.from < right.from;
            });
}

/// Of the gaps, less what is a block.
int64_t ArenaSweep::findGap(int64_t bytes, Fit fit) {
  int64_t chosen = -1, narrowest = INT64_MAX;
  auto block = blocks.begin();
  for (const Range &gap : gaps) {
    int64_t from = gap.from;
    while (true) {
      while (block != blocks.end() && block->to <= from)
        ++block;
      bool isCut = block != blocks.end() && block->from < gap.to;
      int64_t width = (isCut ? block->from : gap.to) - from;
      if (width >= bytes && (width < narrowest || chosen < 0)) {
        chosen = from;
        narrowest = width;
        if (fit == Fit::first)
          return chosen;
      }
      // Blocks may meet, as not all of them live together.
      if (!isCut || block->to >= gap.to)
        break;
      from = std::max(from, block->to);
    }
  }
  return chosen;
}

void ArenaSweep::take(uint32_t buffer) {
  int64_t from = offsets[buffer], to = from + lifetimes[buffer].bytes;
  if (from == to)
    return;
  auto gap =
      std::partition_point(gaps.begin(), gaps.end(),
                           [&](const Range &each) { return each.to <= from; });
  Range whole = *gap;
  if (whole.from == from && whole.to == to) {
    gaps.erase(gap);
  } else if (whole.from == from) {
    gap->from = to;
  } else {
    gap->to = from;
    if (whole.to != to)
      gaps.insert(gap + 1, {to, whole.to});
  }
}

void ArenaSweep::release(uint32_t buffer) {
  int64_t from = offsets[buffer], to = from + lifetimes[buffer].bytes;
  if (from < 0 || from == to)
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
