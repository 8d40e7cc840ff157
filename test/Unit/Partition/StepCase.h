//===- StepCase.h - A random step and what one rank makes of it -*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PARTITION_STEPCASE_H
#define PARPLAN_TEST_UNIT_PARTITION_STEPCASE_H

#include "RandomGraph.h"

#include "parplan/Interpreter/Interpreter.h"

#include <map>

namespace parplan::test {

/// A random training step whose arguments and results have names, and its
/// values on one rank. What runs on it later is compared with these.
class StepCase {
public:
  StepCase(uint64_t seed, int64_t mostMicroBatches);

  /// Of all cases.
  static mlir::MLIRContext &getContext();

  std::vector<mlir::func::FuncOp> getFunctions();

  /// Interprets the functions, as the programs of all positions; what is wrong,
  /// or nothing.
  std::string findFault(RankObserver observer = nullptr);

  std::string print();

  Random random;
  /// What was reported since the case began.
  std::string messages;
  mlir::ScopedDiagnosticHandler handler;
  Graph step;

private:
  void runOnOne();

  std::map<std::string, Tensor> values, expected;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PARTITION_STEPCASE_H
