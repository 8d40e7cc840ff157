//===- Spectra.cpp - Fourier transforms and windows ------------*- C++ -*-===//
//
// Part of parplan. A transform of a known length is a product with a constant.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/Formula.h"
#include "lib/Import/Operators/OperatorTable.h"

#include <algorithm>
#include <cmath>

namespace parplan::importer {

namespace {
/// What a transform along one dimension reads and makes.
struct Transform {
  int64_t length;
  bool inverse, oneSided;
};
} // namespace

constexpr double pi = 3.14159265358979323846;

/// cos(2 pi turn / whole), exactly where it is 0 or 1.
static double getCosine(int64_t turn, int64_t whole) {
  turn = (turn % whole + whole) % whole;
  if (4 * turn == whole || 4 * turn == 3 * whole)
    return 0;
  if (2 * turn == whole)
    return -1;
  return std::cos(2 * pi * double(turn) / double(whole));
}
/// sin(2 pi turn / whole), a quarter later.
static double getSine(int64_t turn, int64_t whole) {
  return getCosine(4 * turn - whole, 4 * whole);
}

/// Transforms `dim` of [.., elements, .., parts], the parts being real and
/// imaginary, or real only. Elements past the length are not read, missing ones
/// are zero.
static ValueId transform(GraphBuilder &builder, ValueId input, int64_t dim,
                         const Transform &spec) {
  Formula formula(builder, builder.getType(input));
  Shape shape = builder.getShape(input);
  int64_t length = spec.length, half = length / 2 + 1;
  int64_t parts = shape.back(), last = int64_t(shape.size()) - 1;
  bool givesReal = spec.inverse && spec.oneSided;
  int64_t from = std::min(shape[dim], givesReal ? half : length);
  int64_t to = spec.oneSided && !spec.inverse ? half : length;
  int64_t resultParts = givesReal ? 1 : 2;
  constexpr int64_t mostCells = int64_t(1) << 22;
  if (from > mostCells / (to * parts * resultParts))
    failNode(codes::tooLarge, "a transform of length ", length);
  // Element t and frequency k meet at the angle 2 pi t k / length.
  std::vector<Cell> cells;
  for (int64_t t = 0; t < from; ++t)
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t k = 0; k < to; ++k)
        for (int64_t resultPart = 0; resultPart < resultParts; ++resultPart) {
          // (a + bi)(cos + i sin) backwards, (a + bi)(cos - i sin) forwards.
          int64_t turn = (spec.inverse ? t * k : -t * k) % length;
          double factor = part == resultPart ? getCosine(turn, length)
                          : part == 0        ? getSine(turn, length)
                                             : getSine(-turn, length);
          if (spec.inverse)
            factor /= double(length);
          // The other half of a spectrum of reals is its conjugate.
          if (givesReal && t != 0 && 2 * t != length)
            factor *= 2;
          Cell cell;
          cell.real = roundToType(factor, formula.type);
          cells.push_back(cell);
        }
  ValueId matrix = builder.makeDense(
      formula.type, {from, parts, to, resultParts}, std::move(cells));
  input = builder.slice(input, SliceRange{dim, 0, from});
  ShapeRef between = ShapeRef(shape).slice(dim + 1, last - dim - 1);
  ValueId product = builder.product(
      builder.reshape(input, {countElements(ShapeRef(shape).take_front(dim)),
                              from, countElements(between), parts}),
      matrix, "atbp,tpkr->akbr");
  shape[dim] = to;
  shape[last] = resultParts;
  return builder.reshape(product, shape);
}

static void requireSignal(NodeContext &node, ValueId signal, size_t rank) {
  ShapeRef shape = node.builder.getShape(signal);
  if (shape.size() < rank || shape.back() < 1 || shape.back() > 2 ||
      countElements(shape) == 0)
    failNode(codes::badNode, "a signal of shape ", printShape(shape));
}

