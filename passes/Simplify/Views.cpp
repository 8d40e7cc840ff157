//===- Views.cpp - Slices, transposes and reshapes of parameters ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Layout.h"
#include "passes/Simplify/Matching.h"

using namespace mlir;

namespace parplan::simplify {

/// Offset and strides of what a parameter reads.
static std::pair<int64_t, SmallVector<int64_t>>
getOffsetAndStrides(ParameterOp parameter) {
  if (std::optional<ViewAttr> view = parameter.getView())
    return {view->getOffset(), SmallVector<int64_t>(view->getStrides())};
  ArrayRef<int64_t> shape = getShape(parameter);
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return {0, strides};
}

static Value createParameter(ParameterOp parameter, int64_t offset,
                             ArrayRef<int64_t> strides, ArrayRef<int64_t> shape,
                             Rewriter &rewriter) {
  auto type = RankedTensorType::get(shape, getElementType(parameter));
  return rewriter.create<ParameterOp>(
      type, parameter.getInitializerAttr(),
      ViewAttr::get(rewriter.builder.getContext(), offset, strides));
}

static Value foldSlice(SliceOp slice, ParameterOp parameter,
                       Rewriter &rewriter) {
  auto [offset, strides] = getOffsetAndStrides(parameter);
  for (auto [dim, start, step] :
       llvm::zip(slice.getDims(), slice.getStarts(), slice.getSteps())) {
    offset += strides[dim] * start;
    strides[dim] *= step;
  }
  return createParameter(parameter, offset, strides, getShape(slice), rewriter);
}

/// A slice of gathered parameters as a gather of sliced ones.
static Value sinkGather(SliceOp slice, GatherOp gather, Rewriter &rewriter) {
  if (!gather.getData().getDefiningOp<ParameterOp>())
    return {};
  int64_t gathered = gather.getDim();
  int64_t indexRank = getShape(gather.getIndices()).size();
  SmallVector<int64_t> dims;
  for (int64_t dim : slice.getDims()) {
    if (dim >= gathered && dim < gathered + indexRank)
      return {};
    dims.push_back(dim < gathered ? dim : dim - indexRank + 1);
  }
  rewriter.setOrigin(gather);
  Value part =
      rewriter.create<SliceOp>(gather.getData(), dims, slice.getStarts(),
                               slice.getLimits(), slice.getSteps());
  return rewriter.create<GatherOp>(part, gather.getIndices(), gathered);
}

/// Reshapes and transposes, where every dimension still has one stride.
static Value foldLayout(Operation *op, Rewriter &rewriter) {
  Layout layout = Layout::trace(op->getResult(0));
  auto parameter = layout.getRoot().getDefiningOp<ParameterOp>();
  if (!parameter)
    return {};
  auto [offset, strides] = getOffsetAndStrides(parameter);
  SmallVector<int64_t> atomStrides = layout.getStrides(strides), joined;
  for (const Layout::Atoms &atoms : layout.getDims()) {
    int64_t next = 1, stride = 1;
    for (auto [index, atom] : llvm::enumerate(llvm::reverse(atoms))) {
      if (layout.isRepeated(atom))
        return {};
      if (index == 0)
        stride = next = atomStrides[atom];
      if (atomStrides[atom] != next)
        return {};
      next *= layout.getSize(atom);
    }
    joined.push_back(stride);
  }
  return createParameter(parameter, offset, joined, getShape(op->getResult(0)),
                         rewriter);
}

Value foldIntoView(Operation *op, Rewriter &rewriter) {
  if (getShape(op->getResult(0)).size() == 0 &&
      !op->getOperand(0).getDefiningOp<ParameterOp>())
    return {};
  if (auto slice = dyn_cast<SliceOp>(op)) {
    if (auto gather = slice.getInput().getDefiningOp<GatherOp>())
      return sinkGather(slice, gather, rewriter);
    auto parameter = slice.getInput().getDefiningOp<ParameterOp>();
    return parameter ? foldSlice(slice, parameter, rewriter) : Value();
  }
  return foldLayout(op, rewriter);
}

} // namespace parplan::simplify
