//===- LegalizeLayouts.cpp - Forms that kernels of the runtime take -------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/LegalizeProducts.h"
#include "passes/Schedule/Origins.h"
#include "passes/Schedule/Passes.h"

#include "dialects/parplan/ParplanOps.h"
#include "dialects/parplan/TensorTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_LEGALIZELAYOUTS
#include "passes/Schedule/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// A kernel takes only so many tensors: a longer sum goes on where the one
/// before has ended, from left to right.
constexpr size_t maximumAddends = 16;

void splitSum(SumOp op) {
  if (op.getInputs().size() <= maximumAddends)
    return;
  OpBuilder builder(op);
  SmallVector<Value> rest(op.getInputs());
  while (rest.size() > maximumAddends) {
    auto part = builder.create<SumOp>(
        op.getLoc(), op.getType(), ArrayRef(rest).take_front(maximumAddends));
    copyNode(op, part);
    rest.erase(rest.begin(), rest.begin() + maximumAddends);
    rest.insert(rest.begin(), part.getResult());
  }
  op.getInputsMutable().assign(rest);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Groups of neighbouring dimensions; size 1 between two of them joins them.
SmallVector<SmallVector<int64_t>> groupDims(RankedTensorType type,
                                            ArrayRef<int64_t> dims) {
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  SmallVector<SmallVector<int64_t>> groups;
  for (int64_t dim : sorted) {
    bool joins = !groups.empty();
    if (joins)
      for (int64_t between = groups.back().back() + 1; between < dim; ++between)
        joins &= type.getDimSize(between) == 1;
    if (!joins)
      groups.emplace_back();
    groups.back().push_back(dim);
  }
  return groups;
}

/// One reduction per group, from the last: reducing it leaves the numbers of
/// the dimensions before it.
void splitReduction(ReduceOp op) {
  RankedTensorType type = getTensorType(op.getInput());
  auto groups = groupDims(type, op.getDims());
  if (groups.size() < 2)
    return;
  OpBuilder builder(op);
  Value value = op.getInput();
  for (ArrayRef<int64_t> dims : llvm::reverse(groups)) {
    SmallVector<int64_t> shape(getTensorType(value).getShape());
    for (int64_t dim : llvm::reverse(dims)) {
      if (op.getKeepDims())
        shape[dim] = 1;
      else
        shape.erase(shape.begin() + dim);
    }
    auto part = builder.create<ReduceOp>(
        op.getLoc(), type.clone(shape), op.getKindAttr(), value,
        builder.getDenseI64ArrayAttr(dims), op.getKeepDimsAttr());
    copyNode(op, part);
    value = part.getResult();
  }
  op.getResult().replaceAllUsesWith(value);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Composites without a kernel
//===----------------------------------------------------------------------===//

void decompose(DecomposableOpInterface op) {
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  SmallVector<Value> results = op.decompose(builder);
  Operation *first = before ? before->getNextNode() : &op->getBlock()->front();
  for (Operation *part = first; part != op; part = part->getNextNode())
    copyNode(op, part);
  op->replaceAllUsesWith(results);
  op->erase();
}

//===----------------------------------------------------------------------===//
// 16-bit floats
//===----------------------------------------------------------------------===//

/// Kernels of these take no 16-bit floats.
bool needsWideFloats(Operation *op) {
  return isa<SoftmaxOp, LogSoftmaxOp, LayerNormOp, RMSNormOp, CumSumOp, TopKOp>(
      op);
}

bool hasNarrowType(Value value) {
  Type type = getTensorType(value).getElementType();
  return type.isBF16() || type.isF16();
}

/// Computes `op` in f32, between casts that join the kernels around it.
void widen(Operation *op) {
  OpBuilder builder(op);
  auto cast = [&](Value value, Type element) {
    auto result = builder.create<CastOp>(
        op->getLoc(), getTensorType(value).clone(element), value);
    copyNode(op, result);
    return result.getResult();
  };
  IRMapping operands;
  for (Value operand : op->getOperands())
    if (hasNarrowType(operand) && !operands.contains(operand))
      operands.map(operand, cast(operand, builder.getF32Type()));
  Operation *wide = builder.clone(*op, operands);
  for (auto [narrow, result] :
       llvm::zip_equal(op->getResults(), wide->getResults())) {
    Value replacement = result;
    if (hasNarrowType(narrow)) {
      result.setType(getTensorType(result).clone(builder.getF32Type()));
      replacement = cast(result, getTensorType(narrow).getElementType());
    }
    narrow.replaceAllUsesWith(replacement);
  }
  op->erase();
}

struct LegalizeLayoutsPass : impl::LegalizeLayoutsBase<LegalizeLayoutsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      legalize(function);
  }

  static void legalize(func::FuncOp function) {
    // Collected first: handlers erase and replace what they visit.
    SmallVector<Operation *> products;
    SmallVector<ReduceOp> reductions;
    SmallVector<SumOp> sums;
    SmallVector<BatchNormOp> norms;
    SmallVector<Operation *> wide;
    for (Operation &op : function.getBody().front()) {
      if (isa<MatmulOp, PanelMatmulOp>(op))
        products.push_back(&op);
      else if (auto reduction = dyn_cast<ReduceOp>(op))
        reductions.push_back(reduction);
      else if (auto sum = dyn_cast<SumOp>(op))
        sums.push_back(sum);
      else if (auto norm = dyn_cast<BatchNormOp>(op))
        norms.push_back(norm);
      else if (needsWideFloats(&op) && hasNarrowType(op.getOperand(0)))
        wide.push_back(&op);
    }
    for (Operation *product : products)
      legalizeProduct(product);
    for (ReduceOp reduction : reductions)
      splitReduction(reduction);
    for (SumOp sum : sums)
      splitSum(sum);
    for (Operation *op : wide)
      widen(op);
    for (BatchNormOp norm : norms)
      decompose(cast<DecomposableOpInterface>(norm.getOperation()));
  }
};

} // namespace
} // namespace parplan
