//===- ExpertRows.h - Which rows of products of experts count ---*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_EXPERTROWS_H
#define PARPLAN_PASSES_SIMPLIFY_EXPERTROWS_H

#include "dialects/parplan/ParplanOps.h"

namespace parplan::simplify {

/// Which rows of the product `spec` of experts count: all where every token has
/// every expert, or where rows are not those of tokens alone.
std::optional<ExpertRows> findRows(llvm::StringRef spec, llvm::StringRef tokens,
                                   mlir::Value experts, int64_t expertCount);

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_EXPERTROWS_H
