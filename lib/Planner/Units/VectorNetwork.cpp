//===- VectorNetwork.cpp - Sums of tables of vectors ----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "VectorNetwork.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace parplan;

Components parplan::toComponents(const CostVector &cost) {
  return {cost.forward,    cost.inputGradient, cost.weightGradient,
          cost.meeting,    cost.ends,          cost.permanentBytes,
          cost.savedBytes, cost.hostBytes};
}

Components parplan::toComponents(const Weights &weights) {
  return {weights.forward,    weights.inputGradient, weights.weightGradient,
          weights.meeting,    weights.ends,          weights.permanentBytes,
          weights.savedBytes, weights.hostBytes};
}

CostVector parplan::toCost(const Components &components) {
  return {components[0], components[1], components[2], components[3],
          components[4], components[5], components[6], components[7]};
}

void parplan::add(Components &sum, const Components &added) {
  for (int component = 0; component < componentCount; ++component)
    sum[component] += added[component];
}

double parplan::getProduct(const Components &weights, const Components &costs) {
  double product = 0;
  for (int component = 0; component < componentCount; ++component)
    product += weights[component] * costs[component];
  return product;
}

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// Sums of the same numbers in another order differ by less.
static constexpr double tolerance = 1e-12;

static bool isNoMore(double one, double other) {
  return one <= other + tolerance * std::abs(other);
}

static bool isNoMore(const Components &one, const Components &other) {
  // Without branches: this is much of what a reduction does.
  bool isMore = false;
  for (int component = 0; component < componentCount; ++component)
    isMore |= one[component] > other[component] * (1 + tolerance);
  return !isMore;
}

/// True if some mixture of two vectors is nowhere more than `cost`.
static bool isMixtureNoMore(const Components &one, const Components &other,
                            const Components &cost) {
  // share * one + (1 - share) * other <= cost.
  double least = 0, most = 1;
  for (int component = 0; component < componentCount; ++component) {
    double slope = one[component] - other[component];
    double room = cost[component] - other[component];
    if (slope == 0) {
      if (!isNoMore(other[component], cost[component]))
        return false;
      continue;
    }
    (slope > 0 ? most : least) = slope > 0 ? std::min(most, room / slope)
                                           : std::max(least, room / slope);
    if (least > most)
      return false;
  }
  return true;
}

bool parplan::keepSupported(std::vector<Components> &costs, size_t most) {
  if (costs.size() < 2)
    return true;
  // What is no more anywhere has no larger sum, whatever the units.
  Components scale{};
  for (const Components &cost : costs)
    for (int component = 0; component < componentCount; ++component)
      scale[component] = std::max(scale[component], cost[component]);
  for (double &most : scale)
    most = most > 0 ? 1 / most : 0;
  llvm::SmallVector<double, 64> sums;
  for (const Components &cost : costs)
    sums.push_back(getProduct(scale, cost));
  // Mostly the one with the least sum leaves no other.
  auto least = std::min_element(sums.begin(), sums.end()) - sums.begin();
  llvm::SmallVector<Components, 16> left = {costs[least]};
  llvm::SmallVector<std::pair<double, int>, 64> order;
  for (auto [number, cost] : llvm::enumerate(costs))
    if (!isNoMore(left.front(), cost))
      order.emplace_back(sums[number], static_cast<int>(number));
  llvm::sort(order);
  for (auto [sum, number] : order)
    if (llvm::none_of(left, [&](const Components &other) {
          return isNoMore(other, costs[number]);
        })) {
      if (left.size() == most)
        return false;
      left.push_back(costs[number]);
    }
  constexpr size_t mostCompared = 16;
  for (size_t place = left.size();
       left.size() > 2 && left.size() <= mostCompared && place-- > 0;) {
    bool isMixed = false;
    for (size_t one = 0; one < left.size() && !isMixed; ++one)
      for (size_t other = 0; other < one && !isMixed; ++other)
        isMixed = one != place && other != place &&
                  isMixtureNoMore(left[one], left[other], left[place]);
    if (isMixed)
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(place));
  }
  costs.assign(left.begin(), left.end());
  return true;
}

void VectorFactor::addVariable(int variable, int choiceCount) {
  std::vector<int> identity(choiceCount);
  std::iota(identity.begin(), identity.end(), 0);
  addVariable(variable, std::move(identity));
}

void VectorFactor::addVariable(int variable, std::vector<int> classOfChoice) {
  variables.push_back(variable);
  sizes.push_back(
      *std::max_element(classOfChoice.begin(), classOfChoice.end()) + 1);
  classes.push_back(std::move(classOfChoice));
}

int VectorFactor::getPlace(int variable) const {
  for (size_t place = 0; place < variables.size(); ++place)
    if (variables[place] == variable)
      return static_cast<int>(place);
  return -1;
}

namespace {

/// The entries of a factor by the class of one of its variables: `outer` groups
/// of `inner` neighbours.
struct Slice {
  int outer = 1, inner = 1, size = 1;

  Slice(const VectorFactor &factor, int place) {
    size = factor.sizes[place];
    for (auto [other, count] : llvm::enumerate(factor.sizes))
      if (static_cast<int>(other) != place)
        (static_cast<int>(other) < place ? outer : inner) *= count;
  }
};

} // namespace

void VectorFactor::dropIndifferent() {
  for (size_t place = variables.size(); place-- > 0;)
    if (sizes[place] == 1) {
      auto at = static_cast<std::ptrdiff_t>(place);
      variables.erase(variables.begin() + at);
      sizes.erase(sizes.begin() + at);
      classes.erase(classes.begin() + at);
    }
}

