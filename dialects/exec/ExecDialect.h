//===- ExecDialect.h - The exec dialect, its types and attributes -*- C++
//-*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_EXEC_EXECDIALECT_H
#define PARPLAN_DIALECTS_EXEC_EXECDIALECT_H

#include "dialects/parplan/ParplanDialect.h"
#include "parplan/CostModel/OpCost.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"

#include "dialects/exec/ExecDialect.h.inc"
#include "dialects/exec/ExecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/exec/ExecTypes.h.inc"

namespace parplan::exec {

/// Buffers start at multiples of this.
inline constexpr int64_t bufferAlignment = 64;

} // namespace parplan::exec

#endif // PARPLAN_DIALECTS_EXEC_EXECDIALECT_H
