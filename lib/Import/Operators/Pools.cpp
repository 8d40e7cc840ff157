//===- Pools.cpp - Pooling --------------------------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/Formula.h"
#include "lib/Import/Operators/OperatorTable.h"
#include "lib/Import/Operators/Windows.h"

#include "parplan/Support/CheckedMath.h"

#include <algorithm>
#include <limits>

namespace parplan::importer {

namespace {
struct Pool {
  ValueId input;
  std::vector<int64_t> size;
  /// Reaches past the padding where the node rounds the positions up.
  Window window;
  /// By how much, per spatial dimension.
  llvm::SmallVector<int64_t, 3> beyond;
};
} // namespace

/// With ceil_mode a last window may reach past the padded input, as long as it
/// starts in the input or the padding before it; so may the only one, if the
/// window is larger than the padded input. Returns the further padding.
static llvm::SmallVector<int64_t, 3>
extendToCeiling(ShapeRef input, llvm::ArrayRef<int64_t> size,
                const Window &window) {
  llvm::SmallVector<int64_t, 3> more(size.size(), 0);
  for (size_t i = 0; i < size.size(); ++i) {
    int64_t low = window.pads[2 * i], high = window.pads[2 * i + 1];
    int64_t stride = window.strides[i];
    int64_t free =
        input[i + 2] + low + high - ((size[i] - 1) * window.dilations[i] + 1);
    if (free <= -stride)
      continue; // No position, which the builder refuses.
    int64_t positions = (free + stride - 1) / stride + 1;
    if ((positions - 1) * stride >= input[i + 2] + low)
      --positions;
    more[i] = std::max<int64_t>(0, (positions - 1) * stride - free);
  }
  return more;
}

static Pool readPool(NodeContext &node) {
  Pool pool;
  pool.input = node.getInput(0);
  ShapeRef shape = node.builder.getShape(pool.input);
  auto size = node.getIntegers("kernel_shape");
  if (!size || shape.size() < 3 || size->size() + 2 != shape.size())
    failNode(codes::badNode, "kernel_shape does not fit an input of shape ",
             printShape(shape));
  getPositive(node, "kernel_shape", size->size());
  pool.size = *size;
  pool.window = readWindow(node, shape, *size);
  for (int64_t amount : pool.window.pads)
    if (amount < 0 || amount >= (int64_t(1) << 31))
      failNode(codes::badNode, "a padding of ", amount);
  pool.beyond.assign(size->size(), 0);
  if (node.getInteger("ceil_mode", 0))
    pool.beyond = extendToCeiling(shape, *size, pool.window);
  for (size_t i = 0; i < pool.beyond.size(); ++i)
    pool.window.pads[2 * i + 1] += pool.beyond[i];
  return pool;
}

//===----------------------------------------------------------------------===//
// Maxima
//===----------------------------------------------------------------------===//

namespace {
/// All taps of all windows: where they are in the spatial dimensions of the
/// input as one, and what number ONNX gives the place.
struct WindowTaps {
  int64_t windows = 1, taps = 1;
  std::vector<int64_t> places, numbers;
  std::vector<Cell> isInside;
};
} // namespace

static WindowTaps listTaps(const Pool &pool, ShapeRef input, ShapeRef output,
                           bool columnMajor) {
  WindowTaps list;
  list.windows = countElements(output);
  list.taps = countElements(pool.size);
  constexpr int64_t most = int64_t(1) << 22;
  if (list.taps > most / std::max<int64_t>(list.windows, 1))
    failNode(codes::tooLarge, "the positions of the maxima of ", list.windows,
             " windows of ", list.taps, " elements");
  size_t count = pool.size.size();
  Shape positions(output.begin(), output.end());
  positions.append(pool.size.begin(), pool.size.end());
  Shape index(positions.size(), 0);
  for (int64_t left = list.windows * list.taps; left > 0; --left) {
    int64_t place = 0, number = 0, stride = 1;
    bool isInside = true;
    for (size_t i = 0; i < count; ++i) {
      int64_t at = index[i] * pool.window.strides[i] - pool.window.pads[2 * i] +
                   index[count + i] * pool.window.dilations[i];
      isInside &= at >= 0 && at < input[i];
      place = place * input[i] + at;
      number += at * stride;
      stride *= input[i];
    }
    list.places.push_back(isInside ? place : 0);
    list.numbers.push_back(!isInside ? 0 : columnMajor ? number : place);
    list.isInside.push_back(Cell{.integer = isInside});
    for (size_t i = index.size(); i-- > 0 && ++index[i] == positions[i];)
      index[i] = 0;
  }
  return list;
}

/// The numbers of the elements that are the maxima of their windows.
static ValueId findMaxima(NodeContext &node, const Pool &pool, ValueId maxima) {
  GraphBuilder &builder = node.builder;
  ShapeRef from = builder.getShape(pool.input), to = builder.getShape(maxima);
  WindowTaps list = listTaps(pool, from.drop_front(2), to.drop_front(2),
                             node.getInteger("storage_order", 0) != 0);
  int64_t places = countElements(from.drop_front(2));
  ValueId flat = builder.reshape(pool.input, {from[0], from[1], places});
  Shape grid = {list.windows, list.taps};
  ValueId taps = builder.gather(
      flat, builder.reshape(builder.makeIntegers(list.places), grid), 2);
  ElementType type = builder.getType(flat);
  ValueId lowest =
      builder.makeNumber(type, -std::numeric_limits<double>::infinity());
  taps = builder.select(
      builder.makeDense(ElementType::i1, grid, std::move(list.isInside)), taps,
      lowest);
  // Numbers of taps of all windows, then of elements of a channel, then of all.
  ValueId tap = builder.reshape(builder.topK(taps, 1, 3, true) + 1,
                                {from[0], from[1], list.windows});
  ValueId firstTap =
      builder.makeRange(ElementType::i64, {list.windows}, 0, 0, list.taps);
  ValueId number =
      builder.gather(builder.makeIntegers(list.numbers),
                     builder.binary(OpKind::add, tap, firstTap), 0);
  ValueId firstOfChannel = builder.reshape(
      builder.makeRange(ElementType::i64, {from[0] * from[1]}, 0, 0, places),
      {from[0], from[1], 1});
  return builder.reshape(builder.binary(OpKind::add, number, firstOfChannel),
                         to);
}

static void importMaxPool(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  Pool pool = readPool(node);
  ElementType type = builder.getType(pool.input);
  // Bytes are floats too.
  if (type == ElementType::i8 || type == ElementType::u8)
    pool.input = builder.cast(pool.input, ElementType::f32);
  ValueId maxima = builder.pool(OpKind::maxPool, pool.input, pool.size,
                                pool.window, /*countPadding=*/false);
  node.setOutput(0, builder.cast(maxima, type));
  if (node.isOutputWanted(1))
    node.setOutput(1, findMaxima(node, pool, maxima));
}

/// Puts every element at its number in zeros of the size that the pooling had.
static void importMaxUnpool(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0), numbers = node.getInput(1);
  ShapeRef from = builder.getShape(input);
  auto size = node.getIntegers("kernel_shape");
  if (!size || from.size() < 3 || size->size() + 2 != from.size() ||
      ShapeRef(builder.getShape(numbers)) != from)
    failNode(codes::badNode, "input of shape ", printShape(from),
             ", indices of shape ", printShape(builder.getShape(numbers)));
  getPositive(node, "kernel_shape", size->size());
  Window window = readWindow(node, from, *size);
  Shape shape(from.take_front(2));
  for (size_t i = 0; i < size->size(); ++i) {
    std::optional<int64_t> steps =
        checkedMultiply(from[i + 2] - 1, window.strides[i]);
    constexpr int64_t limit = int64_t(1) << 40;
    for (int64_t amount :
         {steps.value_or(-1), window.pads[2 * i], window.pads[2 * i + 1]})
      if (amount < 0 || amount > limit)
        failNode(codes::badNode, "input of shape ", printShape(from));
    shape.push_back(*steps + (*size)[i] - window.pads[2 * i] -
                    window.pads[2 * i + 1]);
  }
  if (!isWithinLimits(shape))
    failNode(codes::badNode, "a result of shape ", printShape(shape));
  int64_t channels = shape[0] * shape[1];
  int64_t places = countElements(ShapeRef(shape).drop_front(2));
  Shape rows = {channels, countElements(from.drop_front(2))};
  ValueId place = builder.binary(
      OpKind::sub, builder.reshape(numbers, rows),
      builder.makeRange(ElementType::i64, {channels, 1}, 0, 0, places));
  ValueId result =
      builder.reshape(builder.scatterElements(builder.reshape(input, rows),
                                              place, {channels, places}, 1),
                      shape);
  if (node.hasInput(2)) {
    std::vector<int64_t> sizes = node.getKnownIntegers(2, "the output's shape");
    std::vector<int64_t> low(shape.size(), 0), high;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      high.push_back(sizes.size() == shape.size() ? sizes[dim] - shape[dim]
                                                  : -1);
    if (llvm::any_of(high, [](int64_t amount) { return amount < 0; }))
      failNode(codes::badNode, "output of shape ", printShape(sizes),
               " for elements of ", printShape(shape));
    result = builder.pad(result, low, high, 0);
  }
  node.setOutput(0, result);
}

