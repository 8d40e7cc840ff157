//===- ShadowPrices.h - What more of something is worth ---------*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_SHADOWPRICES_H
#define PARPLAN_DRIVER_SHADOWPRICES_H

#include "lib/Driver/Replay.h"
#include "parplan/Planner/PlanningAnswer.h"

namespace parplan {

/// By how much a step gets shorter with more of something.
struct ShadowPrice {
  /// As documents name it: `link_bandwidth`, `memory`.
  std::string resource;
  /// `10 % more bandwidth in a node`.
  std::string change;
  double seconds = 0;
};

/// What a tenth more of every rate of the machines is worth to a plan as it is:
/// another plan may gain more. Highest first, without those that are worth
/// nothing.
std::vector<ShadowPrice> getRatePrices(const PlanningProblem &problem,
                                       const PlanningAnswer &answer,
                                       const Cluster &cluster,
                                       Precision precision);

/// What 1 GiB more memory for each device is worth: the plan that is found with
/// it, by estimates of memory, for what the plan was asked for. Nothing where
/// none that is faster was found in a few seconds.
std::optional<ShadowPrice> findMemoryPrice(Replay &replay,
                                           const PlanClaims &claims,
                                           const std::string &modelPath);

} // namespace parplan

#endif // PARPLAN_DRIVER_SHADOWPRICES_H
