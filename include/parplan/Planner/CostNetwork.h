//===- CostNetwork.h - Exact minimisation of sums of tables -----*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_COSTNETWORK_H
#define PARPLAN_PLANNER_COSTNETWORK_H

#include "parplan/Planner/CostTables.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace parplan {

/// A cost-function network: variables with finite domains, and costs of single
/// variables and of pairs. A cost may be `forbidden`.
///
/// Minimised exactly by variable elimination (bucket elimination, Dechter
/// 1999): a variable with its tables is replaced by one table over its
/// neighbours that holds the minimum over the variable. The work is exponential
/// in the width of the order (minimum weight here), which is 2 to 4 for
/// transformer graphs.
class CostNetwork {
public:
  static constexpr double forbidden = std::numeric_limits<double>::infinity();

  /// Adds a variable with costs per choice; returns its number.
  int addVariable(std::vector<double> costs) {
    return addVariable(getTable(std::move(costs)));
  }
  int addVariable(CostTable costs);
  /// Adds to the costs of a variable.
  void addCosts(int variable, const std::vector<double> &costs);
  /// Adds `costs[i * domain(second) + j]` for choices i and j of a pair.
  void addPair(int first, int second, std::vector<double> costs) {
    addPair(first, second, getTable(std::move(costs)));
  }
  void addPair(int first, int second, CostTable costs);

  /// The network's own table of these costs, for whoever adds it often.
  CostTable getTable(std::vector<double> costs) {
    return tables->get(std::move(costs));
  }

  /// A network of the same costs, which more are added to than are kept.
  CostNetwork fork() const;

  int getVariableCount() const { return static_cast<int>(unary.size()); }
  int getDomainSize(int variable) const {
    return static_cast<int>(unary[variable]->size());
  }

  /// The costs of the choices of a variable alone.
  const std::vector<double> &getCosts(int variable) const {
    return *unary[variable];
  }

  /// Visits the tables of all pairs as they were added, for who writes the
  /// network in another form.
  void forEachPair(
      const std::function<void(int first, int second,
                               const std::vector<double> &costs)> &visit) const;

  /// The cost of a complete answer.
  double getCost(const std::vector<int> &choices) const;

  /// Result of `eliminate`, from which answers are read in order of cost.
  class Elimination;

  /// Eliminates all variables. Nullopt when a table would exceed `tableLimit`
  /// entries: the network is too wide for exact elimination.
  std::optional<Elimination> eliminate(int64_t tableLimit) const;

  /// The same with tables that would be too large cut in parts, each with its
  /// own minimum over the variable (mini-buckets, Dechter and Rish 2003). The
  /// minimum is a lower bound then, and the best answer only a good start;
  /// `enumerate` is not for it.
  Elimination relax(int64_t tableLimit) const;

  /// A network without the variables that have at most two neighbours, and with
  /// the same minimum.
  struct Condensation;

  /// Eliminates variables with at most two neighbours, while there are some:
  /// what is left is a network of pairs again. Values between two ops go, and
  /// the costs between the ops themselves make more choices dominated.
  Condensation condense() const;

  /// A better answer than `choices`, or the same: tries every choice of every
  /// variable while its neighbours follow one after the other, until a round
  /// changes nothing or `rounds` are over.
  std::vector<int> improve(std::vector<int> choices, int rounds) const;

  /// A network with fewer choices and the same minimum.
  struct Reduction;

  /// Drops choices by dead-end elimination (Goldstein 1994): a choice for which
  /// another one of the variable costs no more, whatever the neighbours choose.
  /// Only the minimum survives for certain, not the order of the other answers.
  Reduction reduce() const;

  /// The network with some choices per variable, at least one of each.
  Reduction keep(std::vector<std::vector<int>> kept) const;

private:
  friend class Elimination;
  struct Table;
  std::optional<Elimination> eliminate(int64_t tableLimit, bool mayRelax) const;
  /// Tables of a bucket, in groups whose variables have at most `limit` choices
  /// together, largest first.
  std::vector<std::vector<const Table *>>
  groupTables(const std::vector<Table *> &tables, int64_t limit) const;

  struct Pair {
    int first, second;
    CostTable costs;
  };
  std::shared_ptr<CostTables> tables = std::make_shared<CostTables>();
  std::vector<CostTable> unary;
  std::vector<Pair> pairs;
};

struct CostNetwork::Reduction {
  CostNetwork network;
  /// Per variable the choices that are left, by their numbers before.
  std::vector<std::vector<int>> kept;

  /// An answer of the smaller network in the numbers of the whole one.
  std::vector<int> expand(const std::vector<int> &choices) const;
};

struct CostNetwork::Condensation {
  CostNetwork network;
  /// What every answer costs besides that of the network.
  double constant = 0;
  /// Per variable of the network its number before.
  std::vector<int> kept;
  /// A variable that was eliminated, its neighbours then, and its best choice
  /// for each of theirs, those of the last fastest.
  struct Step {
    int variable;
    std::vector<int> neighbours;
    std::vector<int> domains;
    std::shared_ptr<const std::vector<int>> best;
  };
  std::vector<Step> steps;

  /// The best answer of the whole network that has these choices.
  std::vector<int> expand(const std::vector<int> &choices) const;
};

class CostNetwork::Elimination {
public:
  /// The minimum; `forbidden` when no choice is allowed.
  double getMinimum() const { return minimum; }

  /// A choice per variable that reaches the minimum; of equal ones that with
  /// the lowest choices, later eliminated variables first.
  std::vector<int> getBest() const;

  /// Visits complete answers in ascending order of cost until `visit` returns
  /// true (found), the next would cost `costLimit` or more (complete, not
  /// found), or more than `nodeLimit` partial answers were expanded. A partial
  /// answer is dropped when `isHopeless(choices)` (-1: not chosen yet).
  struct Enumeration {
    std::optional<std::vector<int>> found;
    /// No answer that was not visited or dropped costs less.
    double lowerBound = 0;
    bool complete = false;
    int64_t expanded = 0;
    int64_t dropped = 0;
  };
  Enumeration
  enumerate(const std::function<bool(const std::vector<int> &)> &visit,
            const std::function<bool(int variable, int choice,
                                     const std::vector<int> &)> &isHopeless,
            int64_t nodeLimit, double costLimit = forbidden) const;

private:
  friend class CostNetwork;
  /// Costs of every choice of the variable given its separator, and the
  /// separator: variables that are eliminated later.
  struct Bucket {
    int variable;
    std::vector<int> separator;
    std::vector<int64_t> strides;
    int domain;
    std::vector<double> costs;
  };
  static Bucket makeBucket(const CostNetwork &network, int variable,
                           const std::vector<const Table *> &tables);
  /// Costs of all choices of a bucket's variable for chosen separators.
  const double *getChoices(const Bucket &bucket,
                           const std::vector<int> &choices) const;

  std::vector<Bucket> buckets; // in order of elimination
  int variableCount = 0;
  double minimum = 0;
};

} // namespace parplan

#endif // PARPLAN_PLANNER_COSTNETWORK_H