//===----------------------------------------------------------------------===//
// Averages
//===----------------------------------------------------------------------===//

static void importAveragePool(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  Pool pool = readPool(node);
  bool countPadding = node.getInteger("count_include_pad", 0) != 0;
  ValueId result = builder.pool(OpKind::averagePool, pool.input, pool.size,
                                pool.window, countPadding);
  // What lies past the padding was counted too.
  for (size_t i = 0; countPadding && i < pool.beyond.size(); ++i) {
    if (pool.beyond[i] == 0)
      continue;
    int64_t end = builder.getShape(pool.input)[i + 2] +
                  pool.window.pads[2 * i] + pool.window.pads[2 * i + 1] -
                  pool.beyond[i];
    Shape column(pool.size.size() - i, 1);
    column[0] = builder.getShape(result)[i + 2];
    std::vector<Cell> cells(column[0]);
    ElementType type = builder.getType(result);
    for (int64_t position = 0; position < column[0]; ++position) {
      int64_t room = end - position * pool.window.strides[i];
      int64_t counted =
          std::min(pool.size[i], (room - 1) / pool.window.dilations[i] + 1);
      cells[position].real =
          roundToType(double(pool.size[i]) / double(counted), type);
    }
    result = builder.binary(OpKind::mul, result,
                            builder.makeDense(type, column, std::move(cells)));
  }
  node.setOutput(0, result);
}

