//===- CombinedModels.h - Many node tests in one model ----------*- C++ -*-===//
//
// Part of parplan.
//
// A program per node test would take seconds each to compile. Tests side by
// side in one model, under names that begin with the test's, are one program.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_CONFORMANCE_COMBINEDMODELS_H
#define PARPLAN_TEST_UNIT_CONFORMANCE_COMBINEDMODELS_H

#include "OperatorPage.h"

namespace parplan::test {

/// Writes models of the tests that have a program for the host: of each
/// operator one test per version, types of elements, ops and statements. In
/// `folder`/NUMBER are
///   * `model.onnx`;
///   * the data: .pb for what goes in, .npy for what is expected, and for what
///     goes in of types that programs hold in others;
///   * `tests.json`, which test/Execution/run_node_tests.py reads: per test the
///     operator, the files by names of values, and the tolerances.
/// Throws std::runtime_error if a file cannot be written.
void writeCombinedModels(const std::string &nodeTests,
                         const NodeTestResults &results,
                         const std::string &folder);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_CONFORMANCE_COMBINEDMODELS_H
