//===- Pads.cpp - Padding ---------------------------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

#include <algorithm>

namespace parplan::importer {

namespace {
/// How many elements are added in front of every dimension, and behind it.
/// Negative amounts are cut off.
struct Padding {
  std::vector<int64_t> low, high;
};
} // namespace

static Padding readPadding(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  int64_t rank = builder.getRank(node.getInput(0));
  std::vector<int64_t> pads, axes;
  if (node.version < 11) {
    auto given = node.getIntegers("pads");
    if (!given)
      failNode(codes::badNode, "pads are missing");
    pads = *given;
  } else {
    pads = node.getKnownIntegers(1, "pads");
  }
  if (node.hasInput(3) && node.version >= 18)
    axes = node.getKnownIntegers(3, "axes");
  else
    for (int64_t dim = 0; dim < rank; ++dim)
      axes.push_back(dim);
  if (pads.size() != 2 * axes.size())
    failNode(codes::badNode, pads.size(), " pads for ", axes.size(), " axes");
  Padding padding{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t dim = builder.normalizeDim(axes[i], rank);
    padding.low[dim] = pads[i];
    padding.high[dim] = pads[axes.size() + i];
  }
  return padding;
}

static double readValue(NodeContext &node) {
  if (node.version < 11)
    return node.getReal("value", 0);
  if (!node.hasInput(2))
    return 0;
  Cell cell = node.getKnownScalar(2, "the value of the padding");
  return isFloat(node.builder.getType(node.getInput(0))) ? cell.real
                                                         : double(cell.integer);
}

/// The element of a dimension that stands at a position outside of it.
static int64_t findSource(std::string_view mode, int64_t position,
                          int64_t size) {
  if (mode == "edge" || size == 1)
    return std::clamp<int64_t>(position, 0, size - 1);
  if (mode == "wrap")
    return ((position % size) + size) % size;
  // There and back again, without the ends twice.
  int64_t period = 2 * (size - 1);
  int64_t within = ((position % period) + period) % period;
  return std::min(within, period - within);
}

/// Repeats elements of the operand, dimension by dimension.
static ValueId repeatOutside(GraphBuilder &builder, ValueId input,
                             const Padding &padding, std::string_view mode) {
  constexpr int64_t largest = int64_t(1) << 22;
  for (int64_t dim = 0; dim < builder.getRank(input); ++dim) {
    int64_t low = padding.low[dim], high = padding.high[dim];
    if (low == 0 && high == 0)
      continue;
    if (low > largest || high > largest || low < -largest || high < -largest)
      failNode(codes::tooLarge, "a padding of ", low, " and ", high);
    // What is cut off is gone before anything is repeated.
    int64_t start = std::max<int64_t>(0, -low);
    int64_t limit = builder.getShape(input)[dim] - std::max<int64_t>(0, -high);
    if (start >= limit)
      failNode(codes::badNode, "axis ", dim, " of size ",
               builder.getShape(input)[dim], " padded by ", low, " and ", high);
    if (limit - start > largest)
      failNode(codes::tooLarge, "a padded axis of size ", limit - start);
    std::vector<int64_t> sources;
    for (int64_t position = -std::max<int64_t>(0, low);
         position < limit - start + std::max<int64_t>(0, high); ++position)
      sources.push_back(start + findSource(mode, position, limit - start));
    input = builder.gather(input, builder.makeIntegers(sources), dim);
  }
  return input;
}

static void importPad(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  std::string mode = node.getText("mode", "constant");
  Padding padding = readPadding(node);
  if (mode == "constant") {
    node.setOutput(
        0, builder.pad(input, padding.low, padding.high, readValue(node)));
    return;
  }
  if (mode != "reflect" && mode != "edge" && mode != "wrap")
    failNode(codes::badNode, "mode is none of its values");
  node.setOutput(0, repeatOutside(builder, input, padding, mode));
}

llvm::ArrayRef<OperatorEntry> getPadOperators() {
  static const OperatorEntry entries[] = {
      {"Pad",
       {2, 11, 13, 18, 19, 21, 23, 24, 25},
       Support::direct,
       importPad,
       "other modes than constant: gather"},
  };
  return entries;
}

} // namespace parplan::importer
