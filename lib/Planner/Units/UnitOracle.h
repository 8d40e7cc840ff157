//===- UnitOracle.h - The oracle of a kind of units -------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITORACLE_H
#define PARPLAN_LIB_PLANNER_UNITORACLE_H

#include "KnownMinima.h"
#include "UnitNetwork.h"
#include "VectorElimination.h"

#include <functional>
#include <map>

namespace parplan {

/// Eliminates the networks of a kind of units, one per mode, each made when it
/// is first asked for. States of a boundary are the combinations of layouts of
/// what crosses it.
class UnitOracle : public BlockOracle {
public:
  /// `modes` are those that differ; what `make` gives of them has the same
  /// variables. A single one is made at once, others when they are asked for.
  /// `getWork` gives what a pass needs with a plan; empty: nothing.
  using GetWork =
      std::function<double(const BlockPlan &, const UnitVariables &variables)>;
  UnitOracle(std::vector<int> modes, std::function<UnitNetwork(int)> make,
             GetWork getWork = {});

  int getInCount() const override { return inCount; }
  int getOutCount() const override { return outCount; }
  int getModeCount() const override { return modes.back().number + 1; }
  BoundaryMatrix minimise(const Weights &weights, ModeSet modes) override;
  Least getLeast(const Weights &weights, ModeSet modes) override;
  double getLeastValue(const Weights &weights, ModeSet modes) override;
  double getKnownValue(const Weights &weights, ModeSet modes) const override;
  std::optional<BlockPlan> getPlan(const Weights &weights, ModeSet modes,
                                   int in, int out) override;
  double getWorkBytes(const BlockPlan &plan) override {
    return getWork ? getWork(plan, variables) : 0;
  }

  /// Drops what only makes answers sooner.
  void forget();

  /// Choices of variables, by numbers.
  using Pins = std::map<int, int>;

  /// What a plan of the states and the mode of `plan` costs at least, with the
  /// choices of some variables given, per choice of one more.
  std::map<int, double> getCostsByChoice(const BlockPlan &plan,
                                         const Weights &weights,
                                         const Pins &pins, int variable);
  /// The best one with the choices of some variables given; nullopt: there is
  /// none.
  std::optional<BlockPlan>
  getPlanWith(const BlockPlan &plan, const Weights &weights, const Pins &pins);

  /// Of the slots before (behind) the unit the choices in a state.
  std::vector<int> getSlots(bool isBehind, int state) const;

  const UnitVariables &getVariables() const { return variables; }

private:
  struct Mode {
    int number;
    bool isMade = false, isImpossible = false;
    VectorNetwork network;
    /// By states of both boundaries, and over all of them, whose tables are
    /// smaller: each made when it is first needed.
    std::optional<VectorElimination> byStates, overAll;
    /// Of all states.
    KnownMinima known;
  };

  void addMode(Mode &mode, UnitNetwork made);
  std::vector<int> getBoundary() const;
  Mode &getMode(int number);
  VectorNetwork pin(const Mode &mode, const BlockPlan &plan,
                    const Pins &pins) const;
  std::optional<BlockPlan> complete(const Mode &mode, const Components &prices,
                                    std::vector<int> places, int in,
                                    int out) const;
  /// The modes of a set that have plans at all.
  std::vector<Mode *> getModes(ModeSet wanted);
  /// Those modes, with what is known to be no more than their minima, the
  /// least first.
  std::vector<std::pair<double, Mode *>>
  getModesByBound(ModeSet wanted, const Components &prices);
  /// The minimum over all states, and a mode that has it; null: there is none.
  std::pair<double, Mode *> findLeast(const Components &prices, ModeSet wanted);
  VectorElimination &getByStates(Mode &mode);
  VectorElimination &getOverAll(Mode &mode);

  std::function<UnitNetwork(int)> make;
  GetWork getWork;
  std::vector<Mode> modes;
  UnitVariables variables;
  /// Choices per slot of both boundaries.
  std::vector<int> beforeCounts, behindCounts;
  int inCount = 1, outCount = 1;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITORACLE_H
