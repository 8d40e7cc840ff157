//===- GraphMutants.cpp - Faults that the property test must notice -------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "GraphMutants.h"

#include <cmath>

using namespace mlir;

namespace parplan::test {
namespace {

/// A random op of the function that fits, or null.
template <typename Op>
Op pickOp(
    func::FuncOp function, Random &random,
    llvm::function_ref<bool(Op)> fits = [](Op) { return true; }) {
  SmallVector<Op> ops;
  function.walk([&](Op op) {
    if (fits(op))
      ops.push_back(op);
  });
  return ops.empty() ? Op() : random.pick(ops);
}

/// Lets the users of an op read its operand.
bool skip(Operation *op) {
  if (!op)
    return false;
  op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  op->erase();
  return true;
}

bool forgetAllReduce(func::FuncOp function, Random &random) {
  return skip(pickOp<AllReduceOp>(function, random));
}

/// Keeps the own summand of the block.
bool forgetReduceScatter(func::FuncOp function, Random &random) {
  auto op = pickOp<ReduceScatterOp>(function, random);
  if (!op)
    return false;
  OpBuilder builder(op);
  auto slice = builder.create<ShardSliceOp>(
      op.getLoc(), op.getResult().getType(), op.getInput(), op.getAxesAttr(),
      op.getDimAttr(), op.getOutShardingAttr());
  slice->setAttr(attributes::globalType, op->getAttr(attributes::globalType));
  op.replaceAllUsesWith(slice.getResult());
  op.erase();
  return true;
}

bool leavePaddingDirty(func::FuncOp function, Random &random) {
  return skip(pickOp<ClearPaddingOp>(function, random, [](ClearPaddingOp op) {
    return op.getFill().isZero();
  }));
}

bool leaveMaximumUnmasked(func::FuncOp function, Random &random) {
  return skip(pickOp<ClearPaddingOp>(function, random, [](ClearPaddingOp op) {
    return op.getFill().isInfinity();
  }));
}

/// S9: the complete term counts once per rank.
bool pendOnAllRanks(func::FuncOp function, Random &random) {
  return skip(pickOp<PendOp>(function, random));
}

bool startAllBlocksAtZero(func::FuncOp function, Random &random) {
  auto op = pickOp<BlockStartOp>(function, random);
  if (!op)
    return false;
  op.setSize(0);
  return true;
}

/// S3: blocks of the padded size instead of nested ceilings.
bool cutFlatBlocks(func::FuncOp function, Random &random) {
  Mesh mesh = getOnlyMesh(function->getParentOp()).getMesh().getMesh();
  auto op = pickOp<BlockStartOp>(function, random, [&](BlockStartOp op) {
    return op.getAxes().getNames().size() > 1;
  });
  if (!op)
    return false;
  int64_t width = mesh.getWidth(*op.getAxes().resolve(mesh));
  int64_t size = op.getSize(), flat = ceilDivide(size, width) * width;
  op.setSize(flat);
  return flat != size;
}

/// Joins the blocks of two axes in the wrong order.
bool gatherInWrongOrder(func::FuncOp function, Random &random) {
  auto op = pickOp<AllGatherOp>(function, random, [](AllGatherOp op) {
    return op.getAxes().getNames().size() > 1;
  });
  if (!op)
    return false;
  SmallVector<StringAttr> names(llvm::reverse(op.getAxes().getNames()));
  op.setAxesAttr(AxisListAttr::get(op.getContext(), names));
  return true;
}

/// Takes the maximum of summands.
bool reduceByMaximum(func::FuncOp function, Random &random) {
  auto op = pickOp<AllReduceOp>(function, random, [](AllReduceOp op) {
    return op.getKind() == ReduceKind::sum;
  });
  if (op)
    op.setKind(ReduceKind::max);
  return static_cast<bool>(op);
}

constexpr Mutant mutants[] = {
    {"forgotten all-reduce", 80, forgetAllReduce},
    {"forgotten reduce-scatter", 60, forgetReduceScatter},
    {"dirty padding", 80, leavePaddingDirty},
    {"unmasked maximum", 4, leaveMaximumUnmasked},
    {"pend on all ranks", 60, pendOnAllRanks},
    {"blocks that start at zero", 60, startAllBlocksAtZero},
    {"flat blocks", 30, cutFlatBlocks},
    {"gather in the wrong order", 60, gatherInWrongOrder},
    {"maximum instead of sum", 60, reduceByMaximum},
};

} // namespace

llvm::ArrayRef<Mutant> getMutants() { return mutants; }

} // namespace parplan::test
