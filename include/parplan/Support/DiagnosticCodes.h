//===- DiagnosticCodes.h - The catalogue of diagnostics ---------*- C++ -*-===//
//
// Part of parplan. One row per code in Diagnostics.def.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SUPPORT_DIAGNOSTICCODES_H
#define PARPLAN_SUPPORT_DIAGNOSTICCODES_H

#include "parplan/Support/Diagnostics.h"

namespace parplan::codes {

#define DIAGNOSTIC(number, identifier, exitCode, title)                        \
  inline constexpr DiagnosticCode identifier{number, ExitCode::exitCode, title};
#include "parplan/Support/Diagnostics.def"

} // namespace parplan::codes

#endif // PARPLAN_SUPPORT_DIAGNOSTICCODES_H
