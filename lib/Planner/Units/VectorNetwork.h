//===- VectorNetwork.h - Costs in components, minimised again and again ---===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
// A cost-function network whose costs are vectors: seconds of each phase and
// bytes of each kind. A search asks for its minimum under thousands of weights,
// none of them negative, so whatever no weights can prefer is dropped once, and
// variables that few others depend on are eliminated before any weights are
// known: a table then has in each entry the few vectors that some weights
// prefer.
//
// Example: a weight between the product that reads it and the update that
// replaces it may rest whole or in pieces. Without the variable there are two
// vectors for every pair of their choices: fewer bytes, or no gathers.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_VECTORNETWORK_H
#define PARPLAN_LIB_PLANNER_VECTORNETWORK_H

#include "Components.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace parplan {

/// For every combination of classes of choices of some variables, the last
/// fastest, the vectors to choose from; none: forbidden. Does not change once
/// it is part of a network.
struct VectorFactor {
  std::vector<int> variables;
  /// Per variable how many classes there are, and per choice its class.
  std::vector<int> sizes;
  std::vector<std::vector<int>> classes;
  /// Those of entry e are [starts[e], starts[e + 1]).
  std::vector<int> starts = {0};
  std::vector<Components> costs;

  /// A variable with so many choices, each a class of its own.
  void addVariable(int variable, int choiceCount);
  void addVariable(int variable, std::vector<int> classOfChoice);
  /// Without the variables of which all choices are one class.
  void dropIndifferent();
  /// For entries of a vector each.
  void reserve(size_t entries) {
    costs.reserve(entries);
    starts.reserve(entries + 1);
  }
  /// Appends an entry.
  void add(llvm::ArrayRef<Components> alternatives) {
    costs.insert(costs.end(), alternatives.begin(), alternatives.end());
    starts.push_back(static_cast<int>(costs.size()));
  }

  int getEntryCount() const { return static_cast<int>(starts.size()) - 1; }
  llvm::ArrayRef<Components> get(int entry) const {
    return llvm::ArrayRef(costs).slice(starts[entry],
                                       starts[entry + 1] - starts[entry]);
  }
  /// Of a variable, -1: it is none of the factor's.
  int getPlace(int variable) const;
  bool contains(int variable) const { return getPlace(variable) >= 0; }
};

using FactorRef = std::shared_ptr<const VectorFactor>;

/// What was made of factors once: networks of one pool that have factors in
/// common, as the modes of a unit do, share that work. Any thread may use it.
class FactorPool {
public:
  /// Equal factors are one.
  FactorRef get(VectorFactor factor);
  /// Networks keep what they have; only the work is no longer shared.
  void forget();

private:
  friend class VectorNetwork;

  /// What is known for a key, or else what `make` gives.
  template <typename Key>
  FactorRef getOnce(std::map<Key, FactorRef> &results, const Key &key,
                    llvm::function_ref<FactorRef()> make) {
    {
      std::lock_guard guard(lock);
      if (auto it = results.find(key); it != results.end())
        return it->second;
    }
    FactorRef made = make();
    std::lock_guard guard(lock);
    return results.try_emplace(key, std::move(made)).first->second;
  }

  std::mutex lock;
  std::multimap<size_t, FactorRef> known;
  std::map<std::pair<FactorRef, std::pair<int, std::vector<int>>>, FactorRef>
      restricted;
  /// Null: too large.
  std::map<std::pair<int, std::vector<FactorRef>>, FactorRef> eliminated;
  std::map<std::pair<FactorRef, FactorRef>, FactorRef> sums;
};

class VectorNetwork {
public:
  using Factor = VectorFactor;

  explicit VectorNetwork(
      std::shared_ptr<FactorPool> pool = std::make_shared<FactorPool>())
      : pool(std::move(pool)) {}

  int addVariable(int choiceCount);
  void add(Factor factor);

  int getVariableCount() const { return static_cast<int>(kept.size()); }
  /// What is left of the choices of a variable, by their first numbers,
  /// ascending.
  llvm::ArrayRef<int> getKept(int variable) const { return kept[variable]; }
  bool isEliminated(int variable) const { return eliminated[variable]; }
  const std::vector<FactorRef> &getFactors() const { return factors; }
  /// What is left is a bound: nothing costs less than nothing.
  void dropWidestFactor();
  /// Some variable has no choice left.
  bool isImpossible() const;

  /// Leaves some choices of a variable, by their places in `getKept`.
  void restrict(int variable, llvm::ArrayRef<int> places);

  /// Drops what is impossible, and variables as long as that pays. Those of
  /// `fixed` stay as they are. For weights that are not negative the minimum
  /// for every choice of `fixed` stays.
  void reduce(llvm::ArrayRef<int> fixed);

  /// Completes `places` (-1: not chosen) in eliminated variables, for the least
  /// product with `weights`.
  void complete(const Components &weights, std::vector<int> &places) const;
  /// The cost of everything, those variables included, whatever they have in
  /// `places`; nullopt: it is forbidden.
  std::optional<Components> getCost(const Components &weights,
                                    llvm::ArrayRef<int> places) const;

private:
  int getSize(int variable) const {
    return static_cast<int>(kept[variable].size());
  }
  std::vector<int> getFactorsOf(int variable) const;
  bool dropImpossible(int variable, llvm::ArrayRef<int> numbers);
  bool tryEliminate(int variable);
  double getJointSize(int variable) const;
  void mergeFactors();
  void mergeConstants();
  void eliminateFree(const std::vector<bool> &isFixed);

  std::shared_ptr<FactorPool> pool;
  std::vector<std::vector<int>> kept;
  std::vector<bool> eliminated;
  std::vector<FactorRef> factors;
  struct Step {
    int variable;
    std::vector<FactorRef> factors;
  };
  std::vector<Step> steps;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_VECTORNETWORK_H
