//===- Shapes.cpp - Operators that change shapes ---------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

#include "parplan/Support/CheckedMath.h"

#include <algorithm>

namespace parplan::importer {

static void importIdentity(NodeContext &node) {
  node.setOutput(0, node.getAnyInput(0));
}

static void importDropout(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  // From version 12 an operand may switch training on.
  if (node.version >= 12 && node.hasInput(2)) {
    Cell training = node.getKnownScalar(2, "training_mode");
    // A ratio of zero keeps all elements in training too.
    auto keepsAll = [&] {
      return node.hasInput(1) && node.getKnownScalar(1, "ratio").real == 0;
    };
    if (training.integer && !keepsAll())
      failNode(codes::unsupportedForm, "dropout in training mode");
  }
  ValueId input = node.getInput(0);
  node.setOutput(0, input);
  ElementType maskType =
      node.version < 10 ? builder.getType(input) : ElementType::i1;
  if (node.isOutputWanted(1))
    node.setOutput(1, builder.makeNumber(maskType, 1, builder.getShape(input)));
}

static void importReshape(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  std::vector<int64_t> shape = node.getKnownIntegers(1, "the shape");
  bool zeroIsSize = node.version >= 14 && node.getInteger("allowzero", 0);
  ShapeRef from = builder.getShape(input);
  int64_t known = 1;
  std::optional<size_t> inferred;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !zeroIsSize) {
      if (i >= from.size())
        failNode(codes::badNode, "shape ", printShape(shape),
                 " copies a dimension that ", printShape(from), " lacks");
      shape[i] = from[i];
    }
    if (shape[i] == -1 && !inferred) {
      inferred = i;
      continue;
    }
    std::optional<int64_t> product =
        shape[i] < 0 ? std::nullopt : checkedMultiply(known, shape[i]);
    if (!product)
      failNode(codes::badNode, "cannot reshape ", printShape(from), " to ",
               printShape(shape));
    known = *product;
  }
  if (inferred) {
    int64_t elements = countElements(from);
    if (known == 0 || elements % known != 0)
      failNode(codes::badNode, "cannot reshape ", printShape(from), " to ",
               printShape(shape));
    shape[*inferred] = elements / known;
  }
  node.setOutput(0, builder.reshape(input, shape));
}

static void importFlatten(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  ShapeRef from = builder.getShape(input);
  int64_t rank = from.size(), axis = node.getInteger("axis", 1);
  if (axis < -rank || axis > rank)
    failNode(codes::badNode, "axis ", axis, " is outside a tensor of rank ",
             rank);
  if (axis < 0)
    axis += rank;
  node.setOutput(
      0, builder.reshape(input, {countElements(from.take_front(axis)),
                                 countElements(from.drop_front(axis))}));
}

/// Axes as an attribute until version 11, as an operand from 13 on.
static std::optional<std::vector<int64_t>> getAxes(NodeContext &node) {
  if (node.version < 13)
    return node.getIntegers("axes");
  if (node.hasInput(1))
    return node.getKnownIntegers(1, "axes");
  return std::nullopt;
}

static void importSqueeze(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  ShapeRef from = builder.getShape(input);
  std::vector<bool> drops(from.size(), false);
  if (auto axes = getAxes(node)) {
    for (int64_t axis : *axes) {
      int64_t dim = builder.normalizeDim(axis, from.size());
      if (from[dim] != 1)
        failNode(codes::badNode, "axis ", axis, " of ", printShape(from),
                 " does not have size 1");
      drops[dim] = true;
    }
  } else {
    for (size_t dim = 0; dim < from.size(); ++dim)
      drops[dim] = from[dim] == 1;
  }
  Shape shape;
  for (size_t dim = 0; dim < from.size(); ++dim)
    if (!drops[dim])
      shape.push_back(from[dim]);
  node.setOutput(0, builder.reshape(input, shape));
}

static void importUnsqueeze(NodeContext &node) {
  auto axes = getAxes(node);
  if (!axes)
    failNode(codes::badNode, "axes are missing");
  node.setOutput(0, node.builder.insertDims(node.getInput(0), *axes));
}

