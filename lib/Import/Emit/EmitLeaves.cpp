//===- EmitLeaves.cpp - Parameters and constants ---------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Emit/Emitter.h"

using namespace mlir;

namespace parplan::importer {

/// Longer ranges of integers are an iota, which can be split over a mesh.
constexpr size_t longestListedRange = 16;

void Emitter::emitInitializers() {
  symbols.resize(graph.parameters.size());
  std::vector<bool> isRead(graph.parameters.size(), false);
  for (ValueId id = 0; id < graph.getValueCount(); ++id)
    if (uses[id] && graph.getValue(id).kind == ValueKind::parameter)
      isRead[graph.getValue(id).leaf] = true;
  for (size_t index = 0; index < graph.parameters.size(); ++index) {
    if (!isRead[index])
      continue;
    const Parameter &parameter = graph.parameters[index];
    // Names come from the file: symbols are our own.
    std::string symbol = "w" + std::to_string(index);
    symbols[index] = FlatSymbolRefAttr::get(builder.getContext(), symbol);
    builder.create<InitializerOp>(location, symbol, parameter.name,
                                  getType(parameter.type, parameter.shape),
                                  parameter.file, parameter.offset,
                                  parameter.length);
  }
}

void Emitter::emitLeaf(ValueId id) {
  const importer::Value &value = graph.getValue(id);
  if (value.kind == ValueKind::parameter) {
    values[id] = builder.create<ParameterOp>(location, getType(id),
                                             symbols[value.leaf], ViewAttr());
    return;
  }
  PARPLAN_CHECK(value.kind == ValueKind::constant, "value ", id,
                " is used before it is made");
  values[id] = emitConstant(id);
}

mlir::Value Emitter::broadcast(mlir::Value value, ShapeRef shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  return builder.create<BroadcastOp>(
      location, RankedTensorType::get(shape, type.getElementType()), value);
}

mlir::Value Emitter::emitConstant(ValueId id) {
  const Constant &constant = *graph.getConstant(id);
  ShapeRef shape = graph.getValue(id).shape;
  if (constant.isAffine())
    return builder.create<AffineMaskOp>(location, getType(id),
                                        constant.coefficients, constant.offset);
  if (constant.isDense())
    return emitDense(constant, shape);
  // Parts that nothing read one by one after all.
  SmallVector<mlir::Value> parts;
  for (const ConstantPart &part : constant.parts) {
    Shape partShape(shape.begin(), shape.end());
    partShape.back() = part.size;
    parts.push_back(emitDense(graph.constants[part.constant], partShape));
  }
  return builder.create<ConcatOp>(location, getType(id), parts,
                                  int64_t(shape.size()) - 1);
}

mlir::Value Emitter::emitDense(const Constant &constant, ShapeRef shape) {
  ElementType type = constant.type;
  if (constant.isSplat()) {
    Cell cell = constant.cells[0];
    Attribute element;
    Type elementType = getElementType(type);
    if (isFloat(type))
      element = builder.getFloatAttr(elementType, cell.real);
    else
      element = builder.getIntegerAttr(elementType, cell.integer);
    return builder.create<ConstantOp>(
        location, getType(type, shape),
        DenseElementsAttr::get(getType(type, shape), element));
  }
  // One varying dimension that counts: an iota.
  if (constant.cells.size() > longestListedRange && !isBool(type)) {
    size_t varying = 0, dim = 0;
    for (size_t i = 0; i < constant.core.size(); ++i)
      if (constant.core[i] != 1) {
        ++varying;
        dim = i;
      }
    if (varying == 1)
      if (std::optional<AffineFunction> function = fitAffine(constant))
        return broadcast(emitRange(*function, dim, constant), shape);
  }
  RankedTensorType coreType = getType(type, constant.core);
  DenseElementsAttr elements;
  if (isBool(type)) {
    SmallVector<bool> bits;
    for (Cell cell : constant.cells)
      bits.push_back(cell.integer != 0);
    elements = DenseElementsAttr::get(coreType, bits);
  } else {
    ElementType carrier = getCarrier(type);
    size_t size = getElementBytes(carrier);
    std::vector<char> bytes(constant.cells.size() * size);
    for (size_t i = 0; i < constant.cells.size(); ++i)
      writeCell(constant.cells[i], carrier, bytes.data() + i * size);
    elements = DenseElementsAttr::getFromRawBuffer(coreType, bytes);
  }
  return broadcast(builder.create<ConstantOp>(location, coreType, elements),
                   shape);
}

mlir::Value Emitter::emitRange(const AffineFunction &function, size_t dim,
                               const Constant &constant) {
  // Floats count in integers, then are cast: exact, as the fit was.
  ElementType type = isFloat(constant.type) ? ElementType::i64 : constant.type;
  RankedTensorType rangeType = getType(type, constant.core);
  auto scalarType = getType(type, {});
  auto scalar = [&](int64_t number) -> mlir::Value {
    return builder.create<ConstantOp>(
        location, scalarType,
        DenseElementsAttr::get(
            scalarType,
            builder.getIntegerAttr(scalarType.getElementType(), number)));
  };
  mlir::Value range = builder.create<IotaOp>(location, rangeType, int64_t(dim));
  if (int64_t step = function.coefficients[dim]; step != 1)
    range = builder.create<MulOp>(location, rangeType, range, scalar(step));
  if (function.offset != 0)
    range = builder.create<AddOp>(location, rangeType, range,
                                  scalar(function.offset));
  if (type != constant.type)
    range = builder.create<CastOp>(
        location, getType(constant.type, constant.core), range);
  return range;
}

} // namespace parplan::importer
