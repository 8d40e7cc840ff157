//===- ClassNetwork.h - What decisions per class cost -----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_CLASSNETWORK_H
#define PARPLAN_PLANNER_CLASSNETWORK_H

#include "parplan/Planner/BlockOracle.h"
#include "parplan/Planner/CostNetwork.h"
#include "parplan/Planner/Folding.h"
#include "parplan/Planner/Solver.h"

#include <memory>

namespace parplan {

/// Plans that are equal in all members of every class, as one network: the
/// uniform plan of a problem, whatever its number of blocks.
class ClassNetwork {
public:
  ClassNetwork(const PlanningProblem &problem, const Folding &folding,
               const PlanRequest &request, const PlanSpace &space,
               const PlanCosts &costs);
  ~ClassNetwork();

  /// Why there is no plan on the mesh.
  std::optional<std::string> getRefusal() const;

  /// The cheapest uniform plan and what it costs; nullopt: none is legal.
  /// With weights of one for seconds times how often they are spent, that is
  /// `getFoldedSeconds`.
  struct Uniform {
    FoldedAnswer answer;
    CostVector cost;
    double weighted = 0;
  };
  std::optional<Uniform> minimise(const Weights &weights, BlockMode mode) const;

  /// Weights under which a plan of one position costs the seconds of its step.
  Weights getStepWeights() const;

private:
  struct Storage;
  std::unique_ptr<Storage> storage;
};

} // namespace parplan

#endif // PARPLAN_PLANNER_CLASSNETWORK_H
