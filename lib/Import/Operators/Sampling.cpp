//===- Sampling.cpp - Interpolation at computed places ---------*- C++ -*-===//
//
// Part of parplan.
//
// Elements of an image are read around places that are known at run time only.
// Interpolation is separable: along each spatial dimension a place has a few
// taps, an index and a weight each.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/Formula.h"
#include "lib/Import/Operators/OperatorTable.h"
#include "lib/Import/Operators/Windows.h"

#include <algorithm>

namespace parplan::importer {

namespace {
/// Of every place along one dimension, [n, places, taps]: indices within the
/// image, which are floats, and weights.
struct PlaceTaps {
  ValueId indices;
  ValueId weights;
};

/// What is read outside of the image.
enum class Outside { zeros, border, reflection };

/// The places of GridSample and DeformConv along one dimension.
struct PlaceReader {
  Formula formula;
  std::string mode;
  Outside outside;
  bool alignCorners;

  ValueId reflect(ValueId value, int64_t size) const;
  ValueId clamp(ValueId value, int64_t size) const {
    return formula.min(formula.max(value, 0), double(size - 1));
  }
  ValueId weigh(ValueId distance) const;
  /// `places` [n, places] are in units of elements.
  PlaceTaps getTaps(ValueId places, int64_t size) const;
};
} // namespace

/// There and back between the borders, which are the centres of the outermost
/// elements or their outer edges: low + range - |(t mod 2 range) - range| with
/// t = |value - low|.
ValueId PlaceReader::reflect(ValueId value, int64_t size) const {
  double low = alignCorners ? 0 : -0.5;
  double range = double(alignCorners ? size - 1 : size);
  if (range == 0)
    return formula.scale(value, 0);
  ValueId distance = formula.unary(OpKind::abs, formula.shift(value, -low));
  ValueId within =
      formula.binary(OpKind::mod, distance, formula.number(2 * range));
  ValueId back = formula.unary(OpKind::abs, formula.shift(within, -range));
  return formula.shift(formula.unary(OpKind::neg, back), low + range);
}

/// By the distance from the place; the cubic has the coefficient -0.75.
ValueId PlaceReader::weigh(ValueId distance) const {
  ValueId d = formula.unary(OpKind::abs, distance);
  if (mode == "linear")
    return formula.max(formula.shift(formula.unary(OpKind::neg, d), 1), 0);
  constexpr double a = -0.75;
  auto polynomial = [&](std::initializer_list<double> coefficients) {
    ValueId sum = noValue;
    for (double coefficient : coefficients)
      sum = sum == noValue ? formula.number(coefficient)
                           : formula.shift(formula.mul(sum, d), coefficient);
    return sum;
  };
  ValueId near = polynomial({a + 2, -(a + 3), 0, 1});
  ValueId far = polynomial({a, -5 * a, 8 * a, -4 * a});
  auto isWithin = [&](double reach) {
    return formula.builder.compare(Predicate::le, d, formula.number(reach));
  };
  return formula.builder.select(
      isWithin(1), near,
      formula.builder.select(isWithin(2), far, formula.number(0)));
}

PlaceTaps PlaceReader::getTaps(ValueId places, int64_t size) const {
  GraphBuilder &builder = formula.builder;
  if (mode == "nearest")
    places = formula.unary(OpKind::round, places);
  if (outside == Outside::border)
    places = clamp(places, size);
  else if (outside == Outside::reflection)
    places = reflect(places, size);
  places = builder.insertDims(places, {2});
  ValueId indices, weights;
  if (mode == "nearest") {
    indices = places;
    weights = builder.makeNumber(formula.type, 1, builder.getShape(places));
  } else {
    int64_t count = mode == "linear" ? 2 : 4;
    ValueId offsets = builder.cast(
        builder.makeRange(ElementType::i64, {1, 1, count}, 2, 1 - count / 2, 1),
        formula.type);
    indices = formula.add(formula.unary(OpKind::floor, places), offsets);
    weights = weigh(formula.sub(places, indices));
  }
  if (outside == Outside::reflection && mode != "nearest") {
    indices = reflect(indices, size);
  } else if (outside == Outside::zeros) {
    ValueId isInside = builder.binary(
        OpKind::logicalAnd,
        builder.compare(Predicate::ge, indices, formula.number(0)),
        builder.compare(Predicate::le, indices,
                        formula.number(double(size - 1))));
    weights = builder.select(isInside, weights, formula.number(0));
  }
  return {clamp(indices, size), weights};
}

/// Combines taps of all dimensions: [n, places, taps of all], the last
/// dimension fastest.
static ValueId combine(GraphBuilder &builder, llvm::ArrayRef<ValueId> parts,
                       OpKind kind) {
  ValueId all = parts[0];
  for (ValueId part : parts.drop_front()) {
    ValueId both = builder.binary(kind, builder.insertDims(all, {3}),
                                  builder.insertDims(part, {2}));
    ShapeRef shape = builder.getShape(both);
    all = builder.reshape(both, {shape[0], shape[1], shape[2] * shape[3]});
  }
  return all;
}

/// Weighted sums of an image [n, c, spatial..] at places: [n, places, c].
static ValueId sample(GraphBuilder &builder, ValueId image,
                      llvm::ArrayRef<PlaceTaps> taps) {
  ShapeRef shape = builder.getShape(image);
  // Every dimension's share of the number of an element.
  llvm::SmallVector<ValueId, 3> numbers, weights;
  for (size_t dim = 0; dim < taps.size(); ++dim) {
    int64_t stride = countElements(shape.drop_front(dim + 3));
    numbers.push_back(builder.binary(
        OpKind::mul, builder.cast(taps[dim].indices, ElementType::i64),
        builder.makeNumber(ElementType::i64, double(stride))));
    weights.push_back(taps[dim].weights);
  }
  ValueId number = combine(builder, numbers, OpKind::add);
  ValueId weight = combine(builder, weights, OpKind::mul);
  // Rows of channels.
  llvm::SmallVector<int64_t, 6> order = {0};
  for (size_t dim = 2; dim < shape.size(); ++dim)
    order.push_back(dim);
  order.push_back(1);
  ValueId rows =
      builder.reshape(builder.transpose(image, order),
                      {shape[0], countElements(shape.drop_front(2)), shape[1]});
  ValueId read = builder.gatherND(rows, builder.insertDims(number, {3}),
                                  /*batchDims=*/1);
  return builder.reduce(
      ReduceKind::sum,
      builder.binary(OpKind::mul, read, builder.insertDims(weight, {3})), {2},
      /*keepDims=*/false);
}

//===----------------------------------------------------------------------===//
// GridSample
//===----------------------------------------------------------------------===//

static void importGridSample(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId image = node.getInput(0), grid = node.getInput(1);
  Shape shape = builder.getShape(image), places = builder.getShape(grid);
  int64_t count = int64_t(shape.size()) - 2;
  if (count < 1 || count > 3 || places.size() != shape.size() ||
      places[0] != shape[0] || places.back() != count ||
      countElements(shape) == 0)
    failNode(codes::badNode, "an image of shape ", printShape(shape),
             " and a grid of shape ", printShape(places));
  std::string mode =
      node.getText("mode", node.version < 20 ? "bilinear" : "linear");
  std::string padding = node.getText("padding_mode", "zeros");
  if (mode == "bilinear")
    mode = "linear";
  else if (mode == "bicubic")
    mode = "cubic";
  std::optional<Outside> outside;
  if (padding == "zeros")
    outside = Outside::zeros;
  else if (padding == "border")
    outside = Outside::border;
  else if (padding == "reflection")
    outside = Outside::reflection;
  if (!outside || (mode != "linear" && mode != "cubic" && mode != "nearest"))
    failNode(codes::badNode, "mode or padding_mode is none of its values");
  // Places are computed in the type of the image.
  Formula formula(node);
  bool alignCorners = node.getInteger("align_corners", 0) != 0;
  PlaceReader reader{formula, mode, *outside, alignCorners};
  grid = builder.cast(grid, formula.type);
  int64_t total = countElements(ShapeRef(places).drop_front().drop_back());
  llvm::SmallVector<PlaceTaps, 3> taps;
  for (int64_t dim = 0; dim < count; ++dim) {
    // The grid lists the last dimension first; -1 and 1 are the borders.
    int64_t column = count - 1 - dim, size = shape[dim + 2];
    ValueId place = builder.reshape(
        builder.slice(grid, SliceRange{count + 1, column, column + 1}),
        {shape[0], total});
    double reach = double(alignCorners ? size - 1 : size) / 2;
    taps.push_back(reader.getTaps(
        formula.shift(formula.scale(place, reach), double(size - 1) / 2),
        size));
  }
  ValueId result = builder.transpose(sample(builder, image, taps), {0, 2, 1});
  Shape resultShape = {shape[0], shape[1]};
  resultShape.append(places.begin() + 1, places.end() - 1);
  node.setOutput(0, builder.reshape(result, resultShape));
}

/// theta times the coordinates (x, y, 1) or (x, y, z, 1) of a regular grid.
static void importAffineGrid(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId theta = node.getInput(0);
  ElementType type = Formula(node).type;
  std::vector<int64_t> size = node.getKnownIntegers(1, "the size");
  int64_t count = int64_t(size.size()) - 2;
  if ((count != 2 && count != 3) || size[0] < 1 ||
      builder.getShape(theta) != Shape({size[0], count, count + 1}))
    failNode(codes::badNode, "size ", printShape(size), " and theta of shape ",
             printShape(builder.getShape(theta)));
  Shape spatial(size.begin() + 2, size.end());
  constexpr int64_t most = int64_t(1) << 22;
  for (int64_t length : spatial)
    if (length < 1 || length > most)
      failNode(codes::badNode, "size ", printShape(size));
  bool alignCorners = node.getInteger("align_corners", 0) != 0;
  // Sums of a column of theta for each dimension, last dimension first.
  auto getColumn = [&](int64_t column) {
    Shape shape(count + 2, 1);
    shape.front() = size[0];
    shape.back() = count;
    return builder.reshape(
        builder.slice(theta, SliceRange{2, column, column + 1}), shape);
  };
  ValueId grid = getColumn(count);
  for (int64_t dim = 0; dim < count; ++dim) {
    int64_t length = spatial[dim];
    std::vector<Cell> cells(length);
    for (int64_t i = 0; i < length; ++i)
      cells[i].real =
          roundToType(!alignCorners ? double(2 * i + 1) / double(length) - 1
                      : length == 1 ? -1
                                    : double(2 * i) / double(length - 1) - 1,
                      type);
    Shape shape(count + 2, 1);
    shape[dim + 1] = length;
    grid = builder.binary(
        OpKind::add, grid,
        builder.binary(OpKind::mul, getColumn(count - 1 - dim),
                       builder.makeDense(type, shape, std::move(cells))));
  }
  node.setOutput(0, grid);
}

//===----------------------------------------------------------------------===//
// DeformConv
//===----------------------------------------------------------------------===//

/// A convolution whose taps are moved by offsets: what they read is sampled,
/// then multiplied by the weight.
static void importDeformConv(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0), weight = node.getInput(1),
          offset = node.getInput(2);
  Shape from = builder.getShape(input), kernel = builder.getShape(weight),
        offsets = builder.getShape(offset);
  checkKernel(node, from, kernel);
  if (from.size() != 4 || offsets.size() != 4)
    failNode(codes::unsupportedForm, "other than two spatial dimensions");
  int64_t groups = node.getInteger("group", 1),
          offsetGroups = node.getInteger("offset_group", 1);
  ShapeRef window = ShapeRef(kernel).drop_front(2);
  if (!isWithinLimits(kernel) || groups < 1 || offsetGroups < 1 ||
      from[1] % groups != 0 || kernel[1] != from[1] / groups ||
      kernel[0] % groups != 0 || from[1] % offsetGroups != 0 ||
      offsets[0] != from[0] || offsets[1] % (2 * offsetGroups) != 0 ||
      offsets[1] / (2 * offsetGroups) != countElements(window))
    failNode(codes::badNode, "input of shape ", printShape(from),
             ", weight of shape ", printShape(kernel), ", offsets of shape ",
             printShape(offsets), ", group ", groups, ", offset_group ",
             offsetGroups);
  Window places = readWindow(node, from, window);
  int64_t taps = countElements(window), samples = from[0] * offsetGroups;
  Shape output(offsets.begin() + 2, offsets.end());
  int64_t positions = countElements(output);
  constexpr int64_t mostPositions = int64_t(1) << 22;
  if (taps > mostPositions / std::max<int64_t>(1, positions))
    failNode(codes::tooLarge, taps, " taps at ", positions, " positions");
  Formula formula(node);
  PlaceReader reader{formula, "linear", Outside::zeros, /*alignCorners=*/true};
  offset = builder.reshape(offset, {samples, taps, 2, positions});
  llvm::SmallVector<PlaceTaps, 3> read;
  for (int64_t dim : {0, 1}) {
    std::vector<Cell> cells;
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t position = 0; position < positions; ++position) {
        int64_t at = dim == 0 ? position / output[1] : position % output[1];
        int64_t within = dim == 0 ? tap / window[1] : tap % window[1];
        Cell cell;
        cell.real =
            roundToType(double(at) * double(places.strides[dim]) +
                            double(within) * double(places.dilations[dim]) -
                            double(places.pads[2 * dim]),
                        formula.type);
        cells.push_back(cell);
      }
    ValueId own =
        builder.reshape(builder.slice(offset, SliceRange{2, dim, dim + 1}),
                        {samples, taps * positions});
    ValueId regular = builder.makeDense(formula.type, {1, taps * positions},
                                        std::move(cells));
    read.push_back(reader.getTaps(formula.add(own, regular), from[dim + 2]));
  }
  int64_t channels = from[1] / offsetGroups;
  ValueId values = sample(
      builder, builder.reshape(input, {samples, channels, from[2], from[3]}),
      read);
  if (node.hasInput(4))
    values =
        formula.mul(values, builder.reshape(node.getInput(4),
                                            {samples, taps * positions, 1}));
  // [samples, taps, positions, channels] to [n, groups, channels, taps, ..]
  values = builder.transpose(
      builder.reshape(values, {samples, taps, positions, channels}),
      {0, 3, 1, 2});
  values =
      builder.reshape(values, {from[0], groups, kernel[1], taps, positions});
  ValueId filters =
      builder.reshape(weight, {groups, kernel[0] / groups, kernel[1], taps});
  Shape shape = {from[0], kernel[0], output[0], output[1]};
  ValueId result = builder.reshape(
      builder.product(values, filters, "ngctp,goct->ngop"), shape);
  if (node.hasInput(3))
    result = formula.add(
        result, builder.reshape(node.getInput(3), {1, kernel[0], 1, 1}));
  node.setOutput(0, result);
}

