//===- OpRole.h - What an op of a step is for -------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SHARDING_OPROLE_H
#define PARPLAN_SHARDING_OPROLE_H

#include "parplan/Sharding/Sharding.h"

namespace parplan {

/// What an op does in a training step (`parplan.role`). All ops of a forward
/// pass are `forward`.
enum class OpRole {
  forward,
  loss,
  inputGradient,
  weightGradient,
  gradientSum,
  optimizer,
};

llvm::StringRef stringifyOpRole(OpRole role);
std::optional<OpRole> parseOpRole(llvm::StringRef text);

/// True for ops of the forward pass and of the loss.
bool isBeforeBackward(OpRole role);

/// A reader of a value, as far as it decides which copies it can read.
struct CopyReader {
  OpRole role = OpRole::forward;
  /// Runs once per micro-batch. True for the reading side of an accumulate.
  bool perMicroBatch = false;

  bool operator==(const CopyReader &other) const = default;
};

/// True when two readers in one layout share one copy of a value that lies
/// `atRest` (S15). A stored value is gathered for the forward and again for the
/// backward pass, so that no whole copy lives in between, and so is any value
/// for which the plan says `gathersAgain`; and what is copied once per step is
/// not copied once per micro-batch.
bool sharesCopies(CopyReader first, CopyReader second, const Sharding &atRest,
                  bool gathersAgain = false);

} // namespace parplan

#endif // PARPLAN_SHARDING_OPROLE_H
