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

/// Buffers start at multiples of this,
inline constexpr int64_t bufferAlignment = 64;
/// in files at multiples of what direct input and output want.
inline constexpr int64_t storageAlignment = 4096;
inline int64_t getAlignment(Tier tier) {
  return tier == Tier::nvme ? storageAlignment : bufferAlignment;
}

inline constexpr int streamCount =
    static_cast<int>(getMaxEnumValForStreamKind()) + 1;
inline constexpr int tierCount = static_cast<int>(getMaxEnumValForTier()) + 1;

} // namespace parplan::exec

#endif // PARPLAN_DIALECTS_EXEC_EXECDIALECT_H
