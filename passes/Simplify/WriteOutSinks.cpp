//===- WriteOutSinks.cpp - Attention without sinks ------------------------===//
//
// Part of parplan. Behind the gradients: that of an attention with a sink is
// one op, that of its parts would keep the result without the sink, too.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanOps.h"
#include "passes/Simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_WRITEOUTSINKS
#include "passes/Simplify/Passes.h.inc"

namespace {

/// Replaces an attention by its parts, which stand for the same of the model.
/// Its gradient follows the attention; other parts lead groups of their own,
/// from `nextGroup` on.
void writeOut(AttentionOp op, int64_t &nextGroup) {
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  SmallVector<Value> results = op.writeOutSink(builder);
  SmallVector<Operation *> parts;
  for (Operation *part = op->getPrevNode(); part != before;
       part = part->getPrevNode())
    if (part->getNumOperands() > 0)
      parts.push_back(part);
  for (Operation *part : llvm::reverse(parts)) {
    part->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    if (!isa<AttentionOp>(part) && part->hasAttr(attributes::group))
      part->setAttr(attributes::group, builder.getI64IntegerAttr(nextGroup++));
  }
  op->replaceAllUsesWith(results);
  op.erase();
  // Statistics that nobody asked for.
  for (Operation *part : parts)
    if (part->use_empty())
      part->erase();
}

struct WriteOutSinks : impl::WriteOutSinksBase<WriteOutSinks> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        run(function.getBody().front());
  }

private:
  static void run(Block &block) {
    SmallVector<AttentionOp> attentions;
    int64_t nextGroup = 0;
    for (Operation &op : block) {
      if (auto group = op.getAttrOfType<IntegerAttr>(attributes::group))
        nextGroup = std::max(nextGroup, group.getInt() + 1);
      if (auto attention = dyn_cast<AttentionOp>(op);
          attention && attention.getSink())
        attentions.push_back(attention);
    }
    for (AttentionOp op : attentions)
      writeOut(op, nextGroup);
  }
};

} // namespace
} // namespace parplan
