//===- RandomGraph.h - Small random graphs of the dialect -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PARTITION_RANDOMGRAPH_H
#define PARPLAN_TEST_UNIT_PARTITION_RANDOMGRAPH_H

#include "parplan/Interpreter/Interpreter.h"

#include "dialects/parplan/ParplanOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <random>

namespace parplan::test {

/// Draws of one test case; equal seeds give equal cases everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}

  /// In [0, limit).
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(engine() % static_cast<uint64_t>(limit));
  }
  int64_t between(int64_t low, int64_t high) {
    return low + below(high - low + 1);
  }
  bool chance(int percent) { return below(100) < percent; }
  template <typename Range> auto &pick(Range &&range) {
    return range[below(static_cast<int64_t>(std::size(range)))];
  }
  template <typename Range> void shuffle(Range &range) {
    for (size_t i = std::size(range); i > 1; --i)
      std::swap(range[i - 1], range[below(static_cast<int64_t>(i))]);
  }

private:
  std::mt19937_64 engine;
};

/// A module with global types, and values for its arguments and initializers.
struct Graph {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Tensor> arguments;
  InitializerValues initializers;
  /// Results may differ by this; 0 where all values are integral.
  double tolerance = 0;
  /// Of a training step; 0 for others.
  int64_t microBatches = 0;
};

/// A graph of three to eight ops over small tensors.
Graph makeRandomGraph(mlir::MLIRContext &context, Random &random);

/// A training step: values of micro-batches, their sums, which later values of
/// micro-batches read too, and updates of one to three variables. Batched
/// arguments have the dimension of micro-batches.
Graph makeRandomStep(mlir::MLIRContext &context, Random &random);
Graph makeRandomStepUpTo(mlir::MLIRContext &context, Random &random,
                         int64_t mostMicroBatches);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PARTITION_RANDOMGRAPH_H
