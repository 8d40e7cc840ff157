//===- PricedMemory.h - Plans of one mesh that fit --------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PRICEDMEMORY_H
#define PARPLAN_LIB_PLANNER_PRICEDMEMORY_H

#include "MeshProblem.h"

#include <chrono>

namespace parplan {

/// The peak of a plan and the op that has it.
using GetPeak =
    llvm::function_ref<std::pair<int64_t, int>(const std::vector<int> &)>;

/// The best answer of a network, or a good one where it is too wide.
struct Minimum {
  std::vector<int> choices;
  double lowerBound = 0;
  bool isExact = true;
};
/// Nothing where somebody stops the search in between.
std::optional<Minimum> minimise(const MeshProblem &meshProblem,
                                const CostNetwork &network,
                                const MeshProblem::Prices &prices,
                                int64_t tableLimit);

/// A good plan of a mesh whose fastest does not fit: the fastest that fits
/// among those that are best at some price of memory. First the highest price
/// (a byte costs as much as the fastest plan), on the ops that were peaks of
/// the plans so far, until a plan fits; then a lower one.
std::optional<std::vector<int>>
findSmallerPlan(const MeshProblem &meshProblem, size_t opCount,
                double fastestSeconds, const PlanRequest &request,
                GetPeak getPeak,
                std::chrono::steady_clock::time_point deadline);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PRICEDMEMORY_H
