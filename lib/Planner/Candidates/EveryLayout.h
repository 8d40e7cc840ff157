//===- EveryLayout.h - All layouts of a mesh, one by one --------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_EVERYLAYOUT_H
#define PARPLAN_LIB_PLANNER_EVERYLAYOUT_H

#include "Refusals.h"

#include "parplan/Planner/Decisions.h"
#include "parplan/Planner/PlanningAnswer.h"

namespace parplan {

/// Every combination of assignments and of layouts at rest on one mesh: what
/// oracles compare searches with.
class EveryLayout {
public:
  EveryLayout(const PlanningProblem &problem, const PlanRequest &request,
              const PlanSpace &space);

  /// Why the mesh has none.
  const std::optional<std::string> &getRefusal() const { return refusal; }
  /// How many there are; as a double, because there may be more than integers.
  double getCount() const { return count; }

  const PlanningAnswer &get();
  /// False after the last combination.
  bool advance();

private:
  void addDigit(size_t size);

  Decisions decisions;
  std::vector<std::vector<FactorAssignment>> assignments;
  std::vector<std::vector<Sharding>> rests;
  /// Of every decision, then of every value at rest; the last is the fastest.
  std::vector<size_t> sizes, digits;
  std::optional<std::string> refusal;
  double count = 0;
  /// Of every value at rest, the one that lies as it does, or -1.
  std::vector<int> updated;
  PlanningAnswer answer;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_EVERYLAYOUT_H
