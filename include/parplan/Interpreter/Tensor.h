//===- Tensor.h - A value of the interpreter --------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_INTERPRETER_TENSOR_H
#define PARPLAN_INTERPRETER_TENSOR_H

#include "parplan/Sharding/Blocks.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace parplan {

/// One element: `real` for float types, `integer` for the others (i1 is 0 or
/// 1). Both have eight bytes, so that blocks of any type are cut alike.
union Scalar {
  double real;
  int64_t integer;
};

/// The greater of two integers; unsigned ones of 64 bits are their bits.
inline int64_t takeGreater(int64_t a, int64_t b, bool isUnsigned) {
  bool isLess =
      isUnsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
  return isLess ? b : a;
}

/// A dense row-major tensor. Elements are computed in double precision and
/// then rounded to the element type.
class Tensor {
public:
  Tensor() = default;
  /// Zeros.
  explicit Tensor(mlir::RankedTensorType type);
  static Tensor fromAttribute(mlir::ElementsAttr value);
  /// `bytes` as `getBytes` gives them.
  static Tensor fromBytes(mlir::RankedTensorType type, const Bytes &bytes);

  mlir::RankedTensorType getType() const { return type; }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }
  int64_t getRank() const { return type.getRank(); }
  int64_t getSize() const { return static_cast<int64_t>(elements.size()); }
  bool isReal() const {
    return llvm::isa<mlir::FloatType>(type.getElementType());
  }
  /// Elements of 64 bits are the bits of the number.
  bool isUnsigned() const { return type.getElementType().isUnsignedInteger(); }

  Scalar &operator[](int64_t position) { return elements[position]; }
  Scalar operator[](int64_t position) const { return elements[position]; }
  /// The element as a number, whatever the type.
  double getNumber(int64_t position) const;
  void setNumber(int64_t position, double value);
  /// The least element that the type has: minus infinity of floats.
  Scalar getLeast() const;

  /// Distances between neighbours of every dimension.
  llvm::SmallVector<int64_t> getStrides() const;
  /// The same elements under another shape of equal size.
  Tensor reshaped(llvm::ArrayRef<int64_t> shape) const;

  /// Rounds or wraps every element to the element type.
  void roundToType();

  /// Shape and eight bytes per element.
  TensorLayout getLayout() const;
  Bytes getBytes() const;

private:
  mlir::RankedTensorType type;
  std::vector<Scalar> elements;
};

/// `value` as the float type `type` has it.
double roundToFloat(double value, mlir::FloatType type);

/// Calls `body` with every index of `shape`, row-major.
void forEachIndex(
    llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<void(llvm::ArrayRef<int64_t> index, int64_t position)>
        body);

/// Strides of a tensor of `shape` with `strides` that is read as `target`
/// (numpy broadcasting): 0 where it is stretched.
llvm::SmallVector<int64_t> getBroadcastStrides(const Tensor &tensor,
                                               llvm::ArrayRef<int64_t> target);

/// Sum of index[d] * strides[d].
int64_t getPosition(llvm::ArrayRef<int64_t> index,
                    llvm::ArrayRef<int64_t> strides);

} // namespace parplan

#endif // PARPLAN_INTERPRETER_TENSOR_H