//===----------------------------------------------------------------------===//
// RoiAlign
//===----------------------------------------------------------------------===//

/// The taps of one dimension of regions: `count` places in each of `bins`
/// parts. Places more than an element outside of the image give nothing.
static PlaceTaps getRegionTaps(const Formula &formula, ValueId start,
                               ValueId end, int64_t bins, int64_t count,
                               int64_t size, bool atLeastOne) {
  GraphBuilder &builder = formula.builder;
  ValueId length = formula.sub(end, start);
  if (atLeastOne)
    length = formula.max(length, 1);
  std::vector<Cell> cells(bins * count);
  for (size_t i = 0; i < cells.size(); ++i)
    cells[i].real =
        roundToType((double(i) + 0.5) / double(bins * count), formula.type);
  ValueId fractions =
      builder.makeDense(formula.type, {1, bins * count}, std::move(cells));
  ValueId place = formula.add(start, formula.mul(length, fractions));
  ValueId isNear = builder.binary(
      OpKind::logicalAnd,
      builder.compare(Predicate::ge, place, formula.number(-1)),
      builder.compare(Predicate::le, place, formula.number(double(size))));
  place = formula.min(formula.max(place, 0), double(size - 1));
  ValueId low = formula.unary(OpKind::floor, place);
  ValueId high = formula.min(formula.shift(low, 1), double(size - 1));
  ValueId share = formula.sub(place, low);
  ValueId rest = formula.shift(formula.unary(OpKind::neg, share), 1);
  auto pair = [&](ValueId first, ValueId second) {
    return builder.concat(
        {builder.insertDims(first, {2}), builder.insertDims(second, {2})}, 2);
  };
  return {pair(low, high),
          builder.select(builder.insertDims(isNear, {2}), pair(rest, share),
                         formula.number(0))};
}

