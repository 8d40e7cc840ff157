//===- Resize.cpp - Interpolation on regular grids -------------*- C++ -*-===//
//
// Part of parplan.
//
// Interpolation is separable and its coordinates are known: along each
// dimension, an element of the result is a weighted sum of few elements of the
// operand, at constant indices.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/Formula.h"
#include "lib/Import/Operators/OperatorTable.h"

#include <algorithm>
#include <cmath>

namespace parplan::importer {

namespace {
/// How one dimension is resized. An element at `i` of the result lies at
/// `getSource(i)` between the elements of the operand.
struct Resizing {
  int64_t dim;
  int64_t from;
  int64_t to;
  /// Need not be to / from.
  double scale;
  double regionStart = 0, regionEnd = 1;
};

/// What all dimensions have in common.
struct Interpolation {
  std::string mode, coordinates, rounding;
  double cubicCoefficient;
  bool excludeOutside, antialias;
  double extrapolation;
};

/// Elements of the operand and what each weighs, for every element of the
/// result: `count` of them each.
struct Taps {
  int64_t count;
  std::vector<int64_t> indices;
  std::vector<double> weights;
};
} // namespace

static double getSource(const Interpolation &interpolation,
                        const Resizing &resizing, int64_t index) {
  double from = double(resizing.from), to = resizing.scale * from;
  double i = double(index);
  const std::string &coordinates = interpolation.coordinates;
  if (coordinates == "asymmetric")
    return i / resizing.scale;
  if (coordinates == "align_corners")
    return to == 1 ? 0 : i * (from - 1) / (to - 1);
  if (coordinates == "pytorch_half_pixel" && to == 1)
    return -0.5;
  if (coordinates == "tf_crop_and_resize") {
    double start = resizing.regionStart, end = resizing.regionEnd;
    if (to == 1)
      return 0.5 * (start + end) * (from - 1);
    return start * (from - 1) + i * (end - start) * (from - 1) / (to - 1);
  }
  double source = (i + 0.5) / resizing.scale - 0.5;
  if (coordinates == "half_pixel_symmetric")
    source += from / 2 * (1 - double(resizing.to) / to);
  return source;
}

static int64_t roundSource(std::string_view rounding, double source) {
  if (rounding == "floor")
    return int64_t(std::floor(source));
  if (rounding == "ceil")
    return int64_t(std::ceil(source));
  if (rounding == "round_prefer_ceil")
    return int64_t(std::floor(source + 0.5));
  return int64_t(std::ceil(source - 0.5));
}

/// The weight of an element at a distance, in units of its own grid.
static double getWeight(const Interpolation &interpolation, double distance) {
  double d = std::fabs(distance), a = interpolation.cubicCoefficient;
  if (interpolation.mode == "linear")
    return std::max(0.0, 1 - d);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((d - 5) * d + 8) * d * a - 4 * a : 0;
}

static Taps getTaps(const Interpolation &interpolation,
                    const Resizing &resizing) {
  Taps taps;
  bool isNearest = interpolation.mode == "nearest";
  // Antialiasing widens the window where the grid becomes coarser.
  double scale = interpolation.antialias ? std::min(resizing.scale, 1.0) : 1.0;
  double reach = interpolation.mode == "cubic" ? 2 : 1;
  int64_t first = int64_t(std::floor(-reach / scale)) + 1;
  taps.count = isNearest ? 1 : 2 - 2 * first;
  constexpr int64_t mostTaps = int64_t(1) << 22;
  if (taps.count > mostTaps / std::max<int64_t>(resizing.to, 1))
    failNode(codes::tooLarge, "an interpolation with ", taps.count,
             " terms for each of ", resizing.to, " elements");
  for (int64_t i = 0; i < resizing.to; ++i) {
    double source = getSource(interpolation, resizing, i);
    int64_t last = resizing.from - 1;
    if (isNearest) {
      taps.indices.push_back(std::clamp<int64_t>(
          roundSource(interpolation.rounding, source), 0, last));
      taps.weights.push_back(1);
      continue;
    }
    int64_t before = int64_t(std::ceil(source)) - 1;
    double sum = 0;
    for (int64_t tap = first; tap < first + taps.count; ++tap) {
      int64_t index = before + tap;
      double weight =
          getWeight(interpolation, (double(index) - source) * scale);
      if (interpolation.excludeOutside && (index < 0 || index > last))
        weight = 0;
      taps.indices.push_back(std::clamp<int64_t>(index, 0, last));
      taps.weights.push_back(weight);
      sum += weight;
    }
    if (sum != 0)
      for (int64_t tap = 0; tap < taps.count; ++tap)
        taps.weights[taps.weights.size() - 1 - tap] /= sum;
  }
  return taps;
}

/// True if every element is repeated as many times.
static bool isRepetition(llvm::ArrayRef<int64_t> indices, int64_t from) {
  int64_t to = indices.size();
  if (to % from != 0)
    return false;
  for (int64_t i = 0; i < to; ++i)
    if (indices[i] != i / (to / from))
      return false;
  return true;
}

static ValueId resizeDim(GraphBuilder &builder, ValueId input,
                         const Interpolation &interpolation,
                         const Resizing &resizing) {
  Taps taps = getTaps(interpolation, resizing);
  int64_t dim = resizing.dim;
  Shape shape = builder.getShape(input);
  shape[dim] = resizing.to;
  ValueId result;
  if (taps.count == 1 && isRepetition(taps.indices, resizing.from)) {
    Shape spread = builder.getShape(input);
    spread.insert(spread.begin() + dim + 1, resizing.to / resizing.from);
    result = builder.reshape(
        builder.broadcast(builder.insertDims(input, {dim + 1}), spread), shape);
  } else if (taps.count == 1) {
    result = builder.gather(input, builder.makeIntegers(taps.indices), dim);
  } else {
    Formula formula(builder, builder.getType(input));
    Shape grid = {resizing.to, taps.count};
    ValueId indices = builder.reshape(builder.makeIntegers(taps.indices), grid);
    std::vector<Cell> cells(taps.weights.size());
    for (size_t i = 0; i < cells.size(); ++i)
      cells[i].real = roundToType(taps.weights[i], formula.type);
    grid.append(shape.size() - dim - 1, 1);
    ValueId weights = builder.makeDense(formula.type, grid, std::move(cells));
    result = builder.reduce(
        ReduceKind::sum,
        formula.mul(builder.gather(input, indices, dim), weights), {dim + 1},
        /*keepDims=*/false);
  }
  if (interpolation.coordinates != "tf_crop_and_resize")
    return result;
  Shape column(shape.size() - dim, 1);
  column[0] = resizing.to;
  std::vector<Cell> isInside(resizing.to);
  for (int64_t i = 0; i < resizing.to; ++i) {
    double source = getSource(interpolation, resizing, i);
    isInside[i].integer = source >= 0 && source <= double(resizing.from - 1);
  }
  return builder.select(
      builder.makeDense(ElementType::i1, column, std::move(isInside)), result,
      builder.makeNumber(builder.getType(input), interpolation.extrapolation));
}

/// Sizes and scales of the dimensions that the node lists.
static llvm::SmallVector<Resizing, 4>
readResizings(NodeContext &node, llvm::ArrayRef<int64_t> dims,
              std::optional<size_t> scalesOperand,
              std::optional<size_t> sizesOperand) {
  ShapeRef shape = node.builder.getShape(node.getInput(0));
  auto requireCount = [&](size_t count) {
    if (count != dims.size())
      failNode(codes::badNode, count, " sizes or scales for ", dims.size(),
               " dimensions");
  };
  constexpr int64_t largest = int64_t(1) << 31;
  llvm::SmallVector<Resizing, 4> resizings;
  if (sizesOperand) {
    std::vector<int64_t> sizes =
        node.getKnownIntegers(*sizesOperand, "the sizes");
    requireCount(sizes.size());
    for (auto [dim, size] : llvm::zip_equal(dims, sizes)) {
      if (size < 1 || size > largest)
        failNode(codes::badNode, "sizes ", printShape(sizes));
      resizings.push_back(
          {dim, shape[dim], size, double(size) / double(shape[dim])});
    }
    std::string policy = node.getText("keep_aspect_ratio_policy", "stretch");
    if (policy == "stretch")
      return resizings;
    if (policy != "not_larger" && policy != "not_smaller")
      failNode(codes::badNode, "keep_aspect_ratio_policy is none of its "
                               "values");
    double scale = resizings.front().scale;
    for (const Resizing &resizing : resizings)
      scale = policy == "not_larger" ? std::min(scale, resizing.scale)
                                     : std::max(scale, resizing.scale);
    for (Resizing &resizing : resizings) {
      resizing.scale = scale;
      resizing.to = int64_t(scale * double(resizing.from) + 0.5);
    }
    return resizings;
  }
  std::vector<double> scales;
  if (scalesOperand)
    scales = node.getKnownReals(*scalesOperand, "the scales");
  else if (auto given = node.getReals("scales"))
    scales = *given;
  requireCount(scales.size());
  for (auto [dim, scale] : llvm::zip_equal(dims, scales)) {
    double size = std::floor(scale * double(shape[dim]));
    if (!(size >= 1 && size <= double(largest)))
      failNode(codes::badNode, "a dimension of size ", shape[dim],
               " scaled by ", scale);
    resizings.push_back({dim, shape[dim], int64_t(size), scale});
  }
  return resizings;
}

static ValueId resize(NodeContext &node, const Interpolation &interpolation,
                      llvm::ArrayRef<Resizing> resizings) {
  GraphBuilder &builder = node.builder;
  ValueId result = node.getInput(0);
  if (interpolation.mode != "nearest" && !isFloat(builder.getType(result)))
    failNode(codes::unsupportedForm, "interpolation of ",
             printElementType(builder.getType(result)));
  for (int64_t size : builder.getShape(result))
    if (size == 0)
      failNode(codes::unsupportedForm, "a tensor without elements");
  bool isCrop = interpolation.coordinates == "tf_crop_and_resize";
  for (const Resizing &resizing : resizings)
    if (resizing.to != resizing.from || resizing.scale != 1 ||
        (isCrop && (resizing.regionStart != 0 || resizing.regionEnd != 1)))
      result = resizeDim(builder, result, interpolation, resizing);
  return result;
}

static llvm::SmallVector<int64_t, 6> getAllDims(NodeContext &node) {
  llvm::SmallVector<int64_t, 6> dims;
  for (int64_t dim = 0; dim < node.builder.getRank(node.getInput(0)); ++dim)
    dims.push_back(dim);
  return dims;
}

static Interpolation readInterpolation(NodeContext &node) {
  Interpolation interpolation = {
      node.getText("mode", "nearest"),
      node.getText("coordinate_transformation_mode", "half_pixel"),
      node.getText("nearest_mode", "round_prefer_floor"),
      node.getReal("cubic_coeff_a", -0.75),
      node.getInteger("exclude_outside", 0) != 0,
      node.getInteger("antialias", 0) != 0,
      node.getReal("extrapolation_value", 0)};
  auto require = [&](std::string_view name, const std::string &value,
                     std::initializer_list<std::string_view> values) {
    if (!llvm::is_contained(values, value))
      failNode(codes::badNode, name, " is none of its values");
  };
  require("mode", interpolation.mode, {"nearest", "linear", "cubic"});
  require("nearest_mode", interpolation.rounding,
          {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  require("coordinate_transformation_mode", interpolation.coordinates,
          {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
           "align_corners", "asymmetric", "tf_crop_and_resize"});
  if (interpolation.antialias && interpolation.mode == "nearest")
    failNode(codes::badNode, "antialias with mode nearest");
  return interpolation;
}

static void importResize(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  int64_t rank = builder.getRank(node.getInput(0));
  llvm::SmallVector<int64_t, 6> dims = getAllDims(node);
  if (auto axes = node.getIntegers("axes")) {
    dims.clear();
    for (int64_t axis : *axes) {
      dims.push_back(builder.normalizeDim(axis, rank));
      if (llvm::is_contained(llvm::drop_end(dims), dims.back()))
        failNode(codes::badNode, "axis ", axis, " is listed twice");
    }
  }
  // An operand that is not there may be an empty tensor.
  auto find = [&](size_t operand) -> std::optional<size_t> {
    if (!node.hasInput(operand) ||
        countElements(builder.getShape(node.getInput(operand))) == 0)
      return std::nullopt;
    return operand;
  };
  std::optional<size_t> scales = find(2), sizes = find(3);
  if (scales.has_value() == sizes.has_value() || dims.empty())
    failNode(codes::badNode, "either scales or sizes must be given");
  llvm::SmallVector<Resizing, 4> resizings =
      readResizings(node, dims, scales, sizes);
  Interpolation interpolation = readInterpolation(node);
  if (interpolation.coordinates == "tf_crop_and_resize") {
    std::vector<double> region = node.getKnownReals(1, "the region");
    if (region.size() != 2 * dims.size())
      failNode(codes::badNode, region.size(), " ends of regions for ",
               dims.size(), " dimensions");
    for (size_t i = 0; i < dims.size(); ++i) {
      resizings[i].regionStart = region[i];
      resizings[i].regionEnd = region[dims.size() + i];
    }
  }
  node.setOutput(0, resize(node, interpolation, resizings));
}

/// Upsample, and Resize as it was before version 11: coordinates are scaled
/// and cut off.
static void importUpsample(NodeContext &node) {
  std::string mode = node.getText("mode", "nearest");
  if (mode != "nearest" && mode != "linear")
    failNode(codes::badNode, "mode is neither nearest nor linear");
  std::optional<size_t> operand;
  if (node.version > 7)
    operand = 1;
  llvm::SmallVector<Resizing, 4> resizings =
      readResizings(node, getAllDims(node), operand, std::nullopt);
  for (const Resizing &resizing : resizings)
    if (resizing.scale < 1 && mode == "nearest")
      failNode(codes::unsupportedForm,
               "nearest elements of a coarser grid, which version ",
               node.version, " does not define");
  Interpolation interpolation = {mode,  "asymmetric", "floor", 0,
                                 false, false,        0};
  node.setOutput(0, resize(node, interpolation, resizings));
}

llvm::ArrayRef<OperatorEntry> getResizeOperators() {
  constexpr Support lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"Resize",
       {11, 13, 18, 19},
       lowered,
       importResize,
       "weighted sums of gathered elements, of known scales or sizes"},
      {"Resize", {10}, lowered, importUpsample, "of known scales"},
      {"Upsample", {7, 9}, lowered, importUpsample, "of known scales"},
  };
  return entries;
}

} // namespace parplan::importer
