//===- Sequences.cpp - Sequences of known length, optionals ----*- C++ -*-===//
//
// Part of parplan. They exist only while the model is imported: an element at a
// known position is a tensor, and an optional is its value or none.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

#include <algorithm>

namespace parplan::importer {

static ValueId addSequence(GraphBuilder &builder, TensorSequence sequence) {
  builder.sequenceBudget -= sequence.items.size() + sequence.starts.size();
  if (builder.sequenceBudget < 0)
    failNode(codes::tooLarge, "the sequences of the model are too long");
  builder.sequences.push_back(std::move(sequence));
  return builder.graph.addLeaf(ValueKind::sequence, ElementType::f32, {},
                               builder.sequences.size() - 1);
}

static ValueId getItem(GraphBuilder &builder, const TensorSequence &sequence,
                       int64_t index) {
  if (sequence.source == noValue)
    return sequence.items[index];
  SliceRange range{sequence.dim, 0, 0};
  if (sequence.step) {
    range.start = index * sequence.step;
    range.limit = std::min(sequence.extent, range.start + sequence.step);
  } else {
    range.start = sequence.starts[index];
    range.limit = sequence.starts[index + 1];
  }
  ValueId piece = builder.slice(sequence.source, range);
  if (sequence.keepDims)
    return piece;
  Shape shape = builder.getShape(piece);
  shape.erase(shape.begin() + sequence.dim);
  return builder.reshape(piece, shape);
}

static void importSplitToSequence(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  TensorSequence sequence;
  sequence.source = node.getInput(0);
  sequence.type = builder.getType(sequence.source);
  sequence.dim = builder.normalizeDim(node.getInteger("axis", 0),
                                      builder.getRank(sequence.source));
  int64_t size = builder.getShape(sequence.source)[sequence.dim];
  sequence.extent = size;
  if (!node.hasInput(1)) {
    sequence.step = 1;
    sequence.keepDims = node.getInteger("keepdims", 1) != 0;
  } else if (builder.getRank(node.getInput(1)) == 0) {
    sequence.step = node.getKnownInteger(1, "the size of the parts");
    if (sequence.step < 1)
      failNode(codes::badNode, "a dimension of size ", size, " in parts of ",
               sequence.step);
    sequence.step = std::min(sequence.step, std::max<int64_t>(size, 1));
  } else {
    std::vector<int64_t> sizes =
        node.getKnownIntegers(1, "the sizes of the parts");
    sequence.starts.push_back(0);
    for (int64_t part : sizes) {
      if (part < 0 || part > size - sequence.starts.back())
        failNode(codes::badNode, "parts ", printShape(sizes),
                 " of a dimension of size ", size);
      sequence.starts.push_back(sequence.starts.back() + part);
    }
    if (sequence.starts.back() != size)
      failNode(codes::badNode, "parts ", printShape(sizes),
               " of a dimension of size ", size);
  }
  node.setOutput(0, addSequence(builder, std::move(sequence)));
}

/// The position of an operand in a sequence of `size` tensors, of which `end`
/// are positions.
static int64_t getPosition(const NodeContext &node, size_t operand,
                           int64_t size, int64_t end) {
  int64_t position = node.getKnownInteger(operand, "the position");
  if (position < -size || position >= end)
    failNode(codes::badNode, "position ", position, " in a sequence of ", size,
             " tensors");
  return position < 0 ? position + size : position;
}

/// The same sequence with its tensors listed one by one.
static TensorSequence listItems(GraphBuilder &builder,
                                const TensorSequence &sequence) {
  TensorSequence list;
  list.type = sequence.type;
  builder.sequenceBudget -= sequence.size();
  if (builder.sequenceBudget < 0)
    failNode(codes::tooLarge, "the sequences of the model are too long");
  for (int64_t i = 0; i < sequence.size(); ++i)
    list.items.push_back(getItem(builder, sequence, i));
  return list;
}

static void importSequenceAt(NodeContext &node) {
  const TensorSequence &sequence = node.getSequence(0);
  int64_t size = sequence.size();
  node.setOutput(
      0, getItem(node.builder, sequence, getPosition(node, 1, size, size)));
}

static void importSequenceInsert(NodeContext &node) {
  TensorSequence list = listItems(node.builder, node.getSequence(0));
  ValueId item = node.getInput(1);
  int64_t size = list.size();
  int64_t position =
      node.hasInput(2) ? getPosition(node, 2, size, size + 1) : size;
  if (node.builder.getType(item) != list.type)
    failNode(codes::badNode, "a tensor of type ",
             printElementType(node.builder.getType(item)),
             " into a sequence of ", printElementType(list.type));
  list.items.insert(list.items.begin() + position, item);
  node.setOutput(0, addSequence(node.builder, std::move(list)));
}

static void importSequenceErase(NodeContext &node) {
  TensorSequence list = listItems(node.builder, node.getSequence(0));
  int64_t size = list.size();
  int64_t position =
      node.hasInput(1) ? getPosition(node, 1, size, size) : size - 1;
  if (position < 0)
    failNode(codes::badNode, "the sequence is empty");
  list.items.erase(list.items.begin() + position);
  node.setOutput(0, addSequence(node.builder, std::move(list)));
}

static void importSequenceEmpty(NodeContext &node) {
  TensorSequence sequence;
  sequence.type = node.getElementType("dtype", ElementType::f32);
  node.setOutput(0, addSequence(node.builder, std::move(sequence)));
}

static void importSequenceConstruct(NodeContext &node) {
  TensorSequence sequence;
  for (ValueId input : node.getAllInputs())
    sequence.items.push_back(input);
  sequence.type = node.builder.getType(sequence.items[0]);
  node.setOutput(0, addSequence(node.builder, std::move(sequence)));
}

static void importSequenceLength(NodeContext &node) {
  node.setOutput(0, node.builder.makeInteger(node.getSequence(0).size()));
}

static void importConcatFromSequence(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  std::vector<ValueId> items = listItems(builder, node.getSequence(0)).items;
  if (items.empty())
    failNode(codes::badNode, "the sequence is empty");
  bool newAxis = node.getInteger("new_axis", 0) != 0;
  int64_t axis = builder.normalizeDim(node.getRequiredInteger("axis"),
                                      builder.getRank(items[0]) + newAxis);
  if (newAxis)
    for (ValueId &item : items)
      item = builder.insertDims(item, axis);
  node.setOutput(0, builder.concat(items, axis));
}

static void importOptional(NodeContext &node) {
  node.setOutput(0, node.hasInput(0)
                        ? node.getAnyInput(0)
                        : node.builder.graph.addLeaf(ValueKind::nothing,
                                                     ElementType::f32, {}, 0));
}

static bool hasElement(const NodeContext &node) {
  return node.hasInput(0) &&
         node.builder.graph.getValue(node.getAnyInput(0)).kind !=
             ValueKind::nothing;
}

static void importOptionalHasElement(NodeContext &node) {
  node.setOutput(0, node.builder.makeNumber(ElementType::i1, hasElement(node)));
}

static void importOptionalGetElement(NodeContext &node) {
  if (!hasElement(node))
    failNode(codes::badNode, "the optional has no value");
  node.setOutput(0, node.getAnyInput(0));
}

llvm::ArrayRef<OperatorEntry> getSequenceOperators() {
  constexpr Support folded = Support::folded, direct = Support::direct,
                    lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"SplitToSequence", {11, 24}, lowered, importSplitToSequence, "slices"},
      {"SequenceAt", {11}, folded, importSequenceAt, "at a known position"},
      {"SequenceInsert",
       {11},
       folded,
       importSequenceInsert,
       "at a known position"},
      {"SequenceErase",
       {11},
       folded,
       importSequenceErase,
       "at a known position"},
      {"SequenceEmpty", {11}, folded, importSequenceEmpty},
      {"SequenceConstruct", {11}, folded, importSequenceConstruct},
      {"SequenceLength", {11}, folded, importSequenceLength},
      {"ConcatFromSequence", {11}, direct, importConcatFromSequence, "concat"},
      {"Optional", {15}, folded, importOptional},
      {"OptionalHasElement", {15, 18}, folded, importOptionalHasElement},
      {"OptionalGetElement", {15, 18}, folded, importOptionalGetElement},
  };
  return entries;
}

} // namespace parplan::importer
