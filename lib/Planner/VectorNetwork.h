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

#include "parplan/Planner/BlockOracle.h"

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cstddef>
#include <vector>

namespace parplan {

constexpr int componentCount = 8;
/// The members of a `CostVector`, in their order.
using Components = std::array<double, componentCount>;

Components toComponents(const CostVector &cost);
Components toComponents(const Weights &weights);
CostVector toCost(const Components &components);
void add(Components &sum, const Components &added);
double getProduct(const Components &weights, const Components &costs);

/// Vectors of which none is at least as large as another one, or as a mixture
/// of two others, in every component: drops those that are. Two equal ones
/// leave one.
void keepSupported(std::vector<Components> &costs);

class VectorNetwork {
public:
  /// For every combination of classes of choices of some variables, the last
  /// fastest, the vectors to choose from; none: forbidden.
  struct Factor {
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

    int getEntryCount() const { return static_cast<int>(starts.size()) - 1; }
    llvm::ArrayRef<Components> get(int entry) const {
      return llvm::ArrayRef(costs).slice(starts[entry],
                                         starts[entry + 1] - starts[entry]);
    }
    /// Appends an entry.
    void add(llvm::ArrayRef<Components> alternatives) {
      costs.insert(costs.end(), alternatives.begin(), alternatives.end());
      starts.push_back(static_cast<int>(costs.size()));
    }
    int getPlace(int variable) const;
    bool contains(int variable) const { return getPlace(variable) >= 0; }
  };

  int addVariable(int choiceCount);
  void add(Factor factor);

  int getVariableCount() const { return static_cast<int>(kept.size()); }
  /// What is left of the choices of a variable, by their first numbers,
  /// ascending.
  llvm::ArrayRef<int> getKept(int variable) const { return kept[variable]; }
  bool isEliminated(int variable) const { return eliminated[variable]; }
  const std::vector<Factor> &getFactors() const { return factors; }
  /// Some variable has no choice left.
  bool isImpossible() const;

  /// How much more `other` costs than `choice` at most, component by component,
  /// whatever the other variables choose; infinite where that has no vectors.
  /// Choices by their place in `getKept`.
  Components getMostAdded(int variable, int choice, int other) const;

  /// Leaves some choices of a variable, by their places in `getKept`.
  void restrict(int variable, llvm::ArrayRef<int> places);

  /// Drops choices and variables as long as that pays. Those of `fixed` stay as
  /// they are. For weights that are not negative the minimum for every choice
  /// of `fixed` stays.
  void reduce(llvm::ArrayRef<int> fixed);

  /// Completes `places` (-1: not chosen) in eliminated variables, for the least
  /// product with `weights`, and gives the cost of everything.
  Components complete(const Components &weights,
                      std::vector<int> &places) const;

private:
  int getSize(int variable) const {
    return static_cast<int>(kept[variable].size());
  }
  bool dropImpossible(int variable);
  bool dropDominated(int variable);
  bool tryEliminate(int variable);
  void mergeFactors();
  std::vector<int> getFactorsOf(int variable) const;
  void removeFactors(llvm::ArrayRef<int> numbers);

  std::vector<std::vector<int>> kept;
  std::vector<bool> eliminated;
  std::vector<Factor> factors;
  struct Step {
    int variable;
    std::vector<Factor> factors;
  };
  std::vector<Step> steps;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_VECTORNETWORK_H
