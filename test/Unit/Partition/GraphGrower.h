//===- GraphGrower.h - Values from which random graphs grow -----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PARTITION_GRAPHGROWER_H
#define PARPLAN_TEST_UNIT_PARTITION_GRAPHGROWER_H

#include "RandomGraph.h"

namespace parplan::test {

using Shape = llvm::SmallVector<int64_t>;

/// What is known about the elements of a value.
struct Range {
  /// No element is larger, in magnitude.
  double bound = 0;
  /// All elements are integers, so that sums are exact in any order.
  bool isExact = true;
};

/// Adds ops to the body of a function and keeps track of magnitudes, so that
/// sums stay exact. Values that an op needs beside one of the graph are drawn
/// anew: as arguments, parameters or constants.
class GraphGrower {
public:
  /// With `microBatches`, a training step of so many.
  GraphGrower(mlir::MLIRContext &context, Random &random,
              int64_t microBatches = 0);

  /// Completes the function, which returns the last values and `variables`,
  /// each with what it replaces.
  Graph
  finish(llvm::ArrayRef<std::pair<mlir::Value, VariableAttr>> variables = {});

  int64_t getMicroBatches() const { return graph.microBatches; }

  mlir::OpBuilder builder;
  Random &random;

  mlir::Location getLocation() { return builder.getUnknownLoc(); }
  mlir::FloatType getReal() { return builder.getF64Type(); }
  static llvm::ArrayRef<int64_t> getShape(mlir::Value value);

  /// A random float value of the graph, or a new one of a random shape.
  mlir::Value pickReal();
  /// One of rank `rank`, preferably of the graph.
  mlir::Value pickReal(size_t rank);
  /// New values with integral elements.
  mlir::Value makeReal(llvm::ArrayRef<int64_t> shape);
  mlir::Value makePositive(llvm::ArrayRef<int64_t> shape);
  mlir::Value makeIndices(llvm::ArrayRef<int64_t> shape, int64_t low,
                          int64_t high);
  mlir::Value makeBools(llvm::ArrayRef<int64_t> shape);
  mlir::Value makeSplat(double value);
  Shape makeShape(size_t rank);

  /// New values that every micro-batch has its own of.
  mlir::Value makeBatch(llvm::ArrayRef<int64_t> shape);
  /// A scalar argument.
  mlir::Value makeScheduled(llvm::StringRef schedule, double value);
  /// A parameter, or with `slot` a state of one, of numbers in [low, high].
  mlir::Value makeVariable(llvm::StringRef initializer, llvm::StringRef slot,
                           llvm::ArrayRef<int64_t> shape, int64_t low,
                           int64_t high);

  Range getRange(mlir::Value value) const { return ranges.lookup(value); }
  /// True for values that differ between micro-batches.
  bool isOfMicroBatch(mlir::Value value) const;
  llvm::ArrayRef<mlir::Value> getValues() const { return values; }
  /// Makes a result part of the graph; keeps its magnitude small.
  void add(mlir::Value value, double bound, bool isExact);
  /// Says that a result may be as large, and rounded.
  void note(double bound, bool isExact);

  template <typename Op, typename... Arguments>
  Op create(Arguments &&...arguments) {
    return builder.create<Op>(getLocation(),
                              std::forward<Arguments>(arguments)...);
  }

private:
  mlir::Value makeInput(mlir::RankedTensorType type, int64_t low, int64_t high);
  Tensor makeContent(mlir::RankedTensorType type, int64_t low, int64_t high);
  mlir::Value addArgument(mlir::RankedTensorType type, int64_t low,
                          int64_t high, bool isBatched);
  mlir::Value makeParameter(const Tensor &value);
  void addInitializer(llvm::StringRef name, const Tensor &value);
  /// Sums what would be returned per micro-batch, and says which ops run so.
  mlir::Value accumulate(mlir::Value value);
  void markMicroBatchOps();
  mlir::Value makeConstant(const Tensor &value);

  Graph graph;
  mlir::func::FuncOp function;
  std::vector<mlir::Value> values;
  llvm::DenseSet<mlir::Value> batches;
  std::vector<llvm::StringRef> schedules;
  llvm::DenseMap<mlir::Value, Range> ranges;
  double largestInexact = 0;
};

/// Adds one op of a random family; may add none where nothing fits.
void growElementwise(GraphGrower &grower);
void growShape(GraphGrower &grower);
void growIndexing(GraphGrower &grower);
void growReduction(GraphGrower &grower);
void growNorm(GraphGrower &grower);
void growMatmul(GraphGrower &grower);
void growWindow(GraphGrower &grower);
void growAttention(GraphGrower &grower);

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PARTITION_GRAPHGROWER_H
