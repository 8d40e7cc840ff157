//===- NodeFailure.h - Why a node cannot be imported ------------*- C++ -*-===//
//
// Part of parplan. Thrown while one node is imported, caught by the sweep,
// which reports it at the node and goes on with the next.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_GRAPH_NODEFAILURE_H
#define PARPLAN_LIB_IMPORT_GRAPH_NODEFAILURE_H

#include "parplan/Support/DiagnosticCodes.h"

#include <string>

namespace parplan::importer {

struct NodeFailure {
  DiagnosticCode code;
  std::string message;
  std::string help = {};
};

/// A value that the node uses has an error of its own, already reported.
struct PoisonedOperand {};

template <typename... Parts>
[[noreturn]] void failNode(const DiagnosticCode &code, const Parts &...parts) {
  throw NodeFailure{code, concat(parts...)};
}

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_GRAPH_NODEFAILURE_H
