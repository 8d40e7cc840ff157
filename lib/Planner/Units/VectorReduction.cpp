//===- VectorReduction.cpp - Elimination before weights are known ---------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "VectorNetwork.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

using namespace parplan;

namespace {

/// The classes of some variables that some factors tell apart, and a walk over
/// their combinations, the last variable fastest.
class JointWalk {
public:
  /// `sizes`: choices per variable.
  JointWalk(std::vector<int> given, llvm::ArrayRef<int> choiceCounts,
            llvm::ArrayRef<const VectorFactor *> factors)
      : variables(std::move(given)), places(variables.size(), 0),
        entries(factors.size(), 0) {
    for (auto [variable, count] : llvm::zip_equal(variables, choiceCounts))
      addClasses(variable, count, factors);
  }

  const std::vector<std::vector<int>> &getClasses() const { return classes; }
  const std::vector<int> &getSizes() const { return sizes; }
  /// Of combinations, or the most that a number can say.
  uint64_t getCount() const {
    uint64_t count = 1;
    for (int size : sizes)
      count = llvm::SaturatingMultiply(count, static_cast<uint64_t>(size));
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
                  llvm::ArrayRef<const VectorFactor *> factors) {
    std::vector<std::vector<int>> ofFactors(factors.size());
    /// Of the factors that have the variable: how far neighbouring classes of
    /// it are apart.
    struct User {
      size_t number;
      const std::vector<int> &classes;
      int stride;
    };
    std::vector<User> users;
    for (auto [number, factor] : llvm::enumerate(factors)) {
      int place = factor->getPlace(variable);
      if (place < 0)
        continue;
      int stride = 1;
      for (size_t behind = place + 1; behind < factor->sizes.size(); ++behind)
        stride *= factor->sizes[behind];
      users.push_back({number, factor->classes[place], stride});
    }
    std::map<std::vector<int>, int> known;
    std::vector<int> &ofChoices = classes.emplace_back();
    std::vector<int> key(users.size());
    for (int choice = 0; choice < count; ++choice) {
      for (auto [entry, user] : llvm::zip_equal(key, users))
        entry = user.classes[choice];
      auto [it, isNew] = known.try_emplace(key, static_cast<int>(known.size()));
      ofChoices.push_back(it->second);
      if (!isNew)
        continue;
      for (std::vector<int> &ofFactor : ofFactors)
        ofFactor.push_back(0);
      for (const User &user : users)
        ofFactors[user.number].back() = user.classes[choice] * user.stride;
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

/// More vectors than this in one entry are no gain.
constexpr size_t mostPerEntry = 12;

/// Sums of one vector of each of some factors.
class VectorSums {
public:
  VectorSums(llvm::ArrayRef<const VectorFactor *> factors,
             const JointWalk &walk)
      : factors(factors), walk(walk) {}

  /// Appends those of the combination where the walk is; false: too many.
  bool append(std::vector<Components> &result) {
    size_t begin = result.size();
    result.emplace_back();
    for (auto [number, factor] : llvm::enumerate(factors)) {
      llvm::ArrayRef<Components> added = factor->get(walk.getEntry(number));
      if (added.empty()) {
        result.resize(begin);
        return true;
      }
      if (added.size() == 1) {
        for (size_t place = begin; place < result.size(); ++place)
          parplan::add(result[place], added[0]);
        continue;
      }
      extended.clear();
      for (size_t place = begin; place < result.size(); ++place)
        for (const Components &more : added) {
          extended.push_back(result[place]);
          parplan::add(extended.back(), more);
        }
      if (!keepSupported(extended, mostPerEntry))
        return false;
      result.resize(begin);
      result.insert(result.end(), extended.begin(), extended.end());
    }
    return true;
  }

private:
  llvm::ArrayRef<const VectorFactor *> factors;
  const JointWalk &walk;
  std::vector<Components> extended;
};

} // namespace

/// The factor over the neighbours of a variable that the variable's factors
/// make without it; nullopt where that takes more work per question than the
/// variable.
static std::optional<VectorFactor>
eliminate(int variable, llvm::ArrayRef<const VectorFactor *> around) {
  std::vector<int> scope, counts;
  size_t vectorsBefore = 0;
  int ofVariable = 1;
  for (const VectorFactor *factor : around) {
    vectorsBefore += factor->costs.size();
    for (auto [other, classes] :
         llvm::zip_equal(factor->variables, factor->classes)) {
      auto count = static_cast<int>(classes.size());
      if (other == variable) {
        ofVariable = count;
      } else if (!llvm::is_contained(scope, other)) {
        scope.push_back(other);
        counts.push_back(count);
      }
    }
  }
  std::vector<int> inner = scope;
  inner.push_back(variable);
  counts.push_back(ofVariable);
  JointWalk walk(inner, counts, around);
  constexpr uint64_t mostCombinations = 1 << 15;
  uint64_t combinations = walk.getCount();
  if (combinations > mostCombinations)
    return std::nullopt;
  // An entry of a table takes less time than a vector.
  constexpr size_t entriesPerVector = 4, vectorsOfBucket = 64;
  size_t most =
      vectorsBefore + combinations / entriesPerVector + vectorsOfBucket;
  VectorFactor made;
  for (size_t place = 0; place < scope.size(); ++place)
    made.addVariable(scope[place], walk.getClasses()[place]);
  int classCount = walk.getSizes().back();
  made.reserve(combinations / classCount);
  VectorSums sums(around, walk);
  std::vector<Components> best;
  for (uint64_t row = 0; row < combinations / classCount; ++row) {
    best.clear();
    for (int ofClass = 0; ofClass < classCount; ++ofClass) {
      if (!sums.append(best))
        return std::nullopt;
      walk.advance();
    }
    if (!keepSupported(best, mostPerEntry))
      return std::nullopt;
    made.add(best);
    if (made.costs.size() > most)
      return std::nullopt;
  }
  return made;
}

bool VectorNetwork::tryEliminate(int variable) {
  std::vector<int> numbers = getFactorsOf(variable);
  std::vector<FactorRef> refs;
  std::vector<const VectorFactor *> around;
  for (int number : numbers) {
    refs.push_back(factors[number]);
    around.push_back(refs.back().get());
  }
  FactorRef made =
      pool->getOnce(pool->eliminated, {variable, refs}, [&]() -> FactorRef {
        auto factor = ::eliminate(variable, around);
        return factor ? pool->get(std::move(*factor)) : nullptr;
      });
  if (!made)
    return false;
  for (int number : llvm::reverse(numbers))
    factors.erase(factors.begin() + number);
  steps.push_back({variable, std::move(refs)});
  eliminated[variable] = true;
  factors.push_back(std::move(made));
  return true;
}

/// The sum of two factors, of which the first has all variables of the second;
/// nullopt where it has more vectors than both.
static std::optional<VectorFactor> addFactors(const VectorFactor &wide,
                                              const VectorFactor &narrow) {
  const VectorFactor *pair[] = {&wide, &narrow};
  std::vector<int> counts;
  for (const std::vector<int> &classes : wide.classes)
    counts.push_back(static_cast<int>(classes.size()));
  JointWalk walk(wide.variables, counts, pair);
  size_t most = wide.costs.size() + narrow.costs.size();
  if (walk.getCount() > 2 * most)
    return std::nullopt;
  VectorFactor sum;
  for (size_t place = 0; place < wide.variables.size(); ++place)
    sum.addVariable(wide.variables[place], walk.getClasses()[place]);
  VectorSums sums(pair, walk);
  std::vector<Components> entry;
  do {
    entry.clear();
    if (!sums.append(entry))
      return std::nullopt;
    sum.add(entry);
    if (sum.costs.size() > most)
      return std::nullopt;
  } while (walk.advance());
  return sum;
}

void VectorNetwork::mergeFactors() {
  for (size_t number = 0; number < factors.size();) {
    bool isMerged = false;
    FactorRef narrow = factors[number];
    for (size_t other = 0; other < factors.size() && !isMerged; ++other) {
      FactorRef &wide = factors[other];
      bool isIn = other != number &&
                  wide->variables.size() >= narrow->variables.size() &&
                  llvm::all_of(narrow->variables, [&](int variable) {
                    return wide->contains(variable);
                  });
      if (!isIn)
        continue;
      FactorRef made =
          pool->getOnce(pool->sums, {wide, narrow}, [&]() -> FactorRef {
            auto sum = addFactors(*wide, *narrow);
            return sum ? pool->get(std::move(*sum)) : nullptr;
          });
      if (!made)
        continue;
      wide = std::move(made);
      isMerged = true;
    }
    if (isMerged)
      factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(number));
    else
      ++number;
  }
}

/// Factors without variables that leave no choice are one.
void VectorNetwork::mergeConstants() {
  Components sum{};
  size_t before = factors.size();
  llvm::erase_if(factors, [&](const FactorRef &factor) {
    bool isConstant = factor->variables.empty() && factor->costs.size() == 1;
    if (isConstant)
      parplan::add(sum, factor->costs.front());
    return isConstant;
  });
  if (factors.size() == before)
    return;
  VectorFactor constant;
  constant.add(sum);
  factors.push_back(pool->get(std::move(constant)));
}

/// Whatever is chosen of what no factor has costs nothing.
void VectorNetwork::eliminateFree(const std::vector<bool> &isFixed) {
  std::vector<bool> isFree(getVariableCount(), true);
  for (const FactorRef &factor : factors)
    for (int variable : factor->variables)
      isFree[variable] = false;
  for (int variable = 0; variable < getVariableCount(); ++variable)
    if (isFree[variable] && !isFixed[variable] && !eliminated[variable]) {
      eliminated[variable] = true;
      steps.push_back({variable, {}});
    }
}

double VectorNetwork::getJointSize(int variable) const {
  double size = getSize(variable);
  llvm::SmallVector<int, 8> seen = {variable};
  for (const FactorRef &factor : factors)
    if (factor->contains(variable))
      for (int other : factor->variables)
        if (!llvm::is_contained(seen, other)) {
          seen.push_back(other);
          size *= getSize(other);
        }
  return size;
}

void VectorNetwork::reduce(llvm::ArrayRef<int> fixed) {
  std::vector<bool> isFixed(getVariableCount(), false);
  for (int variable : fixed)
    isFixed[variable] = true;
  std::vector<std::vector<int>> factorsOf(getVariableCount());
  for (auto [number, factor] : llvm::enumerate(factors))
    for (int variable : factor->variables)
      factorsOf[variable].push_back(static_cast<int>(number));
  auto dropAll = [&] {
    bool isChanged = false;
    for (int variable = 0; variable < getVariableCount(); ++variable)
      if (!eliminated[variable] && !isFixed[variable])
        isChanged |= dropImpossible(variable, factorsOf[variable]);
    return isChanged;
  };
  while (dropAll())
    if (isImpossible())
      return;
  mergeConstants();
  eliminateFree(isFixed);
  // Of those that were too large to be eliminated.
  std::vector<double> failedSize(getVariableCount(),
                                 std::numeric_limits<double>::infinity());
  bool isChanged = true;
  while (isChanged) {
    isChanged = false;
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

/// The vector of a factor that the places leave, with the least product; null:
/// there is none.
static const Components *getBest(const VectorFactor &factor,
                                 const Components &weights,
                                 llvm::ArrayRef<int> places) {
  int entry = 0;
  for (auto [variable, size, classes] :
       llvm::zip_equal(factor.variables, factor.sizes, factor.classes))
    entry = entry * size + classes[places[variable]];
  const Components *best = nullptr;
  for (const Components &cost : factor.get(entry))
    if (!best || getProduct(weights, cost) < getProduct(weights, *best))
      best = &cost;
  return best;
}

void VectorNetwork::complete(const Components &weights,
                             std::vector<int> &places) const {
  for (const Step &step : llvm::reverse(steps)) {
    double least = std::numeric_limits<double>::infinity();
    int best = 0;
    for (int choice = 0; choice < getSize(step.variable); ++choice) {
      places[step.variable] = choice;
      double weighted = 0;
      for (const FactorRef &factor : step.factors) {
        const Components *cost = getBest(*factor, weights, places);
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
}

std::optional<Components>
VectorNetwork::getCost(const Components &weights,
                       llvm::ArrayRef<int> places) const {
  Components sum{};
  for (const FactorRef &factor : factors) {
    const Components *cost = getBest(*factor, weights, places);
    if (!cost)
      return std::nullopt;
    parplan::add(sum, *cost);
  }
  return sum;
}