static void importRoiAlign(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId image = node.getInput(0), regions = node.getInput(1),
          samples = node.getInput(2);
  Shape shape = builder.getShape(image);
  int64_t count =
      builder.getRank(regions) > 0 ? builder.getShape(regions)[0] : 0;
  int64_t rows = node.getInteger("output_height", 1),
          columns = node.getInteger("output_width", 1),
          places = node.getInteger("sampling_ratio", 0);
  constexpr int64_t most = int64_t(1) << 10;
  if (shape.size() != 4 || countElements(shape) == 0 || count < 1 ||
      builder.getShape(regions) != Shape({count, 4}) ||
      builder.getShape(samples) != Shape({count}) || rows < 1 || rows > most ||
      columns < 1 || columns > most || places < 0 || places > most)
    failNode(codes::badNode, "an image of shape ", printShape(shape), ", ",
             printShape(builder.getShape(regions)), " regions, ",
             printShape(builder.getShape(samples)), " samples, output ", rows,
             " x ", columns, ", sampling_ratio ", places);
  if (places == 0)
    failNode(codes::unsupportedForm, "sampling_ratio 0: how many places are "
                                     "read depends on the regions");
  std::string mode = node.getText("mode", "avg");
  std::string coordinates =
      node.version < 16
          ? "output_half_pixel"
          : node.getText("coordinate_transformation_mode", "half_pixel");
  if ((mode != "avg" && mode != "max") ||
      (coordinates != "half_pixel" && coordinates != "output_half_pixel"))
    failNode(codes::badNode, "mode or coordinate_transformation_mode is none "
                             "of its values");
  bool isHalfPixel = coordinates == "half_pixel";
  Formula formula(node);
  double scale = node.getReal("spatial_scale", 1.0);
  auto getEdge = [&](int64_t column) {
    ValueId edge = builder.slice(builder.cast(regions, formula.type),
                                 SliceRange{1, column, column + 1});
    return formula.shift(formula.scale(edge, scale), isHalfPixel ? -0.5 : 0);
  };
  // Of all places in rows with all places in columns, [regions, rows places
  // taps, columns places taps].
  PlaceTaps vertical = getRegionTaps(formula, getEdge(1), getEdge(3), rows,
                                     places, shape[2], !isHalfPixel),
            horizontal = getRegionTaps(formula, getEdge(0), getEdge(2), columns,
                                       places, shape[3], !isHalfPixel);
  auto cross = [&](ValueId down, ValueId across, OpKind kind) {
    return builder.binary(
        kind, builder.reshape(down, {count, rows * places * 2, 1}),
        builder.reshape(across, {count, 1, columns * places * 2}));
  };
  auto toNumber = [&](ValueId indices, int64_t stride) {
    return builder.binary(OpKind::mul, builder.cast(indices, ElementType::i64),
                          builder.makeNumber(ElementType::i64, double(stride)));
  };
  ValueId number = builder.binary(
      OpKind::add,
      cross(toNumber(vertical.indices, shape[3]),
            toNumber(horizontal.indices, 1), OpKind::add),
      builder.reshape(toNumber(samples, shape[2] * shape[3]), {count, 1, 1}));
  ValueId weight = cross(vertical.weights, horizontal.weights, OpKind::mul);
  ValueId pixels = builder.reshape(builder.transpose(image, {0, 2, 3, 1}),
                                   {shape[0] * shape[2] * shape[3], shape[1]});
  ValueId read = formula.mul(builder.gather(pixels, number, 0),
                             builder.insertDims(weight, {3}));
  read = builder.reshape(
      read, {count, rows, places * 2, columns, places * 2, shape[1]});
  ValueId result = builder.reduce(
      mode == "avg" ? ReduceKind::sum : ReduceKind::max, read, {2, 4},
      /*keepDims=*/false);
  if (mode == "avg")
    result = formula.scale(result, 1.0 / double(places * places));
  node.setOutput(0, builder.transpose(result, {0, 3, 1, 2}));
}

llvm::ArrayRef<OperatorEntry> getSamplingOperators() {
  constexpr Support lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"GridSample", {16, 20, 22}, lowered, importGridSample, "gather_nd"},
      {"AffineGrid", {20}, lowered, importAffineGrid, "arithmetic"},
      {"DeformConv",
       {19, 22},
       lowered,
       importDeformConv,
       "gather_nd and matmul, of two spatial dimensions"},
      {"RoiAlign",
       {10, 16, 22},
       lowered,
       importRoiAlign,
       "embedding, of a known sampling_ratio"},
  };
  return entries;
}

} // namespace parplan::importer