FactorRef FactorPool::get(VectorFactor factor) {
  factor.dropIndifferent();
  size_t hash = llvm::hash_combine_range(factor.variables.begin(),
                                         factor.variables.end());
  hash =
      llvm::hash_combine(hash, llvm::hash_combine_range(factor.starts.begin(),
                                                        factor.starts.end()));
  hash = llvm::hash_combine(
      hash, llvm::xxh3_64bits(llvm::ArrayRef(
                reinterpret_cast<const uint8_t *>(factor.costs.data()),
                factor.costs.size() * sizeof(Components))));
  auto [begin, end] = known.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (it->second->variables == factor.variables &&
        it->second->classes == factor.classes &&
        it->second->starts == factor.starts &&
        it->second->costs == factor.costs)
      return it->second;
  auto made = std::make_shared<const VectorFactor>(std::move(factor));
  known.emplace(hash, made);
  return made;
}

void FactorPool::forget() {
  known.clear();
  restricted.clear();
  eliminated.clear();
  sums.clear();
}

int VectorNetwork::addVariable(int choiceCount) {
  PARPLAN_CHECK(choiceCount > 0, "a variable needs a choice");
  kept.emplace_back(choiceCount);
  std::iota(kept.back().begin(), kept.back().end(), 0);
  eliminated.push_back(false);
  return getVariableCount() - 1;
}

void VectorNetwork::add(Factor factor) {
  int entries = 1;
  for (auto [variable, size, ofChoices] :
       llvm::zip_equal(factor.variables, factor.sizes, factor.classes)) {
    entries *= size;
    PARPLAN_CHECK(static_cast<int>(ofChoices.size()) == getSize(variable),
                  "every choice has a class");
  }
  PARPLAN_CHECK(factor.getEntryCount() == entries,
                "a factor has an entry for every combination");
  factors.push_back(pool->get(std::move(factor)));
}

void VectorNetwork::dropWidestFactor() {
  auto widest =
      std::max_element(factors.begin(), factors.end(),
                       [](const FactorRef &one, const FactorRef &other) {
                         return one->variables.size() < other->variables.size();
                       });
  PARPLAN_CHECK(widest != factors.end() && !(*widest)->variables.empty(),
                "a network without wide factors is not too wide");
  factors.erase(widest);
}

bool VectorNetwork::isImpossible() const {
  return llvm::any_of(
             kept, [](const std::vector<int> &list) { return list.empty(); }) ||
         llvm::any_of(factors, [](const FactorRef &factor) {
           return factor->costs.empty();
         });
}

std::vector<int> VectorNetwork::getFactorsOf(int variable) const {
  std::vector<int> found;
  for (auto [number, factor] : llvm::enumerate(factors))
    if (factor->contains(variable))
      found.push_back(static_cast<int>(number));
  return found;
}

/// Leaves the classes that some choice is of.
FactorRef VectorNetwork::restrictFactor(const FactorRef &ref, int variable,
                                        llvm::ArrayRef<int> places) {
  const VectorFactor &factor = *ref;
  int place = factor.getPlace(variable);
  if (place < 0)
    return ref;
  FactorRef &known = pool->restricted[{ref, {variable, places.vec()}}];
  if (known)
    return known;
  VectorFactor made;
  made.variables = factor.variables;
  made.sizes = factor.sizes;
  made.classes = factor.classes;
  std::vector<int> numbers(factor.sizes[place], -1), left;
  made.classes[place].clear();
  for (int choice : places) {
    int &number = numbers[factor.classes[place][choice]];
    if (number < 0) {
      number = static_cast<int>(left.size());
      left.push_back(factor.classes[place][choice]);
    }
    made.classes[place].push_back(number);
  }
  made.sizes[place] = static_cast<int>(left.size());
  Slice slice(factor, place);
  for (int outer = 0; outer < slice.outer; ++outer)
    for (int ofClass : left)
      for (int inner = 0; inner < slice.inner; ++inner)
        made.add(
            factor.get((outer * slice.size + ofClass) * slice.inner + inner));
  known = pool->get(std::move(made));
  return known;
}

void VectorNetwork::restrict(int variable, llvm::ArrayRef<int> places) {
  if (static_cast<int>(places.size()) == getSize(variable))
    return;
  for (FactorRef &factor : factors)
    factor = restrictFactor(factor, variable, places);
  for (Step &step : steps)
    for (FactorRef &factor : step.factors)
      factor = restrictFactor(factor, variable, places);
  std::vector<int> left;
  for (int place : places)
    left.push_back(kept[variable][place]);
  kept[variable] = std::move(left);
}

/// Drops choices that some factor never allows.
bool VectorNetwork::dropImpossible(int variable) {
  std::vector<bool> isPossible(getSize(variable), true);
  for (const FactorRef &factor : factors) {
    int place = factor->getPlace(variable);
    if (place < 0)
      continue;
    Slice slice(*factor, place);
    std::vector<bool> isAllowed(slice.size, false);
    for (int entry = 0; entry < factor->getEntryCount(); ++entry)
      if (!factor->get(entry).empty())
        isAllowed[entry / slice.inner % slice.size] = true;
    for (int choice = 0; choice < getSize(variable); ++choice)
      if (!isAllowed[factor->classes[place][choice]])
        isPossible[choice] = false;
  }
  std::vector<int> places;
  for (int choice = 0; choice < getSize(variable); ++choice)
    if (isPossible[choice])
      places.push_back(choice);
  bool isChanged = static_cast<int>(places.size()) < getSize(variable);
  restrict(variable, places);
  return isChanged;
}
