//===- Offload.h - Values on other tiers than the device --------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_OFFLOAD_H
#define PARPLAN_LIB_PLANNER_OFFLOAD_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanRequest.h"
#include "parplan/Planner/PlanningAnswer.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace parplan {

struct Execution;
struct StepWork;

/// True for updates of variables that rest on another tier than the device.
bool isOnHost(const PlanningProblem &problem, const PlanningAnswer &answer,
              int op);

/// True for ops of the optimizer that replace a parameter; the states that they
/// replace move with them.
bool updatesParameter(const PlanningProblem &problem, const PlanningOp &op);

/// What an update takes on the host; `getBytes` of a variable that it replaces,
/// or of a gradient.
OpCost getHostCost(const PlanningProblem &problem, const PlanningOp &op,
                   llvm::function_ref<int64_t(int)> getBytes);

/// Per parameter or state the value that replaces it, or -1.
std::vector<int> getNewValues(const PlanningProblem &problem);

/// Where a variable rests between steps.
MemoryTier getRestingTier(const PlanningAnswer &answer, int variable,
                          int newValue);

/// Per value whether it is a parameter that can rest in the pieces in which it
/// is updated off the device: nothing but the update reads pieces of it.
std::vector<bool> findUpdatedPieces(const PlanningProblem &problem,
                                    const PlanningAnswer &answer);

/// Bytes of a rank's part of `value` where its update `update` (-1: none) is
/// off the device: of gradients that are updated in pieces (ZeRO) the piece,
/// and of parameters that rest so.
int64_t getUpdatedBytes(const PlanningProblem &problem,
                        const PlanningAnswer &answer, int value, int update);

/// True for an instance that waits for the backward pass on the host.
bool waitsOnHost(const PlanningProblem &problem, const PlanningAnswer &answer,
                 const Execution &execution, int instance);

/// Adds the transfers between tiers and the updates on the host.
void addTransfers(const PlanningProblem &problem, const PlanningAnswer &answer,
                  const Execution &execution, const PlanCosts &costs,
                  StepWork &work);

/// Moves an update to a tier, where its states and what it makes then rest.
void moveUpdate(const PlanningProblem &problem, const PlanningOp &op,
                MemoryTier tier, std::vector<MemoryTier> &tiers);

/// The tiers of the values of a plan with stages for what is asked for.
std::vector<MemoryTier> getTiers(const PlanningProblem &problem,
                                 const PlanningAnswer &answer,
                                 const OffloadChoice &choice);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_OFFLOAD_H
