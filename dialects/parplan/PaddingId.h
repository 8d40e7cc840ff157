//===- PaddingId.h - Rows of embeddings that are not trained ----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_PADDINGID_H
#define PARPLAN_DIALECTS_PARPLAN_PADDINGID_H

#include "llvm/ADT/StringRef.h"

namespace parplan::attributes {

/// On an embedding: the id whose row gets no gradient of it, as PyTorch's
/// `padding_idx`.
inline constexpr llvm::StringLiteral paddingId = "parplan.padding_id";

} // namespace parplan::attributes

#endif // PARPLAN_DIALECTS_PARPLAN_PADDINGID_H
