//===- RandomPlan.h - Random legal decisions --------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PARTITION_RANDOMPLAN_H
#define PARPLAN_TEST_UNIT_PARTITION_RANDOMPLAN_H

#include "RandomGraph.h"

namespace parplan::test {

/// Adds a mesh of one to three axes to the module and writes decisions that
/// obey S1 to S10: factors of every op and layouts at rest, stored and pending
/// ones among them.
void writeRandomPlan(mlir::ModuleOp module, Random &random);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PARTITION_RANDOMPLAN_H
