//===- LegalizeProducts.h - Products that kernels take ----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_LEGALIZEPRODUCTS_H
#define PARPLAN_PASSES_SCHEDULE_LEGALIZEPRODUCTS_H

#include "mlir/IR/Operation.h"

namespace parplan {

/// Gives a product, in panels or not, a matmul form: absorbs transposes of its
/// operands and of its result, and transposes as little as it can where there
/// is no form. Replaces and erases `op`.
void legalizeProduct(mlir::Operation *op);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_LEGALIZEPRODUCTS_H
