//===- Raise.cpp - The walk that raises -----------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Passes.h"
#include "passes/Simplify/Rewriter.h"

#include "parplan/Support/Check.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_RAISE
#include "passes/Simplify/Passes.h.inc"

namespace simplify {

void eraseUnused(Block &block) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(block.getOperations())))
    if (op.use_empty() && isMemoryEffectFree(&op) &&
        !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
}

namespace {

/// The patterns of every kind of op, in the order in which they are tried.
class PatternTable {
public:
  PatternTable() {
    // Reshapes first: what lies behind them then meets its partners.
    addTo<MulOp>({sinkReshapeBelowElementwise, raiseSilu, raiseGelu, raiseNorm,
                  absorbNormScale});
    addTo<DivOp>({sinkReshapeBelowElementwise, raiseNorm});
    addTo<AddOp>({sinkReshapeBelowElementwise, raiseRotation, absorbNormBias});
    addToAll<AbsOp, NegOp, SignOp, ExpOp, LogOp, SqrtOp, RsqrtOp, ReciprocalOp,
             SinOp, CosOp, TanOp, AsinOp, AcosOp, AtanOp, SinhOp, CoshOp,
             AsinhOp, AcoshOp, AtanhOp, TanhOp, SigmoidOp, ErfOp, FloorOp,
             CeilOp, RoundOp, ReluOp, SiluOp, GeluOp, NotOp, IsNaNOp, IsInfOp,
             CastOp, BitcastOp, SubOp, PowOp, ModOp, MaxOp, MinOp, AndOp, OrOp,
             XorOp, CompareOp, SelectOp>({sinkReshapeBelowElementwise});
    addTo<ReduceOp>({raiseExperts});
    addToAll<SoftmaxOp, LogSoftmaxOp, LayerNormOp, RMSNormOp, ReduceOp>(
        {sinkReshapeBelowRows});
    addTo<SliceOp>({foldIntoView, joinSlices, nestSlices, splitProduct,
                    sinkReshapeBelowRows});
    addToAll<ReshapeOp, TransposeOp, BroadcastOp>(
        {foldIntoView, joinLayoutOps});
    addTo<ReshapeOp>({hoistUnflattening});
    addTo<ConcatOp>({raiseRotationOfHalves});
    addTo<RopeOp>({hoistTransposeOverRope});
    addTo<AttentionOp>({simplifyAttention});
    addTo<MatmulOp>(
        {absorbTranspose, unflattenRows, raiseAttention, nameDimensions});
  }

  ArrayRef<Pattern> get(Operation *op) const {
    auto found = patterns.find(op->getName().getTypeID());
    return found == patterns.end() ? ArrayRef<Pattern>()
                                   : ArrayRef<Pattern>(found->second);
  }

private:
  template <typename Op> void addTo(std::initializer_list<Pattern> list) {
    patterns[TypeID::get<Op>()].append(list);
  }
  template <typename... Ops>
  void addToAll(std::initializer_list<Pattern> list) {
    (addTo<Ops>(list), ...);
  }

  llvm::DenseMap<TypeID, SmallVector<Pattern, 4>> patterns;
};

/// Applies patterns to one op, then to the ops that these made.
class Raiser {
public:
  explicit Raiser(MLIRContext *context) : rewriter(context) {}

  void visit(Operation *op) {
    if (isa<TopKOp>(op))
      return visitChoice(op);
    if (op->getNumResults() != 1 || op->use_empty())
      return;
    for (Pattern pattern : table.get(op)) {
      rewriter.begin(op);
      Value replacement = pattern(op, rewriter);
      SmallVector<Operation *> created = rewriter.takeCreated();
      if (!replacement)
        continue;
      PARPLAN_CHECK(replacement.getType() == op->getResult(0).getType(),
                    "a pattern changed a type of ",
                    op->getName().getStringRef().str());
      op->getResult(0).replaceAllUsesWith(replacement);
      rewriter.replaceShared(op->getResult(0), replacement);
      retire(op);
      for (Operation *next : created)
        visit(next);
      return;
    }
  }

private:
  /// The only op of several results that has a pattern.
  void visitChoice(Operation *op) {
    if (op->use_empty())
      return;
    rewriter.begin(op);
    bool isReplaced = unflattenChoice(op, rewriter);
    SmallVector<Operation *> created = rewriter.takeCreated();
    if (!isReplaced)
      return;
    retire(op);
    for (Operation *next : created)
      visit(next);
  }

  /// Takes an op without uses, and what only it used, out of the use lists:
  /// patterns ask whether a value has one use. Erasing would leave dangling
  /// pointers in the walk; `eraseUnused` does it at the end.
  void retire(Operation *op) {
    if (!op->use_empty() || !isMemoryEffectFree(op) ||
        llvm::any_of(op->getResults(),
                     [&](Value value) { return rewriter.isShared(value); }))
      return;
    SmallVector<Operation *, 4> makers;
    for (Value operand : op->getOperands()) {
      if (!operand)
        return; // Retired on another way.
      if (Operation *maker = operand.getDefiningOp())
        makers.push_back(maker);
    }
    op->dropAllReferences();
    for (Operation *maker : makers)
      retire(maker);
  }

  PatternTable table;
  Rewriter rewriter;
};

struct Raise : impl::RaiseBase<Raise> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Raiser raiser(&getContext());
      Block &block = function.getBody().front();
      SmallVector<Operation *> order;
      for (Operation &op : block)
        order.push_back(&op);
      for (Operation *op : order)
        raiser.visit(op);
      eraseUnused(block);
    }
  }
};

} // namespace
} // namespace simplify

} // namespace parplan
