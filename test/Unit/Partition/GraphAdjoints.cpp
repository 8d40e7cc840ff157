//===- GraphAdjoints.cpp - Random adjoints and losses ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "GraphAdjoints.h"

#include "GraphGrower.h"

using namespace mlir;

namespace parplan::test {

static double getProduct(ArrayRef<int64_t> shape) {
  double product = 1;
  for (int64_t size : shape)
    product *= static_cast<double>(size);
  return product;
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

/// Adds an adjoint of op `Op`, whose gradient `x` comes in as many pieces as
/// `indices` has elements.
template <typename Op>
static void addScatter(GraphGrower &grower, Value x, Value indices,
                       ArrayRef<int64_t> data, int64_t parameter) {
  auto [bound, isExact] = grower.getRange(x);
  grower.add(grower.create<Op>(RankedTensorType::get(data, grower.getReal()), x,
                               indices, parameter),
             bound * getProduct(GraphGrower::getShape(indices)), isExact);
}

static void growEmbeddingGradient(GraphGrower &grower) {
  Value x = grower.pickReal(grower.random.between(2, 3));
  ArrayRef<int64_t> shape = GraphGrower::getShape(x);
  auto [bound, isExact] = grower.getRange(x);
  int64_t rows = grower.random.between(1, 6);
  // Some ids lie outside of the table.
  Value ids = grower.makeIndices(shape.drop_back(), -1, rows);
  grower.add(grower.create<EmbeddingGradientOp>(
                 RankedTensorType::get({rows, shape.back()}, grower.getReal()),
                 ids, x),
             bound * getProduct(shape.drop_back()), isExact);
}

static void growGatherGradient(GraphGrower &grower) {
  Random &random = grower.random;
  Value x = grower.pickReal(random.between(1, 3));
  ArrayRef<int64_t> shape = GraphGrower::getShape(x);
  int64_t dim = random.below(shape.size() + 1);
  int64_t indexRank = random.below(shape.size() - dim + 1);
  int64_t size = random.between(1, 6);
  Shape data(shape.take_front(dim));
  data.push_back(size);
  llvm::append_range(data, shape.drop_front(dim + indexRank));
  Value indices =
      grower.makeIndices(shape.slice(dim, indexRank), -size, size - 1);
  addScatter<GatherGradientOp>(grower, x, indices, data, dim);
}

static void growGatherElementsGradient(GraphGrower &grower) {
  Random &random = grower.random;
  Value x = grower.pickReal(random.between(1, 3));
  Shape data(GraphGrower::getShape(x));
  int64_t dim = random.below(data.size());
  for (int64_t &size : data)
    if (random.chance(20))
      ++size;
  data[dim] = random.between(1, 5);
  Value indices =
      grower.makeIndices(GraphGrower::getShape(x), -data[dim], data[dim] - 1);
  addScatter<GatherElementsGradientOp>(grower, x, indices, data, dim);
}

static void growGatherNDGradient(GraphGrower &grower) {
  Random &random = grower.random;
  Value x = grower.pickReal(random.between(1, 3));
  ArrayRef<int64_t> shape = GraphGrower::getShape(x);
  int64_t tupleDims = random.below(shape.size() + 1);
  int64_t batchDims = random.below(tupleDims + 1);
  int64_t depth = random.between(1, 2);
  Shape indexShape(shape.take_front(tupleDims));
  indexShape.push_back(depth);
  Shape data(shape.take_front(batchDims));
  int64_t smallest = 5;
  for (int64_t i = 0; i < depth; ++i) {
    data.push_back(random.between(1, 4));
    smallest = std::min(smallest, data.back());
  }
  llvm::append_range(data, shape.drop_front(tupleDims));
  Value indices = grower.makeIndices(indexShape, -smallest, smallest - 1);
  addScatter<GatherNDGradientOp>(grower, x, indices, data, batchDims);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// A random window over the spatial dimensions of `shape`.
struct RandomWindow {
  SmallVector<int64_t> sizes, strides, pads, dilations, outputs;

  RandomWindow(Random &random, ArrayRef<int64_t> shape) {
    for (int64_t size : shape.drop_front(2)) {
      int64_t window = random.between(1, std::min<int64_t>(size, 2));
      int64_t stride = random.between(1, 2);
      int64_t low = window > 1 ? random.below(2) : 0;
      sizes.push_back(window);
      strides.push_back(stride);
      dilations.push_back(1);
      pads.append({low, 0});
      outputs.push_back((size + low - window) / stride + 1);
    }
  }
};
} // namespace

static void growConvolutionGradient(GraphGrower &grower, Value x) {
  Random &random = grower.random;
  ArrayRef<int64_t> shape = GraphGrower::getShape(x);
  auto [bound, isExact] = grower.getRange(x);
  int64_t groups = shape[1] % 2 == 0 && random.chance(40) ? 2
                   : random.chance(20)                    ? shape[1]
                                                          : 1;
  RandomWindow window(random, shape);
  int64_t perGroup = random.between(1, 3);
  if (random.chance(50)) {
    // x is the input.
    Shape weight = {groups * perGroup, shape[1] / groups};
    llvm::append_range(weight, window.sizes);
    Shape output = {shape[0], weight[0]};
    llvm::append_range(output, window.outputs);
    Value gradient = grower.makeReal(output);
    return grower.add(
        grower.create<ConvWeightGradientOp>(
            RankedTensorType::get(weight, grower.getReal()), x, gradient,
            window.strides, window.pads, window.dilations, groups),
        3 * bound * getProduct(output) / static_cast<double>(output[1]),
        isExact);
  }
  // x is the gradient of an output whose window strides over more.
  Shape input = {shape[0], groups * perGroup};
  Shape weight = {shape[1], perGroup};
  for (auto [size, stride, taps] :
       llvm::zip(shape.drop_front(2), window.strides, window.sizes))
    input.push_back((size - 1) * stride + taps);
  llvm::append_range(weight, window.sizes);
  SmallVector<int64_t> pads(window.pads.size(), 0);
  Value weights = grower.makeReal(weight);
  grower.add(grower.create<ConvInputGradientOp>(
                 RankedTensorType::get(input, grower.getReal()), x, weights,
                 window.strides, pads, window.dilations, groups),
             3 * bound * getProduct(weight), isExact);
}

static void growPoolGradient(GraphGrower &grower, Value x) {
  Random &random = grower.random;
  ArrayRef<int64_t> shape = GraphGrower::getShape(x);
  RandomWindow window(random, shape);
  Shape output(shape.take_front(2));
  llvm::append_range(output, window.outputs);
  Value gradient = grower.makeReal(output);
  if (random.chance(50))
    return grower.add(grower.create<AveragePoolGradientOp>(
                          RankedTensorType::get(shape, grower.getReal()),
                          gradient, window.sizes, window.strides, window.pads,
                          window.dilations, random.chance(50)),
                      3 * getProduct(window.sizes), false);
  // Rounding may change which inexact value is the largest.
  if (grower.getRange(x).isExact)
    grower.add(grower.create<MaxPoolGradientOp>(x, gradient, window.sizes,
                                                window.strides, window.pads,
                                                window.dilations),
               3 * getProduct(window.sizes), true);
}

void growAdjoint(GraphGrower &grower) {
  Random &random = grower.random;
  switch (random.below(6)) {
  case 0:
    return growEmbeddingGradient(grower);
  case 1:
    return growGatherGradient(grower);
  case 2:
    return growGatherElementsGradient(grower);
  case 3:
    return growGatherNDGradient(grower);
  case 4:
    return growConvolutionGradient(grower,
                                   grower.pickReal(random.between(3, 4)));
  case 5:
    return growPoolGradient(grower, grower.pickReal(random.between(3, 4)));
  }
}

//===----------------------------------------------------------------------===//
// Loss
//===----------------------------------------------------------------------===//

void growLoss(GraphGrower &grower) {
  Value x = grower.pickReal(grower.random.between(1, 3));
  if (grower.getRange(x).bound > 20)
    x = grower.create<MulOp>(x, grower.makeSplat(1.0 / 16));
  ArrayRef<int64_t> shape = GraphGrower::getShape(x);
  Value labels = grower.makeIndices(shape.drop_back(), -1, shape.back() - 1);
  auto type = RankedTensorType::get(
      {}, cast<RankedTensorType>(labels.getType()).getElementType());
  auto makeLabel = [&](int64_t label) -> Value {
    return grower.create<ConstantOp>(DenseElementsAttr::get(
        type, IntegerAttr::get(type.getElementType(), label).getValue()));
  };
  Value isIgnored =
      grower.create<CompareOp>(ComparePredicate::lt, labels, makeLabel(0));
  labels = grower.create<SelectOp>(
      isIgnored, makeLabel(CrossEntropyOp::ignoredLabel), labels);
  auto op = grower.create<CrossEntropyOp>(x, labels);
  grower.add(op.getLoss(), 1024, false);
  grower.add(op.getLogSumExp(), 1024, false);
}

} // namespace parplan::test
