//===- TrainingGeometry.cpp - Statements of training stay inside ----------===//
//
// Part of parplan. E9 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/GeometryChecks.h"

#include "parplan/Support/Sizes.h"

using namespace mlir;
using namespace parplan;
using namespace parplan::exec;

//===----------------------------------------------------------------------===//
// Loss and optimizer
//===----------------------------------------------------------------------===//

unsigned CrossEntropyOp::getWrittenCount() { return getLogSumExp() ? 2 : 1; }

LogicalResult CrossEntropyOp::verifyGeometry() {
  int64_t rows = getRows();
  if (failed(expectSumType(*this, getLogits(), getLoss())) ||
      failed(expectSumType(*this, getLogits(), getLogSumExp())) ||
      failed(
          expectElements(*this, getLogits(), rows * getClasses(), "logits")) ||
      failed(expectElements(*this, getLabels(), rows, "labels")) ||
      failed(expectElements(*this, getLoss(), rows, "loss")) ||
      failed(expectElements(*this, getLogSumExp(), rows, "log_sum_exp")))
    return failure();
  return success();
}

LogicalResult SquareSumOp::verifyGeometry() {
  if (!getBufferType(getOutput()).getElementType().isF64())
    return emitOpError("sums up in f64, not in ")
           << getBufferType(getOutput()).getElementType() << " (E9)";
  return expectElements(*this, getOutput(), 1, "output");
}

unsigned UpdateOp::getWrittenCount() { return 1 + getNewStates().size(); }

static unsigned getStateCount(OptimizerKind kind) {
  switch (kind) {
  case OptimizerKind::sgd:
    return 0;
  case OptimizerKind::momentum:
    return 1;
  case OptimizerKind::adam:
  case OptimizerKind::adamw:
    return 2;
  }
  return 0;
}

LogicalResult UpdateOp::verifyGeometry() {
  unsigned states = getStateCount(getKind());
  if (getStates().size() != states || getNewStates().size() != states)
    return emitOpError("needs ") << states << " states, old and new (E9)";
  bool isAdam = states == 2;
  if (isAdam != bool(getStepSize()) || isAdam != bool(getBiasCorrection2Sqrt()))
    return emitOpError("takes the numbers of another optimizer (E9)");
  if (getSkip() && !getBufferType(getSkip()).getElementType().isInteger(1))
    return emitOpError("skips by a value that is not i1 (E9)");
  SmallVector<Value> arrays = {getParameter(), getNewParameter()};
  arrays.append(getStates().begin(), getStates().end());
  arrays.append(getNewStates().begin(), getNewStates().end());
  Value scalars[] = {getLearningRate(), getStepSize(), getBiasCorrection2Sqrt(),
                     getScale()};
  int64_t count = getBufferType(getParameter()).getElementCount();
  for (Value array : arrays)
    if (failed(expectElements(*this, array, count, "an array")))
      return failure();
  for (Value scalar : scalars)
    if (failed(expectElements(*this, scalar, 1, "a scalar")))
      return failure();
  llvm::append_range(arrays, scalars);
  if (failed(expectElements(*this, getGradient(), count, "gradient")) ||
      failed(expectSumType(*this, getGradient(), getParameter())) ||
      failed(expectElements(*this, getSkip(), 1, "skip")) ||
      failed(expectSameType(*this, arrays)))
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Adjoints of indexing
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingGradientOp::verifyGeometry() {
  if (getShape().size() != 3)
    return emitOpError("needs the sizes ids, rows, width (E9)");
  int64_t ids = getShape()[0], rows = getShape()[1], width = getShape()[2];
  if (failed(expectSameType(*this, {getGradient(), getOutput()})) ||
      failed(expectElements(*this, getIds(), ids, "ids")) ||
      failed(expectElements(*this, getGradient(), ids * width, "gradient")) ||
      failed(expectElements(*this, getOutput(), rows * width, "output")))
    return failure();
  return success();
}

LogicalResult GatherGradientOp::verifyGeometry() {
  if (getShape().size() != 4)
    return emitOpError("needs the sizes outer, length, count, inner (E9)");
  int64_t outer = getShape()[0], length = getShape()[1];
  int64_t count = getShape()[2], inner = getShape()[3];
  if (failed(expectSameType(*this, {getGradient(), getOutput()})) ||
      failed(expectElements(*this, getGradient(), outer * count * inner,
                            "gradient")) ||
      failed(expectElements(*this, getIndices(), count, "indices")) ||
      failed(
          expectElements(*this, getOutput(), outer * length * inner, "output")))
    return failure();
  return success();
}

LogicalResult GatherElementsGradientOp::verifyGeometry() {
  int64_t dim = getDim();
  if (getDataShape().size() != getIndexShape().size() || dim < 0 ||
      dim >= static_cast<int64_t>(getDataShape().size()))
    return emitOpError("needs shapes of one rank with dimension ")
           << dim << " (E9)";
  int64_t count = multiplySizes(getIndexShape());
  if (failed(expectSameType(*this, {getGradient(), getOutput()})) ||
      failed(expectElements(*this, getGradient(), count, "gradient")) ||
      failed(expectElements(*this, getIndices(), count, "indices")) ||
      failed(expectElements(*this, getOutput(), multiplySizes(getDataShape()),
                            "output")))
    return failure();
  return success();
}

LogicalResult GatherNDGradientOp::verifyGeometry() {
  int64_t tuples = getBatch() * getCount();
  int64_t indexed = static_cast<int64_t>(getIndexed().size());
  if (failed(expectSameType(*this, {getGradient(), getOutput()})) ||
      failed(expectElements(*this, getGradient(), tuples * getInner(),
                            "gradient")) ||
      failed(
          expectElements(*this, getIndices(), tuples * indexed, "indices")) ||
      failed(expectElements(
          *this, getOutput(),
          getBatch() * multiplySizes(getIndexed()) * getInner(), "output")))
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Adjoints of windows
//===----------------------------------------------------------------------===//

unsigned ConvolutionInputGradientOp::getWrittenCount() {
  return getWorkspace() ? 2 : 1;
}

LogicalResult ConvolutionInputGradientOp::verifyGeometry() {
  if (failed(expectConvolution(*this, getOutput(), getWeight(), getGradient())))
    return failure();
  return expectWorkspace(
      *this, getWorkspace(),
      runtime::convolutionInputGradientWorkspaceBytes(
          getRuntimeShape(*this), getElementBytes(getOutput())));
}

unsigned ConvolutionWeightGradientOp::getWrittenCount() {
  return getWorkspace() ? 2 : 1;
}

LogicalResult ConvolutionWeightGradientOp::verifyGeometry() {
  if (failed(expectConvolution(*this, getInput(), getOutput(), getGradient())))
    return failure();
  return expectWorkspace(
      *this, getWorkspace(),
      runtime::convolutionWeightGradientWorkspaceBytes(
          getRuntimeShape(*this), getElementBytes(getOutput())));
}

LogicalResult MaxPoolGradientOp::verifyGeometry() {
  if (failed(expectPool(*this, getInput(), getGradient())) ||
      failed(expectPool(*this, getOutput(), getGradient())))
    return failure();
  return success();
}

LogicalResult AveragePoolGradientOp::verifyGeometry() {
  return expectPool(*this, getOutput(), getGradient());
}
