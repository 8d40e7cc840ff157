//===- Prices.h - What memory costs at each time ----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_BLOCKSOLVER_PRICES_H
#define PARPLAN_LIB_BLOCKSOLVER_PRICES_H

#include "lib/BlockSolver/Graph.h"

namespace parplan::block {

/// A price per byte and time, not negative.
class Prices {
public:
  Prices() = default;
  explicit Prices(std::vector<double> prices) { assign(std::move(prices)); }

  void assign(std::vector<double> values);
  /// Adds to the price of one time.
  void raise(int time, double by);

  const std::vector<double> &get() const { return prices; }
  double operator[](int time) const { return prices[time]; }
  /// Times whose price is positive.
  const std::vector<int> &getLive() const { return live; }

  /// Adds to `out`, per value of a node, what it takes times the prices.
  void add(const Graph &graph, int node, double factor, double *out) const;

private:
  std::vector<double> prices;
  /// Sums of the prices before a time.
  std::vector<double> sums;
  std::vector<int> live;
};

} // namespace parplan::block

#endif // PARPLAN_LIB_BLOCKSOLVER_PRICES_H
