//===- IndexingGradients.cpp - Backward of ops that read at indices -------===//
//
// Part of parplan. The adjoint of reading at indices adds at indices; indices
// have no gradient.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/GradientBuilder.h"
#include "dialects/parplan/PaddingId.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace parplan {

OperandGradients EmbeddingOp::buildBackward(GradientBuilder &gradients,
                                            ArrayRef<Value> resultGradients) {
  Value ids = getIds();
  if (auto padding =
          (*this)->getAttrOfType<IntegerAttr>(attributes::paddingId)) {
    // Ids outside of the table give nothing.
    Type element = getElementTypeOrSelf(ids);
    Value isPadding = gradients.create<CompareOp>(
        ComparePredicate::eq, ids,
        gradients.scalar(element, static_cast<double>(padding.getInt())));
    ids = gradients.create<SelectOp>(isPadding, gradients.scalar(element, -1),
                                     ids);
  }
  return {Value(), gradients.create<EmbeddingGradientOp>(
                       getTable().getType(), ids, resultGradients[0])};
}

OperandGradients GatherOp::buildBackward(GradientBuilder &gradients,
                                         ArrayRef<Value> resultGradients) {
  return {gradients.create<GatherGradientOp>(
              getData().getType(), resultGradients[0], getIndices(), getDim()),
          Value()};
}

OperandGradients
GatherElementsOp::buildBackward(GradientBuilder &gradients,
                                ArrayRef<Value> resultGradients) {
  return {gradients.create<GatherElementsGradientOp>(
              getData().getType(), resultGradients[0], getIndices(), getDim()),
          Value()};
}

OperandGradients GatherNDOp::buildBackward(GradientBuilder &gradients,
                                           ArrayRef<Value> resultGradients) {
  return {gradients.create<GatherNDGradientOp>(getData().getType(),
                                               resultGradients[0], getIndices(),
                                               getBatchDims()),
          Value()};
}

//===----------------------------------------------------------------------===//
// Additions at indices, which read at them
//===----------------------------------------------------------------------===//

OperandGradients
GatherGradientOp::buildBackward(GradientBuilder &gradients,
                                ArrayRef<Value> resultGradients) {
  return {
      gradients.create<GatherOp>(resultGradients[0], getIndices(), getDim()),
      Value()};
}

OperandGradients
GatherElementsGradientOp::buildBackward(GradientBuilder &gradients,
                                        ArrayRef<Value> resultGradients) {
  return {gradients.create<GatherElementsOp>(resultGradients[0], getIndices(),
                                             getDim()),
          Value()};
}

OperandGradients
GatherNDGradientOp::buildBackward(GradientBuilder &gradients,
                                  ArrayRef<Value> resultGradients) {
  return {gradients.create<GatherNDOp>(resultGradients[0], getIndices(),
                                       getBatchDims()),
          Value()};
}

//===----------------------------------------------------------------------===//
// TopK and CumSum
//===----------------------------------------------------------------------===//

/// The gradient of the values goes to where they were found.
OperandGradients TopKOp::buildBackward(GradientBuilder &gradients,
                                       ArrayRef<Value> resultGradients) {
  if (!resultGradients[0])
    return gradients.makeNone();
  return {gradients.create<GatherElementsGradientOp>(
      getInput().getType(), resultGradients[0], getIndices(), getDim())};
}

OperandGradients CumSumOp::buildBackward(GradientBuilder &gradients,
                                         ArrayRef<Value> resultGradients) {
  return {gradients.create<CumSumOp>(resultGradients[0], getDim(),
                                     getExclusive(), !getReverse())};
}

} // namespace parplan
