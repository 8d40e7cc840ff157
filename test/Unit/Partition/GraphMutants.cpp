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

/// A reduction of a gradient, or of its part.
template <typename Op> bool isOfGradient(Op op) {
  auto role = op->template getAttrOfType<StringAttr>(attributes::role);
  return role && (role == roles::gradientSum || role == roles::weightGradient);
}

/// S17
bool forgetGradientReduction(func::FuncOp function, Random &random) {
  return skip(pickOp<AllReduceOp>(function, random, isOfGradient<AllReduceOp>));
}

/// S20: the squares of every replica.
bool countNormTwice(func::FuncOp function, Random &random) {
  Mesh mesh = getOnlyMesh(function->getParentOp()).getMesh().getMesh();
  auto op = pickOp<AllReduceOp>(function, random, [&](AllReduceOp op) {
    return isa_and_nonnull<SquareSumOp>(op.getInput().getDefiningOp()) &&
           static_cast<int>(op.getAxes().getNames().size()) <
               mesh.getAxisCount();
  });
  if (!op)
    return false;
  SmallVector<StringAttr> names;
  for (int axis = 0; axis < mesh.getAxisCount(); ++axis)
    names.push_back(StringAttr::get(op.getContext(), mesh.getAxis(axis).name));
  op.setAxesAttr(AxisListAttr::get(op.getContext(), names));
  return true;
}

/// Pieces of the flattened block that start one element late.
bool storePiecesOffByOne(func::FuncOp function, Random &random) {
  auto op = pickOp<ShardSliceOp>(function, random, [](ShardSliceOp op) {
    return static_cast<int64_t>(op.getDim()) == -1 &&
           op.getResult().getType().getDimSize(0) > 1;
  });
  if (!op)
    return false;
  OpBuilder builder(op.getContext());
  builder.setInsertionPointAfter(op);
  int64_t size = op.getResult().getType().getDimSize(0);
  auto slice = [&](int64_t from, int64_t to) -> Value {
    return builder.create<SliceOp>(op.getLoc(), op.getResult(),
                                   ArrayRef<int64_t>(0), ArrayRef(from),
                                   ArrayRef(to), ArrayRef<int64_t>(1));
  };
  SmallVector<Value> parts = {slice(1, size), slice(0, 1)};
  auto rolled = builder.create<ConcatOp>(op.getLoc(), parts, /*dim=*/0);
  for (StringRef name : {attributes::globalType, attributes::shardings})
    if (Attribute value = op->getAttr(name))
      rolled->setAttr(name, value);
  rolled->setAttr(attributes::shardings,
                  builder.getArrayAttr({op.getOutShardingAttr()}));
  op.getResult().replaceUsesWithIf(
      rolled, [](OpOperand &use) { return !isa<SliceOp>(use.getOwner()); });
  return true;
}

constexpr Mutant mutants[] = {
    {"forgotten all-reduce", 80, forgetAllReduce},
    {"forgotten reduce-scatter", 60, forgetReduceScatter},
    {"dirty padding", 70, leavePaddingDirty},
    {"unmasked maximum", 1, leaveMaximumUnmasked},
    {"pend on all ranks", 60, pendOnAllRanks},
    {"blocks that start at zero", 60, startAllBlocksAtZero},
    {"flat blocks", 30, cutFlatBlocks},
    {"gather in the wrong order", 60, gatherInWrongOrder},
    {"maximum instead of sum", 60, reduceByMaximum},
    {"forgotten reduction of a gradient", 80, forgetGradientReduction, true},
    {"forgotten reduction of pieces", 60, forgetReduceScatter, true},
    {"norm counted twice", 60, countNormTwice, true},
    {"pieces off by one", 60, storePiecesOffByOne, true},
};

} // namespace

llvm::ArrayRef<Mutant> getMutants() { return mutants; }

} // namespace parplan::test
