//===- GraphShapes.cpp - Random ops that move or index elements -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "GraphGrower.h"

#include <numeric>

using namespace mlir;

namespace parplan::test {

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

/// Merges two neighbours, or splits a dimension, or adds one of size 1.
static Shape makeReshaped(Random &random, ArrayRef<int64_t> shape) {
  Shape result(shape);
  if (shape.empty() || random.chance(20)) {
    result.insert(result.begin() + random.below(shape.size() + 1), 1);
    return result;
  }
  size_t dim = random.below(shape.size());
  if (shape.size() > 1 && random.chance(50)) {
    dim = random.below(shape.size() - 1);
    result[dim] *= result[dim + 1];
    result.erase(result.begin() + dim + 1);
    return result;
  }
  for (int64_t divisor : {2, 3})
    if (shape[dim] % divisor == 0 && random.chance(70)) {
      result[dim] /= divisor;
      result.insert(result.begin() + dim + random.below(2), divisor);
      return result;
    }
  return result;
}

static void growBroadcast(GraphGrower &grower, Value x, Range range) {
  ArrayRef<int64_t> shape = GraphGrower::getShape(x);
  Shape target(shape);
  for (int64_t &size : target)
    if (size == 1)
      size = grower.random.between(1, 4);
  if (target.size() < 4 && grower.random.chance(60))
    target.insert(target.begin(), grower.random.between(2, 3));
  grower.add(grower.create<BroadcastOp>(
                 RankedTensorType::get(target, grower.getReal()), x),
             range.bound, range.isExact);
}

static void growSlice(GraphGrower &grower, Value x, Range range) {
  ArrayRef<int64_t> shape = GraphGrower::getShape(x);
  SmallVector<int64_t> dims, starts, limits, steps;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (!grower.random.chance(40))
      continue;
    dims.push_back(dim);
    int64_t first = grower.random.below(shape[dim]);
    int64_t last = grower.random.between(first, shape[dim] - 1);
    bool isBackward = grower.random.chance(30);
    starts.push_back(isBackward ? last : first);
    limits.push_back(isBackward ? first - 1 : last + 1);
    steps.push_back((isBackward ? -1 : 1) * grower.random.between(1, 2));
  }
  grower.add(grower.create<SliceOp>(x, dims, starts, limits, steps),
             range.bound, range.isExact);
}

static void growPad(GraphGrower &grower, Value x, Range range) {
  SmallVector<int64_t> dims, low, high;
  for (size_t dim = 0; dim < GraphGrower::getShape(x).size(); ++dim) {
    if (!grower.random.chance(40))
      continue;
    dims.push_back(dim);
    low.push_back(grower.random.below(3));
    high.push_back(grower.random.below(2));
  }
  double value = static_cast<double>(grower.random.below(3));
  grower.add(grower.create<PadOp>(x, dims, low, high, APFloat(value)),
             std::max(range.bound, 2.0), range.isExact);
}

static void growConcat(GraphGrower &grower, Value x, Range range) {
  Shape shape(GraphGrower::getShape(x));
  if (shape.empty())
    return;
  int64_t dim = grower.random.below(shape.size());
  SmallVector<Value> inputs = {x};
  shape[dim] = grower.random.between(1, 3);
  inputs.push_back(grower.makeReal(shape));
  if (grower.random.chance(30))
    inputs.push_back(x);
  grower.random.shuffle(inputs);
  grower.add(grower.create<ConcatOp>(inputs, dim), std::max(range.bound, 3.0),
             range.isExact);
}

