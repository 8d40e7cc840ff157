//===- UnitTables.h - What the ops of units may do on a mesh ----*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITTABLES_H
#define PARPLAN_LIB_PLANNER_UNITTABLES_H

#include "UnitSample.h"
#include "VectorNetwork.h"

#include "parplan/Planner/Layouts.h"
#include "parplan/Planner/PlanRequest.h"
#include "parplan/Planner/UnitOracles.h"

#include <array>

namespace parplan {

/// What the ops of a sample may do on one mesh.
struct UnitChoices {
  UnitChoices(const UnitSample &sample, const PlanRequest &request,
              const PlanSpace &space, const PlanCosts &costs);

  std::optional<std::string> refusal;
  std::vector<std::vector<FactorAssignment>> assignments;
  /// Per op, choice: seconds of one run, communication inside included.
  std::vector<std::vector<double>> opSeconds;
  /// Per op, choice: seconds on the device and on the host, of which
  /// `opSeconds` has the fewer; none: it runs on the device.
  std::vector<std::vector<std::array<double, 2>>> secondsOfPlaces;
};

/// What a sample may choose, with layouts as numbers.
struct UnitLists {
  explicit UnitLists(LayoutTable &layouts) : layouts(layouts) {}

  LayoutTable &layouts;
  /// Per op the number of its choices.
  std::vector<int> choiceCounts;
  /// Per op, position, choice.
  std::vector<std::vector<std::vector<int>>> uses, makings;
  /// Per value its form and the layouts in which it may rest; what crosses a
  /// boundary has those of its slot. None: it is left out.
  std::vector<int> forms;
  std::vector<std::vector<int>> rests;
  /// Per op whether it runs on the device or on the host.
  std::vector<bool> mayMove;
  /// Per variable the op that takes its bytes from the device where that runs
  /// on the host: `noMover` where passes of the unit read it. Where an op of
  /// another unit may move it, it takes none here, which is a bound.
  std::vector<int> movers;
  static constexpr int noMover = -1, otherMover = -2;
  /// Per boundary and slot.
  std::vector<std::vector<std::vector<int>>> slotRests;
};

/// The candidates of a sample on one mesh.
struct UnitTables : UnitLists {
  /// `choices` are not refused.
  UnitTables(const UnitSample &sample, const StepUnits &units,
             const PlanRequest &request, const PlanSpace &space,
             const UnitChoices &choices, LayoutTable &layouts);

  const std::vector<std::vector<FactorAssignment>> &assignments;
  const std::vector<std::vector<double>> &opSeconds;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITTABLES_H
