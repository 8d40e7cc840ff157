//===- UnitOracle.h - The oracle of a kind of units -------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITORACLE_H
#define PARPLAN_LIB_PLANNER_UNITORACLE_H

#include "UnitNetwork.h"
#include "VectorElimination.h"

namespace parplan {

/// Eliminates the networks of a kind of units, one per mode. States of a
/// boundary are the combinations of layouts of what crosses it.
class UnitOracle : public BlockOracle {
public:
  /// The networks are of the modes in `modes`, with the slots of boundaries
  /// restricted alike.
  UnitOracle(std::vector<int> modes, std::vector<UnitNetwork> networks);

  int getInCount() const override { return inCount; }
  int getOutCount() const override { return outCount; }
  BoundaryMatrix minimise(const Weights &weights, ModeSet modes) override;
  BlockPlan getPlan(const Weights &weights, ModeSet modes, int in,
                    int out) override;
  bool isExact() const override { return isComplete; }

  /// Of the slots before (behind) the unit in a state, by their first numbers.
  std::vector<int> getSlots(bool isBehind, int state) const;

  const UnitVariables &getVariables() const { return variables; }

  /// Components of a cost, each minimised by itself.
  CostVector getLeast();

private:
  struct Mode {
    int number;
    VectorNetwork network;
    std::optional<VectorElimination> elimination;
  };

  /// Slots of both boundaries.
  std::vector<int> getFixed() const;

  std::vector<Mode> modes;
  UnitVariables variables;
  std::vector<std::vector<int>> beforeChoices, behindChoices;
  int inCount = 1, outCount = 1;
  bool isComplete = true;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITORACLE_H
