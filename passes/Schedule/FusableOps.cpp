//===- FusableOps.cpp - Which ops can be part of a kernel -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/FusableOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace parplan {

using exec::ScalarFunction;

std::optional<ScalarFunction> getFunction(Operation *op) {
  using Function = ScalarFunction;
  if (auto compare = dyn_cast<CompareOp>(op)) {
    switch (compare.getPredicate()) {
    case ComparePredicate::eq:
      return Function::eq;
    case ComparePredicate::ne:
      return Function::ne;
    case ComparePredicate::lt:
      return Function::lt;
    case ComparePredicate::le:
      return Function::le;
    case ComparePredicate::gt:
      return Function::gt;
    case ComparePredicate::ge:
      return Function::ge;
    }
  }
  if (auto gelu = dyn_cast<GeluOp>(op))
    return gelu.getTanh() ? Function::gelu_tanh : Function::gelu;
  if (!isa<ParplanDialect>(op->getDialect()))
    return std::nullopt;
  return llvm::StringSwitch<std::optional<Function>>(
             op->getName().stripDialect())
      .Case("abs", Function::abs)
      .Case("neg", Function::neg)
      .Case("sign", Function::sign)
      .Case("exp", Function::exp)
      .Case("log", Function::log)
      .Case("sqrt", Function::sqrt)
      .Case("rsqrt", Function::rsqrt)
      .Case("reciprocal", Function::reciprocal)
      .Case("sin", Function::sin)
      .Case("cos", Function::cos)
      .Case("tan", Function::tan)
      .Case("asin", Function::asin)
      .Case("acos", Function::acos)
      .Case("atan", Function::atan)
      .Case("sinh", Function::sinh)
      .Case("cosh", Function::cosh)
      .Case("asinh", Function::asinh)
      .Case("acosh", Function::acosh)
      .Case("atanh", Function::atanh)
      .Case("tanh", Function::tanh)
      .Case("sigmoid", Function::sigmoid)
      .Case("erf", Function::erf)
      .Case("floor", Function::floor)
      .Case("ceil", Function::ceil)
      .Case("round", Function::round)
      .Case("relu", Function::relu)
      .Case("silu", Function::silu)
      .Case("not", Function::not_)
      .Case("is_nan", Function::is_nan)
      .Case("is_inf", Function::is_inf)
      .Case("cast", Function::cast)
      .Case("bitcast", Function::bit_cast)
      .Case("add", Function::add)
      .Case("sub", Function::sub)
      .Case("mul", Function::mul)
      .Case("div", Function::div)
      .Case("pow", Function::pow)
      .Case("mod", Function::mod)
      .Case("max", Function::max)
      .Case("min", Function::min)
      .Case("and", Function::and_)
      .Case("or", Function::or_)
      .Case("xor", Function::xor_)
      .Case("select", Function::select)
      .Default(std::nullopt);
}

bool isUnitReshape(Operation *op) {
  auto reshape = dyn_cast<ReshapeOp>(op);
  if (!reshape)
    return false;
  auto isWide = [](int64_t size) { return size != 1; };
  return llvm::equal(
      llvm::make_filter_range(reshape.getInput().getType().getShape(), isWide),
      llvm::make_filter_range(reshape.getResult().getType().getShape(),
                              isWide));
}

bool isFree(Operation *op) {
  if (auto constant = dyn_cast<ConstantOp>(op))
    return constant.getValue().isSplat();
  return isa<IotaOp, AffineMaskOp, BlockStartOp>(op);
}

bool isIndexing(Operation *op) {
  return isa<BroadcastOp, TransposeOp, SliceOp>(op) || isUnitReshape(op);
}

bool isFusable(Operation *op) {
  return isFree(op) || isIndexing(op) || getFunction(op) ||
         isa<SumOp, PadOp, ClearPaddingOp, ShardSliceOp, PendOp>(op);
}

bool isCostly(Operation *op) {
  return isa<ExpOp, LogOp, SqrtOp, RsqrtOp, ReciprocalOp, SinOp, CosOp, TanOp,
             AsinOp, AcosOp, AtanOp, SinhOp, CoshOp, AsinhOp, AcoshOp, AtanhOp,
             TanhOp, SigmoidOp, ErfOp, SiluOp, GeluOp, PowOp, DivOp, ModOp>(op);
}

static Value getOffset(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<AttentionOp, AttentionGradientOp, RingAttentionOp,
            RingAttentionGradientOp>(
          [](auto attention) { return attention.getQueryOffset(); })
      .Default([](Operation *) { return Value(); });
}

bool readsPosition(OpOperand &use) {
  return use.get() == getOffset(use.getOwner());
}

bool readsHeadsByStrides(OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (isa<AttentionOp, AttentionGradientOp>(op) && index < 3)
    return true;
  // What travels is dense.
  if (isa<RingAttentionOp, RingAttentionGradientOp>(op) && index == 0)
    return true;
  return isa<AttentionGradientOp, RingAttentionGradientOp>(op) &&
         (index == 3 || index == 5);
}

} // namespace parplan
