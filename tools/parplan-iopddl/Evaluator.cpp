//===- Evaluator.cpp - The contest's own arithmetic -----------------------===//
//
// Shares nothing with the solver: integers, and the instance as it was read.
//
//===----------------------------------------------------------------------===//

#include "tools/parplan-iopddl/Instance.h"

#include <algorithm>
#include <utility>

using namespace parplan;
using namespace parplan::contest;

namespace {

bool add(int64_t &sum, int64_t cost) {
  return cost < forbiddenCost && !__builtin_add_overflow(sum, cost, &sum);
}

bool fits(const Instance &instance, const std::vector<int> &strategies) {
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (size_t node = 0; node < strategies.size(); ++node) {
    std::span<const int64_t> interval = instance.intervals[node];
    if (interval[0] >= interval[1])
      continue;
    int64_t usage = instance.usages[node][strategies[node]];
    changes.push_back({interval[0], usage});
    changes.push_back({interval[1], -usage});
  }
  // At one time what ends goes before what begins: intervals are half open.
  std::sort(changes.begin(), changes.end());
  int64_t usage = 0;
  for (const auto &[time, change] : changes) {
    usage += change;
    if (usage > instance.usageLimit)
      return false;
  }
  return true;
}

} // namespace

std::optional<int64_t> contest::getCost(const Instance &instance,
                                        const std::vector<int> &strategies) {
  if (strategies.size() != instance.costs.size())
    return std::nullopt;
  int64_t cost = 0;
  for (size_t node = 0; node < strategies.size(); ++node) {
    std::span<const int64_t> costs = instance.costs[node];
    if (strategies[node] < 0 ||
        strategies[node] >= static_cast<int64_t>(costs.size()) ||
        !add(cost, costs[strategies[node]]))
      return std::nullopt;
  }
  for (size_t edge = 0; edge < instance.edges.size(); ++edge) {
    size_t first = instance.edges[edge][0], second = instance.edges[edge][1];
    size_t entry =
        strategies[first] * instance.costs[second].size() + strategies[second];
    if (!add(cost, instance.edgeCosts[edge][entry]))
      return std::nullopt;
  }
  if (!fits(instance, strategies))
    return std::nullopt;
  return cost;
}
