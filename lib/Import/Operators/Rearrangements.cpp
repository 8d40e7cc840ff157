//===- Rearrangements.cpp - Blocks, crops, reversals -----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

#include <algorithm>

namespace parplan::importer {

/// The shape of an operand of four dimensions and the side of a block.
static Shape readBlocks(NodeContext &node, int64_t &side) {
  Shape shape = node.builder.getShape(node.getInput(0));
  side = node.getRequiredInteger("blocksize");
  if (shape.size() != 4 || side < 1 || side > (int64_t(1) << 20))
    failNode(codes::badNode, "blocks of size ", side,
             " in an operand of shape ", printShape(shape));
  return shape;
}

static void importDepthToSpace(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  int64_t side;
  Shape shape = readBlocks(node, side);
  std::string mode = node.version < 11 ? "DCR" : node.getText("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    failNode(codes::badNode, "mode is neither DCR nor CRD");
  if (shape[1] % (side * side) != 0)
    failNode(codes::badNode, shape[1], " channels in blocks of size ", side);
  int64_t depth = shape[1] / (side * side);
  bool isDepthLast = mode == "DCR";
  ValueId split = builder.reshape(
      node.getInput(0),
      isDepthLast ? Shape{shape[0], side, side, depth, shape[2], shape[3]}
                  : Shape{shape[0], depth, side, side, shape[2], shape[3]});
  // To [n, depth, h, side, w, side].
  ValueId placed = isDepthLast ? builder.transpose(split, {0, 3, 4, 1, 5, 2})
                               : builder.transpose(split, {0, 1, 4, 2, 5, 3});
  node.setOutput(0, builder.reshape(placed, {shape[0], depth, shape[2] * side,
                                             shape[3] * side}));
}

static void importSpaceToDepth(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  int64_t side;
  Shape shape = readBlocks(node, side);
  if (shape[2] % side != 0 || shape[3] % side != 0)
    failNode(codes::badNode, "blocks of size ", side,
             " in an operand of shape ", printShape(shape));
  int64_t rows = shape[2] / side, columns = shape[3] / side;
  ValueId split = builder.reshape(
      node.getInput(0), {shape[0], shape[1], rows, side, columns, side});
  ValueId placed = builder.transpose(split, {0, 3, 5, 1, 2, 4});
  node.setOutput(0, builder.reshape(placed, {shape[0], shape[1] * side * side,
                                             rows, columns}));
}

static void importCenterCropPad(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  int64_t rank = builder.getRank(input);
  std::vector<int64_t> sizes = node.getKnownIntegers(1, "the shape"), axes;
  if (auto given = node.getIntegers("axes"))
    axes = *given;
  else
    for (int64_t dim = 0; dim < rank; ++dim)
      axes.push_back(dim);
  if (sizes.size() != axes.size())
    failNode(codes::badNode, sizes.size(), " sizes for ", axes.size(), " axes");
  std::vector<int64_t> low(rank, 0), high(rank, 0);
  constexpr int64_t largest = int64_t(1) << 40;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t dim = builder.normalizeDim(axes[i], rank);
    if (sizes[i] < 0 || sizes[i] > largest)
      failNode(codes::badNode, "shape ", printShape(sizes));
    // Of an odd difference the larger half is at the end.
    int64_t more = sizes[i] - builder.getShape(input)[dim];
    low[dim] = more / 2;
    high[dim] = more - more / 2;
  }
  node.setOutput(0, builder.pad(input, low, high, 0));
}

/// Element t of row b is element lengths[b] - 1 - t of the operand, or t where
/// that is past the length.
static void importReverseSequence(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0), lengths = node.getInput(1);
  Shape shape = builder.getShape(input);
  int64_t time = node.getInteger("time_axis", 0),
          batch = node.getInteger("batch_axis", 1);
  if (shape.size() < 2 || time + batch != 1 || time * batch != 0)
    failNode(codes::badNode, "time_axis ", time, " and batch_axis ", batch,
             " of an operand of shape ", printShape(shape));
  if (builder.getShape(lengths) != Shape({shape[batch]}))
    failNode(codes::badNode, "lengths of shape ",
             printShape(builder.getShape(lengths)), " for ", shape[batch],
             " sequences");
  Shape column(shape.size(), 1), row(shape.size(), 1);
  column[batch] = shape[batch];
  row[time] = shape[time];
  ValueId length =
      builder.reshape(builder.cast(lengths, ElementType::i64), column);
  ValueId position = builder.makeRange(ElementType::i64, row, time, 0, 1);
  ValueId last = builder.binary(OpKind::sub, length,
                                builder.makeNumber(ElementType::i64, 1));
  ValueId source =
      builder.select(builder.compare(Predicate::lt, position, length),
                     builder.binary(OpKind::sub, last, position), position);
  node.setOutput(
      0, builder.gatherElements(input, builder.broadcast(source, shape), time));
}

static void importEyeLike(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  ShapeRef shape = builder.getShape(input);
  if (shape.size() != 2)
    failNode(codes::badNode, "operand of shape ", printShape(shape));
  ElementType type = node.getElementType("dtype", builder.getType(input));
  constexpr int64_t farthest = int64_t(1) << 40;
  int64_t diagonal = std::clamp(node.getInteger("k", 0), -farthest, farthest);
  ValueId row =
      builder.makeRange(ElementType::i64, {shape[0], 1}, 0, diagonal, 1);
  ValueId column = builder.makeRange(ElementType::i64, {1, shape[1]}, 1, 0, 1);
  node.setOutput(
      0, builder.cast(builder.compare(Predicate::eq, column, row), type));
}

llvm::ArrayRef<OperatorEntry> getRearrangementOperators() {
  constexpr Support lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"DepthToSpace",
       {1, 11, 13},
       lowered,
       importDepthToSpace,
       "reshape and transpose"},
      {"SpaceToDepth",
       {1, 13},
       lowered,
       importSpaceToDepth,
       "reshape and transpose"},
      {"CenterCropPad", {18}, lowered, importCenterCropPad, "slice and pad"},
      {"ReverseSequence",
       {10},
       lowered,
       importReverseSequence,
       "gather_elements"},
      {"EyeLike", {9, 22}, Support::folded, importEyeLike},
  };
  return entries;
}

} // namespace parplan::importer