static int64_t checkLength(int64_t length) {
  if (length < 1 || length > (int64_t(1) << 24))
    failNode(codes::badNode, "a transform of length ", length);
  return length;
}

static void importDFT(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId input = node.getInput(0);
  requireSignal(node, input, 2);
  int64_t axis = -2, rank = builder.getRank(input);
  if (node.version < 20)
    axis = node.getInteger("axis", 1);
  else if (node.hasInput(2))
    axis = node.getKnownInteger(2, "the axis");
  int64_t dim = builder.normalizeDim(axis, rank);
  if (dim == rank - 1)
    failNode(codes::badNode, "axis ", axis, " has the parts of numbers");
  Transform spec{0, node.getInteger("inverse", 0) != 0,
                 node.getInteger("onesided", 0) != 0};
  int64_t size = builder.getShape(input)[dim];
  if (node.hasInput(1))
    spec.length = node.getKnownInteger(1, "the length");
  else
    spec.length = spec.inverse && spec.oneSided ? 2 * (size - 1) : size;
  checkLength(spec.length);
  if (spec.oneSided && !spec.inverse && builder.getShape(input).back() != 1)
    failNode(codes::badNode, "half of the spectrum of complex numbers");
  node.setOutput(0, transform(builder, input, dim, spec));
}

