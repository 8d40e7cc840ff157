//===- Leaves.cpp - Initializers as constants or parameters ----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Sweep/Leaves.h"

#include "lib/Import/Load/ExternalFiles.h"
#include "lib/Import/Operators/Tensors.h"

#include "parplan/Support/CheckedMath.h"
#include "parplan/Support/Text.h"

#include "onnx/onnx_pb.h"

#include <cstring>
#include <map>

namespace parplan::importer {

/// Integers up to this size are read; larger ones are data, not shapes.
constexpr int64_t maxConstantBytes = int64_t(1) << 23;
/// External integers up to this size are read though weights are not.
constexpr int64_t maxExternalBytes = int64_t(1) << 20;
/// Elements of narrow types up to this size are zero points and the like.
constexpr int64_t maxNarrowBytes = int64_t(1) << 12;
/// Floats up to this size are searched for masks and repetition.
constexpr int64_t maxSearchedBytes = int64_t(1) << 24;

bool Leaves::isConstant(const Initializer &initializer,
                        ElementType type) const {
  if (isNarrow(type))
    return initializer.bytes <= maxNarrowBytes;
  if (!isFloat(type))
    return initializer.bytes <=
           (initializer.external ? maxExternalBytes : maxConstantBytes);
  if (initializer.external || initializer.mark == InitializerMark::parameter)
    return false;
  if (!initializer.span) // Typed data have no place in the file.
    return true;
  return countElements(initializer.shape) == 1 &&
         (initializer.shape.empty() || !model.filtered.marks.empty());
}

ValueId Leaves::addParameter(const Initializer &initializer, ElementType type,
                             ShapeRef shape, int64_t bytes) {
  Parameter parameter;
  parameter.name = std::string(initializer.name);
  parameter.type = type;
  parameter.shape.assign(shape.begin(), shape.end());
  parameter.length = bytes;
  if (initializer.external) {
    parameter.file = initializer.external->location;
    parameter.offset = initializer.external->offset;
  } else {
    parameter.offset = int64_t(initializer.span->offset);
  }
  std::vector<Parameter> &parameters = builder.graph.parameters;
  parameters.push_back(std::move(parameter));
  return builder.graph.addLeaf(ValueKind::parameter, type, shape,
                               parameters.size() - 1);
}

ValueId Leaves::addPacked(const Initializer &initializer, ElementType type) {
  // Whole bytes per row, so that rows can be split over a mesh, or one row.
  Shape packed(initializer.shape.begin(), initializer.shape.end());
  int64_t perByte = 8 / getElementBits(type);
  if (packed.empty() || packed.back() % perByte != 0)
    packed = {initializer.bytes};
  else
    packed.back() /= perByte;
  ValueId bytes =
      addParameter(initializer, ElementType::u8, packed, initializer.bytes);
  return builder.decode(bytes, type, initializer.shape);
}

/// True when the two halves of every row of `width` elements are equal.
static bool hasEqualHalves(std::string_view bytes, int64_t width, size_t size) {
  size_t row = size_t(width) * size, half = row / 2;
  if (width % 2 != 0)
    return false;
  for (size_t start = 0; start < bytes.size(); start += row)
    if (std::memcmp(bytes.data() + start, bytes.data() + start + half, half))
      return false;
  return true;
}

ValueId Leaves::recognize(const Initializer &initializer, ElementType type) {
  ShapeRef shape(initializer.shape);
  if (initializer.mark == InitializerMark::parameter || !initializer.span ||
      initializer.bytes > maxSearchedBytes || shape.size() < 3)
    return noValue;
  std::string_view bytes = model.file.getBytes().substr(
      initializer.span->offset, initializer.span->length);
  size_t size = getElementBytes(type);
  size_t count = countElements(shape);
  if (count == 0)
    return noValue;
  std::string_view first = bytes.substr(0, size), second;
  bool hasTwo = true;
  for (size_t i = 1; i < count && hasTwo; ++i) {
    std::string_view element = bytes.substr(i * size, size);
    if (element == first)
      continue;
    if (second.empty())
      second = element;
    hasTwo = element == second;
  }
  if (hasTwo) {
    Cell one = readCell(first.data(), type);
    ValueId onFirst = builder.makeSplat(type, {}, one);
    if (second.empty())
      return builder.broadcast(onFirst, shape);
    ValueId onSecond =
        builder.makeSplat(type, {}, readCell(second.data(), type));
    std::vector<Cell> isFirst(count);
    for (size_t i = 0; i < count; ++i)
      isFirst[i].integer = bytes.substr(i * size, size) == first;
    ValueId mask = builder.makeLazyMask(
        builder.makeDense(ElementType::i1, shape, std::move(isFirst)));
    return builder.select(mask, onFirst, onSecond);
  }
  if (hasEqualHalves(bytes, shape.back(), size)) {
    int64_t last = int64_t(shape.size()) - 1, half = shape.back() / 2;
    ValueId whole = addParameter(initializer, type, shape, initializer.bytes);
    ValueId lower = builder.slice(whole, SliceRange{last, 0, half});
    return builder.concat({lower, lower}, last);
  }
  if (shape[0] < 2)
    return noValue;
  size_t slice = bytes.size() / shape[0];
  if (std::memcmp(bytes.data(), bytes.data() + slice, bytes.size() - slice))
    return noValue;
  Shape one(shape.begin(), shape.end());
  one[0] = 1;
  return builder.broadcast(addParameter(initializer, type, one, slice), shape);
}

ValueId Leaves::add(const Initializer &initializer) {
  std::optional<ElementType> type = fromOnnxType(initializer.onnxType);
  if (!type)
    return builder.addForeign(concat(
        "the initializer ", quoteName(initializer.name),
        ", which has elements of type ", printOnnxType(initializer.onnxType)));
  bool isTyped = !initializer.external && !initializer.span;
  if (!isConstant(initializer, *type) && !isTyped) {
    if (isNarrow(*type))
      return addPacked(initializer, *type);
    if (isFloat(*type))
      if (ValueId value = recognize(initializer, *type); value != noValue)
        return value;
    return addParameter(initializer, *type, initializer.shape,
                        initializer.bytes);
  }
  if (isTyped)
    return makeConstant(builder, *initializer.message);
  if (initializer.span)
    return makeConstant(builder, *type, initializer.shape,
                        model.file.getBytes().substr(initializer.span->offset,
                                                     initializer.span->length));
  // Small external integers: shapes may depend on them. Without the file they
  // are parameters, and a node that needs their values says so.
  ExternalFile file;
  if (file.open(model.path, initializer.external->location).empty())
    if (std::optional<std::string> bytes =
            file.read(initializer.external->offset, initializer.bytes))
      return makeConstant(builder, *type, initializer.shape, *bytes);
  if (isNarrow(*type))
    return addPacked(initializer, *type);
  return addParameter(initializer, *type, initializer.shape, initializer.bytes);
}

std::optional<std::string> readWeights(const LoadedModel &model,
                                       const Parameter &parameter) {
  if (parameter.file.empty())
    return std::string(
        model.file.getBytes().substr(parameter.offset, parameter.length));
  ExternalFile file;
  if (!file.open(model.path, parameter.file).empty())
    return std::nullopt;
  return file.read(parameter.offset, parameter.length);
}

void checkWeights(const LoadedModel &model, const Graph &graph,
                  DiagnosticEngine &diagnostics) {
  // How far the model reaches into each file.
  std::map<std::string, int64_t> ends;
  for (const Parameter &parameter : graph.parameters)
    if (!parameter.file.empty()) {
      int64_t &end = ends[parameter.file];
      end = std::max(end, parameter.offset + parameter.length);
    }
  for (const auto &[location, end] : ends) {
    ExternalFile file;
    if (std::string reason = file.open(model.path, location); !reason.empty())
      diagnostics.error(codes::missingExternalData,
                        Location::inFile(model.path))
          << "cannot read the weights in " << quoteName(location) << ": "
          << reason;
    else if (file.getSize() < end)
      diagnostics.error(codes::badExternalData, Location::inFile(model.path))
          << "the weights in " << quoteName(location) << " end at byte "
          << file.getSize() << ", but the model reads up to byte " << end;
  }
}

} // namespace parplan::importer
