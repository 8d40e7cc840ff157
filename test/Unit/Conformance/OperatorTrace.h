//===- OperatorTrace.h - What a node test becomes ---------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_CONFORMANCE_OPERATORTRACE_H
#define PARPLAN_TEST_UNIT_CONFORMANCE_OPERATORTRACE_H

#include "lib/Import/ModelInfo.h"

#include "mlir/IR/BuiltinOps.h"

#include <nlohmann/json.hpp>

#include <set>
#include <string>

namespace parplan::test {

/// The ops of the dialect and the statements of a program that a model becomes.
struct OperatorTrace {
  std::set<std::string> ops;
  /// Those of them with results of floats and no gradient.
  std::set<std::string> withoutGradient;
  bool hasFloats = false;
  /// Kinds of the factors of more than one element.
  std::set<std::string> factors;
  /// Statements of the program for one device, without `exec.`.
  std::set<std::string> statements;
  /// Why there is no program; "" if there is one.
  std::string obstacle;

  NLOHMANN_DEFINE_TYPE_INTRUSIVE(OperatorTrace, ops, withoutGradient, hasFloats,
                                 factors, statements, obstacle)
};

/// Looks at an imported module.
OperatorTrace traceModule(mlir::ModuleOp module);

/// Plans the model for one device of the host and looks at the program.
void traceProgram(mlir::MLIRContext &context, const ImportOptions &import,
                  OperatorTrace &trace);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_CONFORMANCE_OPERATORTRACE_H
