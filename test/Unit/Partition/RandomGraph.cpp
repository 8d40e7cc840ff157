//===- RandomGraph.cpp - Small random graphs of the dialect ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "GraphAdjoints.h"
#include "GraphGrower.h"

#include <cmath>

using namespace mlir;

namespace parplan::test {

static double getBound(GraphGrower &grower, Value value) {
  return grower.getRange(value).bound;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// A shape that broadcasts to `shape`.
static Shape makeBroadcastable(Random &random, ArrayRef<int64_t> shape) {
  Shape result(
      shape.drop_front(random.chance(30) ? random.below(shape.size() + 1) : 0));
  for (int64_t &size : result)
    if (random.chance(20))
      size = 1;
  return result;
}

/// Bits of integers, and the greatest of integers that may all be negative.
static void growIntegers(GraphGrower &grower, Value x, double bound) {
  auto type = cast<RankedTensorType>(x.getType());
  unsigned width = 8u << grower.random.below(4);
  auto integerType = type.clone(grower.builder.getIntegerType(width));
  Value integers = grower.create<CastOp>(integerType, x);
  if (type.getRank() == 0 || grower.random.chance(50)) {
    Value flipped = grower.create<NotOp>(integers);
    Value bits = grower.random.chance(50)
                     ? grower.create<XorOp>(flipped, integers)
                     : flipped;
    return grower.add(grower.create<CastOp>(type, bits), bound + 1, true);
  }
  Value greatest = grower.create<ReduceOp>(
      ReduceKind::max, grower.create<NotOp>(integers),
      SmallVector<int64_t>{grower.random.below(type.getRank())},
      /*keep_dims=*/true);
  grower.add(grower.create<CastOp>(cast<RankedTensorType>(greatest.getType())
                                       .clone(type.getElementType()),
                                   greatest),
             bound + 1, true);
}

/// Functions of numbers within [-1/2, 1/2], or from 1 on.
static void growOfSmall(GraphGrower &grower, Value x) {
  Value small =
      grower.create<MulOp>(grower.create<TanhOp>(x), grower.makeSplat(0.5));
  switch (grower.random.below(7)) {
  case 0:
    return grower.add(grower.create<AsinOp>(small), 1, false);
  case 1:
    return grower.add(grower.create<AcosOp>(small), 3, false);
  case 2:
    return grower.add(grower.create<AtanhOp>(small), 1, false);
  case 3:
    return grower.add(grower.create<TanOp>(small), 1, false);
  case 4:
    return grower.add(grower.create<SinhOp>(small), 1, false);
  case 5:
    return grower.add(grower.create<CoshOp>(small), 2, false);
  default:
    return grower.add(
        grower.create<AcoshOp>(grower.create<AddOp>(
            grower.create<MulOp>(small, small), grower.makeSplat(1.5))),
        2, false);
  }
}

static void growUnary(GraphGrower &grower) {
  Value x = grower.pickReal();
  auto [bound, isExact] = grower.getRange(x);
  // Functions with jumps are for exact values only.
  switch (grower.random.below(isExact ? 14 : 11)) {
  case 0:
    return grower.add(grower.create<NegOp>(x), bound, isExact);
  case 1:
    return grower.add(grower.create<AbsOp>(x), bound, isExact);
  case 2:
    return grower.add(grower.create<ReluOp>(x), bound, isExact);
  case 3:
    return grower.add(grower.create<CosOp>(x), 1, false);
  case 4:
    return grower.add(grower.create<SigmoidOp>(x), 1, false);
  case 5:
    return grower.add(grower.create<TanhOp>(x), 1, false);
  case 6:
    return grower.add(grower.create<GeluOp>(x, grower.random.chance(50)), bound,
                      false);
  case 7:
    return grower.add(grower.create<SiluOp>(x), bound, false);
  case 8:
    return grower.add(
        grower.create<ExpOp>(grower.create<NegOp>(grower.create<AbsOp>(x))), 1,
        false);
  case 9:
    return grower.random.chance(50)
               ? grower.add(grower.create<AtanOp>(x), 2, false)
               : grower.add(grower.create<AsinhOp>(x), bound, false);
  case 10:
    return growOfSmall(grower, x);
  case 11:
    if (grower.random.chance(50))
      return growIntegers(grower, x, bound);
    return grower.add(grower.create<SignOp>(x), 1, true);
  case 12: {
    auto type = cast<RankedTensorType>(x.getType());
    Value integers =
        grower.create<CastOp>(type.clone(grower.builder.getI64Type()), x);
    return grower.add(grower.create<CastOp>(type, integers), bound, true);
  }
  case 13: {
    auto type = cast<RankedTensorType>(x.getType());
    Value narrow =
        grower.create<CastOp>(type.clone(grower.builder.getF32Type()), x);
    return grower.add(grower.create<CastOp>(type, narrow), bound, true);
  }
  }
}

static void growBinary(GraphGrower &grower) {
  Random &random = grower.random;
  Value x = grower.pickReal();
  Value y =
      random.chance(25)
          ? x
          : grower.makeReal(makeBroadcastable(random, grower.getShape(x)));
  double left = getBound(grower, x), right = getBound(grower, y);
  bool isExact = grower.getRange(x).isExact;
  if (random.chance(30))
    std::swap(x, y);
  switch (random.below(isExact ? 8 : 5)) {
  case 0:
    return grower.add(grower.create<AddOp>(x, y), left + right, isExact);
  case 1:
    return grower.add(grower.create<SubOp>(x, y), left + right, isExact);
  case 2:
    return grower.add(grower.create<MulOp>(x, y), left * right, isExact);
  case 3:
    return grower.add(grower.create<MaxOp>(x, y), std::max(left, right),
                      isExact);
  case 4:
    return grower.add(grower.create<MinOp>(x, y), std::max(left, right),
                      isExact);
  case 5: {
    auto predicate = static_cast<ComparePredicate>(random.below(6));
    Value condition = grower.create<CompareOp>(predicate, x, y);
    return grower.add(grower.create<SelectOp>(condition, x, y),
                      std::max(left, right), true);
  }
  case 6: {
    Value divisor =
        grower.makePositive(makeBroadcastable(random, grower.getShape(x)));
    return grower.add(grower.create<ModOp>(x, divisor), 3, true);
  }
  case 7: {
    Value exponent = grower.makeSplat(2);
    return grower.add(grower.create<PowOp>(x, exponent),
                      std::pow(getBound(grower, x), 2), true);
  }
  }
}

/// Values that depend on positions.
static void growPositional(GraphGrower &grower) {
  Random &random = grower.random;
  Value x = grower.pickReal();
  auto type = cast<RankedTensorType>(x.getType());
  auto [bound, isExact] = grower.getRange(x);
  if (random.chance(40)) {
    if (type.getRank() == 0)
      return;
    Value index = grower.create<IotaOp>(type, random.below(type.getRank()));
    return grower.add(grower.create<AddOp>(x, index), bound + 6, isExact);
  }
  SmallVector<int64_t> coefficients;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    coefficients.push_back(random.between(-2, 2));
  Value mask =
      grower.create<AffineMaskOp>(type.clone(grower.builder.getI1Type()),
                                  coefficients, random.between(-3, 3));
  Value other = grower.makeSplat(5);
  grower.add(grower.create<SelectOp>(mask, x, other), std::max(bound, 5.0),
             isExact);
}

void growElementwise(GraphGrower &grower) {
  int64_t kind = grower.random.below(10);
  if (kind < 4)
    growUnary(grower);
  else if (kind < 8)
    growBinary(grower);
  else
    growPositional(grower);
}

//===----------------------------------------------------------------------===//
// Reductions and products
//===----------------------------------------------------------------------===//

void growReduction(GraphGrower &grower) {
  Random &random = grower.random;
  Value x = grower.pickReal();
  ArrayRef<int64_t> shape = grower.getShape(x);
  auto [bound, isExact] = grower.getRange(x);
  SmallVector<int64_t> dims;
  int64_t count = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (random.chance(50)) {
      dims.push_back(dim);
      count *= shape[dim];
    }
  auto kind = static_cast<ReduceKind>(random.below(3));
  if (kind == ReduceKind::prod && std::pow(bound, count) > 1e6)
    kind = ReduceKind::max;
  double after = kind == ReduceKind::sum    ? bound * count
                 : kind == ReduceKind::prod ? std::pow(bound, count)
                                            : bound;
  grower.add(grower.create<ReduceOp>(kind, x, dims, random.chance(50)), after,
             isExact);
}

void growMatmul(GraphGrower &grower) {
  Random &random = grower.random;
  Value x = grower.pickReal();
  ArrayRef<int64_t> shape = grower.getShape(x);
  std::string lhs, rhs, result;
  SmallVector<std::pair<char, int64_t>> other;
  int64_t count = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    char letter = static_cast<char>('a' + dim);
    lhs += letter;
    int64_t role = random.below(3);
    if (role > 0)
      other.emplace_back(letter, shape[dim]);
    if (role < 2)
      result += letter;
    else
      count *= shape[dim];
  }
  for (int64_t i = random.below(3); i > 0; --i) {
    char letter = static_cast<char>('x' + i);
    other.emplace_back(letter, random.between(2, 4));
    result += letter;
  }
  random.shuffle(other);
  random.shuffle(result);
  Shape otherShape;
  for (auto [letter, size] : other) {
    rhs += letter;
    otherShape.push_back(size);
  }
  Value y = grower.makeReal(otherShape);
  auto [bound, isExact] = grower.getRange(x);
  double after = bound * getBound(grower, y) * static_cast<double>(count);
  if (random.chance(30)) {
    std::swap(x, y);
    std::swap(lhs, rhs);
  }
  grower.add(grower.create<MatmulOp>(x, y, lhs + "," + rhs + "->" + result),
             after, isExact);
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

void growNorm(GraphGrower &grower) {
  Random &random = grower.random;
  Value x = grower.pickReal(random.between(2, 3));
  ArrayRef<int64_t> shape = grower.getShape(x);
  int64_t dim = random.below(shape.size());
  double bound = getBound(grower, x);
  APFloat epsilon(0.25);
  auto maybe = [&](ArrayRef<int64_t> operandShape) {
    return random.chance(60) ? grower.makeReal(operandShape) : Value();
  };
  switch (random.below(5)) {
  case 0:
    return grower.add(grower.create<SoftmaxOp>(x, dim), 1, false);
  case 1:
    return grower.add(grower.create<LogSoftmaxOp>(x, dim), 2 * bound + 6,
                      false);
  case 2: {
    Value scale = maybe(shape.drop_front(dim));
    Value bias = maybe(shape.drop_front(dim));
    return grower.add(grower.create<LayerNormOp>(x, scale, bias, dim, epsilon),
                      60, false);
  }
  case 3:
    return grower.add(
        grower.create<RMSNormOp>(x, maybe(shape.drop_front(dim)), dim, epsilon),
        60, false);
  case 4: {
    Shape channels = {shape[1]};
    Value scale = grower.makeReal(channels), bias = grower.makeReal(channels);
    Value mean = grower.makeReal(channels);
    Value variance = grower.makePositive(channels);
    return grower.add(
        grower.create<BatchNormOp>(x, scale, bias, mean, variance, epsilon),
        3 * bound + 12, false);
  }
  }
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

Graph makeRandomGraph(MLIRContext &context, Random &random) {
  GraphGrower grower(context, random);
  using Grow = void (*)(GraphGrower &);
  constexpr Grow families[] = {
      growElementwise, growElementwise, growShape,   growShape,  growIndexing,
      growReduction,   growNorm,        growMatmul,  growMatmul, growWindow,
      growAttention,   growAdjoint,     growAdjoint, growLoss};
  for (int64_t i = random.between(3, 8); i > 0; --i)
    random.pick(families)(grower);
  return grower.finish();
}

} // namespace parplan::test
