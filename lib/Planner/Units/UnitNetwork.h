//===- UnitNetwork.h - The costs of a unit as a network ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITNETWORK_H
#define PARPLAN_LIB_PLANNER_UNITNETWORK_H

#include "UnitRemaking.h"
#include "UnitTables.h"

namespace parplan {

/// Variables of a unit, of every mode the same.
struct UnitVariables {
  /// Per slot of the boundary before and behind; their choices are those of
  /// `UnitLists::slotRests`.
  std::vector<int> before, behind;
  /// Per decision of the sample, -1: of another kind. Choices are those that
  /// `UnitLists::choiceCounts` counts.
  std::vector<int> ofDecision;
  /// Per op of the sample whether it runs on the device or on the host, -1:
  /// that is no choice.
  std::vector<int> ofPlace;
  /// Per value of the sample, -1: it has one layout, or another unit answers
  /// for it and it is not tied. Choices are those of `UnitLists::rests`.
  std::vector<int> ofValue;
  /// Of values that are tied to those of other units.
  std::vector<int> tied;
};

/// The choice of a place that is not the device.
inline constexpr int hostPlace = 1;

struct UnitNetwork {
  VectorNetwork network;
  UnitVariables variables;
};

/// Per op, choice: those of `UnitChoices`.
struct SecondsOfOps {
  llvm::ArrayRef<std::vector<double>> all;
  llvm::ArrayRef<std::vector<std::array<double, 2>>> ofPlaces;
};

/// The network of a kind of units in a mode: everything that `evaluatePlan`
/// counts for the ops and values of a unit, as a sum; of a smaller scope, a
/// part of it. `opSeconds` may be empty where the scope has no ops.
///
/// * A copy is made for its first reader, in the phase of that one; what else
///   may read it does.
/// * What crosses a boundary is made by one unit, and its copies are of the
///   unit that reads them. Where both do, each pays a half: then the sum of
///   both is a bound.
/// * What several units read costs the first of them. Of what is tied all of
///   them choose a layout, and pay a share of copies: then the sum is a bound.
///   Copies of other values cost nothing elsewhere.
/// * Bytes that live in one phase alone are none, and copies for readers with
///   too many choices at once cost nothing.
UnitNetwork makeUnitNetwork(const UnitSample &sample, const StepUnits &units,
                            UnitLists &tables, int kind,
                            const UnitRemaking &remaking, UnitScope scope,
                            SecondsOfOps opSeconds,
                            std::shared_ptr<FactorPool> pool);

/// What every plan of a kind costs at least, by its ops and parameters alone.
CostVector getLeastCost(const UnitSample &sample, UnitTables &tables, int kind);

/// What so many seconds of a step per op of a sample come to in a unit.
CostVector sumOps(const UnitSample &sample, int kind,
                  llvm::ArrayRef<double> secondsOfOps);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITNETWORK_H
