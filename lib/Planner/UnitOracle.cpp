//===- UnitOracle.cpp - The oracle of a kind of units ---------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitOracle.h"

#include "parplan/Support/Check.h"

#include <algorithm>
#include <limits>

using namespace parplan;

/// Largest table of an elimination; what is wider is left out of the unit.
static constexpr int64_t tableLimit = int64_t(1) << 22;

UnitOracle::UnitOracle(std::vector<int> numbers,
                       std::vector<UnitNetwork> networks) {
  variables = networks.front().variables;
  auto list = [&](llvm::ArrayRef<int> slots,
                  std::vector<std::vector<int>> &choices, int &count) {
    for (int slot : slots) {
      llvm::ArrayRef<int> kept = networks.front().network.getKept(slot);
      choices.emplace_back(kept.begin(), kept.end());
      count *= static_cast<int>(kept.size());
    }
  };
  list(variables.before, beforeChoices, inCount);
  list(variables.behind, behindChoices, outCount);
  std::vector<int> fixed = getFixed();
  for (auto [number, made] : llvm::zip_equal(numbers, networks)) {
    isComplete &= !made.isTooWide;
    Mode mode{number, std::move(made.network), std::nullopt};
    mode.network.reduce(fixed);
    if (!mode.network.isImpossible()) {
      mode.elimination =
          VectorElimination::make(mode.network, fixed, tableLimit);
      isComplete &= mode.elimination.has_value();
    }
    modes.push_back(std::move(mode));
  }
}

std::vector<int> UnitOracle::getFixed() const {
  std::vector<int> fixed = variables.before;
  fixed.insert(fixed.end(), variables.behind.begin(), variables.behind.end());
  return fixed;
}

BoundaryMatrix UnitOracle::minimise(const Weights &weights, ModeSet wanted) {
  BoundaryMatrix matrix;
  matrix.inCount = inCount;
  matrix.outCount = outCount;
  matrix.costs.assign(static_cast<size_t>(inCount) * outCount,
                      BoundaryMatrix::impossible);
  for (Mode &mode : modes) {
    if ((wanted >> mode.number & 1) == 0 || !mode.elimination)
      continue;
    llvm::ArrayRef<double> least =
        mode.elimination->minimise(toComponents(weights));
    for (auto [cost, other] : llvm::zip_equal(matrix.costs, least))
      cost = std::min(cost, other);
  }
  return matrix;
}

BlockPlan UnitOracle::getPlan(const Weights &weights, ModeSet wanted, int in,
                              int out) {
  size_t entry = static_cast<size_t>(in) * outCount + out;
  Components prices = toComponents(weights);
  Mode *best = nullptr;
  double least = BoundaryMatrix::impossible;
  for (Mode &mode : modes) {
    if ((wanted >> mode.number & 1) == 0 || !mode.elimination)
      continue;
    double cost = mode.elimination->minimise(prices)[entry];
    if (cost < least) {
      least = cost;
      best = &mode;
    }
  }
  PARPLAN_CHECK(best, "a plan is asked for where there is one");
  (void)best->elimination->minimise(prices);
  BlockPlan plan;
  plan.in = in;
  plan.out = out;
  plan.mode = best->number;
  std::vector<int> places(best->network.getVariableCount(), -1);
  auto place = [&](llvm::ArrayRef<int> slots,
                   llvm::ArrayRef<std::vector<int>> choices, int state) {
    for (size_t slot = slots.size(); slot-- > 0;) {
      auto count = static_cast<int>(choices[slot].size());
      places[slots[slot]] = state % count;
      state /= count;
    }
  };
  place(variables.before, beforeChoices, in);
  place(variables.behind, behindChoices, out);
  best->elimination->complete(places);
  plan.cost = toCost(best->network.complete(prices, places));
  for (int variable = 0; variable < best->network.getVariableCount();
       ++variable)
    plan.choices.push_back(best->network.getKept(variable)[places[variable]]);
  return plan;
}

std::vector<int> UnitOracle::getSlots(bool isBehind, int state) const {
  const auto &choices = isBehind ? behindChoices : beforeChoices;
  std::vector<int> slots(choices.size());
  for (size_t slot = choices.size(); slot-- > 0;) {
    auto count = static_cast<int>(choices[slot].size());
    slots[slot] = choices[slot][state % count];
    state /= count;
  }
  return slots;
}

CostVector UnitOracle::getLeast() {
  Components least{};
  for (int component = 0; component < componentCount; ++component) {
    Components only{};
    only[component] = 1;
    double cost = BoundaryMatrix::impossible;
    for (Mode &mode : modes)
      if (mode.elimination)
        for (double entry : mode.elimination->minimise(only))
          cost = std::min(cost, entry);
    least[component] = cost;
  }
  return toCost(least);
}
