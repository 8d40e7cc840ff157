//===- GraphAdjoints.h - Random adjoints and losses -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PARTITION_GRAPHADJOINTS_H
#define PARPLAN_TEST_UNIT_PARTITION_GRAPHADJOINTS_H

namespace parplan::test {

class GraphGrower;

/// Adds one op that only gradients need; may add none where nothing fits.
void growAdjoint(GraphGrower &grower);
/// Adds a cross entropy, of which some labels are ignored.
void growLoss(GraphGrower &grower);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PARTITION_GRAPHADJOINTS_H
