//===- GraphExperts.h - Random mixtures of experts --------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PARTITION_GRAPHEXPERTS_H
#define PARPLAN_TEST_UNIT_PARTITION_GRAPHEXPERTS_H

#include "RandomGraph.h"

namespace parplan::test {

/// One or two mixtures of experts, some with gradients, between other ops.
Graph makeRandomExperts(mlir::MLIRContext &context, Random &random);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PARTITION_GRAPHEXPERTS_H