static void importExpand(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  std::vector<int64_t> wanted = node.getKnownIntegers(1, "the shape");
  for (int64_t size : wanted)
    if (size < 0)
      failNode(codes::badNode, "shape ", printShape(wanted));
  // Broadcasting goes both ways: a wanted 1 keeps the size of the operand.
  Shape shape = builder.broadcastShapes({builder.getShape(input), wanted});
  node.setOutput(0, builder.broadcast(input, shape));
}

static void importTranspose(NodeContext &node) {
  ValueId input = node.getInput(0);
  int64_t rank = node.builder.getRank(input);
  std::vector<int64_t> permutation;
  if (auto given = node.getIntegers("perm"))
    permutation = *given;
  else
    for (int64_t dim = rank; dim-- > 0;)
      permutation.push_back(dim);
  node.setOutput(0, node.builder.transpose(input, permutation));
}

static void importTile(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  std::vector<int64_t> repeats = node.getKnownIntegers(1, "repeats");
  ShapeRef from = builder.getShape(input);
  if (repeats.size() != from.size())
    failNode(codes::badNode, repeats.size(), " repeats for a tensor of rank ",
             from.size());
  // [n] -> [1, n] -> [r, n] -> [r n] for every repeated dimension.
  Shape split, spread, shape;
  for (size_t dim = 0; dim < from.size(); ++dim) {
    std::optional<int64_t> size =
        repeats[dim] < 0 ? std::nullopt
                         : checkedMultiply(from[dim], repeats[dim]);
    if (!size)
      failNode(codes::badNode, "repeats ", printShape(repeats));
    if (repeats[dim] != 1) {
      split.push_back(1);
      spread.push_back(repeats[dim]);
    }
    split.push_back(from[dim]);
    spread.push_back(from[dim]);
    shape.push_back(*size);
  }
  node.setOutput(
      0, builder.reshape(
             builder.broadcast(builder.reshape(input, split), spread), shape));
}

static void importTrilu(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  int64_t rank = builder.getRank(input);
  if (rank < 2)
    failNode(codes::badNode, "operand of shape ",
             printShape(builder.getShape(input)));
  int64_t diagonal = node.hasInput(1) ? node.getKnownInteger(1, "k") : 0;
  diagonal =
      std::clamp<int64_t>(diagonal, -(int64_t(1) << 40), int64_t(1) << 40);
  bool upper = node.getInteger("upper", 1) != 0;
  Shape rows = {builder.getShape(input)[rank - 2], 1};
  Shape columns = {1, builder.getShape(input)[rank - 1]};
  ValueId row = builder.makeRange(ElementType::i64, rows, 0, diagonal, 1);
  ValueId column = builder.makeRange(ElementType::i64, columns, 1, 0, 1);
  // Element (i, j) stays where j >= i + k, or j <= i + k.
  ValueId mask =
      builder.compare(upper ? Predicate::ge : Predicate::le, column, row);
  ElementType type = builder.getType(input);
  ValueId zero = builder.makeNumber(type, 0);
  node.setOutput(0, isBool(type)
                        ? builder.binary(OpKind::logicalAnd, input, mask)
                        : builder.select(mask, input, zero));
}

llvm::ArrayRef<OperatorEntry> getShapeOperators() {
  constexpr Support folded = Support::folded, direct = Support::direct,
                    lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"Identity", {1, 13, 14, 16, 19, 21, 23, 24, 25}, folded, importIdentity},
      {"Dropout", {7, 10, 12, 13, 22}, folded, importDropout, "in inference"},
      {"Reshape", {5, 13, 14, 19, 21, 23, 24, 25}, direct, importReshape},
      {"Flatten",
       {1, 9, 11, 13, 21, 23, 24, 25},
       direct,
       importFlatten,
       "reshape"},
      {"Squeeze",
       {1, 11, 13, 21, 23, 24, 25},
       direct,
       importSqueeze,
       "reshape"},
      {"Unsqueeze",
       {1, 11, 13, 21, 23, 24, 25},
       direct,
       importUnsqueeze,
       "reshape"},
      {"Expand", {8, 13}, direct, importExpand, "broadcast"},
      {"Transpose", {1, 13, 21, 23, 24, 25}, direct, importTranspose},
      {"Tile", {6, 13}, lowered, importTile, "reshape and broadcast"},
      {"Trilu", {14}, lowered, importTrilu, "a choice by an affine mask"},
  };
  return entries;
}

} // namespace parplan::importer
