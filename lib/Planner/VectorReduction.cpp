//===- VectorReduction.cpp - Elimination before weights are known ---------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "VectorNetwork.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace parplan;

namespace {

using Factor = VectorNetwork::Factor;

/// The classes of some variables that some factors tell apart, and a walk over
/// their combinations, the last variable fastest.
class JointWalk {
public:
  /// `sizes`: choices per variable.
  JointWalk(std::vector<int> given, llvm::ArrayRef<int> choiceCounts,
            llvm::ArrayRef<const Factor *> factors)
      : variables(std::move(given)), places(variables.size(), 0),
        entries(factors.size(), 0) {
    for (auto [variable, count] : llvm::zip_equal(variables, choiceCounts))
      addClasses(variable, count, factors);
  }

  const std::vector<std::vector<int>> &getClasses() const { return classes; }
  const std::vector<int> &getSizes() const { return sizes; }
  int64_t getCount() const {
    int64_t count = 1;
    for (int size : sizes)
      count *= size;
    return count;
  }

  int getEntry(size_t factor) const { return entries[factor]; }

  /// To the next combination; false behind the last one.
  bool advance() {
    for (size_t at = variables.size(); at-- > 0;) {
      int before = places[at];
      bool isLast = before + 1 == sizes[at];
      places[at] = isLast ? 0 : before + 1;
      for (size_t factor = 0; factor < entries.size(); ++factor)
        entries[factor] +=
            offsets[at][factor][places[at]] - offsets[at][factor][before];
      if (!isLast)
        return true;
    }
    return false;
  }

private:
  void addClasses(int variable, int count,
                  llvm::ArrayRef<const Factor *> factors) {
    std::vector<std::vector<int>> ofFactors(factors.size());
    std::map<std::vector<int>, int> known;
    std::vector<int> &ofChoices = classes.emplace_back();
    for (int choice = 0; choice < count; ++choice) {
      std::vector<int> key;
      for (const Factor *factor : factors)
        if (int place = factor->getPlace(variable); place >= 0)
          key.push_back(factor->classes[place][choice]);
      auto [it, isNew] =
          known.try_emplace(std::move(key), static_cast<int>(known.size()));
      ofChoices.push_back(it->second);
      if (!isNew)
        continue;
      for (auto [number, factor] : llvm::enumerate(factors)) {
        int place = factor->getPlace(variable), offset = 0;
        if (place >= 0) {
          offset = factor->classes[place][choice];
          for (size_t behind = place + 1; behind < factor->sizes.size();
               ++behind)
            offset *= factor->sizes[behind];
        }
        ofFactors[number].push_back(offset);
      }
    }
    sizes.push_back(static_cast<int>(known.size()));
    for (size_t factor = 0; factor < factors.size(); ++factor)
      entries[factor] += ofFactors[factor].front();
    offsets.push_back(std::move(ofFactors));
  }

  std::vector<int> variables, sizes, places, entries;
  std::vector<std::vector<int>> classes;
  /// Per variable, factor and class.
  std::vector<std::vector<std::vector<int>>> offsets;
};

/// Every sum of one vector of each.
std::vector<Components> getSums(llvm::ArrayRef<const Factor *> factors,
                                const JointWalk &walk) {
  std::vector<Components> sums = {Components{}};
  for (auto [number, factor] : llvm::enumerate(factors)) {
    llvm::ArrayRef<Components> added = factor->get(walk.getEntry(number));
    if (added.empty())
      return {};
    if (added.size() == 1) {
      for (Components &sum : sums)
        parplan::add(sum, added[0]);
      continue;
    }
    std::vector<Components> extended;
    for (const Components &sum : sums)
      for (const Components &more : added) {
        extended.push_back(sum);
        parplan::add(extended.back(), more);
      }
    keepSupported(extended);
    sums = std::move(extended);
  }
  return sums;
}

} // namespace

/// Replaces a variable and its factors by one factor over its neighbours, where
/// that takes no more work per question than the variable.
bool VectorNetwork::tryEliminate(int variable) {
  std::vector<int> numbers = getFactorsOf(variable);
  std::vector<const Factor *> around;
  std::vector<int> scope;
  size_t vectorsBefore = 0;
  for (int number : numbers) {
    around.push_back(&factors[number]);
    vectorsBefore += factors[number].costs.size();
    for (int other : factors[number].variables)
      if (other != variable && !llvm::is_contained(scope, other))
        scope.push_back(other);
  }
  llvm::sort(scope);
  std::vector<int> inner = scope, counts;
  inner.push_back(variable);
  for (int other : inner)
    counts.push_back(getSize(other));
  JointWalk walk(inner, counts, around);
  constexpr int64_t mostCombinations = 1 << 16;
  int64_t combinations = walk.getCount();
  if (combinations > mostCombinations)
    return false;
  // An entry of a table takes less time than a vector.
  constexpr int64_t entriesPerVector = 4, vectorsOfBucket = 64;
  constexpr size_t mostPerEntry = 24;
  size_t most =
      vectorsBefore + static_cast<size_t>(combinations / entriesPerVector +
                                    vectorsOfBucket);
  Factor made;
  for (size_t place = 0; place < scope.size(); ++place)
    made.addVariable(scope[place], walk.getClasses()[place]);
  int classCount = walk.getSizes().back();
  for (int64_t row = 0; row < combinations / classCount; ++row) {
    std::vector<Components> best;
    for (int ofClass = 0; ofClass < classCount; ++ofClass) {
      llvm::append_range(best, getSums(around, walk));
      walk.advance();
    }
    keepSupported(best);
    made.add(best);
    if (made.costs.size() > most || best.size() > mostPerEntry)
      return false;
  }
  Step step{variable, {}};
  for (int number : numbers)
    step.factors.push_back(std::move(factors[number]));
  removeFactors(numbers);
  steps.push_back(std::move(step));
  eliminated[variable] = true;
  factors.push_back(std::move(made));
  return true;
}

