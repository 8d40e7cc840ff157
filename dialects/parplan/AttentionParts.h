//===- AttentionParts.h - What both directions of attention share *- C++
//-*-===//
//
// Part of parplan. Private to the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_ATTENTIONPARTS_H
#define PARPLAN_DIALECTS_PARPLAN_ATTENTIONPARTS_H

#include "dialects/parplan/ComposeHelper.h"

namespace parplan {

/// Sizes of an attention, named as the factors of its rule.
struct AttentionSizes {
  int64_t b, s, t, g, r, e, f;

  explicit AttentionSizes(AttentionOp op);
};

struct AttentionParts {
  /// The scaled query, [b, s, g, r, e].
  mlir::Value query;
  /// Probabilities of the keys, [b, g, r, s, t], in f32 where the query is
  /// narrower.
  mlir::Value weights;
};

/// Builds the first half of the decomposition.
AttentionParts buildAttentionWeights(ComposeHelper &compose, AttentionOp op);

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_ATTENTIONPARTS_H