void growShape(GraphGrower &grower) {
  Value x = grower.pickReal();
  Range range = grower.getRange(x);
  ArrayRef<int64_t> shape = GraphGrower::getShape(x);
  switch (grower.random.below(7)) {
  case 0:
  case 1:
    return grower.add(
        grower.create<ReshapeOp>(
            RankedTensorType::get(makeReshaped(grower.random, shape),
                                  grower.getReal()),
            x),
        range.bound, range.isExact);
  case 2:
    return growBroadcast(grower, x, range);
  case 3: {
    SmallVector<int64_t> permutation(shape.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    grower.random.shuffle(permutation);
    return grower.add(grower.create<TransposeOp>(x, permutation), range.bound,
                      range.isExact);
  }
  case 4:
    return growSlice(grower, x, range);
  case 5:
    return growPad(grower, x, range);
  case 6:
    return growConcat(grower, x, range);
  }
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

static void growGatherElements(GraphGrower &grower, Value x, Range range) {
  Shape shape(GraphGrower::getShape(x));
  int64_t dim = grower.random.below(shape.size()), size = shape[dim];
  for (int64_t &other : shape)
    if (grower.random.chance(20))
      other = grower.random.between(1, other);
  shape[dim] = grower.random.between(1, 4);
  Value indices = grower.makeIndices(shape, -size, size - 1);
  grower.add(grower.create<GatherElementsOp>(x, indices, dim), range.bound,
             range.isExact);
}

static void growGatherND(GraphGrower &grower, Value x, Range range) {
  ArrayRef<int64_t> shape = GraphGrower::getShape(x);
  int64_t rank = shape.size();
  int64_t batchDims = grower.random.below(rank);
  int64_t depth = grower.random.between(1, rank - batchDims);
  Shape indexShape(shape.take_front(batchDims));
  if (grower.random.chance(60))
    indexShape.push_back(grower.random.between(1, 4));
  indexShape.push_back(depth);
  int64_t smallest = *std::min_element(shape.begin() + batchDims,
                                       shape.begin() + batchDims + depth);
  Value indices = grower.makeIndices(indexShape, -smallest, smallest - 1);
  grower.add(grower.create<GatherNDOp>(x, indices, batchDims), range.bound,
             range.isExact);
}

void growIndexing(GraphGrower &grower) {
  Random &random = grower.random;
  Value x = grower.pickReal(random.between(1, 3));
  Range range = grower.getRange(x);
  ArrayRef<int64_t> shape = GraphGrower::getShape(x);
  int64_t dim = random.below(shape.size());
  switch (random.below(7)) {
  case 0:
  case 1: {
    Value table = grower.pickReal(2);
    int64_t rows = GraphGrower::getShape(table)[0];
    // Some ids lie outside of the table.
    Value ids =
        grower.makeIndices(grower.makeShape(random.between(1, 2)), -1, rows);
    Range tableRange = grower.getRange(table);
    return grower.add(grower.create<EmbeddingOp>(ids, table), tableRange.bound,
                      tableRange.isExact);
  }
  case 2: {
    Value indices = grower.makeIndices(grower.makeShape(random.below(3)),
                                       -shape[dim], shape[dim] - 1);
    return grower.add(grower.create<GatherOp>(x, indices, dim), range.bound,
                      range.isExact);
  }
  case 3:
    return growGatherElements(grower, x, range);
  case 4:
    return growGatherND(grower, x, range);
  case 5: {
    // Rounding may change the order of inexact values.
    if (!range.isExact)
      return;
    auto op = grower.create<TopKOp>(x, random.between(1, shape[dim]), dim,
                                    random.chance(50));
    auto type = cast<RankedTensorType>(op.getValues().getType());
    Value indices = grower.create<CastOp>(type, op.getIndices());
    grower.add(indices, 6, true);
    return grower.add(op.getValues(), range.bound, true);
  }
  case 6:
    return grower.add(
        grower.create<CumSumOp>(x, dim, random.chance(50), random.chance(50)),
        range.bound * static_cast<double>(shape[dim]), range.isExact);
  }
}

//===----------------------------------------------------------------------===//
// Convolution and pooling
//===----------------------------------------------------------------------===//

static void growConvolution(GraphGrower &grower, Value x, Range range) {
  Random &random = grower.random;
  ArrayRef<int64_t> shape = GraphGrower::getShape(x);
  int64_t groups = shape[1] % 2 == 0 && random.chance(40) ? 2
                   : random.chance(20)                    ? shape[1]
                                                          : 1;
  SmallVector<int64_t> strides, pads, dilations;
  Shape weight = {groups * random.between(1, 3), shape[1] / groups};
  int64_t taps = weight[1];
  for (size_t dim = 2; dim < shape.size(); ++dim) {
    int64_t window = random.between(1, std::min<int64_t>(shape[dim], 3));
    weight.push_back(window);
    taps *= window;
    strides.push_back(random.between(1, 2));
    dilations.push_back(1);
    pads.push_back(random.below(2));
    pads.push_back(random.below(2));
  }
  Value weights = grower.makeReal(weight);
  Value bias = random.chance(60) ? grower.makeReal({weight[0]}) : Value();
  grower.add(
      grower.create<ConvOp>(x, weights, bias, strides, pads, dilations, groups),
      range.bound * 3 * static_cast<double>(taps) + 3, range.isExact);
}

void growWindow(GraphGrower &grower) {
  Random &random = grower.random;
  Value x = grower.pickReal(random.between(3, 4));
  Range range = grower.getRange(x);
  ArrayRef<int64_t> shape = GraphGrower::getShape(x);
  int64_t kind = random.below(4);
  if (kind < 2)
    return growConvolution(grower, x, range);
  SmallVector<int64_t> window, strides, pads, dilations;
  for (int64_t size : shape.drop_front(2)) {
    window.push_back(random.between(1, std::min<int64_t>(size, 2)));
    strides.push_back(random.between(1, 2));
    dilations.push_back(1);
    // A window of padding alone has no maximum and no average.
    pads.append({window.back() > 1 ? random.below(2) : 0, 0});
  }
  if (kind == 2)
    return grower.add(
        grower.create<MaxPoolOp>(x, window, strides, pads, dilations),
        range.bound, range.isExact);
  grower.add(grower.create<AveragePoolOp>(x, window, strides, pads, dilations,
                                          random.chance(50)),
             range.bound, false);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// A query of the graph, so that attention is not always first.
static Value makeQuery(GraphGrower &grower) {
  Value x = grower.pickReal(4);
  if (grower.getRange(x).bound > 20)
    x = grower.create<MulOp>(x, grower.makeSplat(1.0 / 16));
  return x;
}

static void growRope(GraphGrower &grower) {
  Value x = grower.pickReal(4);
  ArrayRef<int64_t> shape = GraphGrower::getShape(x);
  if (shape[3] % 2 != 0)
    return;
  Range range = grower.getRange(x);
  Shape table = {shape[1], 1, shape[3] / 2};
  Value cosine = grower.makeReal(table), sine = grower.makeReal(table);
  grower.add(grower.create<RopeOp>(x, cosine, sine, grower.random.chance(50)),
             6 * range.bound, range.isExact);
}

void growAttention(GraphGrower &grower) {
  Random &random = grower.random;
  if (random.chance(25))
    return growRope(grower);
  Value query = makeQuery(grower);
  ArrayRef<int64_t> shape = GraphGrower::getShape(query);
  int64_t batch = shape[0], queries = shape[1], heads = shape[2];
  int64_t keys = random.between(1, 5), groups = heads;
  if (heads % 2 == 0 && random.chance(50))
    groups = random.chance(50) ? heads / 2 : 2;
  if (random.chance(20))
    groups = 1;
  Value key = grower.makeReal({batch, keys, groups, shape[3]});
  Value value = grower.makeReal({batch, keys, groups, random.between(1, 4)});
  Value mask, offset;
  Shape scores = {batch, heads, queries, keys};
  if (random.chance(50)) {
    Shape maskShape(ArrayRef<int64_t>(scores).drop_front(random.below(3)));
    for (int64_t &size : maskShape)
      if (random.chance(30))
        size = 1;
    mask = random.chance(50) ? grower.makeBools(maskShape)
                             : grower.makeReal(maskShape);
  }
  bool isCausal = random.chance(50);
  if (isCausal && random.chance(40))
    offset = grower.makeIndices({}, 0, 3);
  bool isTrained = random.chance(50);
  auto attention = grower.create<AttentionOp>(
      query, key, value, mask, offset, /*sink=*/Value(), APFloat(0.25),
      isCausal,
      /*zero_masked_rows=*/true, /*statistics=*/isTrained);
  grower.add(attention.getResult(), 3, false);
  if (!isTrained)
    return;
  Value cotangent =
      grower.makeReal(GraphGrower::getShape(attention.getResult()));
  auto gradient = grower.create<AttentionGradientOp>(
      query, key, value, attention.getResult(), attention.getLogSumExp(),
      cotangent, mask, offset, APFloat(0.25), isCausal);
  for (Value result : gradient->getResults())
    grower.add(result, 2000, false);
}

} // namespace parplan::test
