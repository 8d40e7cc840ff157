//===- OpRole.cpp - What an op of a step is for ---------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Sharding/OpRole.h"

#include "parplan/Support/Check.h"

namespace parplan {

llvm::StringRef stringifyOpRole(OpRole role) {
  switch (role) {
  case OpRole::forward:
    return "forward";
  case OpRole::loss:
    return "loss";
  case OpRole::inputGradient:
    return "input_gradient";
  case OpRole::weightGradient:
    return "weight_gradient";
  case OpRole::gradientSum:
    return "gradient_sum";
  case OpRole::optimizer:
    return "optimizer";
  }
  PARPLAN_UNREACHABLE("unknown role ", static_cast<int>(role));
}

std::optional<OpRole> parseOpRole(llvm::StringRef text) {
  for (OpRole role :
       {OpRole::forward, OpRole::loss, OpRole::inputGradient,
        OpRole::weightGradient, OpRole::gradientSum, OpRole::optimizer})
    if (text == stringifyOpRole(role))
      return role;
  return std::nullopt;
}

bool isBeforeBackward(OpRole role) {
  return role == OpRole::forward || role == OpRole::loss;
}

bool sharesCopies(CopyReader first, CopyReader second, const Sharding &atRest,
                  bool gathersAgain) {
  if (first.perMicroBatch != second.perMicroBatch)
    return false;
  return !(gathersAgain || atRest.isStored()) ||
         isBeforeBackward(first.role) == isBeforeBackward(second.role);
}

} // namespace parplan
