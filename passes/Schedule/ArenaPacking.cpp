//===- ArenaPacking.cpp - Offsets for buffers with known lifetimes --------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ArenaPacking.h"

#include "passes/Schedule/ArenaClasses.h"
#include "passes/Schedule/ArenaRepair.h"
#include "passes/Schedule/ArenaSearch.h"
#include "passes/Schedule/ArenaSweep.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

namespace parplan {

namespace {

/// Bytes that are taken, as ranges that do not touch, in ascending order.
class TakenBytes {
public:
  void clear() { ranges.clear(); }

  void take(int64_t from, int64_t to) {
    auto first = std::partition_point(
        ranges.begin(), ranges.end(),
        [&](const Range &range) { return range.to < from; });
    if (first == ranges.end() || first->from > to) {
      ranges.insert(first, {from, to});
      return;
    }
    auto last = first;
    for (; last != ranges.end() && last->from <= to; ++last)
      to = std::max(to, last->to);
    *first = {std::min(from, first->from), to};
    ranges.erase(first + 1, last);
  }

  /// Where `bytes` fit: in the lowest gap, or in the narrowest one; above all
  /// if in none.
  int64_t findGap(int64_t bytes, Fit fit) const {
    int64_t start = 0, chosen = -1, narrowest = INT64_MAX;
    for (const Range &range : ranges) {
      int64_t gap = range.from - start;
      if (gap >= bytes && gap < narrowest) {
        if (fit == Fit::first)
          return start;
        narrowest = gap;
        chosen = start;
      }
      start = range.to;
    }
    return chosen >= 0 ? chosen : start;
  }

private:
  struct Range {
    int64_t from, to;
  };
  std::vector<Range> ranges;
};

class Packer {
public:
  Packer(const std::vector<Lifetime> &unsorted, int64_t alignment,
         int64_t budget)
      : alignment(alignment), budget(budget), byStart(unsorted.size()),
        taken(unsorted.size()), offsets(unsorted.size()) {
    std::iota(byStart.begin(), byStart.end(), size_t(0));
    std::stable_sort(byStart.begin(), byStart.end(),
                     [&](size_t left, size_t right) {
                       return unsorted[left].first < unsorted[right].first;
                     });
    for (size_t index : byStart)
      lifetimes.push_back(unsorted[index]);
  }

  Packing run() {
    findLowerBound();
    findBehind();
    best.peak = INT64_MAX;
    best.lowerBound = lowerBound;
    int64_t pairs = countPairs();
    if (pairs > manyPairs || lifetimes.size() > manyBuffers)
      keepBetter(packByClasses(getRounded(), lowerBound).offsets);
    if (pairs <= mostPairs && !isGood()) {
      findEarlier();
      tryOrders();
      if (!isGood())
        repair();
    }
    // Back to the order that was given.
    std::vector<int64_t> sorted = std::move(best.offsets);
    best.offsets.resize(sorted.size());
    for (size_t index = 0; index != sorted.size(); ++index)
      best.offsets[byStart[index]] = sorted[index];
    return best;
  }

private:
  using Order = std::vector<uint32_t>;

  /// Buffers that are searched for a place before the others, at least: shares
  /// of the bound.
  static constexpr int64_t shares[] = {32, 64, 128, 256, 512};
  /// Steps of one search, of which each needs as many as there are buffers.
  static constexpr int64_t searchSteps[] = {2'000, 10'000};
  /// Of putting first, and of hurrying.
  static constexpr int partitions = 15, hurries = 40;
  /// Share of the order by which what ends highest moves, at least.
  static constexpr double stride = 0.05;
  /// Repair stops at one part in this many above the bound, lowers the ceiling
  /// to this many percent of what lies above the bound, and looks at so many
  /// buffers in all and in one attempt.
  static constexpr int64_t repairGoal = 100, repairStep = 92;
  static constexpr int64_t repairLooks = 40'000'000, attemptLooks = 10'000'000;
  /// Programs with more are packed by classes of lives first.
  static constexpr size_t manyBuffers = 20'000;
  static constexpr int64_t manyPairs = 2'000'000;
  /// All others keep them, so that programs with more go without.
  static constexpr int64_t mostPairs = 20'000'000;

