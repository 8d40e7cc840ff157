//===- Sequences.cpp - Lists of tensors of known length --------*- C++ -*-===//
//
// Part of parplan. They exist only while the model is imported: an element at a
// known position is a tensor.
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

static void importSequenceAt(NodeContext &node) {
  const TensorSequence &sequence = node.getSequence(0);
  int64_t position = node.getKnownInteger(1, "the position");
  int64_t size = sequence.size();
  if (position < -size || position >= size)
    failNode(codes::badNode, "position ", position, " in a sequence of ", size,
             " tensors");
  node.setOutput(0, getItem(node.builder, sequence,
                            position < 0 ? position + size : position));
}

static void importSequenceConstruct(NodeContext &node) {
  TensorSequence sequence;
  for (ValueId input : node.getAllInputs())
    sequence.items.push_back(input);
  node.setOutput(0, addSequence(node.builder, std::move(sequence)));
}

static void importSequenceLength(NodeContext &node) {
  node.setOutput(0, node.builder.makeInteger(node.getSequence(0).size()));
}

static void importConcatFromSequence(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  TensorSequence sequence = node.getSequence(0);
  if (sequence.size() == 0)
    failNode(codes::badNode, "the sequence is empty");
  builder.sequenceBudget -= sequence.size();
  if (builder.sequenceBudget < 0)
    failNode(codes::tooLarge, "the sequences of the model are too long");
  bool newAxis = node.getInteger("new_axis", 0) != 0;
  llvm::SmallVector<ValueId, 4> items;
  for (int64_t i = 0; i < sequence.size(); ++i)
    items.push_back(getItem(builder, sequence, i));
  int64_t axis = builder.normalizeDim(node.getRequiredInteger("axis"),
                                      builder.getRank(items[0]) + newAxis);
  if (newAxis)
    for (ValueId &item : items)
      item = builder.insertDims(item, axis);
  node.setOutput(0, builder.concat(items, axis));
}

llvm::ArrayRef<OperatorEntry> getSequenceOperators() {
  constexpr Support folded = Support::folded, direct = Support::direct,
                    lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"SplitToSequence", {11, 24}, lowered, importSplitToSequence, "slices"},
      {"SequenceAt", {11}, folded, importSequenceAt, "at a known position"},
      {"SequenceConstruct", {11}, folded, importSequenceConstruct},
      {"SequenceLength", {11}, folded, importSequenceLength},
      {"ConcatFromSequence", {11}, direct, importConcatFromSequence, "concat"},
  };
  return entries;
}

} // namespace parplan::importer
