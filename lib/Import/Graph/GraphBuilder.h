//===- GraphBuilder.h - Folds, simplifies, merges, or appends ---*- C++ -*-===//
//
// Part of parplan.
//
// One method per kind of op. Each checks its operands (NodeFailure), computes
// the result where all operands are constants, returns an operand where the op
// does nothing, finds the equal op, or appends one. So the graph never holds
// shape arithmetic once the sizes of the inputs are known.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_GRAPH_GRAPHBUILDER_H
#define PARPLAN_LIB_IMPORT_GRAPH_GRAPHBUILDER_H

#include "lib/Import/Graph/Graph.h"
#include "lib/Import/Graph/NodeFailure.h"

#include <functional>

namespace parplan::importer {

/// A cut of one dimension, normalised: elements start, start + step, ..
struct SliceRange {
  int64_t dim;
  int64_t start;
  int64_t limit;
  int64_t step = 1;

  int64_t getSize() const {
    int64_t span = step > 0 ? limit - start : start - limit;
    return span <= 0 ? 0 : (span - 1) / (step > 0 ? step : -step) + 1;
  }
};

struct Window {
  llvm::SmallVector<int64_t, 3> strides;
  /// low and high of every spatial dimension: low0, high0, low1, ..
  llvm::SmallVector<int64_t, 6> pads;
  llvm::SmallVector<int64_t, 3> dilations;
};

/// A list of tensors: `items`, or the pieces of a tensor, of `step` elements
/// each or between `starts`.
struct TensorSequence {
  ElementType type = ElementType::f32;
  std::vector<ValueId> items;
  ValueId source = noValue;
  int64_t dim = 0;
  /// The size of the dimension.
  int64_t extent = 0;
  /// 0 if `starts` says where pieces are; it has one more than there are.
  int64_t step = 0;
  std::vector<int64_t> starts;
  bool keepDims = true;

  int64_t size() const {
    if (source == noValue)
      return items.size();
    return step ? (extent + step - 1) / step : int64_t(starts.size()) - 1;
  }
};

/// How ONNX's Cast makes floats of eight bits.
struct NarrowRounding {
  enum class Mode : uint8_t { up, down, nearest };
  /// What is too large becomes the greatest number, else infinity or NaN.
  bool saturates = true;
  /// For f8e8m0 only; others are rounded to the nearest.
  Mode mode = Mode::up;
};

class GraphBuilder {
public:
  explicit GraphBuilder(Graph &graph) : graph(graph) {}

  Graph &graph;
  std::vector<TensorSequence> sequences;
  /// Reads the bytes of a parameter; none where they are not to be had.
  std::function<std::optional<std::string>(const Parameter &)> readParameter;
  /// What values of kind `foreign` are.
  std::vector<std::string> foreignValues;
  /// Pieces that sequences of the model may still have.
  int64_t sequenceBudget = int64_t(1) << 22;
  /// Node of the main graph that new ops belong to.
  uint32_t node = 0;

  // Of values.
  ElementType getType(ValueId id) const { return graph.getValue(id).type; }
  const Shape &getShape(ValueId id) const { return graph.getValue(id).shape; }
  int64_t getRank(ValueId id) const { return getShape(id).size(); }
  /// The elements of an integer or bool constant, expanded; none for others and
  /// for more than 2^16 elements.
  std::optional<std::vector<int64_t>> getIntegers(ValueId id) const;
  /// The elements of a constant, or of a parameter, expanded; none for others
  /// and for more than 2^16 elements.
  std::optional<std::vector<Cell>> getCells(ValueId id) const;
  /// The one value of a constant that has the same everywhere.
  std::optional<Cell> getSplat(ValueId id) const;
  /// True if a constant is `value` everywhere.
  bool isSplatOf(ValueId id, double value) const;

  // Constants.
  ValueId makeDense(ElementType type, ShapeRef shape, std::vector<Cell> cells);
  ValueId makeSplat(ElementType type, ShapeRef shape, Cell cell);
  /// `value` is rounded to the type.
  ValueId makeNumber(ElementType type, double value, ShapeRef shape = {});
  ValueId makeIntegers(llvm::ArrayRef<int64_t> integers);
  ValueId makeInteger(int64_t integer);
  /// A value that no node can read; `what` goes into what is said then.
  ValueId addForeign(std::string what);
  /// 0, step, 2 step, ... + start along `dim`.
  ValueId makeRange(ElementType type, ShapeRef shape, int64_t dim,
                    int64_t start, int64_t step);

  /// A bool constant cut along a diagonal becomes affine, whatever its size, so
  /// that small models look like large ones. Others stay.
  ValueId makeLazyMask(ValueId mask);

