//===- Convolutions.cpp - Convolutions and their transposes ----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"
#include "lib/Import/Operators/Windows.h"

#include "parplan/Support/CheckedMath.h"

#include <algorithm>

namespace parplan::importer {

static void importConv(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0), weight = node.getInput(1);
  ShapeRef from = builder.getShape(input), kernel = builder.getShape(weight);
  checkKernel(node, from, kernel);
  Window window = readWindow(node, from, kernel.drop_front(2));
  node.setOutput(0, builder.conv(input, weight, node.getOptionalInput(2),
                                 window, node.getInteger("group", 1)));
}

/// The elements of a column, as a tensor that broadcasts to [n, c, ..].
static ValueId spreadChannels(GraphBuilder &builder, ValueId column,
                              int64_t rank) {
  Shape shape(rank, 1);
  shape[1] = countElements(builder.getShape(column));
  return builder.reshape(column, shape);
}

//===----------------------------------------------------------------------===//
// Transposed convolution
//===----------------------------------------------------------------------===//

namespace {
/// One spatial dimension of a transposed convolution: the whole result has
/// `whole` elements, of which `low` and `high` are cut off.
struct TransposedDim {
  int64_t whole, low, high;
};
} // namespace

/// How much of the whole result is kept: as the pads say, or so much that the
/// given size is left.
static llvm::SmallVector<TransposedDim, 3>
readTransposedDims(NodeContext &node, ShapeRef input, ShapeRef kernel,
                   const Window &window) {
  size_t count = kernel.size() - 2;
  std::string mode = node.getText("auto_pad", "NOTSET");
  auto sizes = node.getIntegers("output_shape");
  auto more = node.getIntegers("output_padding");
  if ((sizes && sizes->size() != count) || (more && more->size() != count))
    failNode(codes::badNode, "output_shape or output_padding for other than ",
             count, " spatial dimensions");
  constexpr int64_t limit = int64_t(1) << 40;
  llvm::SmallVector<TransposedDim, 3> dims;
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> reach =
        checkedMultiply(kernel[i + 2] - 1, window.dilations[i]);
    std::optional<int64_t> steps =
        checkedMultiply(input[i + 2] - 1, window.strides[i]);
    int64_t padding = more ? (*more)[i] : 0;
    auto isFar = [](int64_t amount) {
      return amount < -limit || amount > limit;
    };
    if (!reach || !steps || *reach > limit || *steps > limit || *steps < 0 ||
        padding < 0 || padding > limit || isFar(window.pads[2 * i]) ||
        isFar(window.pads[2 * i + 1]))
      failNode(codes::badNode, "input of shape ", printShape(input),
               " and weight of shape ", printShape(kernel));
    TransposedDim dim{*steps + *reach + 1, window.pads[2 * i],
                      window.pads[2 * i + 1] - padding};
    bool isSame = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    if (sizes || isSame) {
      int64_t size = sizes ? (*sizes)[i] : input[i + 2] * window.strides[i];
      if (size < 1 || size > limit)
        failNode(codes::badNode, "output_shape ", printShape(*sizes));
      int64_t total = dim.whole + padding - size;
      // Half of it, rounded down.
      int64_t half = total >> 1;
      dim.low = mode == "SAME_UPPER" ? half : total - half;
      dim.high = total - dim.low - padding;
    }
    if (dim.low < -limit || dim.low > limit || dim.high < -limit ||
        dim.high > limit || dim.whole - dim.low - dim.high < 1)
      failNode(codes::badNode, dim.whole, " elements less ", dim.low, " and ",
               dim.high);
    dims.push_back(dim);
  }
  return dims;
}

/// A result of which less than nothing is cut off has zeros there.
static ValueId transposeConvolution(GraphBuilder &builder, ValueId input,
                                    ValueId weight, Window window,
                                    llvm::ArrayRef<TransposedDim> dims,
                                    int64_t groups) {
  ShapeRef kernel = builder.getShape(weight);
  Shape shape = {builder.getShape(input)[0], kernel[1] * groups};
  std::vector<int64_t> low(2, 0), high(2, 0);
  for (auto [i, dim] : llvm::enumerate(dims)) {
    window.pads[2 * i] = std::max<int64_t>(dim.low, 0);
    window.pads[2 * i + 1] = std::max<int64_t>(dim.high, 0);
    shape.push_back(dim.whole - window.pads[2 * i] - window.pads[2 * i + 1]);
    low.push_back(std::max<int64_t>(-dim.low, 0));
    high.push_back(std::max<int64_t>(-dim.high, 0));
  }
  for (int64_t size : shape)
    if (size < 1)
      failNode(codes::unsupportedForm, "a result of which nothing but zeros "
                                       "is left");
  return builder.pad(
      builder.convTranspose(input, weight, shape, window, groups), low, high,
      0);
}

