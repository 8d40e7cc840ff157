//===- Geometry.cpp - Statements stay inside their buffers ----------------===//
//
// Part of parplan. E9 and E16 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/GeometryChecks.h"

#include "parplan/Support/Sizes.h"

using namespace mlir;
using namespace parplan;
using namespace parplan::exec;

static LogicalResult expectRows(Operation *op, Value input, Value output,
                                int64_t outer, int64_t length, int64_t inner) {
  if (failed(expectSameType(op, {input, output})) ||
      failed(expectElements(op, input, outer * length * inner, "input")) ||
      failed(expectElements(op, output, outer * length * inner, "output")))
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Products and windows
//===----------------------------------------------------------------------===//

bool MatmulOp::readsWritten() { return getAccumulate(); }

LogicalResult MatmulOp::verifyGeometry() {
  if (getShape().size() != 3 || getLhsStrides().size() != 2 ||
      getRhsStrides().size() != 2 || getOutputStrides().size() != 2)
    return emitOpError("needs m, n, k and two strides per operand (E9)");
  if (getBatch().size() > 4)
    return emitOpError("has more than four batch dimensions (E9)");
  if (failed(expectSameType(*this, {getLhs(), getRhs()})) ||
      failed(expectSumType(*this, getLhs(), getOutput())))
    return failure();
  int64_t m = getShape()[0], n = getShape()[1], k = getShape()[2];
  auto check = [&](Value buffer, int64_t rows, int64_t columns,
                   ArrayRef<int64_t> strides, ArrayRef<int64_t> batchStrides,
                   StringRef name) {
    SmallVector<int64_t> extents(getBatch()), all(batchStrides);
    extents.append({rows, columns});
    all.append(strides.begin(), strides.end());
    return expectReach(*this, buffer, 0, extents, all, name);
  };
  if (failed(check(getLhs(), m, k, getLhsStrides(), getLhsBatchStrides(),
                   "lhs")) ||
      failed(check(getRhs(), k, n, getRhsStrides(), getRhsBatchStrides(),
                   "rhs")) ||
      failed(check(getOutput(), m, n, getOutputStrides(),
                   getOutputBatchStrides(), "output")))
    return failure();
  return success();
}

unsigned ConvolutionOp::getWrittenCount() { return getWorkspace() ? 2 : 1; }

LogicalResult ConvolutionOp::verifyGeometry() {
  if (failed(expectConvolution(*this, getInput(), getWeight(), getOutput())) ||
      failed(expectSameType(*this, {getInput(), getBias()})) ||
      failed(expectElements(*this, getBias(), getOutChannels(), "bias")))
    return failure();
  return expectWorkspace(
      *this, getWorkspace(),
      runtime::convolutionWorkspaceBytes(getRuntimeShape(*this),
                                         getElementBytes(getOutput())));
}

LogicalResult PoolOp::verifyGeometry() {
  return expectPool(*this, getInput(), getOutput());
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verifyGeometry() {
  if (failed(expectSameType(*this, {getInput(), getOutput()})) ||
      failed(expectElements(*this, getInput(),
                            getOuter() * getLength() * getInner(), "input")) ||
      failed(expectElements(*this, getOutput(), getOuter() * getInner(),
                            "output")))
    return failure();
  return success();
}

LogicalResult SoftmaxOp::verifyGeometry() {
  return expectRows(*this, getInput(), getOutput(), getOuter(), getLength(),
                    getInner());
}

LogicalResult LayerNormOp::verifyGeometry() {
  if (failed(expectRows(*this, getInput(), getOutput(), getOuter(), getLength(),
                        1)) ||
      failed(expectSameType(*this, {getInput(), getScale(), getBias()})) ||
      failed(expectElements(*this, getScale(), getLength(), "scale")) ||
      failed(expectElements(*this, getBias(), getLength(), "bias")))
    return failure();
  return success();
}

LogicalResult RMSNormOp::verifyGeometry() {
  if (failed(expectRows(*this, getInput(), getOutput(), getOuter(), getLength(),
                        1)) ||
      failed(expectSameType(*this, {getInput(), getScale()})) ||
      failed(expectElements(*this, getScale(), getLength(), "scale")))
    return failure();
  return success();
}

LogicalResult CumSumOp::verifyGeometry() {
  return expectRows(*this, getInput(), getOutput(), getOuter(), getLength(),
                    getInner());
}

unsigned TopKOp::getWrittenCount() {
  return (getValues() ? 1 : 0) + (getIndices() ? 1 : 0);
}

LogicalResult TopKOp::verifyGeometry() {
  int64_t results = getOuter() * getCount() * getInner();
  if (!getValues() && !getIndices())
    return emitOpError("writes nothing (E9)");
  if (getCount() > getLength())
    return emitOpError("takes ")
           << getCount() << " of " << getLength() << " elements (E9)";
  if (getIndices() &&
      !getBufferType(getIndices()).getElementType().isSignlessInteger(64))
    return emitOpError("writes indices that are not i64 (E9)");
  if (failed(expectElements(*this, getInput(),
                            getOuter() * getLength() * getInner(), "input")) ||
      failed(expectSameType(*this, {getInput(), getValues()})) ||
      failed(expectElements(*this, getValues(), results, "values")) ||
      failed(expectElements(*this, getIndices(), results, "indices")))
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Indexing and movement
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verifyGeometry() {
  if (getShape().size() != 3)
    return emitOpError("needs the sizes ids, rows, width (E9)");
  int64_t ids = getShape()[0], rows = getShape()[1], width = getShape()[2];
  if (failed(expectSameType(*this, {getTable(), getOutput()})) ||
      failed(expectElements(*this, getIds(), ids, "ids")) ||
      failed(expectElements(*this, getTable(), rows * width, "table")) ||
      failed(expectElements(*this, getOutput(), ids * width, "output")))
    return failure();
  return success();
}

LogicalResult GatherOp::verifyGeometry() {
  if (getShape().size() != 4)
    return emitOpError("needs the sizes outer, length, count, inner (E9)");
  int64_t outer = getShape()[0], length = getShape()[1];
  int64_t count = getShape()[2], inner = getShape()[3];
  if (failed(expectSameType(*this, {getData(), getOutput()})) ||
      failed(
          expectElements(*this, getData(), outer * length * inner, "data")) ||
      failed(expectElements(*this, getIndices(), count, "indices")) ||
      failed(
          expectElements(*this, getOutput(), outer * count * inner, "output")))
    return failure();
  return success();
}

LogicalResult GatherElementsOp::verifyGeometry() {
  int64_t dim = getDim();
  if (getDataShape().size() != getIndexShape().size() || dim < 0 ||
      dim >= static_cast<int64_t>(getDataShape().size()))
    return emitOpError("needs shapes of one rank with dimension ")
           << dim << " (E9)";
  if (failed(expectSameType(*this, {getData(), getOutput()})) ||
      failed(expectElements(*this, getData(), multiplySizes(getDataShape()),
                            "data")) ||
      failed(expectElements(*this, getIndices(), multiplySizes(getIndexShape()),
                            "indices")) ||
      failed(expectElements(*this, getOutput(), multiplySizes(getIndexShape()),
                            "output")))
    return failure();
  return success();
}

LogicalResult GatherNDOp::verifyGeometry() {
  int64_t tuples = getBatch() * getCount();
  int64_t indexed = static_cast<int64_t>(getIndexed().size());
  if (failed(expectSameType(*this, {getData(), getOutput()})) ||
      failed(expectElements(
          *this, getData(),
          getBatch() * multiplySizes(getIndexed()) * getInner(), "data")) ||
      failed(
          expectElements(*this, getIndices(), tuples * indexed, "indices")) ||
      failed(expectElements(*this, getOutput(), tuples * getInner(), "output")))
    return failure();
  return success();
}

Ranks CopyOp::getReaders() {
  return getOnly() ? Ranks::getOnly(*getOnly(), *this) : Ranks();
}
Ranks CopyOp::getWriters() { return getReaders(); }

LogicalResult CopyOp::verifyGeometry() {
  if (exec::MemberAttr member = getOnlyAttr()) {
    CommunicatorOp communicator =
        SymbolTable::lookupNearestSymbolFrom<CommunicatorOp>(
            *this, member.getCommunicator());
    if (!communicator)
      return emitOpError("names no communicator: ")
             << member.getCommunicator() << " (E16)";
    if (member.getPosition() < 0 ||
        member.getPosition() >= communicator.getSize())
      return emitOpError("is for member ")
             << member.getPosition() << " of " << communicator.getSize()
             << " (E16)";
  }
  if (getExtents().size() > 8)
    return emitOpError("has more than eight dimensions (E9)");
  if (failed(expectSameType(*this, {getInput(), getOutput()})) ||
      failed(expectReach(*this, getInput(), getInputOffset(), getExtents(),
                         getInputStrides(), "input")) ||
      failed(expectReach(*this, getOutput(), getOutputOffset(), getExtents(),
                         getOutputStrides(), "output")))
    return failure();
  return success();
}