  int64_t roundUp(int64_t bytes) const {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  std::vector<Lifetime> getRounded() const {
    std::vector<Lifetime> rounded = lifetimes;
    for (Lifetime &life : rounded)
      life.bytes = roundUp(life.bytes);
    return rounded;
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
      if (alive > lowerBound) {
        lowerBound = alive;
        fullest = time;
      }
    }
    // The topmost buffer need not be followed by another.
    int64_t slack = 0;
    for (const Lifetime &life : lifetimes)
      slack = std::max(slack, roundUp(life.bytes) - life.bytes);
    lowerBound = std::max<int64_t>(0, lowerBound - slack);
  }

  /// Large keys first; ties by position, so that the result is always the
  /// same.
  Order getOrder(const std::function<double(size_t)> &key) const {
    Order order(lifetimes.size());
    std::iota(order.begin(), order.end(), 0u);
    std::vector<double> keys;
    for (size_t index = 0; index != lifetimes.size(); ++index)
      keys.push_back(key(index));
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t left, uint32_t right) {
                       return keys[left] > keys[right];
                     });
    return order;
  }

  void tryOrders() {
    auto bytes = [&](size_t index) {
      return static_cast<double>(lifetimes[index].bytes);
    };
    auto length = [&](size_t index) {
      return static_cast<double>(lifetimes[index].last -
                                 lifetimes[index].first + 1);
    };
    // From the fullest moment outwards, step by step or in rings that double:
    // what lives far from it finds the gaps that it leaves.
    auto distance = [&](size_t index) {
      const Lifetime &life = lifetimes[index];
      return static_cast<double>(
          std::max({life.first - fullest, fullest - life.last, int64_t(0)}));
    };
    auto ring = [&](size_t index) {
      return std::floor(std::log2(distance(index) + 1));
    };
    // Larger than any number of bytes.
    constexpr double first = 1e15;
    std::vector<Order> orders = {
        getOrder(bytes),
        getOrder(length),
        getOrder([&](size_t index) { return bytes(index) * length(index); }),
        getOrder([&](size_t index) {
          return -static_cast<double>(lifetimes[index].first);
        }),
        getOrder([&](size_t index) {
          return length(index) - first * distance(index);
        }),
        getOrder([&](size_t index) {
          return bytes(index) - first * distance(index);
        }),
        getOrder(
            [&](size_t index) { return bytes(index) - first * ring(index); }),
        getOrder(
            [&](size_t index) { return length(index) - first * ring(index); })};
    // Cheap as these are, they go on to the last byte.
    for (const Order &order : orders)
      for (Fit fit : {Fit::first, Fit::best})
        if (isSpent() || (putFirst(order, fit) && best.peak <= lowerBound))
          return;
    if (isDone())
      return;
    for (int64_t steps : searchSteps)
      if (isGood() || placeLargeFirst(steps))
        return;
    // By time is no start for these: it says nothing of the bytes.
    orders.erase(orders.begin() + 3);
    for (const Order &order : orders)
      if (hurry(order))
        return;
  }

  void keepBetter(const std::vector<int64_t> &found) {
    int64_t peak = 0;
    for (size_t index = 0; index != found.size(); ++index)
      peak = std::max(peak, found[index] + lifetimes[index].bytes);
    if (peak >= best.peak)
      return;
    best.peak = peak;
    best.offsets = found;
  }

  /// The bound leaves out what follows the topmost buffer: less than the
  /// alignment is no difference.
  bool isDone() const {
    return best.peak < lowerBound + alignment || isSpent();
  }

  bool isSpent() const { return spent > budget && best.peak != INT64_MAX; }

  /// Not worth to begin anew: 2.25 % above the bound.
  bool isGood() const { return best.peak - lowerBound <= lowerBound / 400 * 9; }

