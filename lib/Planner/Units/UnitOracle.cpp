//===- UnitOracle.cpp - The oracle of a kind of units ---------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitOracle.h"

#include "parplan/Support/Check.h"

#include <algorithm>
#include <numeric>

using namespace parplan;

/// Largest table of an elimination; what is wider is left out of the unit.
static constexpr int64_t tableLimit = int64_t(1) << 22;

UnitOracle::UnitOracle(std::vector<int> numbers,
                       std::function<UnitNetwork(int)> given, GetWork givenWork)
    : make(std::move(given)), getWork(std::move(givenWork)) {
  for (int number : numbers)
    modes.emplace_back().number = number;
  UnitNetwork first = make(modes.front().number);
  variables = first.variables;
  auto list = [&](llvm::ArrayRef<int> slots, std::vector<int> &counts,
                  int &states) {
    for (int slot : slots) {
      counts.push_back(static_cast<int>(first.network.getKept(slot).size()));
      states *= counts.back();
    }
  };
  list(variables.before, beforeCounts, inCount);
  list(variables.behind, behindCounts, outCount);
  addMode(modes.front(), std::move(first));
  // What it refers to need not stay.
  if (modes.size() == 1)
    make = nullptr;
}

void UnitOracle::addMode(Mode &mode, UnitNetwork made) {
  mode.isMade = true;
  mode.network = std::move(made.network);
  std::vector<int> fixed = getBoundary();
  fixed.insert(fixed.end(), variables.tied.begin(), variables.tied.end());
  mode.network.reduce(fixed);
  mode.isImpossible = mode.network.isImpossible();
}

std::vector<int> UnitOracle::getBoundary() const {
  std::vector<int> slots = variables.before;
  slots.insert(slots.end(), variables.behind.begin(), variables.behind.end());
  return slots;
}

std::vector<UnitOracle::Mode *> UnitOracle::getModes(ModeSet wanted) {
  std::vector<Mode *> found;
  for (Mode &mode : modes) {
    if ((wanted >> mode.number & 1) == 0)
      continue;
    if (!mode.isMade)
      addMode(mode, make(mode.number));
    if (!mode.isImpossible)
      found.push_back(&mode);
  }
  return found;
}

/// What the minimum leaves out, plans still cost.
static VectorElimination makeElimination(VectorNetwork network,
                                         llvm::ArrayRef<int> fixed) {
  while (true) {
    if (auto made = VectorElimination::make(network, fixed, tableLimit))
      return std::move(*made);
    network.dropWidestFactor();
  }
}

VectorElimination &UnitOracle::getByStates(Mode &mode) {
  if (!mode.byStates)
    mode.byStates = makeElimination(mode.network, getBoundary());
  return *mode.byStates;
}

VectorElimination &UnitOracle::getOverAll(Mode &mode) {
  if (!mode.overAll)
    mode.overAll = makeElimination(mode.network, {});
  return *mode.overAll;
}

void UnitOracle::forget() {
  for (Mode &mode : modes) {
    mode.byStates.reset();
    mode.overAll.reset();
  }
}

BoundaryMatrix UnitOracle::minimise(const Weights &weights, ModeSet wanted) {
  BoundaryMatrix matrix;
  matrix.inCount = inCount;
  matrix.outCount = outCount;
  matrix.costs.assign(static_cast<size_t>(inCount) * outCount,
                      BoundaryMatrix::impossible);
  for (Mode *mode : getModes(wanted))
    for (auto [cost, other] : llvm::zip_equal(
             matrix.costs, getByStates(*mode).minimise(toComponents(weights))))
      cost = std::min(cost, other);
  return matrix;
}

std::vector<std::pair<double, UnitOracle::Mode *>>
UnitOracle::getModesByBound(ModeSet wanted, const Components &prices) {
  std::vector<Mode *> found = getModes(wanted);
  std::vector<std::pair<double, Mode *>> byBound;
  for (Mode *mode : found)
    byBound.emplace_back(found.size() > 1 ? mode->known.getBound(prices) : 0,
                         mode);
  llvm::stable_sort(byBound, llvm::less_first());
  return byBound;
}

std::pair<double, UnitOracle::Mode *>
UnitOracle::findLeast(const Components &prices, ModeSet wanted) {
  std::pair<double, Mode *> least = {BoundaryMatrix::impossible, nullptr};
  for (auto [bound, mode] : getModesByBound(wanted, prices)) {
    if (bound >= least.first)
      break;
    double value = getOverAll(*mode).minimise(prices).front();
    mode->known.add(prices, value);
    // Of equal ones the first.
    if (value < least.first ||
        (value == least.first && least.second && mode < least.second))
      least = {value, mode};
  }
  return least;
}

BlockOracle::Least UnitOracle::getLeast(const Weights &weights,
                                        ModeSet wanted) {
  Components prices = toComponents(weights);
  auto [value, mode] = findLeast(prices, wanted);
  Least least;
  if (!mode)
    return least;
  least.value = value;
  std::vector<int> places(mode->network.getVariableCount(), -1);
  mode->overAll->complete(places);
  if (auto cost = mode->network.getCost(prices, places))
    least.cost = toCost(*cost);
  return least;
}

