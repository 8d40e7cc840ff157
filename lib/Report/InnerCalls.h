//===- InnerCalls.h - What an op itself communicates ------------*- C++ -*-===//
//
// Part of parplan. Private to the library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_REPORT_INNERCALLS_H
#define PARPLAN_REPORT_INNERCALLS_H

#include "parplan/Planner/Panels.h"

#include <vector>

namespace parplan {

/// What one run of an op communicates besides the reshards of its operands and
/// results: its loop over panels, and the reductions over split coupled
/// factors.
std::vector<PanelCall> getInnerCalls(const PlanningProblem &problem,
                                     const PlanningOp &op,
                                     const FactorAssignment &assignment,
                                     const Mesh &mesh);

} // namespace parplan

#endif // PARPLAN_REPORT_INNERCALLS_H
