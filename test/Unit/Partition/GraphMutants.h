//===- GraphMutants.h - Faults that the property test must notice -*- C++ -*-=//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PARTITION_GRAPHMUTANTS_H
#define PARPLAN_TEST_UNIT_PARTITION_GRAPHMUTANTS_H

#include "RandomGraph.h"

namespace parplan::test {

/// A fault of a partitioner, planted into the local program it made.
struct Mutant {
  const char *name;
  /// The share of plants that at least must be noticed. Some change nothing:
  /// rows that are zero anyway, a maximum that softmax or a loss cancels.
  int percent;
  /// Plants the fault at one random place; false where there is none.
  bool (*plant)(mlir::func::FuncOp function, Random &random);
  /// Planted into training steps, not into other graphs.
  bool isOfStep = false;
};

llvm::ArrayRef<Mutant> getMutants();

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PARTITION_GRAPHMUTANTS_H
