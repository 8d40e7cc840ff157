//===- EmitMathematics.cpp - Products, windows, composites -----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Emit/Emitter.h"

#include <bit>

using namespace mlir;

namespace parplan::importer {

Operation *Emitter::emitMathematics(const Op &op) {
  switch (op.kind) {
  case OpKind::reduce:
    return create<ReduceOp>(
        op, static_cast<parplan::ReduceKind>(op.integers[0]), operand(op, 0),
        llvm::ArrayRef(op.integers).drop_front(2),
        /*keep_dims=*/op.integers[1] != 0);
  case OpKind::matmul:
    return builder.create<MatmulOp>(location, operand(op, 0), operand(op, 1),
                                    op.text);
  case OpKind::conv:
  case OpKind::convTranspose:
  case OpKind::maxPool:
  case OpKind::averagePool:
    return emitWindow(op);
  default:
    return emitComposite(op);
  }
}

Operation *Emitter::emitWindow(const Op &op) {
  mlir::Value input = operand(op, 0);
  size_t count = graph.getValue(op.operands[0]).shape.size() - 2;
  if (op.kind == OpKind::conv) {
    mlir::Value bias = op.operands.size() > 2 ? operand(op, 2) : nullptr;
    return create<ConvOp>(op, input, operand(op, 1), bias,
                          integers(op, 1, count),
                          integers(op, 1 + count, 2 * count),
                          integers(op, 1 + 3 * count, count), op.integers[0]);
  }
  if (op.kind == OpKind::convTranspose)
    return create<ConvInputGradientOp>(
        op, input, operand(op, 1), integers(op, 1, count),
        integers(op, 1 + count, 2 * count), integers(op, 1 + 3 * count, count),
        op.integers[0]);
  llvm::ArrayRef<int64_t> window = integers(op, 1, count),
                          strides = integers(op, 1 + count, count),
                          pads = integers(op, 1 + 2 * count, 2 * count),
                          dilations = integers(op, 1 + 4 * count, count);
  if (op.kind == OpKind::maxPool)
    return create<MaxPoolOp>(op, input, window, strides, pads, dilations);
  return create<AveragePoolOp>(op, input, window, strides, pads, dilations,
                               /*count_include_pad=*/op.integers[0] != 0);
}

Operation *Emitter::emitComposite(const Op &op) {
  mlir::Value input = operand(op, 0);
  auto optional = [&](size_t index) -> mlir::Value {
    return index < op.operands.size() ? operand(op, index) : nullptr;
  };
  auto real = [&](size_t index) {
    return builder.getF64FloatAttr(std::bit_cast<double>(op.integers[index]));
  };
  auto integer = [&](size_t index) {
    return builder.getI64IntegerAttr(op.integers[index]);
  };
  auto flag = [&](bool value) {
    return value ? builder.getUnitAttr() : UnitAttr();
  };
  switch (op.kind) {
  case OpKind::softmax:
    return create<SoftmaxOp>(op, input, op.integers[0]);
  case OpKind::logSoftmax:
    return create<LogSoftmaxOp>(op, input, op.integers[0]);
  case OpKind::layerNorm: {
    bool hasScale = op.integers[2] != 0, hasBias = op.integers[3] != 0;
    return create<LayerNormOp>(op, input, hasScale ? operand(op, 1) : nullptr,
                               hasBias ? operand(op, 1 + hasScale) : nullptr,
                               integer(0), real(1));
  }
  case OpKind::rmsNorm:
    return create<RMSNormOp>(op, input, optional(1), integer(0), real(1));
  case OpKind::batchNorm:
    return create<BatchNormOp>(op, input, operand(op, 1), operand(op, 2),
                               operand(op, 3), operand(op, 4), real(0));
  case OpKind::rope:
    return create<RopeOp>(op, input, operand(op, 1), operand(op, 2),
                          flag(op.integers[0]));
  case OpKind::attention: {
    bool hasMask = op.integers[2] != 0, hasOffset = op.integers[3] != 0;
    return create<AttentionOp>(op, input, operand(op, 1), operand(op, 2),
                               hasMask ? operand(op, 3) : nullptr,
                               hasOffset ? operand(op, 3 + hasMask) : nullptr,
                               /*sink=*/nullptr, real(0), flag(op.integers[1]),
                               /*zero_masked_rows=*/flag(false));
  }
  default:
    PARPLAN_UNREACHABLE("op kind ", int(op.kind), " is not known");
  }
}

} // namespace parplan::importer
