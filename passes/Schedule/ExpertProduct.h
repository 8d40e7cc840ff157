//===- ExpertProduct.h - Launches products of experts' rows -----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_EXPERTPRODUCT_H
#define PARPLAN_PASSES_SCHEDULE_EXPERTPRODUCT_H

#include "passes/Schedule/MatmulForm.h"
#include "passes/Schedule/Placement.h"

namespace parplan {

/// Buffers of a product of `experts` experts, those of this rank; tokens have
/// `choices` each, which `chosen` holds. `first` is null where numbers begin
/// with 0.
struct ExpertProduct {
  mlir::Value lhs, rhs, chosen, first, output;
  int64_t experts, choices;
  ExpertGroups groups;
  bool sumsTokens, accumulates;
};

/// Appends its statement, with the workspace it needs; `form` repeats nothing
/// but experts (isFormOfRows).
exec::MoeMatmulOp createExpertProduct(Placement &placement,
                                      mlir::Location location,
                                      const ExpertProduct &product,
                                      const MatmulForm &form,
                                      exec::CostAttr cost);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_EXPERTPRODUCT_H
