//===- Structure.cpp - Programs, communicators and buffers ----------------===//
//
// Part of parplan. E7 and E8 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/ExecOps.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace parplan;
using namespace parplan::exec;

void ProgramOp::getAsmResultNames(OpAsmSetValueNameFn) {}

std::string CommunicatorOp::getLabel() {
  return llvm::join(
      llvm::map_range(getAxes().getNames(),
                      [](StringAttr name) { return name.getValue(); }),
      ",");
}

int64_t CommunicatorOp::getSize() {
  Mesh mesh = cast<ProgramOp>((*this)->getParentOp()).getMesh().getMesh();
  FailureOr<AxisList> axes = getAxes().resolve(mesh);
  return succeeded(axes) ? mesh.getWidth(*axes) : 0;
}

LogicalResult CommunicatorOp::verify() {
  Mesh mesh = cast<ProgramOp>((*this)->getParentOp()).getMesh().getMesh();
  llvm::SmallSet<StringRef, 4> seen;
  for (StringAttr name : getAxes().getNames()) {
    if (!mesh.findAxis(name.getValue()))
      return emitOpError("names ") << name << ", no axis of the mesh (E7)";
    if (!seen.insert(name.getValue()).second)
      return emitOpError("names ") << name << " twice (E7)";
  }
  if (getSize() <= 1)
    return emitOpError("is a group of one rank (E7)");
  return success();
}

LogicalResult BufferOp::verify() {
  if (static_cast<int64_t>(getOffset()) < 0 ||
      getOffset() % bufferAlignment != 0)
    return emitOpError("has the offset ")
           << getOffset() << ", no multiple of " << bufferAlignment << " (E8)";
  bool isInterface = getKind() == BufferKind::parameter ||
                     getKind() == BufferKind::input ||
                     getKind() == BufferKind::output;
  if (isInterface != getBlock().has_value())
    return emitOpError(isInterface ? "needs a block (E8)" : "has a block (E8)");
  if (!isInterface)
    return success();
  Mesh mesh = cast<ProgramOp>((*this)->getParentOp()).getMesh().getMesh();
  int64_t elements = 1;
  for (DimensionAttr dimension : getBlock()->getDims()) {
    FailureOr<AxisList> axes = dimension.getAxes().resolve(mesh);
    if (failed(axes))
      return emitOpError("has a block over an unknown axis (E8)");
    int64_t size = dimension.getSize();
    for (int axis : *axes)
      size = ceilDivide(size, mesh.getAxis(axis).size);
    elements *= size;
  }
  FailureOr<AxisList> storage = getBlock()->getStorage().resolve(mesh);
  if (failed(storage))
    return emitOpError("has a block over an unknown axis (E8)");
  elements = ceilDivide(elements, mesh.getWidth(*storage));
  if (elements != getType().getElementCount())
    return emitOpError("holds ")
           << getType().getElementCount() << " elements, its block " << elements
           << " (E8)";
  if ((getKind() == BufferKind::parameter) != bool(getBlock()->getSource()))
    return emitOpError("a parameter, and nothing else, has a source (E8)");
  return success();
}
