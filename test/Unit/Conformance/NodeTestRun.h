//===- NodeTestRun.h - A node test through import and interpreter *- C++ -*-==//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_CONFORMANCE_NODETESTRUN_H
#define PARPLAN_TEST_UNIT_CONFORMANCE_NODETESTRUN_H

#include "NodeTest.h"
#include "OperatorTrace.h"

#include "mlir/IR/MLIRContext.h"

namespace parplan::test {

enum class Verdict : char {
  /// The outputs are ONNX's, with every input given at run time.
  passes = 'P',
  /// They are if some inputs are initializers: an importer with static shapes
  /// must know the axes of a sum.
  passesWithConstants = 'C',
  /// They are, but all inputs had to be initializers: folded by the import.
  passesFolded = 'F',
  /// The import says at which operator it cannot go on, and why.
  refused = 'R',
  wrong = 'W',
  /// They are on one rank, but not on several with random shardings.
  wrongOnRanks = 'N',
  /// The import refuses without naming an operator of the model.
  vague = 'V',
  /// The import accepts what the interpreter then cannot run.
  notInterpreted = 'I',
  /// The process ended, or did not end; said by whoever started it.
  crashed = 'X',
};

inline bool isPass(Verdict verdict) {
  return verdict == Verdict::passes ||
         verdict == Verdict::passesWithConstants ||
         verdict == Verdict::passesFolded;
}

struct NodeTestResult {
  Verdict verdict = Verdict::crashed;
  /// The diagnostics, or the difference; the inputs that are initializers.
  std::string reason = {};
  /// The operator of a test with one node; with its domain if it is not ONNX's.
  std::string soleOperator = {};
  /// Of a test that passes.
  OperatorTrace trace = {};
  /// The inputs, by number, that are initializers, and those that are inputs of
  /// the imported model; no others influence the outputs.
  std::vector<int> constants = {}, arguments = {};
  /// It ran as `flattenNodeTest` gives it.
  bool isFlattened = false;

  NLOHMANN_DEFINE_TYPE_INTRUSIVE(NodeTestResult, verdict, reason, soleOperator,
                                 trace, constants, arguments, isFlattened)
};

/// Differences from what ONNX expects that are none.
struct Tolerance {
  double relative, absolute;
};

/// What ONNX's own runner allows, but for tests whose expectation is not as
/// exact as that.
Tolerance getTolerance(const std::string &test);

/// Of several ranks: they add up in another order, in 16 bits too.
constexpr Tolerance ranksTolerance = {1e-2, 1e-5};

/// Runs a test as it is and, if the import refuses that, with as few inputs as
/// possible as initializers. `scratch` is a file for changed models.
NodeTestResult runNodeTest(mlir::MLIRContext &context, const NodeTest &test,
                           const std::string &scratch);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_CONFORMANCE_NODETESTRUN_H