static void importConvTranspose(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0), weight = node.getInput(1);
  ShapeRef from = builder.getShape(input), kernel = builder.getShape(weight);
  checkKernel(node, from, kernel);
  int64_t groups = node.getInteger("group", 1);
  if (groups < 1 || !checkedMultiply(kernel[1], groups))
    failNode(codes::badNode, groups, " groups");
  Window window = readWindow(node, from, kernel.drop_front(2));
  ValueId result = transposeConvolution(
      builder, input, weight, window,
      readTransposedDims(node, from, kernel, window), groups);
  if (node.hasInput(2)) {
    ValueId bias = node.getInput(2);
    if (builder.getShape(bias) != Shape({kernel[1] * groups}))
      failNode(codes::badNode, "bias of shape ",
               printShape(builder.getShape(bias)));
    result = builder.binary(OpKind::add, result,
                            spreadChannels(builder, bias, from.size()));
  }
  node.setOutput(0, result);
}

/// The columns of every channel are one channel each of a transposed
/// convolution, whose weights put column k at position k of the window.
static void importCol2Im(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  ShapeRef from = builder.getShape(input);
  std::vector<int64_t> image = node.getKnownIntegers(1, "the image's shape"),
                       block = node.getKnownIntegers(2, "the block's shape");
  size_t count = image.size();
  constexpr int64_t largest = int64_t(1) << 31;
  auto isBad = [](int64_t size) { return size < 1 || size > largest; };
  if (from.size() != 3 || block.size() != count || count < 1 || count > 3 ||
      llvm::any_of(image, isBad) || llvm::any_of(block, isBad) ||
      !isWithinLimits(block))
    failNode(codes::badNode, "operand of shape ", printShape(from), ", image ",
             printShape(image), " and blocks ", printShape(block));
  int64_t columns = countElements(block);
  constexpr int64_t mostColumns = 1024;
  if (columns > mostColumns)
    failNode(codes::unsupportedForm, "blocks of more than ", mostColumns,
             " elements");
  Window window = readWindow(node, {}, block);
  Shape grid, kernel = {columns, 1};
  kernel.append(block.begin(), block.end());
  llvm::SmallVector<TransposedDim, 3> dims;
  for (size_t i = 0; i < count; ++i) {
    int64_t low = window.pads[2 * i], high = window.pads[2 * i + 1];
    int64_t reach = (block[i] - 1) * window.dilations[i] + 1;
    int64_t room = low < 0 || high < 0 || low > largest || high > largest
                       ? -1
                       : image[i] + low + high - reach;
    if (room < 0)
      failNode(codes::badNode, "blocks ", printShape(block),
               " do not fit the image ", printShape(image));
    grid.push_back(room / window.strides[i] + 1);
    int64_t whole = (grid.back() - 1) * window.strides[i] + reach;
    dims.push_back({whole, low, whole - low - image[i]});
  }
  if (from[1] % columns != 0 || !isWithinLimits(grid) ||
      from[2] != countElements(grid))
    failNode(codes::badNode, "operand of shape ", printShape(from),
             " for blocks ", printShape(block), " at positions ",
             printShape(grid));
  int64_t channels = from[1] / columns;
  Shape spread = {from[0] * channels, columns};
  spread.append(grid);
  ElementType type = builder.getType(input);
  ValueId row = builder.makeRange(ElementType::i64, {columns, 1}, 0, 0, 1);
  ValueId column = builder.makeRange(ElementType::i64, {1, columns}, 1, 0, 1);
  ValueId weight = builder.reshape(
      builder.cast(builder.compare(Predicate::eq, row, column), type), kernel);
  ValueId result = transposeConvolution(builder, builder.reshape(input, spread),
                                        weight, window, dims, /*groups=*/1);
  Shape shape = {from[0], channels};
  shape.append(image.begin(), image.end());
  node.setOutput(0, builder.reshape(result, shape));
}

llvm::ArrayRef<OperatorEntry> getConvolutionOperators() {
  constexpr Support direct = Support::direct, lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"Conv", {1, 11, 22}, direct, importConv},
      {"ConvTranspose",
       {1, 11, 22},
       lowered,
       importConvTranspose,
       "conv_input_gradient"},
      {"Col2Im",
       {18},
       lowered,
       importCol2Im,
       "conv_input_gradient, of known shapes"},
  };
  return entries;
}

} // namespace parplan::importer
