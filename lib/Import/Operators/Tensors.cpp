//===- Tensors.cpp - Constants from messages and bytes ---------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/Tensors.h"

#include "onnx/onnx_pb.h"

namespace parplan::importer {

ValueId makeConstant(GraphBuilder &builder, ElementType type, ShapeRef shape,
                     std::string_view bytes) {
  PARPLAN_CHECK(int64_t(bytes.size()) ==
                    getTensorBytes(type, countElements(shape)),
                "a tensor's bytes were not guarded");
  std::vector<Cell> cells(countElements(shape));
  for (size_t i = 0; i < cells.size(); ++i)
    cells[i] = readElement(bytes, int64_t(i), type);
  ValueId value = builder.makeDense(type, shape, std::move(cells));
  return isBool(type) ? builder.makeLazyMask(value) : value;
}

/// One element of a typed field. Half floats are the bits of an int32.
static Cell readTypedCell(const onnx::TensorProto &tensor, ElementType type,
                          int index) {
  Cell cell{.integer = 0};
  switch (type) {
  case ElementType::f32:
    cell.real = tensor.float_data(index);
    break;
  case ElementType::f64:
    cell.real = tensor.double_data(index);
    break;
  case ElementType::i64:
    cell.integer = tensor.int64_data(index);
    break;
  case ElementType::u64:
  case ElementType::u32:
    cell.integer = wrapToType(int64_t(tensor.uint64_data(index)), type);
    break;
  case ElementType::f16:
  case ElementType::bf16: {
    auto bits = static_cast<uint16_t>(tensor.int32_data(index));
    return readCell(reinterpret_cast<const char *>(&bits), type);
  }
  default:
    cell.integer = wrapToType(tensor.int32_data(index), type);
  }
  return cell;
}

std::string getRawBytes(const onnx::TensorProto &tensor, ElementType type) {
  int64_t count =
      countElements(Shape(tensor.dims().begin(), tensor.dims().end()));
  std::string bytes(getTensorBytes(type, count), '\0');
  if (isNarrow(type)) {
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = char(tensor.int32_data(int(i)));
    return bytes;
  }
  int64_t size = getElementBytes(type);
  for (int64_t i = 0; i < count; ++i)
    writeCell(readTypedCell(tensor, type, int(i)), type,
              bytes.data() + i * size);
  return bytes;
}

ValueId makeConstant(GraphBuilder &builder, const onnx::TensorProto &tensor) {
  std::optional<ElementType> type = fromOnnxType(tensor.data_type());
  if (!type)
    failNode(codes::unsupportedType, "a constant of type ",
             printOnnxType(tensor.data_type()));
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  if (tensor.has_raw_data())
    return makeConstant(builder, *type, shape, tensor.raw_data());
  if (isNarrow(*type))
    return makeConstant(builder, *type, shape, getRawBytes(tensor, *type));
  std::vector<Cell> cells(countElements(shape));
  for (size_t i = 0; i < cells.size(); ++i)
    cells[i] = readTypedCell(tensor, *type, i);
  ValueId value = builder.makeDense(*type, shape, std::move(cells));
  return isBool(*type) ? builder.makeLazyMask(value) : value;
}

} // namespace parplan::importer
