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
#include <numeric>

using namespace parplan;

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
  std::lock_guard guard(lock);
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
  std::lock_guard guard(lock);
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
static VectorFactor restrictFactor(const VectorFactor &factor, int place,
                                   llvm::ArrayRef<int> places) {
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
  return made;
}

void VectorNetwork::restrict(int variable, llvm::ArrayRef<int> places) {
  if (static_cast<int>(places.size()) == getSize(variable))
    return;
  auto restrictRef = [&](FactorRef &factor) {
    int place = factor->getPlace(variable);
    if (place >= 0)
      factor = pool->getOnce(
          pool->restricted, {factor, {variable, places.vec()}},
          [&] { return pool->get(restrictFactor(*factor, place, places)); });
  };
  llvm::for_each(factors, restrictRef);
  for (Step &step : steps)
    llvm::for_each(step.factors, restrictRef);
  std::vector<int> left;
  for (int place : places)
    left.push_back(kept[variable][place]);
  kept[variable] = std::move(left);
}

/// Drops choices that some of these factors never allow.
bool VectorNetwork::dropImpossible(int variable, llvm::ArrayRef<int> numbers) {
  std::vector<bool> isPossible(getSize(variable), true);
  for (int number : numbers) {
    const FactorRef &factor = factors[number];
    int place = factor->getPlace(variable);
    // It may have become indifferent.
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
