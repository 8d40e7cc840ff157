//===- StateChoice.h - How units lie beside each other ----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_STATECHOICE_H
#define PARPLAN_LIB_PLANNER_STATECHOICE_H

#include "StageMix.h"

namespace parplan {

/// A few good states of all boundaries, the cheapest first, by the prices of
/// each unit; `bytes` prices its memory alone. `isLimited`: memory matters.
std::vector<ChainStates> chooseStates(const UnitChain &chain,
                                      AskedOracles &oracles,
                                      const std::vector<Weights> &weights,
                                      const std::vector<Weights> &bytes,
                                      bool isLimited);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_STATECHOICE_H