double UnitOracle::getLeastValue(const Weights &weights, ModeSet wanted) {
  return findLeast(toComponents(weights), wanted).first;
}

double UnitOracle::getKnownValue(const Weights &weights, ModeSet wanted) const {
  Components prices = toComponents(weights);
  double least = BoundaryMatrix::impossible;
  for (const Mode &mode : modes) {
    if ((wanted >> mode.number & 1) == 0 || mode.isImpossible)
      continue;
    // Nothing is known of what has not been made.
    least = std::min(least, mode.isMade ? mode.known.getBound(prices) : 0);
  }
  return least;
}

/// Sets the slots of a boundary to those of a state.
static void setSlots(llvm::ArrayRef<int> slots, llvm::ArrayRef<int> counts,
                     int state, std::vector<int> &places) {
  for (size_t slot = slots.size(); slot-- > 0;) {
    places[slots[slot]] = state % counts[slot];
    state /= counts[slot];
  }
}

std::optional<BlockPlan> UnitOracle::getPlan(const Weights &weights,
                                             ModeSet wanted, int in, int out) {
  size_t entry = static_cast<size_t>(in) * outCount + out;
  Components prices = toComponents(weights);
  Mode *best = nullptr;
  double least = BoundaryMatrix::impossible;
  std::vector<int> places;
  for (auto [bound, mode] : getModesByBound(wanted, prices)) {
    if (bound >= least)
      break;
    VectorElimination &elimination = getByStates(*mode);
    double cost = elimination.minimise(prices)[entry];
    bool isFirst = cost == least && best && mode < best;
    if (cost >= least && !isFirst)
      continue;
    least = cost;
    best = mode;
    places.assign(mode->network.getVariableCount(), -1);
    setSlots(variables.before, beforeCounts, in, places);
    setSlots(variables.behind, behindCounts, out, places);
    elimination.complete(places);
  }
  return best ? complete(*best, prices, std::move(places), in, out)
              : std::nullopt;
}

std::optional<BlockPlan> UnitOracle::complete(const Mode &mode,
                                              const Components &prices,
                                              std::vector<int> places, int in,
                                              int out) const {
  BlockPlan plan;
  plan.in = in;
  plan.out = out;
  plan.mode = mode.number;
  std::optional<Components> cost = mode.network.getCost(prices, places);
  if (!cost)
    return std::nullopt;
  mode.network.complete(prices, places);
  plan.cost = toCost(*cost);
  for (int variable = 0; variable < mode.network.getVariableCount(); ++variable)
    plan.choices.push_back(mode.network.getKept(variable)[places[variable]]);
  return plan;
}

UnitOracle::Mode &UnitOracle::getMode(int number) {
  std::vector<Mode *> found = getModes(ModeSet(1) << number);
  PARPLAN_CHECK(found.size() == 1, "no plan is of mode ", number);
  return *found.front();
}

/// Other choices are forbidden, not gone: tables and numbers stay.
VectorNetwork UnitOracle::pin(const Mode &mode, const BlockPlan &plan,
                              const Pins &pins) const {
  VectorNetwork network = mode.network;
  auto add = [&](int variable, int choice) {
    llvm::ArrayRef<int> kept = network.getKept(variable);
    VectorFactor factor;
    std::vector<int> classes;
    for (int other : kept)
      classes.push_back(other == choice ? 0 : 1);
    factor.addVariable(variable, std::move(classes));
    factor.add(Components{});
    if (factor.sizes.front() > 1)
      factor.add({});
    network.add(std::move(factor));
  };
  for (int variable : getBoundary())
    add(variable, plan.choices[variable]);
  for (auto [variable, choice] : pins)
    add(variable, choice);
  return network;
}

std::map<int, double> UnitOracle::getCostsByChoice(const BlockPlan &plan,
                                                   const Weights &weights,
                                                   const Pins &pins,
                                                   int variable) {
  Mode &mode = getMode(plan.mode);
  VectorElimination elimination =
      makeElimination(pin(mode, plan, pins), {variable});
  std::map<int, double> costs;
  for (auto [choice, cost] :
       llvm::zip_equal(mode.network.getKept(variable),
                       elimination.minimise(toComponents(weights))))
    costs[choice] = cost;
  return costs;
}

std::optional<BlockPlan> UnitOracle::getPlanWith(const BlockPlan &plan,
                                                 const Weights &weights,
                                                 const Pins &pins) {
  Mode &mode = getMode(plan.mode);
  VectorElimination elimination = makeElimination(pin(mode, plan, pins), {});
  Components prices = toComponents(weights);
  if (elimination.minimise(prices).front() == BoundaryMatrix::impossible)
    return std::nullopt;
  std::vector<int> places(mode.network.getVariableCount(), -1);
  elimination.complete(places);
  return complete(mode, prices, std::move(places), plan.in, plan.out);
}

std::vector<int> UnitOracle::getSlots(bool isBehind, int state) const {
  const std::vector<int> &counts = isBehind ? behindCounts : beforeCounts;
  std::vector<int> numbers(counts.size()), slots(counts.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  setSlots(numbers, counts, state, slots);
  return slots;
}
