//===- GeometryChecks.h - Checks that geometries share ----------*- C++ -*-===//
//
// Part of parplan. Private to the dialect. All report E9.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_EXEC_GEOMETRYCHECKS_H
#define PARPLAN_DIALECTS_EXEC_GEOMETRYCHECKS_H

#include "parplan/Support/Sizes.h"

#include "dialects/exec/ExecOps.h"

namespace parplan::exec {

inline int64_t getElementBytes(mlir::Value buffer) {
  return getStorageBytes(getBufferType(buffer).getElementType());
}

/// `buffer`, if it is there, has `elements` elements.
llvm::LogicalResult expectElements(mlir::Operation *op, mlir::Value buffer,
                                   int64_t elements, llvm::StringRef name);

/// Elements that extents and strides reach lie in `buffer`.
llvm::LogicalResult expectReach(mlir::Operation *op, mlir::Value buffer,
                                int64_t offset, llvm::ArrayRef<int64_t> extents,
                                llvm::ArrayRef<int64_t> strides,
                                llvm::StringRef name);

/// All of `buffers` that are there have one element type.
llvm::LogicalResult expectSameType(mlir::Operation *op,
                                   llvm::ArrayRef<mlir::Value> buffers);

/// `sum`, if it is there, has the element type of `input`, or f32 for one of 16
/// bits.
llvm::LogicalResult expectSumType(mlir::Operation *op, mlir::Value input,
                                  mlir::Value sum);

/// The workspace, null for none, has exactly `bytes`.
llvm::LogicalResult expectWorkspace(mlir::Operation *op, mlir::Value workspace,
                                    int64_t bytes);

/// One to three spatial dimensions, and as many entries in every list.
llvm::LogicalResult
expectSpatial(mlir::Operation *op,
              std::initializer_list<llvm::ArrayRef<int64_t>> lists);

/// The arrays of a convolution or of one of its adjoints.
template <typename Convolution>
llvm::LogicalResult expectConvolution(Convolution op, mlir::Value input,
                                      mlir::Value weight, mlir::Value output) {
  if (failed(expectSpatial(op, {op.getIn(), op.getOut(), op.getWindow(),
                                op.getStrides(), op.getDilations(),
                                op.getPadsLow()})) ||
      failed(expectSameType(op, {input, weight, output})))
    return mlir::failure();
  int64_t groups = op.getGroups();
  if (groups < 1 || op.getInChannels() % groups || op.getOutChannels() % groups)
    return op.emitOpError("has ")
           << groups << " groups that do not divide the channels (E9)";
  if (failed(expectElements(op, input,
                            op.getBatch() * op.getInChannels() *
                                multiplySizes(op.getIn()),
                            "input")) ||
      failed(
          expectElements(op, weight,
                         op.getOutChannels() * (op.getInChannels() / groups) *
                             multiplySizes(op.getWindow()),
                         "weight")) ||
      failed(expectElements(op, output,
                            op.getBatch() * op.getOutChannels() *
                                multiplySizes(op.getOut()),
                            "output")))
    return mlir::failure();
  return mlir::success();
}

/// The arrays of a pooling or of one of its adjoints.
template <typename Pool>
llvm::LogicalResult expectPool(Pool op, mlir::Value input, mlir::Value output) {
  if (failed(expectSpatial(op, {op.getIn(), op.getOut(), op.getWindow(),
                                op.getStrides(), op.getDilations(),
                                op.getPadsLow(), op.getPadsHigh()})) ||
      failed(expectSameType(op, {input, output})) ||
      failed(expectElements(op, input,
                            op.getBatch() * op.getChannels() *
                                multiplySizes(op.getIn()),
                            "input")) ||
      failed(expectElements(op, output,
                            op.getBatch() * op.getChannels() *
                                multiplySizes(op.getOut()),
                            "output")))
    return mlir::failure();
  return mlir::success();
}

} // namespace parplan::exec

#endif // PARPLAN_DIALECTS_EXEC_GEOMETRYCHECKS_H
