//===- Tensor.cpp - A value of the interpreter ----------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Interpreter/Tensor.h"

#include "parplan/Support/Check.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>
#include <limits>

using namespace mlir;

namespace parplan {

Tensor::Tensor(RankedTensorType type)
    : type(type), elements(type.getNumElements()) {}

double roundToFloat(double value, FloatType type) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return static_cast<float>(value);
  APFloat rounded(value);
  bool losesInfo = false;
  rounded.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  return rounded.convertToDouble();
}

/// `value` with the bits that `type` has.
static int64_t wrapToInteger(int64_t value, IntegerType type) {
  unsigned width = type.getWidth();
  if (width == 1)
    return value & 1;
  if (width >= 64)
    return value;
  uint64_t bits = static_cast<uint64_t>(value) << (64 - width);
  return type.isUnsigned() ? static_cast<int64_t>(bits >> (64 - width))
                           : static_cast<int64_t>(bits) >> (64 - width);
}

template <typename Element>
static void readValues(ElementsAttr value, std::vector<Scalar> &elements,
                       llvm::function_ref<Scalar(const Element &)> convert) {
  auto values = value.value_begin<Element>();
  for (Scalar &element : elements)
    element = convert(*values++);
}

Tensor Tensor::fromAttribute(ElementsAttr value) {
  Tensor tensor(cast<RankedTensorType>(value.getType()));
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
    auto dense = DenseElementsAttr::getFromRawBuffer(tensor.type, data);
    return fromAttribute(dense);
  }
  if (tensor.isReal())
    readValues<APFloat>(value, tensor.elements, [](const APFloat &element) {
      Scalar scalar;
      APFloat wide(element);
      bool losesInfo = false;
      wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
      scalar.real = wide.convertToDouble();
      return scalar;
    });
  else
    readValues<APInt>(value, tensor.elements, [&](const APInt &element) {
      bool isSigned = !tensor.type.getElementType().isUnsignedInteger() &&
                      element.getBitWidth() > 1;
      Scalar scalar;
      scalar.integer = isSigned ? element.getSExtValue()
                                : static_cast<int64_t>(element.getZExtValue());
      return scalar;
    });
  return tensor;
}

double Tensor::getNumber(int64_t position) const {
  if (isReal())
    return elements[position].real;
  int64_t integer = elements[position].integer;
  return isUnsigned() ? static_cast<double>(static_cast<uint64_t>(integer))
                      : static_cast<double>(integer);
}

void Tensor::setNumber(int64_t position, double value) {
  if (isReal())
    elements[position].real = value;
  else
    elements[position].integer = static_cast<int64_t>(value);
}

Scalar Tensor::getLeast() const {
  Scalar least;
  if (isReal()) {
    least.real = -std::numeric_limits<double>::infinity();
    return least;
  }
  unsigned width = type.getElementType().getIntOrFloatBitWidth();
  bool startsAtZero = isUnsigned() || width == 1;
  least.integer =
      startsAtZero ? 0 : std::numeric_limits<int64_t>::min() >> (64 - width);
  return least;
}

SmallVector<int64_t> Tensor::getStrides() const {
  SmallVector<int64_t> strides(getRank(), 1);
  for (int64_t dim = getRank() - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * type.getDimSize(dim + 1);
  return strides;
}

Tensor Tensor::reshaped(ArrayRef<int64_t> shape) const {
  Tensor result = *this;
  result.type = type.clone(shape);
  PARPLAN_CHECK(result.type.getNumElements() == type.getNumElements(),
                "reshape of ", type.getNumElements(), " elements to ",
                result.type.getNumElements());
  return result;
}

void Tensor::roundToType() {
  if (auto real = dyn_cast<FloatType>(type.getElementType())) {
    if (real.isF64())
      return;
    for (Scalar &element : elements)
      element.real = roundToFloat(element.real, real);
    return;
  }
  auto integer = cast<IntegerType>(type.getElementType());
  for (Scalar &element : elements)
    element.integer = wrapToInteger(element.integer, integer);
}

TensorLayout Tensor::getLayout() const {
  return {llvm::SmallVector<int64_t>(getShape()), sizeof(Scalar)};
}

Bytes Tensor::getBytes() const {
  Bytes bytes(elements.size() * sizeof(Scalar));
  if (!bytes.empty())
    std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

Tensor Tensor::fromBytes(RankedTensorType type, const Bytes &bytes) {
  Tensor tensor(type);
  PARPLAN_CHECK(bytes.size() == tensor.elements.size() * sizeof(Scalar),
                bytes.size(), " bytes for ", tensor.elements.size(),
                " elements");
  if (!bytes.empty())
    std::memcpy(tensor.elements.data(), bytes.data(), bytes.size());
  return tensor;
}

void forEachIndex(ArrayRef<int64_t> shape,
                  llvm::function_ref<void(ArrayRef<int64_t>, int64_t)> body) {
  SmallVector<int64_t> index(shape.size(), 0);
  if (llvm::is_contained(shape, 0))
    return;
  for (int64_t position = 0;; ++position) {
    body(index, position);
    int64_t dim = static_cast<int64_t>(shape.size()) - 1;
    for (; dim >= 0 && ++index[dim] == shape[dim]; --dim)
      index[dim] = 0;
    if (dim < 0)
      return;
  }
}

SmallVector<int64_t> getBroadcastStrides(const Tensor &tensor,
                                         ArrayRef<int64_t> target) {
  SmallVector<int64_t> own = tensor.getStrides(), strides(target.size(), 0);
  size_t missing = target.size() - own.size();
  for (size_t dim = 0; dim < own.size(); ++dim)
    if (tensor.getShape()[dim] != 1)
      strides[missing + dim] = own[dim];
  return strides;
}

int64_t getPosition(ArrayRef<int64_t> index, ArrayRef<int64_t> strides) {
  int64_t position = 0;
  for (size_t dim = 0; dim < index.size(); ++dim)
    position += index[dim] * strides[dim];
  return position;
}

} // namespace parplan
