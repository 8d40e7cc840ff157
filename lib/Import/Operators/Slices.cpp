//===- Slices.cpp - Cutting and joining ------------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

#include <algorithm>

namespace parplan::importer {

/// Brings ONNX's bounds into the dimension; the extreme integers mean "to the
/// end", so nothing may be added before clamping.
static SliceRange normalizeRange(int64_t dim, int64_t size, int64_t start,
                                 int64_t end, int64_t step) {
  if (step == 0)
    failNode(codes::badNode, "a slice with step 0");
  step = std::max(step, -INT64_MAX);
  auto fromEnd = [&](int64_t position) {
    return position < 0 ? std::max(position, -size - 1) + size : position;
  };
  if (step > 0)
    return {dim, std::clamp<int64_t>(fromEnd(start), 0, size),
            std::clamp<int64_t>(fromEnd(end), 0, size), step};
  return {dim, std::clamp<int64_t>(fromEnd(start), -1, size - 1),
          end < -size ? -1 : std::clamp<int64_t>(fromEnd(end), -1, size - 1),
          step};
}

static void importSlice(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  std::vector<int64_t> starts, ends, axes, steps;
  if (node.version < 10) {
    auto givenStarts = node.getIntegers("starts"),
         givenEnds = node.getIntegers("ends");
    if (!givenStarts || !givenEnds)
      failNode(codes::badNode, "starts or ends are missing");
    starts = *givenStarts;
    ends = *givenEnds;
    if (auto given = node.getIntegers("axes"))
      axes = *given;
  } else {
    starts = node.getKnownIntegers(1, "starts");
    ends = node.getKnownIntegers(2, "ends");
    if (node.hasInput(3))
      axes = node.getKnownIntegers(3, "axes");
    if (node.hasInput(4))
      steps = node.getKnownIntegers(4, "steps");
  }
  if (axes.empty())
    for (size_t i = 0; i < starts.size(); ++i)
      axes.push_back(i);
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size())
    failNode(codes::badNode, starts.size(), " starts, ", ends.size(), " ends, ",
             axes.size(), " axes and ", steps.size(), " steps");
  llvm::SmallVector<SliceRange, 4> ranges;
  std::vector<bool> seen(builder.getRank(input), false);
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t dim = builder.normalizeDim(axes[i], builder.getRank(input));
    if (seen[dim])
      failNode(codes::badNode, "axis ", axes[i], " is listed twice");
    seen[dim] = true;
    ranges.push_back(normalizeRange(dim, builder.getShape(input)[dim],
                                    starts[i], ends[i], steps[i]));
  }
  node.setOutput(0, builder.slice(input, ranges));
}

static void importSplit(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  int64_t dim =
      builder.normalizeDim(node.getInteger("axis", 0), builder.getRank(input));
  int64_t size = builder.getShape(input)[dim];
  int64_t count = node.getOutputCount();
  std::vector<int64_t> sizes;
  if (node.version < 13) {
    if (auto given = node.getIntegers("split"))
      sizes = *given;
  } else if (node.hasInput(1)) {
    sizes = node.getKnownIntegers(1, "the sizes of the parts");
  } else if (node.hasAttribute("num_outputs") &&
             node.getInteger("num_outputs", 0) != count) {
    failNode(codes::badNode, "num_outputs is ",
             node.getInteger("num_outputs", 0), ", but there are ", count,
             " outputs");
  }
  if (sizes.empty()) {
    if (node.version < 18 && size % count != 0)
      failNode(codes::badNode, "a size of ", size, " in ", count,
               " equal parts");
    // The last part is smaller where the parts do not divide.
    int64_t part = (size + count - 1) / count;
    for (int64_t i = 0, left = size; i < count; ++i, left -= part)
      sizes.push_back(std::clamp<int64_t>(left, 0, part));
  }
  int64_t total = 0;
  for (int64_t part : sizes) {
    if (part < 0 || part > size - total)
      failNode(codes::badNode, "parts ", printShape(sizes),
               " of a dimension of size ", size);
    total += part;
  }
  if (total != size || int64_t(sizes.size()) != count)
    failNode(codes::badNode, "parts ", printShape(sizes),
             " of a dimension of size ", size, " for ", count, " outputs");
  int64_t start = 0;
  for (int64_t i = 0; i < count; start += sizes[i++])
    node.setOutput(
        i, builder.slice(input, SliceRange{dim, start, start + sizes[i]}));
}

static void importConcat(NodeContext &node) {
  llvm::SmallVector<ValueId, 4> inputs = node.getAllInputs();
  int64_t axis = node.getRequiredInteger("axis");
  node.setOutput(0, node.builder.concat(
                        inputs, node.builder.normalizeDim(
                                    axis, node.builder.getRank(inputs[0]))));
}

llvm::ArrayRef<OperatorEntry> getSliceOperators() {
  constexpr Support direct = Support::direct, lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"Slice", {1, 10, 11, 13}, direct, importSlice},
      {"Split", {2, 11, 13, 18}, lowered, importSplit, "slices"},
      {"Concat", {4, 11, 13}, direct, importConcat},
  };
  return entries;
}

} // namespace parplan::importer
