//===- Passes.h - Choosing how everything is spread -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PLAN_PASSES_H
#define PARPLAN_PASSES_PLAN_PASSES_H

#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>

namespace parplan {

#define GEN_PASS_DECL
#include "passes/Plan/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Plan/Passes.h.inc"

} // namespace parplan

#endif // PARPLAN_PASSES_PLAN_PASSES_H
