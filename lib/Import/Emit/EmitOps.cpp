//===- EmitOps.cpp - Elementwise, shape and indexing ops -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Emit/Emitter.h"

#include <bit>

using namespace mlir;

namespace parplan::importer {

Operation *Emitter::emitUnary(const Op &op) {
  mlir::Value input = operand(op, 0);
  switch (op.kind) {
  case OpKind::abs:
    return create<AbsOp>(op, input);
  case OpKind::neg:
    return create<NegOp>(op, input);
  case OpKind::sign:
    return create<SignOp>(op, input);
  case OpKind::exp:
    return create<ExpOp>(op, input);
  case OpKind::log:
    return create<LogOp>(op, input);
  case OpKind::sqrt:
    return create<SqrtOp>(op, input);
  case OpKind::reciprocal:
    return create<ReciprocalOp>(op, input);
  case OpKind::sin:
    return create<SinOp>(op, input);
  case OpKind::cos:
    return create<CosOp>(op, input);
  case OpKind::tan:
    return create<TanOp>(op, input);
  case OpKind::asin:
    return create<AsinOp>(op, input);
  case OpKind::acos:
    return create<AcosOp>(op, input);
  case OpKind::atan:
    return create<AtanOp>(op, input);
  case OpKind::sinh:
    return create<SinhOp>(op, input);
  case OpKind::cosh:
    return create<CoshOp>(op, input);
  case OpKind::asinh:
    return create<AsinhOp>(op, input);
  case OpKind::acosh:
    return create<AcoshOp>(op, input);
  case OpKind::atanh:
    return create<AtanhOp>(op, input);
  case OpKind::tanh:
    return create<TanhOp>(op, input);
  case OpKind::sigmoid:
    return create<SigmoidOp>(op, input);
  case OpKind::erf:
    return create<ErfOp>(op, input);
  case OpKind::floor:
    return create<FloorOp>(op, input);
  case OpKind::ceil:
    return create<CeilOp>(op, input);
  case OpKind::round:
    return create<RoundOp>(op, input);
  case OpKind::relu:
    return create<ReluOp>(op, input);
  case OpKind::silu:
    return create<SiluOp>(op, input);
  case OpKind::gelu:
    return create<GeluOp>(op, input, /*tanh=*/op.integers[0] != 0);
  case OpKind::logicalNot:
    return create<NotOp>(op, input);
  case OpKind::isNaN:
    return create<IsNaNOp>(op, input);
  case OpKind::isInf:
    return create<IsInfOp>(op, input);
  case OpKind::bitcast:
    return create<BitcastOp>(op, input);
  case OpKind::cast:
    return create<CastOp>(op, input);
  default:
    PARPLAN_UNREACHABLE("op kind ", int(op.kind), " is not unary");
  }
}

Operation *Emitter::emitBinary(const Op &op) {
  mlir::Value lhs = operand(op, 0), rhs = operand(op, 1);
  switch (op.kind) {
  case OpKind::add:
    return create<AddOp>(op, lhs, rhs);
  case OpKind::sub:
    return create<SubOp>(op, lhs, rhs);
  case OpKind::mul:
    return create<MulOp>(op, lhs, rhs);
  case OpKind::div:
    return create<DivOp>(op, lhs, rhs);
  case OpKind::pow:
    return create<PowOp>(op, lhs, rhs);
  case OpKind::mod:
    return create<ModOp>(op, lhs, rhs);
  case OpKind::max:
    return create<MaxOp>(op, lhs, rhs);
  case OpKind::min:
    return create<MinOp>(op, lhs, rhs);
  case OpKind::logicalAnd:
    return create<AndOp>(op, lhs, rhs);
  case OpKind::logicalOr:
    return create<OrOp>(op, lhs, rhs);
  case OpKind::logicalXor:
    return create<XorOp>(op, lhs, rhs);
  case OpKind::compare:
    return create<CompareOp>(op, static_cast<ComparePredicate>(op.integers[0]),
                             lhs, rhs);
  case OpKind::select:
    return create<SelectOp>(op, lhs, rhs, operand(op, 2));
  default:
    PARPLAN_UNREACHABLE("op kind ", int(op.kind), " is not binary");
  }
}

/// Every `stride`-th integer from `first` on.
static SmallVector<int64_t, 4> everyNth(const Op &op, size_t first,
                                        size_t stride) {
  SmallVector<int64_t, 4> list;
  for (size_t i = first; i < op.integers.size(); i += stride)
    list.push_back(op.integers[i]);
  return list;
}

Operation *Emitter::emitShape(const Op &op) {
  mlir::Value input = operand(op, 0);
  switch (op.kind) {
  case OpKind::reshape:
    return create<ReshapeOp>(op, input);
  case OpKind::broadcast:
    return create<BroadcastOp>(op, input);
  case OpKind::transpose:
    return create<TransposeOp>(op, input, op.integers);
  case OpKind::slice:
    return create<SliceOp>(op, input, everyNth(op, 0, 4), everyNth(op, 1, 4),
                           everyNth(op, 2, 4), everyNth(op, 3, 4));
  case OpKind::concat: {
    SmallVector<mlir::Value, 4> inputs;
    for (size_t i = 0; i < op.operands.size(); ++i)
      inputs.push_back(operand(op, i));
    return create<ConcatOp>(op, inputs, op.integers[0]);
  }
  case OpKind::pad:
    return create<PadOp>(op, input, everyNth(op, 1, 3), everyNth(op, 2, 3),
                         everyNth(op, 3, 3),
                         llvm::APFloat(std::bit_cast<double>(op.integers[0])));
  default:
    PARPLAN_UNREACHABLE("op kind ", int(op.kind), " is not of shape");
  }
}

Operation *Emitter::emitIndexing(const Op &op) {
  mlir::Value first = operand(op, 0);
  switch (op.kind) {
  case OpKind::embedding:
    return create<EmbeddingOp>(op, first, operand(op, 1));
  case OpKind::gather:
    return create<GatherOp>(op, first, operand(op, 1), op.integers[0]);
  case OpKind::gatherElements:
    return create<GatherElementsOp>(op, first, operand(op, 1), op.integers[0]);
  case OpKind::gatherND:
    return create<GatherNDOp>(op, first, operand(op, 1), op.integers[0]);
  case OpKind::scatterElements:
    return create<GatherElementsGradientOp>(op, first, operand(op, 1),
                                            op.integers[0]);
  case OpKind::scatterND:
    return create<GatherNDGradientOp>(op, first, operand(op, 1),
                                      op.integers[0]);
  case OpKind::topK:
    return builder.create<TopKOp>(
        location, getType(op.firstResult), getType(op.firstResult + 1), first,
        op.integers[0], op.integers[1], op.integers[2] != 0);
  case OpKind::cumSum:
    return create<CumSumOp>(op, first, op.integers[0], op.integers[1] != 0,
                            op.integers[2] != 0);
  default:
    PARPLAN_UNREACHABLE("op kind ", int(op.kind), " has no indices");
  }
}

} // namespace parplan::importer
