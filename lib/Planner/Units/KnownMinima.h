//===- KnownMinima.h - What answers say of other questions ------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_KNOWNMINIMA_H
#define PARPLAN_LIB_PLANNER_KNOWNMINIMA_H

#include "Components.h"

#include <vector>

namespace parplan {

/// Minima of one network under prices that it was asked for. Costs are not
/// negative, so minima of sums of prices are no less than the sums of minima,
/// and those of higher prices no less: answers bound what has not been asked.
class KnownMinima {
public:
  /// The last ones are kept, but those that are free or impossible.
  void add(const Components &prices, double least);
  /// A lower bound: prices are taken apart into those that are known, the part
  /// that is worth most first.
  double getBound(const Components &prices) const;

private:
  struct Answer {
    Components prices;
    double least;
  };
  std::vector<Answer> known;
  size_t next = 0;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_KNOWNMINIMA_H
