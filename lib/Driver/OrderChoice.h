//===- OrderChoice.h - Which of several orders is taken ---------*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_ORDERCHOICE_H
#define PARPLAN_DRIVER_ORDERCHOICE_H

#include "lib/Report/PlanDocument.h"

#include <limits>

namespace parplan {

/// The order of least time among those that it is told of. Of equal ones the
/// first in zig-zag order is taken, in which no rank waits for another.
class OrderChoice {
public:
  /// A plan of `seconds`; no plan in this order is faster than `boundSeconds`.
  /// True where the order is the one to take so far.
  bool addPlan(int64_t zigzag, double seconds, double boundSeconds);
  /// No plan was found.
  void addLack(double boundSeconds);
  /// What does not allow a zig-zag order.
  void addObstacle(const std::string &obstacle);

  /// With the reason for the model's order: the least time in zig-zag order,
  /// else the first obstacle.
  SequenceSummary getOrder() const;
  /// No plan in another order is faster.
  double getOthersBound() const { return othersBound; }

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  int64_t best = 1;
  double bestSeconds = infinity, bestBound = infinity, othersBound = infinity;
  /// The fastest in zig-zag order.
  int64_t bestZigzag = 1;
  double bestZigzagSeconds = infinity;
  std::string obstacle;
};

} // namespace parplan

#endif // PARPLAN_DRIVER_ORDERCHOICE_H
