//===- VariableLists.h - What units choose for variables --------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
// What has no samples lies alike on all ranks that split them, whether these
// are replicas or have parts of a sequence: data and context axes stand side by
// side in every layout. As one axis they make many meshes the same one, and of
// what ops may choose only what they want of variables is left. So steps in any
// number of micro-batches and meshes with as many ranks for the batch mostly
// have equal lists.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_VARIABLELISTS_H
#define PARPLAN_LIB_PLANNER_VARIABLELISTS_H

#include "UnitTables.h"

namespace parplan {

/// Lists of what has no samples alone: other values may lie anywhere at no
/// cost, and decisions that differ in nothing else are one.
struct VariableLists {
  UnitLists lists;
  /// Equal ones of one table of layouts are of equal lists.
  std::vector<int64_t> key;
};

/// `joined` is of the mesh `joinBatchAxes` of that of `tables`.
VariableLists getVariableLists(const UnitSample &sample, const StepUnits &units,
                               UnitTables &tables, LayoutTable &joined);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_VARIABLELISTS_H