static void importSTFT(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  ValueId signal = node.getInput(0), window = node.getOptionalInput(2);
  ShapeRef given = builder.getShape(signal);
  if (given.size() == 2)
    signal = builder.insertDims(signal, {2});
  requireSignal(node, signal, 3);
  Shape shape = builder.getShape(signal);
  int64_t step = node.getKnownInteger(1, "the step between frames");
  int64_t length = shape[1];
  if (node.hasInput(3))
    length = node.getKnownInteger(3, "the length of frames");
  else if (window != noValue)
    length = countElements(builder.getShape(window));
  checkLength(length);
  if (shape.size() != 3 || step < 1 || length > shape[1] ||
      (window != noValue && builder.getShape(window) != Shape({length})))
    failNode(codes::badNode, "frames of ", length, " elements, ", step,
             " apart, of a signal of shape ", printShape(shape));
  bool oneSided = node.getInteger("onesided", 1) != 0;
  if (oneSided && shape[2] != 1)
    failNode(codes::badNode, "half of the spectrum of complex numbers");
  int64_t frames = (shape[1] - length) / step + 1;
  constexpr int64_t most = int64_t(1) << 24;
  if (frames > most / length)
    failNode(codes::tooLarge, frames, " frames of ", length, " elements");
  std::vector<int64_t> places;
  for (int64_t frame = 0; frame < frames; ++frame)
    for (int64_t i = 0; i < length; ++i)
      places.push_back(frame * step + i);
  ValueId cut = builder.gather(
      signal, builder.reshape(builder.makeIntegers(places), {frames, length}),
      1);
  if (window != noValue)
    cut =
        builder.binary(OpKind::mul, cut, builder.reshape(window, {length, 1}));
  node.setOutput(
      0, transform(builder, cut, 2, {length, /*inverse=*/false, oneSided}));
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// first - second cos(2 pi i / n) + third cos(4 pi i / n), n being the size of
/// the period.
static void setWindow(NodeContext &node, double first, double second,
                      double third) {
  int64_t size = node.getKnownInteger(0, "the size");
  constexpr int64_t largest = int64_t(1) << 22;
  if (size < 1 || size > largest)
    failNode(codes::badNode, "a window of ", size, " elements");
  ElementType type = node.getElementType("output_datatype", ElementType::f32);
  bool isPeriodic = node.getInteger("periodic", 1) != 0;
  double period = double(isPeriodic ? size : std::max<int64_t>(size - 1, 1));
  std::vector<Cell> cells(size);
  for (int64_t i = 0; i < size; ++i) {
    double angle = 2 * pi * double(i) / period;
    Cell cell;
    cell.real = first - second * std::cos(angle) + third * std::cos(2 * angle);
    cells[i] = convertCell(cell, ElementType::f64, type);
  }
  node.setOutput(0, node.builder.makeDense(type, {size}, std::move(cells)));
}

static void importHannWindow(NodeContext &node) {
  setWindow(node, 0.5, 0.5, 0);
}
static void importHammingWindow(NodeContext &node) {
  setWindow(node, 25.0 / 46.0, 21.0 / 46.0, 0);
}
static void importBlackmanWindow(NodeContext &node) {
  setWindow(node, 0.42, 0.5, 0.08);
}

/// Triangles, whose corners lie at equal distances on the mel scale.
static void importMelWeightMatrix(NodeContext &node) {
  GraphBuilder &builder = node.builder;
  int64_t bins = node.getKnownInteger(0, "the number of bins"),
          length = node.getKnownInteger(1, "the length of the transform"),
          rate = node.getKnownInteger(2, "the sample rate");
  double edges[2];
  for (size_t operand : {3, 4})
    edges[operand - 3] =
        convertCell(node.getKnownScalar(operand, "an edge"),
                    builder.getType(node.getInput(operand)), ElementType::f64)
            .real;
  constexpr int64_t largest = int64_t(1) << 22;
  int64_t rows = length / 2 + 1;
  if (bins < 1 || length < 1 || rate < 1 || length > largest ||
      bins > largest / rows)
    failNode(codes::badNode, bins, " bins of a transform of length ", length,
             " at the rate ", rate);
  auto toMel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double low = toMel(edges[0]),
         step = (toMel(edges[1]) - low) / double(bins + 2);
  std::vector<int64_t> corners;
  for (int64_t i = 0; i < bins + 2; ++i) {
    double hertz = 700 * (std::pow(10.0, (low + double(i) * step) / 2595) - 1);
    double corner = std::floor(double(length + 1) * hertz / double(rate));
    if (!(corner >= 0 && corner < double(rows)))
      failNode(codes::badNode, "a frequency of ", hertz,
               " is outside of the spectrum");
    corners.push_back(int64_t(corner));
  }
  ElementType type = node.getElementType("output_datatype", ElementType::f32);
  std::vector<Cell> cells(rows * bins);
  auto set = [&](int64_t row, int64_t bin, double value) {
    Cell cell;
    cell.real = value;
    cells[row * bins + bin] = convertCell(cell, ElementType::f64, type);
  };
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t bin = 0; bin < bins; ++bin)
      set(row, bin, 0);
  for (int64_t bin = 0; bin < bins; ++bin) {
    int64_t left = corners[bin], peak = corners[bin + 1],
            right = corners[bin + 2];
    if (left == peak)
      set(peak, bin, 1);
    for (int64_t row = left; left < peak && row <= peak; ++row)
      set(row, bin, double(row - left) / double(peak - left));
    for (int64_t row = peak; row < right; ++row)
      set(row, bin, double(right - row) / double(right - peak));
  }
  node.setOutput(0, builder.makeDense(type, {rows, bins}, std::move(cells)));
}

llvm::ArrayRef<OperatorEntry> getSpectrumOperators() {
  constexpr Support folded = Support::folded, lowered = Support::lowered;
  static const OperatorEntry entries[] = {
      {"DFT", {17, 20}, lowered, importDFT, "matmul, of a known length"},
      {"STFT", {17}, lowered, importSTFT, "gather and matmul"},
      {"HannWindow", {17}, folded, importHannWindow, "of a known size"},
      {"HammingWindow", {17}, folded, importHammingWindow, "of a known size"},
      {"BlackmanWindow", {17}, folded, importBlackmanWindow, "of a known size"},
      {"MelWeightMatrix", {17}, folded, importMelWeightMatrix, "of constants"},
  };
  return entries;
}

} // namespace parplan::importer
