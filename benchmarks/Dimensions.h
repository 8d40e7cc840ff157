//===- Dimensions.h - Parts of the space of plans ---------------*- C++ -*-===//
//
// What a dimension is worth is what the best plan without it takes longer.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_BENCHMARKS_DIMENSIONS_H
#define PARPLAN_BENCHMARKS_DIMENSIONS_H

#include "lib/Driver/Options.h"
#include "parplan/Planner/FindPlan.h"

namespace parplan {

std::vector<std::string> getDimensionNames();

/// Leaves a dimension out of what is searched. False: there is none of that
/// name.
bool leaveOut(llvm::StringRef dimension, ForceOptions &force,
              FindPlanOptions &options);

} // namespace parplan

#endif // PARPLAN_BENCHMARKS_DIMENSIONS_H
