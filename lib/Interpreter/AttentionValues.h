//===- AttentionValues.h - Values of attentions -----------------*- C++ -*-===//
//
// Part of parplan. Private to the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_INTERPRETER_ATTENTIONVALUES_H
#define PARPLAN_LIB_INTERPRETER_ATTENTIONVALUES_H

#include "lib/Interpreter/Families.h"

namespace parplan {

/// The operands of an attention over all of its keys.
struct AttentionInputs {
  const Tensor &query, &key, &value;
  /// Null without a mask.
  const Tensor *mask = nullptr;
  int64_t offset = 0;
  double scale = 1;
  bool causal = false, zeroMaskedRows = false;
  /// Per head; null for none.
  const Tensor *sink = nullptr;
  /// Queries and keys are in zig-zag order over so many ranks.
  int64_t zigzag = 1;
};

/// What a gradient reads besides.
struct GradientInputs {
  const Tensor &result, &logSumExp, &gradient;
};

/// The result, and the statistics where `logSumExp` is not null.
Tensor attend(const AttentionInputs &inputs, mlir::RankedTensorType type,
              Tensor *logSumExp);

/// Adds to the gradients of query, key and value.
void differentiateAttention(const AttentionInputs &inputs,
                            const GradientInputs &gradients, Tensor &query,
                            Tensor &key, Tensor &value);

} // namespace parplan

#endif // PARPLAN_LIB_INTERPRETER_ATTENTIONVALUES_H