/// |x|^p before a sum.
static ValueId raise(const Formula &formula, ValueId value, int64_t exponent) {
  if (exponent == 2)
    return formula.mul(value, value);
  ValueId magnitude = formula.unary(OpKind::abs, value);
  return exponent == 1 ? magnitude : formula.power(magnitude, double(exponent));
}

/// The p-th root after it.
static ValueId lower(const Formula &formula, ValueId sum, int64_t exponent) {
  if (exponent == 1)
    return sum;
  return exponent == 2 ? formula.unary(OpKind::sqrt, sum)
                       : formula.power(sum, 1.0 / double(exponent));
}

static int64_t getNorm(NodeContext &node) {
  int64_t exponent = node.getInteger("p", 2);
  if (exponent < 1)
    failNode(codes::badNode, "p is ", exponent);
  return exponent;
}

static void importLpPool(NodeContext &node) {
  Formula formula(node);
  Pool pool = readPool(node);
  int64_t exponent = getNorm(node);
  ValueId average = node.builder.pool(
      OpKind::averagePool, raise(formula, pool.input, exponent), pool.size,
      pool.window, /*countPadding=*/true);
  ValueId sum = formula.scale(average, double(countElements(pool.size)));
  node.setOutput(0, lower(formula, sum, exponent));
}

static void importGlobalLpPool(NodeContext &node) {
  Formula formula(node);
  int64_t exponent = getNorm(node);
  ValueId sum = node.builder.reduce(ReduceKind::sum,
                                    raise(formula, node.getInput(0), exponent),
                                    getSpatialDims(node), /*keepDims=*/true);
  node.setOutput(0, lower(formula, sum, exponent));
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

llvm::ArrayRef<OperatorEntry> getPoolOperators() {
  constexpr Support direct = Support::direct, lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"MaxPool",
       {1, 8, 10, 11, 12, 22},
       direct,
       importMaxPool,
       "positions of the maxima: gather and topk"},
      {"MaxUnpool",
       {9, 11, 22},
       lowered,
       importMaxUnpool,
       "gather_elements_gradient"},
      {"AveragePool", {7, 10, 11, 19, 22}, direct, importAveragePool},
      {"LpPool",
       {2, 11, 18, 22},
       lowered,
       importLpPool,
       "average_pool of powers"},
      {"GlobalAveragePool",
       {1, 22},
       lowered,
       importGlobalAveragePool,
       "sum and multiplication"},
      {"GlobalMaxPool", {1, 22}, direct, importGlobalMaxPool, "reduce"},
      {"GlobalLpPool", {2, 22}, lowered, importGlobalLpPool, "sum of powers"},
  };
  return entries;
}

} // namespace parplan::importer
