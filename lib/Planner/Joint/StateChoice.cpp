//===- StateChoice.cpp - How units lie beside each other ------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "StateChoice.h"

#include "parplan/Support/Never.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>

using namespace parplan;

namespace {

/// Units in a row with the costs of all of them for the states on both sides.
struct Row {
  int first = 0, end = 0;
  BoundaryMatrix costs;
};

struct Way {
  double cost = never;
  ChainStates states;
};

} // namespace

/// The cheapest states between rows, with those behind one row forced (-1:
/// none).
static std::optional<Way> findWay(const std::vector<Row> &rows, int forcedRow,
                                  int forced) {
  std::vector<std::vector<int>> from(rows.size());
  std::vector<double> least(rows.front().costs.inCount, 0);
  for (size_t index = 0; index < rows.size(); ++index) {
    const BoundaryMatrix &costs = rows[index].costs;
    std::vector<double> next(costs.outCount, never);
    from[index].assign(costs.outCount, -1);
    for (int in = 0; in < costs.inCount; ++in)
      for (int out = 0; out < costs.outCount; ++out) {
        if (static_cast<int>(index) == forcedRow && out != forced)
          continue;
        double cost = least[in] + costs.get(in, out);
        if (cost < next[out]) {
          next[out] = cost;
          from[index][out] = in;
        }
      }
    least = std::move(next);
  }
  auto end = std::min_element(least.begin(), least.end());
  if (*end == never)
    return std::nullopt;
  int count = rows.back().end;
  Way way{*end, {std::vector<int>(count), std::vector<int>(count)}};
  auto state = static_cast<int>(end - least.begin());
  for (size_t index = rows.size(); index-- > 0;) {
    int before = from[index][state];
    for (int unit = rows[index].first; unit < rows[index].end; ++unit) {
      way.states.in[unit] = before;
      way.states.out[unit] = state;
    }
    state = before;
  }
  return way;
}

/// The best few ways: equal units in a row lie alike on both sides, and ways
/// differ in how the longest such row lies; then each unit as is cheapest, and,
/// where memory is short, as is smallest.
std::vector<ChainStates>
parplan::chooseStates(const UnitChain &chain, AskedOracles &oracles,
                      const std::vector<Weights> &weights,
                      const std::vector<Weights> &bytes, bool isLimited) {
  int count = chain.getInstanceCount();
  std::vector<Row> rows, single, smallest;
  ModeSet modes = isLimited ? allModes : oracles.getFastest();
  for (int unit = 0; unit < count;) {
    Row row{unit, unit, {}};
    int type = chain.getType(unit);
    while (row.end < count && chain.getType(row.end) == type)
      ++row.end;
    for (; unit < row.end; ++unit) {
      const BoundaryMatrix &costs =
          oracles.getMatrix(type, weights[unit], modes);
      single.push_back({unit, unit + 1, costs});
      if (isLimited)
        smallest.push_back(
            {unit, unit + 1, oracles.getMatrix(type, bytes[unit], modes)});
      if (unit == row.first) {
        row.costs = costs;
        continue;
      }
      for (size_t entry = 0; entry < costs.costs.size(); ++entry)
        row.costs.costs[entry] += costs.costs[entry];
    }
    if (row.end - row.first > 1)
      for (int in = 0; in < row.costs.inCount; ++in)
        for (int out = 0; out < row.costs.outCount; ++out)
          if (in != out)
            row.costs.costs[in * row.costs.outCount + out] = never;
    rows.push_back(std::move(row));
  }
  auto longest = static_cast<int>(
      std::max_element(rows.begin(), rows.end(),
                       [](const Row &one, const Row &other) {
                         return one.end - one.first < other.end - other.first;
                       }) -
      rows.begin());
  std::vector<Way> ways;
  for (int forced = 0; forced < rows[longest].costs.outCount; ++forced)
    if (auto way = findWay(rows, longest, forced))
      ways.push_back(std::move(*way));
  llvm::stable_sort(ways, [](const Way &one, const Way &other) {
    return one.cost < other.cost;
  });
  constexpr size_t mostWays = 3;
  ways.resize(std::min(ways.size(), mostWays));
  for (const std::vector<Row> *free : {&single, &smallest}) {
    if (free->empty())
      continue;
    if (auto way = findWay(*free, -1, 0))
      ways.push_back(std::move(*way));
  }
  std::vector<ChainStates> states;
  for (Way &way : ways)
    if (!llvm::is_contained(states, way.states))
      states.push_back(std::move(way.states));
  return states;
}