/// Adds factors to others over the same variables and more, where that makes no
/// more vectors.
void VectorNetwork::mergeFactors() {
  for (size_t number = 0; number < factors.size();) {
    bool isMerged = false;
    for (size_t other = 0; other < factors.size() && !isMerged; ++other) {
      Factor &wide = factors[other];
      const Factor &narrow = factors[number];
      bool isIn =
          other != number && llvm::all_of(narrow.variables, [&](int variable) {
            return wide.contains(variable);
          });
      if (!isIn)
        continue;
      const Factor *pair[] = {&wide, &narrow};
      std::vector<int> counts;
      for (int variable : wide.variables)
        counts.push_back(getSize(variable));
      JointWalk walk(wide.variables, counts, pair);
      Factor sum;
      for (size_t place = 0; place < wide.variables.size(); ++place)
        sum.addVariable(wide.variables[place], walk.getClasses()[place]);
      do
        sum.add(getSums(pair, walk));
      while (walk.advance());
      if (sum.costs.size() > wide.costs.size() + narrow.costs.size())
        continue;
      wide = std::move(sum);
      isMerged = true;
    }
    if (isMerged)
      factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(number));
    else
      ++number;
  }
}

void VectorNetwork::reduce(llvm::ArrayRef<int> fixed) {
  std::vector<bool> isFixed(getVariableCount(), false);
  for (int variable : fixed)
    isFixed[variable] = true;
  auto dropAll = [&](auto drop) {
    bool isChanged = false;
    for (int variable = 0; variable < getVariableCount(); ++variable)
      if (!eliminated[variable] && !isFixed[variable])
        isChanged |= drop(variable);
    return isChanged;
  };
  auto dropChoices = [&] {
    while (dropAll([&](int variable) { return dropImpossible(variable); }))
      ;
    return !isImpossible() &&
           dropAll([&](int variable) { return dropDominated(variable); });
  };
  auto getJointSize = [&](int variable) {
    double size = 1;
    std::vector<int> seen = {variable};
    for (const Factor &factor : factors)
      if (factor.contains(variable))
        for (int other : factor.variables)
          if (!llvm::is_contained(seen, other)) {
            seen.push_back(other);
            size *= getSize(other);
          }
    return size * getSize(variable);
  };
  // Of those that were too large to be eliminated.
  std::vector<double> failedSize(getVariableCount(),
                                 std::numeric_limits<double>::infinity());
  bool isChanged = true;
  while (isChanged) {
    isChanged = false;
    while (dropChoices())
      ;
    if (isImpossible())
      return;
    // The smallest tables first; what is made is looked at in the next round.
    std::vector<std::pair<double, int>> order;
    for (int variable = 0; variable < getVariableCount(); ++variable)
      if (!eliminated[variable] && !isFixed[variable])
        order.emplace_back(getJointSize(variable), variable);
    llvm::sort(order);
    for (auto [before, variable] : order) {
      // Neighbours may have made it larger.
      double size = getJointSize(variable);
      if (size > 2 * before || size >= failedSize[variable])
        continue;
      if (tryEliminate(variable))
        isChanged = true;
      else
        failedSize[variable] = size;
    }
    if (isChanged)
      mergeFactors();
  }
}

Components VectorNetwork::complete(const Components &weights,
                                   std::vector<int> &places) const {
  auto getEntry = [&](const Factor &factor) {
    int entry = 0;
    for (auto [variable, size, classes] :
         llvm::zip_equal(factor.variables, factor.sizes, factor.classes))
      entry = entry * size + classes[places[variable]];
    return entry;
  };
  auto getBest = [&](const Factor &factor) {
    const Components *best = nullptr;
    for (const Components &cost : factor.get(getEntry(factor)))
      if (!best || getProduct(weights, cost) < getProduct(weights, *best))
        best = &cost;
    return best;
  };
  Components sum{};
  for (size_t number = steps.size(); number-- > 0;) {
    const Step &step = steps[number];
    double least = std::numeric_limits<double>::infinity();
    int best = 0;
    for (int choice = 0; choice < getSize(step.variable); ++choice) {
      places[step.variable] = choice;
      double weighted = 0;
      for (const Factor &factor : step.factors) {
        const Components *cost = getBest(factor);
        weighted += cost ? getProduct(weights, *cost)
                         : std::numeric_limits<double>::infinity();
      }
      if (weighted < least) {
        least = weighted;
        best = choice;
      }
    }
    places[step.variable] = best;
  }
  for (const Factor &factor : factors)
    if (const Components *cost = getBest(factor))
      parplan::add(sum, *cost);
  return sum;
}
