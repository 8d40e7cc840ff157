//===- OperatorPage.h - docs/operators.md, generated ------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_CONFORMANCE_OPERATORPAGE_H
#define PARPLAN_TEST_UNIT_CONFORMANCE_OPERATORPAGE_H

#include "NodeTestRun.h"

#include <map>

namespace parplan::test {

/// By name of the test.
using NodeTestResults = std::map<std::string, NodeTestResult>;

/// Says for every operator that ONNX defines and every version of it how it is
/// imported, from the importer's table, and what becomes of it, from its tests.
std::string printOperatorPage(const NodeTestResults &results);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_CONFORMANCE_OPERATORPAGE_H
