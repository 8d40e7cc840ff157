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
/// ones among them. With several pipeline `positions` these are the first axis
/// of the mesh, of at most two others, and on no factor and in no layout.
void writeRandomPlan(mlir::ModuleOp module, Random &random,
                     int64_t positions = 1);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PARTITION_RANDOMPLAN_H
