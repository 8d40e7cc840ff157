//===- Convolutions.cpp - Convolution and pooling --------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

#include <algorithm>

namespace parplan::importer {

static llvm::SmallVector<int64_t, 3>
getPositive(NodeContext &node, std::string_view name, size_t count) {
  auto given = node.getIntegers(name);
  if (!given)
    return llvm::SmallVector<int64_t, 3>(count, 1);
  constexpr int64_t limit = int64_t(1) << 31;
  bool isValid = given->size() == count;
  for (int64_t value : *given)
    isValid &= value >= 1 && value < limit;
  if (!isValid)
    failNode(codes::badNode, name, " ", printShape(*given), " for ", count,
             " spatial dimensions");
  return {given->begin(), given->end()};
}

/// Strides, dilations and pads, automatic ones worked out.
static Window readWindow(NodeContext &node, ShapeRef input,
                         llvm::ArrayRef<int64_t> size) {
  size_t count = size.size();
  Window window;
  window.strides = getPositive(node, "strides", count);
  window.dilations = getPositive(node, "dilations", count);
  window.pads.assign(2 * count, 0);
  std::string mode = node.getText("auto_pad", "NOTSET");
  if (mode == "NOTSET") {
    if (auto pads = node.getIntegers("pads")) {
      if (pads->size() != 2 * count)
        failNode(codes::badNode, "pads ", printShape(*pads), " for ", count,
                 " spatial dimensions");
      // ONNX lists all starts, then all ends.
      for (size_t i = 0; i < count; ++i) {
        window.pads[2 * i] = (*pads)[i];
        window.pads[2 * i + 1] = (*pads)[count + i];
      }
    }
  } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    for (size_t i = 0; i < count; ++i) {
      int64_t stride = window.strides[i];
      int64_t positions = (input[i + 2] + stride - 1) / stride;
      int64_t reach = (size[i] - 1) * window.dilations[i] + 1;
      int64_t total =
          std::max<int64_t>(0, (positions - 1) * stride + reach - input[i + 2]);
      int64_t low = mode == "SAME_UPPER" ? total / 2 : (total + 1) / 2;
      window.pads[2 * i] = low;
      window.pads[2 * i + 1] = total - low;
    }
  } else if (mode != "VALID") {
    failNode(codes::badNode, "auto_pad is none of its values");
  }
  return window;
}

static void importConv(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0), weight = node.getInput(1);
  ShapeRef kernel = builder.getShape(weight);
  if (kernel.size() < 3 || kernel.size() != builder.getShape(input).size())
    failNode(codes::badNode, "input of shape ",
             printShape(builder.getShape(input)), " and weight of shape ",
             printShape(kernel));
  constexpr int64_t largest = int64_t(1) << 31;
  for (int64_t size : kernel.drop_front(2))
    if (size < 1 || size > largest)
      failNode(codes::badNode, "weight of shape ", printShape(kernel));
  if (auto declared = node.getIntegers("kernel_shape");
      declared && ShapeRef(*declared) != kernel.drop_front(2))
    failNode(codes::badNode, "kernel_shape ", printShape(*declared),
             " and weight of shape ", printShape(kernel));
  Window window =
      readWindow(node, builder.getShape(input), kernel.drop_front(2));
  node.setOutput(0, builder.conv(input, weight, node.getOptionalInput(2),
                                 window, node.getInteger("group", 1)));
}

/// With ceil_mode a last window may reach past the padded input, as long as it
/// starts in the input or the padding before it. Returns the further padding.
static llvm::SmallVector<int64_t, 3>
extendToCeiling(ShapeRef input, llvm::ArrayRef<int64_t> size,
                const Window &window) {
  llvm::SmallVector<int64_t, 3> more(size.size(), 0);
  for (size_t i = 0; i < size.size(); ++i) {
    int64_t low = window.pads[2 * i], high = window.pads[2 * i + 1];
    int64_t stride = window.strides[i];
    int64_t free =
        input[i + 2] + low + high - ((size[i] - 1) * window.dilations[i] + 1);
    if (free < 0)
      continue; // Refused by the builder.
    int64_t positions = (free + stride - 1) / stride + 1;
    if ((positions - 1) * stride >= input[i + 2] + low)
      --positions;
    more[i] = std::max<int64_t>(0, (positions - 1) * stride - free);
  }
  return more;
}

template <OpKind kind> static void importPool(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  ShapeRef shape = builder.getShape(input);
  auto size = node.getIntegers("kernel_shape");
  if (!size || shape.size() < 3 || size->size() + 2 != shape.size())
    failNode(codes::badNode, "kernel_shape does not fit an input of shape ",
             printShape(shape));
  getPositive(node, "kernel_shape", size->size());
  if (node.isOutputWanted(1))
    failNode(codes::unsupportedForm, "the positions of the maxima");
  Window window = readWindow(node, shape, *size);
  for (int64_t amount : window.pads)
    if (amount < 0 || amount >= (int64_t(1) << 31))
      failNode(codes::badNode, "a padding of ", amount);
  bool countPadding = node.getInteger("count_include_pad", 0) != 0;
  if (node.getInteger("ceil_mode", 0)) {
    llvm::SmallVector<int64_t, 3> more = extendToCeiling(shape, *size, window);
    for (size_t i = 0; i < more.size(); ++i) {
      if (more[i] && countPadding)
        failNode(codes::unsupportedForm,
                 "ceil_mode with count_include_pad where windows reach past "
                 "the padding");
      window.pads[2 * i + 1] += more[i];
    }
  }
  node.setOutput(0, builder.pool(kind, input, *size, window, countPadding));
}

static llvm::SmallVector<int64_t, 3> getSpatialDims(NodeContext &node) {
  int64_t rank = node.builder.getRank(node.getInput(0));
  if (rank < 3)
    failNode(codes::badNode, "operand of rank ", rank);
  llvm::SmallVector<int64_t, 3> dims;
  for (int64_t dim = 2; dim < rank; ++dim)
    dims.push_back(dim);
  return dims;
}

static void importGlobalAveragePool(NodeContext &node) {
  node.setOutput(0, node.builder.mean(node.getInput(0), getSpatialDims(node),
                                      /*keepDims=*/true));
}

static void importGlobalMaxPool(NodeContext &node) {
  node.setOutput(0,
                 node.builder.reduce(ReduceKind::max, node.getInput(0),
                                     getSpatialDims(node), /*keepDims=*/true));
}

llvm::ArrayRef<OperatorEntry> getConvolutionOperators() {
  constexpr Support direct = Support::direct, lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"Conv", {1, 11, 22}, direct, importConv},
      {"MaxPool", {1, 8, 10, 11, 12, 22}, direct, importPool<OpKind::maxPool>},
      {"AveragePool",
       {7, 10, 11, 19, 22},
       direct,
       importPool<OpKind::averagePool>},
      {"GlobalAveragePool",
       {1, 22},
       lowered,
       importGlobalAveragePool,
       "sum and multiplication"},
      {"GlobalMaxPool", {1, 22}, direct, importGlobalMaxPool, "reduce"},
  };
  return entries;
}

} // namespace parplan::importer
