//===- Windows.cpp - Attributes of convolutions and pooling ----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/Windows.h"

#include <algorithm>

namespace parplan::importer {

constexpr int64_t largestWindow = int64_t(1) << 31;

llvm::SmallVector<int64_t, 3> getPositive(NodeContext &node,
                                          std::string_view name, size_t count) {
  auto given = node.getIntegers(name);
  if (!given)
    return llvm::SmallVector<int64_t, 3>(count, 1);
  bool isValid = given->size() == count;
  for (int64_t value : *given)
    isValid &= value >= 1 && value < largestWindow;
  if (!isValid)
    failNode(codes::badNode, name, " ", printShape(*given), " for ", count,
             " spatial dimensions");
  return {given->begin(), given->end()};
}

llvm::SmallVector<int64_t, 6> pairPads(llvm::ArrayRef<int64_t> pads) {
  llvm::SmallVector<int64_t, 6> pairs;
  for (size_t i = 0; i < pads.size() / 2; ++i)
    pairs.append({pads[i], pads[pads.size() / 2 + i]});
  return pairs;
}

Window readWindow(NodeContext &node, ShapeRef input,
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
      window.pads = pairPads(*pads);
    }
  } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    if (input.size() != count + 2)
      failNode(codes::badNode, "input of shape ", printShape(input), " and ",
               count, " spatial dimensions");
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

void checkKernel(NodeContext &node, ShapeRef input, ShapeRef kernel) {
  if (kernel.size() < 3 || kernel.size() != input.size())
    failNode(codes::badNode, "input of shape ", printShape(input),
             " and weight of shape ", printShape(kernel));
  for (int64_t size : kernel.drop_front(2))
    if (size < 1 || size > largestWindow)
      failNode(codes::badNode, "weight of shape ", printShape(kernel));
  if (auto declared = node.getIntegers("kernel_shape");
      declared && ShapeRef(*declared) != kernel.drop_front(2))
    failNode(codes::badNode, "kernel_shape ", printShape(*declared),
             " and weight of shape ", printShape(kernel));
}

llvm::SmallVector<int64_t, 3> getSpatialDims(NodeContext &node) {
  int64_t rank = node.builder.getRank(node.getInput(0));
  if (rank < 3)
    failNode(codes::badNode, "operand of rank ", rank);
  llvm::SmallVector<int64_t, 3> dims;
  for (int64_t dim = 2; dim < rank; ++dim)
    dims.push_back(dim);
  return dims;
}

} // namespace parplan::importer
