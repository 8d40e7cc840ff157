//===- AskedOracles.h - Every question to an oracle, once -------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_ASKEDORACLES_H
#define PARPLAN_LIB_PLANNER_ASKEDORACLES_H

#include "Components.h"
#include "UnitChain.h"

#include <map>

namespace parplan {

/// The oracles of a space, with their answers kept.
class AskedOracles {
public:
  AskedOracles(std::vector<BlockOracle *> oracles, ModeSet allowed)
      : oracles(std::move(oracles)), allowed(allowed) {}

  /// The least weighted cost over all states of the boundaries.
  const BlockOracle::Least &ask(int type, const Weights &weights,
                                ModeSet modes);

  /// What a unit costs at least.
  double getPrice(int type, const Weights &weights);
  /// At least so much, without asking.
  double getKnownPrice(int type, const Weights &weights) const {
    return oracles[type]->getKnownValue(weights, getFastest());
  }
  /// What is allowed and costs least seconds: all other modes only add some.
  ModeSet getFastest() const {
    return (allowed & keepMode) != 0 ? keepMode : allowed;
  }

  const BoundaryMatrix &getMatrix(int type, const Weights &weights,
                                  ModeSet modes);
  /// Null where the states are impossible, or the oracle has but a bound.
  const BlockPlan *getPlan(int type, const Weights &weights, ModeSet modes,
                           int in, int out);
  /// Asked anew each time.
  double getWorkBytes(int type, const BlockPlan &plan) {
    return oracles[type]->getWorkBytes(plan);
  }
  int getModeCount(int type) const { return oracles[type]->getModeCount(); }
  int getInCount(int type) const { return oracles[type]->getInCount(); }
  int getOutCount(int type) const { return oracles[type]->getOutCount(); }

  /// Questions that oracles were asked.
  int64_t getCallCount() const { return calls; }

private:
  struct Key {
    int type;
    ModeSet modes;
    Components weights;
    int in = 0, out = 0;
    auto operator<=>(const Key &) const = default;
  };
  static Key makeKey(int type, const Weights &weights, ModeSet modes);

  std::vector<BlockOracle *> oracles;
  ModeSet allowed;
  std::map<Key, BoundaryMatrix> matrices;
  std::map<Key, BlockOracle::Least> answers;
  std::map<Key, double> prices;
  /// Those that are none too.
  std::map<Key, std::optional<BlockPlan>> plans;
  int64_t calls = 0;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_ASKEDORACLES_H
