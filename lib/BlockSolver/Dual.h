//===- Dual.h - A lower bound by messages and prices ------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_BLOCKSOLVER_DUAL_H
#define PARPLAN_LIB_BLOCKSOLVER_DUAL_H

#include "lib/BlockSolver/MinPlus.h"
#include "lib/BlockSolver/Prices.h"

namespace parplan::block {

/// The Lagrangian dual: memory has a price at every time, and the costs that
/// this leaves are minimised from below by sequential tree-reweighted message
/// passing (TRW-S, Kolmogorov 2006).
///
/// Each end of an edge has a message: cost that was moved from the edge's table
/// to the node. In a pass, every node takes all that its edges to the nodes
/// before it can give, is left with its least cost, and hands what other values
/// cost above that on to the edges behind it, in equal parts. Then no edge has
/// a negative entry, so the sum of the least costs bounds every answer, for any
/// messages and any prices that are not negative.
class Dual {
public:
  Dual(const Graph &graph, MinPlus minPlus, std::vector<double> prices);

  /// Passes until `work` is done; about a unit per nanosecond. `upper`: the
  /// cost of the best answer known, which decides how far prices move.
  void run(int64_t work, double upper);

  /// Of the best pass, as it was added up.
  double getBound() const { return bestBound; }
  /// A bound in spite of all rounding.
  double getSafeBound() const { return safeBound; }
  /// Of the best bound.
  const std::vector<double> &getBestPrices() const { return bestPrices; }
  /// Prices and answer of the last pass.
  const std::vector<double> &getPrices() const { return prices.get(); }
  const std::vector<int> &getRounding() const { return rounding; }
  /// The cheapest answer of a pass that fits; empty if none did.
  const std::vector<int> &getBestFitting() const { return bestFitting; }
  double getBestFittingCost() const { return bestFittingCost; }
  int64_t getPasses() const { return passes; }

  /// Per value, at its place in the graph's vectors: 1 if every answer with it
  /// costs more than `upper`, in spite of all rounding.
  std::vector<char> findHopeless(double upper);

private:
  template <bool isForward> double sweep(std::vector<double> *marginals);
  double addUp(double &error);
  void round(int node);
  void addPrices();
  void judgeRounding();
  bool mayMovePrices(double bound);
  void movePrices(double bound, double upper);

  const Graph &graph;
  MinPlus minPlus;
  Prices prices;
  /// Costs with prices, per value.
  std::vector<double> unary;
  /// Per link: the message to its node, negated. What reads it subtracts.
  std::vector<double> messages;
  std::vector<size_t> messageOffsets;
  /// What messages leave at each node, when they were last added up.
  std::vector<double> residuals;
  std::vector<double> theta;
  std::vector<int> rounding;
  std::vector<int> bestFitting;
  double bestFittingCost = forbidden;
  /// Usage of the rounding above the limit.
  std::vector<double> excess;
  std::vector<double> direction;
  std::vector<double> bestPrices;
  double bestBound = -forbidden;
  double safeBound = -forbidden;
  /// The usages of all spans, of the values that take most.
  double usageSum = 0;
  double alpha = 0.3;
  double lastGainBound = -forbidden;
  /// Good prices were given, and messages have not converged with them yet.
  bool isWarming = false;
  double lastBound = -forbidden;
  int64_t sinceGain = 0;
  int64_t passes = 0;
  int64_t workOfPass = 0;
};

} // namespace parplan::block

#endif // PARPLAN_LIB_BLOCKSOLVER_DUAL_H
