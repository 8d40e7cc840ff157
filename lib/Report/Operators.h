//===- Operators.h - The operators of plan.json -----------------*- C++ -*-===//
//
// Part of parplan. Private to the library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_REPORT_OPERATORS_H
#define PARPLAN_REPORT_OPERATORS_H

#include "lib/Report/PlanDocument.h"

namespace parplan {

/// Decision, layouts, operations and communication of every op, in order.
Json describeOperators(const PlanSummary &summary);

/// Floating-point operations of one run on all devices together.
double getFlops(const PlanningOp &op);

} // namespace parplan

#endif // PARPLAN_REPORT_OPERATORS_H