  /// Searches for a packing of the large buffers, and lets the others fill its
  /// gaps. True when there is no more to do.
  bool placeLargeFirst(int64_t steps) {
    size_t before = 0;
    for (int64_t share : shares) {
      std::vector<uint32_t> large;
      for (uint32_t index = 0; index != lifetimes.size(); ++index)
        if (lifetimes[index].bytes * share >= lowerBound)
          large.push_back(index);
      if (large.size() == before)
        continue;
      before = large.size();
      std::vector<int64_t> found = searchPacking(large, steps);
      if (found.empty())
        continue;
      // In the order of their offsets they come to lie there, or lower.
      std::vector<double> offsetOf(lifetimes.size(), -1);
      for (size_t place = 0; place != large.size(); ++place)
        offsetOf[large[place]] = static_cast<double>(found[place]);
      Order order = getOrder([&](size_t index) {
        return offsetOf[index] < 0 ? static_cast<double>(lifetimes[index].bytes)
                                   : 1e15 - offsetOf[index];
      });
      if (putFirst(order, Fit::first) || isGood() || hurry(order) || isGood())
        return true;
    }
    return isDone();
  }

  /// Offsets of some buffers below the least ceiling at which a search finds
  /// them; empty if it finds none.
  std::vector<int64_t> searchPacking(const Order &some, int64_t steps) {
    std::vector<Lifetime> rounded;
    for (uint32_t index : some) {
      rounded.push_back(lifetimes[index]);
      rounded.back().bytes = roundUp(rounded.back().bytes);
    }
    ArenaSearch search(std::move(rounded));
    // What is good first; then whatever is better than what is at hand.
    int64_t highest = steps == searchSteps[0] ? lowerBound + lowerBound / 50
                                              : best.peak - best.peak / 200;
    // 0, 0.5, 1.5, 3.5, .. % above their own bound.
    for (double above = 0;; above = 2 * above + 0.005) {
      int64_t ceiling = std::min(
          highest, static_cast<int64_t>(static_cast<double>(search.getBound()) *
                                        (1 + above)));
      for (auto preference : {ArenaSearch::Preference::longest,
                              ArenaSearch::Preference::largestArea,
                              ArenaSearch::Preference::largest})
        if (search.find(ceiling, preference, steps)) {
          spent += search.getWork();
          return search.getOffsets();
        }
      if (ceiling == highest || spent + search.getWork() > budget)
        break;
    }
    spent += search.getWork();
    return {};
  }

  /// Packs in `order`, then, unless there is no more to do, in orders in which
  /// all that ends above the bound comes first. True when there is no more to
  /// do.
  bool putFirst(Order order, Fit fit) {
    for (int round = 0; round == 0 || (round <= partitions && !isDone());
         ++round) {
      int64_t peak = place(order, fit);
      auto isAbove = [&](uint32_t index) {
        return offsets[index] + lifetimes[index].bytes > lowerBound;
      };
      if (peak <= lowerBound ||
          std::is_partitioned(order.begin(), order.end(), isAbove))
        break;
      std::stable_partition(order.begin(), order.end(), isAbove);
    }
    return isDone();
  }

  /// Packs in orders in which what ends above the bound comes earlier and
  /// earlier, the more the further above. True when there is no more to do.
  bool hurry(const Order &order) {
    auto count = static_cast<double>(order.size());
    std::vector<double> urgency(order.size());
    for (size_t place = 0; place != order.size(); ++place)
      urgency[order[place]] = -static_cast<double>(place);
    std::minstd_rand random(1);
    auto draw = [&] {
      return static_cast<double>(random()) /
             static_cast<double>(std::minstd_rand::max());
    };
    for (int round = 0; round != hurries; ++round) {
      int64_t peak = place(
          getOrder([&](size_t index) { return urgency[index]; }), Fit::first);
      if (isDone())
        return true;
      for (size_t index = 0; index != order.size(); ++index) {
        int64_t above = offsets[index] + lifetimes[index].bytes - lowerBound;
        if (above > 0) {
          urgency[index] += stride * count * (1 + draw()) *
                            static_cast<double>(above) /
                            static_cast<double>(peak - lowerBound);
        }
      }
    }
    return false;
  }

