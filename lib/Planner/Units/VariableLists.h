//===- VariableLists.h - What units choose for variables --------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
// What is left of the choices of ops is what they want of values without
// samples. On joined meshes (`JoinedMesh.h`) steps in any number of
// micro-batches and meshes with as many ranks for the batch mostly have equal
// lists.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_VARIABLELISTS_H
#define PARPLAN_LIB_PLANNER_VARIABLELISTS_H

#include "UnitTables.h"

namespace parplan {

/// Lists of what has no samples alone: other values are left out, and decisions
/// that differ in nothing else are one.
struct VariableLists {
  UnitLists lists;
  /// Equal ones of one model and one table of layouts are of equal lists.
  std::vector<int64_t> key;
};

/// `joined` is of the mesh `joinReplicaAxes` of that of `tables`.
VariableLists getVariableLists(const UnitSample &sample, const StepUnits &units,
                               UnitTables &tables, LayoutTable &joined);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_VARIABLELISTS_H
