//===- ArenaPacking.cpp - Offsets for buffers with known lifetimes --------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ArenaPacking.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace parplan {

namespace {

enum class Fit { first, best };

class Packer {
public:
  Packer(const std::vector<Lifetime> &lifetimes, int64_t alignment)
      : lifetimes(lifetimes), alignment(alignment) {}

  Packing run() {
    findLowerBound();
    findNeighbours();
    best.peak = INT64_MAX;
    best.lowerBound = lowerBound;
    for (const Key &key : getKeys())
      for (Fit fit : {Fit::first, Fit::best})
        if (improve(getOrder(key), fit))
          return best;
    return best;
  }

private:
  using Order = std::vector<size_t>;
  using Key = std::function<int64_t(const Lifetime &)>;

  static constexpr int rounds = 15;
  /// Pairs of neighbours that are looked at in all: programs with very many
  /// buffers are packed in fewer orders.
  static constexpr int64_t budget = 600'000'000;

  /// Large first; ties by position, so that the result is always the same.
  static std::vector<Key> getKeys() {
    auto length = [](const Lifetime &life) {
      return life.last - life.first + 1;
    };
    return {[](const Lifetime &life) { return life.bytes; },
            [=](const Lifetime &life) { return length(life); },
            [=](const Lifetime &life) { return life.bytes * length(life); },
            [](const Lifetime &life) { return -life.first; }};
  }

  Order getOrder(const Key &key) const {
    Order order(lifetimes.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::vector<int64_t> keys;
    for (const Lifetime &life : lifetimes)
      keys.push_back(key(life));
    std::stable_sort(
        order.begin(), order.end(),
        [&](size_t left, size_t right) { return keys[left] > keys[right]; });
    return order;
  }

  int64_t roundUp(int64_t bytes) const {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  /// Sweeps over the starts and ends of lifetimes.
  void findLowerBound() {
    std::vector<std::pair<int64_t, int64_t>> changes;
    for (const Lifetime &life : lifetimes) {
      changes.push_back({life.first, roundUp(life.bytes)});
      changes.push_back({life.last + 1, -roundUp(life.bytes)});
    }
    std::sort(changes.begin(), changes.end());
    int64_t alive = 0;
    for (auto [time, change] : changes) {
      alive += change;
      lowerBound = std::max(lowerBound, alive);
    }
    // The topmost buffer need not be followed by another.
    int64_t slack = 0;
    for (const Lifetime &life : lifetimes)
      slack = std::max(slack, roundUp(life.bytes) - life.bytes);
    lowerBound = std::max<int64_t>(0, lowerBound - slack);
  }

  /// Buffers alive together, by a sweep in the order of their starts.
  void findNeighbours() {
    neighbours.resize(lifetimes.size());
    Order order(lifetimes.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t left, size_t right) {
                       return lifetimes[left].first < lifetimes[right].first;
                     });
    Order alive;
    for (size_t index : order) {
      std::erase_if(alive, [&](size_t other) {
        return lifetimes[other].last < lifetimes[index].first;
      });
      for (size_t other : alive) {
        neighbours[index].push_back(other);
        neighbours[other].push_back(index);
      }
      alive.push_back(index);
    }
  }

  /// Packs in `order`, then in orders in which what ends above the bound comes
  /// earlier. True when the bound is reached.
  bool improve(Order order, Fit fit) {
    for (int round = 0; round <= rounds; ++round) {
      if (spent > budget)
        return false;
      std::vector<int64_t> offsets = place(order, fit);
      int64_t peak = 0;
      for (size_t index = 0; index < lifetimes.size(); ++index)
        peak = std::max(peak, offsets[index] + lifetimes[index].bytes);
      if (peak < best.peak) {
        best.peak = peak;
        best.offsets = offsets;
      }
      if (best.peak <= lowerBound)
        return true;
      std::stable_partition(order.begin(), order.end(), [&](size_t index) {
        return offsets[index] + lifetimes[index].bytes > lowerBound;
      });
    }
    return false;
  }

  std::vector<int64_t> place(const Order &order, Fit fit) {
    std::vector<int64_t> offsets(lifetimes.size(), -1);
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t index : order) {
      taken.clear();
      spent += static_cast<int64_t>(neighbours[index].size());
      for (size_t other : neighbours[index])
        if (offsets[other] >= 0)
          taken.push_back(
              {offsets[other], offsets[other] + lifetimes[other].bytes});
      std::sort(taken.begin(), taken.end());
      offsets[index] = findGap(taken, lifetimes[index].bytes, fit);
    }
    return offsets;
  }

  int64_t findGap(const std::vector<std::pair<int64_t, int64_t>> &taken,
                  int64_t bytes, Fit fit) const {
    int64_t start = 0, chosen = -1, narrowest = INT64_MAX;
    for (auto [offset, end] : taken) {
      int64_t gap = offset - start;
      if (gap >= bytes && gap < narrowest) {
        if (fit == Fit::first)
          return start;
        narrowest = gap;
        chosen = start;
      }
      start = std::max(start, roundUp(end));
    }
    return chosen >= 0 ? chosen : start;
  }

  const std::vector<Lifetime> &lifetimes;
  int64_t alignment;
  int64_t lowerBound = 0;
  int64_t spent = 0;
  std::vector<Order> neighbours;
  Packing best;
};

} // namespace

Packing packArena(const std::vector<Lifetime> &lifetimes, int64_t alignment) {
  if (lifetimes.empty())
    return {};
  return Packer(lifetimes, alignment).run();
}

} // namespace parplan