  // Elementwise.
  ValueId unary(OpKind kind, ValueId input);
  /// integers: [tanh]
  ValueId gelu(ValueId input, bool tanh);
  ValueId cast(ValueId input, ElementType type,
               const NarrowRounding &rounding = {});
  /// Elements of a narrow type from bytes as a file has them, in u8: of the
  /// same shape, or with as many in the last dimension as it takes.
  ValueId decode(ValueId bytes, ElementType type, ShapeRef shape);
  /// The bits of elements as a type of the same size.
  ValueId bitcast(ValueId input, ElementType type);
  ValueId binary(OpKind kind, ValueId lhs, ValueId rhs);
  /// integers: [predicate]
  ValueId compare(Predicate predicate, ValueId lhs, ValueId rhs);
  ValueId select(ValueId condition, ValueId onTrue, ValueId onFalse);

  // Shape.
  ValueId reshape(ValueId input, ShapeRef shape);
  ValueId broadcast(ValueId input, ShapeRef shape);
  /// integers: permutation
  ValueId transpose(ValueId input, llvm::ArrayRef<int64_t> permutation);
  /// integers: (dim, start, limit, step) per range
  ValueId slice(ValueId input, llvm::ArrayRef<SliceRange> ranges);
  /// integers: [dim]
  ValueId concat(llvm::ArrayRef<ValueId> inputs, int64_t dim);
  /// integers: bits of the value, then (dim, low, high) per padded dimension
  ValueId pad(ValueId input, llvm::ArrayRef<int64_t> low,
              llvm::ArrayRef<int64_t> high, double value);
  /// Inserts size-1 dimensions so that the result has `dims` there.
  ValueId insertDims(ValueId input, llvm::ArrayRef<int64_t> dims);

  // Indices.
  /// integers: [dim] for all but gatherND: [batch dims]
  /// `data` plus rows of `updates` at `indices` [n, 1] that count like digits;
  /// noValue where they do not.
  ValueId addByDigits(ValueId data, ValueId indices, ValueId updates);
  /// Negative indices of a dimension count from its end; those of a TopK are
  /// none.
  ValueId countFromStart(ValueId indices, int64_t size);
  ValueId gather(ValueId data, ValueId indices, int64_t dim);
  ValueId gatherElements(ValueId data, ValueId indices, int64_t dim);
  ValueId gatherND(ValueId data, ValueId indices, int64_t batchDims);
  /// Zeros of `shape`, with floats added where the gather of the same name
  /// would read them.
  ValueId scatterElements(ValueId updates, ValueId indices, ShapeRef shape,
                          int64_t dim);
  ValueId scatterND(ValueId updates, ValueId indices, ShapeRef shape);
  /// integers: [k, dim, largest]; returns the values, the indices are next.
  ValueId topK(ValueId input, int64_t k, int64_t dim, bool largest);
  /// integers: [dim, exclusive, reverse]
  ValueId cumSum(ValueId input, int64_t dim, bool exclusive, bool reverse);

  // Mathematics.
  /// integers: [kind, keep, dims..]
  ValueId reduce(ReduceKind kind, ValueId input, llvm::ArrayRef<int64_t> dims,
                 bool keepDims);
  /// Sum over dims times 1/n.
  ValueId mean(ValueId input, llvm::ArrayRef<int64_t> dims, bool keepDims);
  /// numpy's matmul of any ranks. text: the spec.
  ValueId matmul(ValueId lhs, ValueId rhs);
  ValueId product(ValueId lhs, ValueId rhs, std::string spec);
  /// integers: [groups, strides.., pads.., dilations..]
  ValueId conv(ValueId input, ValueId weight, ValueId bias,
               const Window &window, int64_t groups);
  /// What a convolution of a tensor of `shape` by `weight` gives `input`, read
  /// backwards: every element of the input adds a window to the result.
  /// integers: those of conv
  ValueId convTranspose(ValueId input, ValueId weight, ShapeRef shape,
                        const Window &window, int64_t groups);
  /// integers: [count padding, window.., strides.., pads.., dilations..]
  ValueId pool(OpKind kind, ValueId input, llvm::ArrayRef<int64_t> size,
               const Window &window, bool countPadding);

  // Composites.
  /// integers: [dim]
  ValueId softmax(OpKind kind, ValueId input, int64_t dim);
  /// integers: [dim, bits of epsilon, has scale, has bias]
  ValueId layerNorm(ValueId input, ValueId scale, ValueId bias, int64_t dim,
                    double epsilon);
  ValueId rmsNorm(ValueId input, ValueId scale, int64_t dim, double epsilon);
  /// integers: [bits of epsilon]; operands input, scale, bias, mean, variance.
  ValueId batchNorm(llvm::ArrayRef<ValueId> operands, double epsilon);
  /// integers: [interleaved]
  ValueId rope(ValueId input, ValueId cos, ValueId sin, bool interleaved);
  /// integers: [bits of scale, causal, has mask, has offset]
  ValueId attention(ValueId query, ValueId key, ValueId value, ValueId mask,
                    ValueId queryOffset, double scale, bool causal);

