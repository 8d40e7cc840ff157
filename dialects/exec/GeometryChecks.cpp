//===- GeometryChecks.cpp - Checks that geometries share ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/GeometryChecks.h"

using namespace mlir;
using namespace parplan;
using namespace parplan::exec;

LogicalResult exec::expectElements(Operation *op, Value buffer,
                                   int64_t elements, StringRef name) {
  if (!buffer)
    return success();
  int64_t count = getBufferType(buffer).getElementCount();
  if (count != elements)
    return op->emitOpError() << name << " has " << count << " elements, not "
                             << elements << " (E9)";
  return success();
}

LogicalResult exec::expectReach(Operation *op, Value buffer, int64_t offset,
                                ArrayRef<int64_t> extents,
                                ArrayRef<int64_t> strides, StringRef name) {
  if (extents.size() != strides.size())
    return op->emitOpError()
           << name << " needs " << extents.size() << " strides (E9)";
  if (llvm::is_contained(extents, 0))
    return success();
  int64_t low = offset, high = offset;
  for (auto [extent, stride] : llvm::zip_equal(extents, strides)) {
    if (extent < 0)
      return op->emitOpError() << name << " has a negative extent (E9)";
    int64_t span = (extent - 1) * stride;
    (span < 0 ? low : high) += span;
  }
  int64_t count = getBufferType(buffer).getElementCount();
  if (low < 0 || high >= count)
    return op->emitOpError() << name << " reaches elements " << low << " to "
                             << high << " of " << count << " (E9)";
  return success();
}

LogicalResult exec::expectSameType(Operation *op, ArrayRef<Value> buffers) {
  Type type;
  for (Value buffer : buffers) {
    if (!buffer)
      continue;
    Type next = getBufferType(buffer).getElementType();
    if (type && next != type)
      return op->emitOpError()
             << "mixes " << type << " and " << next << " (E9)";
    type = next;
  }
  return success();
}

LogicalResult exec::expectSumType(Operation *op, Value input, Value sum) {
  if (sum && isNarrow(getBufferType(input).getElementType()) &&
      getBufferType(sum).getElementType().isF32())
    return success();
  return expectSameType(op, {input, sum});
}

LogicalResult exec::expectWorkspace(Operation *op, Value workspace,
                                    int64_t bytes) {
  int64_t given = workspace ? getBufferType(workspace).getByteSize() : 0;
  if (given != bytes)
    return op->emitOpError("has ")
           << given << " bytes of workspace, not " << bytes << " (E9)";
  return success();
}

LogicalResult
exec::expectSpatial(Operation *op,
                    std::initializer_list<ArrayRef<int64_t>> lists) {
  size_t rank = lists.begin()->size();
  if (rank < 1 || rank > 3)
    return op->emitOpError("needs one to three spatial dimensions (E9)");
  for (ArrayRef<int64_t> list : lists)
    if (list.size() != rank)
      return op->emitOpError("needs ") << rank << " entries per list (E9)";
  return success();
}
