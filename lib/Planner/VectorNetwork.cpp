//===- VectorNetwork.cpp - Sums of tables of vectors ----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "VectorNetwork.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

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

/// Sums of the same numbers in another order differ by less.
static constexpr double tolerance = 1e-12;

static bool isNoMore(double one, double other) {
  return one <= other + tolerance * std::abs(other);
}

static bool isNoMore(const Components &one, const Components &other) {
  // Without branches: this is most of what a reduction does.
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

void parplan::keepSupported(std::vector<Components> &costs) {
  if (costs.size() < 2)
    return;
  // What is no more anywhere has no larger sum, whatever the units.
  Components scale{};
  for (const Components &cost : costs)
    for (int component = 0; component < componentCount; ++component)
      scale[component] = std::max(scale[component], cost[component]);
  for (double &most : scale)
    most = most > 0 ? 1 / most : 0;
  std::vector<std::pair<double, int>> order;
  for (auto [number, cost] : llvm::enumerate(costs))
    order.emplace_back(getProduct(scale, cost), static_cast<int>(number));
  llvm::sort(order);
  std::vector<Components> left;
  for (auto [sum, number] : order)
    if (llvm::none_of(left, [&](const Components &other) {
          return isNoMore(other, costs[number]);
        }))
      left.push_back(costs[number]);
  constexpr size_t mostCompared = 10;
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
  costs = std::move(left);
}

int VectorNetwork::addVariable(int choiceCount) {
  PARPLAN_CHECK(choiceCount > 0, "a variable needs a choice");
  kept.emplace_back(choiceCount);
  std::iota(kept.back().begin(), kept.back().end(), 0);
  eliminated.push_back(false);
  return getVariableCount() - 1;
}

void VectorNetwork::Factor::addVariable(int variable, int choiceCount) {
  std::vector<int> identity(choiceCount);
  std::iota(identity.begin(), identity.end(), 0);
  addVariable(variable, std::move(identity));
}

void VectorNetwork::Factor::addVariable(int variable,
                                        std::vector<int> classOfChoice) {
  variables.push_back(variable);
  sizes.push_back(
      *std::max_element(classOfChoice.begin(), classOfChoice.end()) + 1);
  classes.push_back(std::move(classOfChoice));
}

int VectorNetwork::Factor::getPlace(int variable) const {
  auto found = llvm::find(variables, variable);
  return found == variables.end() ? -1
                                  : static_cast<int>(found - variables.begin());
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
  factors.push_back(std::move(factor));
}

bool VectorNetwork::isImpossible() const {
  return llvm::any_of(
             kept, [](const std::vector<int> &list) { return list.empty(); }) ||
         llvm::any_of(factors, [](const Factor &factor) {
           return factor.costs.empty();
         });
}

std::vector<int> VectorNetwork::getFactorsOf(int variable) const {
  std::vector<int> found;
  for (auto [number, factor] : llvm::enumerate(factors))
    if (factor.contains(variable))
      found.push_back(static_cast<int>(number));
  return found;
}

void VectorNetwork::removeFactors(llvm::ArrayRef<int> numbers) {
  for (int number : llvm::reverse(numbers))
    factors.erase(factors.begin() + number);
}

namespace {

/// The entries of a factor by the class of one of its variables: `outer` groups
/// of `inner` neighbours.
struct Slice {
  int outer = 1, inner = 1, size = 1;

  Slice(const VectorNetwork::Factor &factor, int place) {
    size = factor.sizes[place];
    for (auto [other, count] : llvm::enumerate(factor.sizes))
      if (static_cast<int>(other) != place)
        (static_cast<int>(other) < place ? outer : inner) *= count;
  }
  int getCount() const { return outer * inner; }
  int getEntry(int context, int ofClass) const {
    return (context / inner * size + ofClass) * inner + context % inner;
  }
};

/// How much more the vectors of `others` cost than those of `own` at most,
/// where each of these is replaced by one of them. False: by none.
bool getMostMore(llvm::ArrayRef<Components> own,
                 llvm::ArrayRef<Components> others, Components &most) {
  if (own.empty())
    return true;
  if (others.empty())
    return false;
  for (const Components &cost : own) {
    const Components *best = &others.front();
    if (others.size() > 1) {
      // Nearest to no more: by the largest share that it is larger by.
      double least = std::numeric_limits<double>::infinity();
      for (const Components &other : others) {
        double more = 0;
        for (int component = 0; component < componentCount; ++component) {
          double scale = std::max(cost[component], other[component]);
          if (scale > 0)
            more = std::max(more, (other[component] - cost[component]) / scale);
        }
        if (more < least) {
          least = more;
          best = &other;
        }
      }
    }
    for (int component = 0; component < componentCount; ++component)
      most[component] =
          std::max(most[component], (*best)[component] - cost[component]);
  }
  return true;
}

} // namespace

Components VectorNetwork::getMostAdded(int variable, int choice,
                                       int other) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Components sum{};
  for (const Factor &factor : factors) {
    int place = factor.getPlace(variable);
    if (place < 0)
      continue;
    int own = factor.classes[place][choice];
    int others = factor.classes[place][other];
    if (own == others)
      continue;
    Slice slice(factor, place);
    Components most;
    most.fill(-infinity);
    for (int context = 0; context < slice.getCount(); ++context)
      if (!getMostMore(factor.get(slice.getEntry(context, own)),
                       factor.get(slice.getEntry(context, others)), most)) {
        sum.fill(infinity);
        return sum;
      }
    // No context has the choice.
    if (most[0] == -infinity)
      most.fill(0);
    parplan::add(sum, most);
  }
  return sum;
}

