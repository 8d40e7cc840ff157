//===- Contents.h - What ops and values are, but for their names -*- C++
//-*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_CONTENTS_H
#define PARPLAN_LIB_PLANNER_CONTENTS_H

#include "parplan/Planner/PlanningProblem.h"

namespace parplan {

/// Numbers of what ops and values are: two of them have the same number if and
/// only if they differ in nothing that a plan or its costs depend on, but in
/// what they read. Names, nodes, blocks and the numbers of groups are no part
/// of it, the contents of operands and results are.
struct Contents {
  std::vector<int> ofValue;
  std::vector<int> ofOp;
};

/// `labels` per op, or empty: different ones make different contents.
Contents getContents(const PlanningProblem &problem,
                     llvm::ArrayRef<int64_t> labels);

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_CONTENTS_H