  /// The shape to which all broadcast, as numpy says.
  Shape broadcastShapes(llvm::ArrayRef<ShapeRef> shapes) const;
  /// A dimension counted from the end if negative, checked against `rank`.
  int64_t normalizeDim(int64_t dim, int64_t rank) const;

private:
  /// Fails if a result would be beyond what any device can hold.
  void checkShape(ShapeRef shape) const;
  /// True if computing `cells` elements now is within the limits: no more than
  /// 4,096 or than the operands have, and within what is left for the model.
  bool mayFold(int64_t cells, llvm::ArrayRef<ValueId> operands);
  bool mayFold(int64_t cells, int64_t operandCells);
  ValueId append(OpKind kind, llvm::ArrayRef<ValueId> operands,
                 ElementType type, ShapeRef shape,
                 llvm::ArrayRef<int64_t> integers = {}, std::string text = {});
  /// Removes broadcasts and repetition from an operand that `shape` does not
  /// need because the other operands have its sizes.
  void peelBroadcasts(llvm::MutableArrayRef<ValueId> operands, ShapeRef shape);
  /// Folds an elementwise op with one of these functions, or gives none.
  ValueId foldElementwise(OpKind kind, Predicate predicate,
                          llvm::ArrayRef<ValueId> operands, ElementType type,
                          ShapeRef shape);
  ValueId foldMask(OpKind kind, Predicate predicate,
                   llvm::ArrayRef<ValueId> operands, ShapeRef shape);
  /// The same for choices by one affine mask between numbers, and numbers.
  ValueId foldChoice(OpKind kind, Predicate predicate,
                     llvm::ArrayRef<ValueId> operands, ElementType type,
                     ShapeRef shape);
  /// The mask of a function, or a number where it is the same everywhere; none
  /// if the function overflows.
  ValueId makeMask(AffineFunction function, ShapeRef shape);
  /// What a slice of a concatenation has, where that is just one operand; none
  /// else. Slices of slices are looked through.
  ValueId findJoined(ValueId input, SliceRange range) const;
  /// A slice of an affine mask, or of a choice by one; none for others.
  ValueId sliceMask(ValueId input, llvm::ArrayRef<SliceRange> cuts);
  /// Numbers that a type has, as elements of it or of its carrier.
  ValueId retype(ValueId input, ElementType type);
  ValueId castToNarrow(ValueId input, ElementType type,
                       const NarrowRounding &rounding);
  /// Fails if the op computes with operands of a narrow type.
  void checkNotNarrow(OpKind kind, llvm::ArrayRef<ValueId> operands) const;
  ValueId simplifyBinary(OpKind kind, ValueId lhs, ValueId rhs, ShapeRef shape);
  ValueId foldReshape(ValueId input, ShapeRef shape);
  ValueId foldConcat(llvm::ArrayRef<ValueId> inputs, int64_t dim,
                     ShapeRef shape);
  ValueId foldGather(ValueId data, ValueId indices, int64_t dim,
                     ShapeRef shape);
  ValueId foldGatherND(ValueId data, ValueId indices, ShapeRef shape);
  ValueId gatherByRange(ValueId data, ValueId indices, int64_t dim,
                        ShapeRef shape);
  /// The strides of index columns that count like digits below `sizes`.
  std::optional<llvm::SmallVector<int64_t, 4>> matchDigits(ValueId indices,
                                                           ShapeRef sizes);
  ValueId gatherByDigits(ValueId data, ValueId indices);
  ValueId gatherByIndexGrid(ValueId data, ValueId indices, ShapeRef shape);
  ValueId foldReduce(ReduceKind kind, ValueId input,
                     llvm::ArrayRef<int64_t> dims, ShapeRef keptShape,
                     ShapeRef shape);
  /// Fails if the constants of the model become too many.
  void spendCells(int64_t cells);
  /// One column of GatherND's indices as a constant without the last dimension.
  std::vector<ConstantId> getIndexColumns(ValueId indices, int64_t count);
  /// The constant with its unvarying leading dimensions dropped.
  ValueId removeDims(ValueId constant, ShapeRef shape);
  /// Appends on operands without needless broadcasts. If all are constants that
  /// were too large to compute, the op is made on what varies, then repeated.
  ValueId appendElementwise(OpKind kind, llvm::ArrayRef<ValueId> operands,
                            ElementType type, ShapeRef shape,
                            llvm::ArrayRef<int64_t> integers = {});

  /// Elements that folding may still read and compute: bounds time.
  int64_t foldingBudget = int64_t(1) << 28;
  /// Elements that constants may still take: bounds memory.
  int64_t cellBudget = int64_t(1) << 27;
};

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_GRAPH_GRAPHBUILDER_H
