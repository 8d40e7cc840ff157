//===- Inference.cpp - Helpers of type inference --------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/Inference.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace parplan {

LogicalResult requireTensors(OptionalLocation location, ValueRange operands) {
  for (auto [index, operand] : llvm::enumerate(operands)) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || !type.hasStaticShape())
      return emitOptionalError(location, "operand #", index,
                               " must be a statically shaped tensor, not ",
                               operand.getType());
  }
  return success();
}

LogicalResult requireDim(OptionalLocation location, int64_t dim, int64_t rank) {
  if (dim < 0 || dim >= rank)
    return emitOptionalError(location, "dimension ", dim,
                             " does not exist in a tensor of rank ", rank);
  return success();
}

LogicalResult requireDims(OptionalLocation location, ArrayRef<int64_t> dims,
                          int64_t rank) {
  for (auto [index, dim] : llvm::enumerate(dims)) {
    if (failed(requireDim(location, dim, rank)))
      return failure();
    if (index > 0 && dims[index - 1] >= dim)
      return emitOptionalError(location, "dimensions are not ascending: ",
                               dims[index - 1], " before ", dim);
  }
  return success();
}

FailureOr<Shape> broadcastShapes(OptionalLocation location,
                                 ArrayRef<int64_t> left,
                                 ArrayRef<int64_t> right) {
  if (left.size() < right.size())
    std::swap(left, right);
  Shape result(left.begin(), left.end());
  size_t offset = left.size() - right.size();
  for (auto [index, size] : llvm::enumerate(right)) {
    int64_t &target = result[offset + index];
    if (target == size || size == 1)
      continue;
    if (target != 1)
      return emitOptionalError(location, "shapes ", printShape(left), " and ",
                               printShape(right), " do not broadcast");
    target = size;
  }
  return result;
}

bool broadcastsTo(ArrayRef<int64_t> shape, ArrayRef<int64_t> target) {
  if (shape.size() > target.size())
    return false;
  return llvm::all_of(llvm::zip(shape, target.take_back(shape.size())),
                      [](auto sizes) {
                        auto [size, wanted] = sizes;
                        return size == wanted || size == 1;
                      });
}

LogicalResult appendType(FailureOr<RankedTensorType> type,
                         SmallVectorImpl<Type> &types) {
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}

std::string printShape(ArrayRef<int64_t> shape) {
  std::string text = "[";
  llvm::raw_string_ostream stream(text);
  llvm::interleave(shape, stream, "x");
  stream << "]";
  return text;
}

} // namespace parplan