/// Leaves the classes that some choice is of.
static void restrictFactor(VectorNetwork::Factor &factor, int variable,
                           llvm::ArrayRef<int> places) {
  int place = factor.getPlace(variable);
  if (place < 0)
    return;
  std::vector<int> numbers(factor.sizes[place], -1), classes, left;
  for (int choice : places) {
    int &number = numbers[factor.classes[place][choice]];
    if (number < 0) {
      number = static_cast<int>(left.size());
      left.push_back(factor.classes[place][choice]);
    }
    classes.push_back(number);
  }
  factor.classes[place] = std::move(classes);
  if (static_cast<int>(left.size()) == factor.sizes[place] &&
      llvm::is_sorted(left))
    return;
  Slice slice(factor, place);
  std::vector<int> starts = {0};
  std::vector<Components> costs;
  for (int outer = 0; outer < slice.outer; ++outer)
    for (int ofClass : left)
      for (int inner = 0; inner < slice.inner; ++inner) {
        auto kept =
            factor.get((outer * slice.size + ofClass) * slice.inner + inner);
        costs.insert(costs.end(), kept.begin(), kept.end());
        starts.push_back(static_cast<int>(costs.size()));
      }
  factor.sizes[place] = static_cast<int>(left.size());
  factor.starts = std::move(starts);
  factor.costs = std::move(costs);
}

void VectorNetwork::restrict(int variable, llvm::ArrayRef<int> places) {
  if (static_cast<int>(places.size()) == getSize(variable))
    return;
  for (Factor &factor : factors)
    restrictFactor(factor, variable, places);
  for (Step &step : steps)
    for (Factor &factor : step.factors)
      restrictFactor(factor, variable, places);
  std::vector<int> left;
  for (int place : places)
    left.push_back(kept[variable][place]);
  kept[variable] = std::move(left);
}

/// Drops choices that some factor never allows.
bool VectorNetwork::dropImpossible(int variable) {
  std::vector<bool> isPossible(getSize(variable), true);
  for (const Factor &factor : factors) {
    int place = factor.getPlace(variable);
    if (place < 0)
      continue;
    Slice slice(factor, place);
    std::vector<bool> isAllowed(slice.size, false);
    for (int ofClass = 0; ofClass < slice.size; ++ofClass)
      for (int context = 0; context < slice.getCount() && !isAllowed[ofClass];
           ++context)
        isAllowed[ofClass] =
            !factor.get(slice.getEntry(context, ofClass)).empty();
    for (int choice = 0; choice < getSize(variable); ++choice)
      if (!isAllowed[factor.classes[place][choice]])
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

bool VectorNetwork::dropDominated(int variable) {
  Components scale{};
  for (const Factor &factor : factors) {
    int place = factor.getPlace(variable);
    if (place < 0)
      continue;
    Components most{};
    for (const Components &cost : factor.costs)
      for (int component = 0; component < componentCount; ++component)
        most[component] = std::max(most[component], cost[component]);
    parplan::add(scale, most);
  }
  auto isNoMore = [&](const Components &added) {
    for (int component = 0; component < componentCount; ++component)
      if (added[component] > tolerance * scale[component])
        return false;
    return true;
  };
  std::vector<bool> isDropped(getSize(variable), false);
  for (int choice = getSize(variable); choice-- > 0;)
    for (int other = 0; other < getSize(variable) && !isDropped[choice];
         ++other)
      isDropped[choice] = other != choice && !isDropped[other] &&
                          isNoMore(getMostAdded(variable, choice, other));
  std::vector<int> places;
  for (int choice = 0; choice < getSize(variable); ++choice)
    if (!isDropped[choice])
      places.push_back(choice);
  bool isChanged = static_cast<int>(places.size()) < getSize(variable);
  restrict(variable, places);
  return isChanged;
}