  /// Pushes the best packing below lower and lower ceilings.
  void repair() {
    ArenaRepair search(getRounded());
    for (unsigned attempt = 0; search.getLooks() < repairLooks; ++attempt) {
      int64_t above = best.peak - lowerBound;
      int64_t ceiling = roundUp(lowerBound + above / 100 * repairStep);
      if (above <= lowerBound / repairGoal || ceiling >= best.peak)
        return;
      std::vector<int64_t> found = best.offsets;
      if (search.find(ceiling, found, attemptLooks, attempt))
        keepBetter(found);
    }
  }

  /// Where the buffers that start during each life end.
  void findBehind() {
    for (auto life = lifetimes.begin(); life != lifetimes.end(); ++life)
      firstBehind.push_back(static_cast<uint32_t>(
          std::partition_point(life + 1, lifetimes.end(),
                               [&](const Lifetime &later) {
                                 return later.first <= life->last;
                               }) -
          lifetimes.begin()));
  }

  /// Pairs of buffers that are alive together.
  int64_t countPairs() const {
    int64_t count = 0;
    for (size_t index = 0; index != firstBehind.size(); ++index)
      count += firstBehind[index] - static_cast<int64_t>(index) - 1;
    return count;
  }

  void findEarlier() {
    std::vector<uint32_t> alive;
    for (uint32_t index = 0; index != lifetimes.size(); ++index) {
      std::erase_if(alive, [&](uint32_t other) {
        return lifetimes[other].last < lifetimes[index].first;
      });
      firstEarlier.push_back(earlier.size());
      earlier.insert(earlier.end(), alive.begin(), alive.end());
      alive.push_back(index);
    }
    firstEarlier.push_back(earlier.size());
  }

  /// The peak when buffers are placed in this order.
  int64_t place(const Order &order, Fit fit) {
    for (TakenBytes &bytes : taken)
      bytes.clear();
    std::fill(offsets.begin(), offsets.end(), -1);
    int64_t peak = 0;
    for (uint32_t index : order) {
      const Lifetime &life = lifetimes[index];
      offsets[index] = taken[index].findGap(life.bytes, fit);
      int64_t end = offsets[index] + life.bytes;
      peak = std::max(peak, end);
      end = roundUp(end);
      auto keepFree = [&](uint32_t other) {
        if (offsets[other] < 0)
          taken[other].take(offsets[index], end);
      };
      for (size_t at = firstEarlier[index]; at != firstEarlier[index + 1]; ++at)
        keepFree(earlier[at]);
      for (uint32_t other = index + 1; other != firstBehind[index]; ++other)
        keepFree(other);
      spent +=
          static_cast<int64_t>(firstEarlier[index + 1] - firstEarlier[index]) +
          firstBehind[index] - index;
    }
    if (peak < best.peak) {
      best.peak = peak;
      best.offsets = offsets;
    }
    return peak;
  }

  int64_t alignment;
  /// Pairs of buffers that are looked at in all: programs with very many
  /// buffers are packed in fewer orders.
  int64_t budget;
  /// In the order of their starts, and where each was.
  std::vector<Lifetime> lifetimes;
  std::vector<size_t> byStart;
  /// Of each the first one that starts after its end.
  std::vector<uint32_t> firstBehind;
  /// Those that start before each and live when it starts, one list behind the
  /// other.
  std::vector<uint32_t> earlier;
  std::vector<size_t> firstEarlier;
  int64_t lowerBound = 0;
  /// When the most is alive.
  int64_t fullest = 0;
  int64_t spent = 0;
  /// Of the order at work: what is not free for a buffer, and where it lies.
  std::vector<TakenBytes> taken;
  std::vector<int64_t> offsets;
  Packing best;
};

} // namespace

Packing packArena(const std::vector<Lifetime> &lifetimes, int64_t alignment,
                  int64_t looks) {
  if (lifetimes.empty())
    return {};
  return Packer(lifetimes, alignment, looks).run();
}

} // namespace parplan
