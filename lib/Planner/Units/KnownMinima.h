//===- KnownMinima.h - What answers say of other questions ------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_KNOWNMINIMA_H
#define PARPLAN_LIB_PLANNER_KNOWNMINIMA_H

#include "Components.h"

#include <map>
#include <vector>

namespace parplan {

/// Minima of one network under prices that it was asked for. Costs are not
/// negative, so minima of sums of prices are no less than the sums of minima,
/// and those of higher prices no less: answers bound what has not been asked.
class KnownMinima {
public:
  void add(ModeSet modes, const Components &prices, double least) {
    known[modes].push_back({prices, least});
  }
  /// A lower bound: prices are taken apart into those that are known, the part
  /// that is worth most first.
  double getBound(ModeSet modes, const Components &prices) const;

private:
  struct Answer {
    Components prices;
    double least;
  };
  std::map<ModeSet, std::vector<Answer>> known;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_KNOWNMINIMA_H
