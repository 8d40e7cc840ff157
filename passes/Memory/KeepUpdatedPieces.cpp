//===- KeepUpdatedPieces.cpp - Parameters rest as they are updated --------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/FunctionAttributes.h"
#include "dialects/parplan/ParplanOps.h"
#include "passes/Memory/Passes.h"
#include "passes/Memory/Transfers.h"
#include "passes/Memory/UpdateLanes.h"
#include "passes/Partition/ShardingAccess.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_KEEPUPDATEDPIECES
#include "passes/Memory/Passes.h.inc"

namespace {

/// A variable whose pieces are updated off the device and gathered then, and
/// that is to rest in them.
struct Cycle {
  Operation *variable;
  ShardSliceOp slice;
  OptimizerUpdateOp update;
  AllGatherOp gather;
  /// The result of the function that is the new value.
  OpOperand *returned;
};

std::optional<Cycle> findCycle(OptimizerUpdateOp update) {
  auto slice = update.getParameter().getDefiningOp<ShardSliceOp>();
  if (isOnDevice(update) || !slice || !slice->hasOneUse() ||
      static_cast<int64_t>(slice.getDim()) != storageDim)
    return std::nullopt;
  Operation *variable = slice.getInput().getDefiningOp();
  Value piece = update->getResult(0);
  if (!isa_and_present<ParameterOp, BucketParameterOp>(variable) ||
      !isOnDevice(variable) || !piece.hasOneUse())
    return std::nullopt;
  auto gather = dyn_cast<AllGatherOp>(*piece.getUsers().begin());
  if (!gather || static_cast<int64_t>(gather.getDim()) != storageDim ||
      !gather->hasOneUse() ||
      gather.getType() != variable->getResult(0).getType())
    return std::nullopt;
  OpOperand &returned = *gather->use_begin();
  if (!isa<func::ReturnOp>(returned.getOwner()))
    return std::nullopt;
  return Cycle{variable, slice, update, gather, &returned};
}

/// What an upload is made with comes behind the gather, too: ops that cost
/// little, and stand in front of what reads a variable.
void collectPath(Operation *op, Operation *except,
                 SmallVectorImpl<Operation *> &path, Operation *&first) {
  for (Operation *user : op->getUsers()) {
    if (user == except || llvm::is_contained(path, user))
      continue;
    if (isMadePerUpload(user)) {
      path.push_back(user);
      collectPath(user, except, path, first);
    } else if (!first || user->isBeforeInBlock(first)) {
      first = user;
    }
  }
}

/// What `op` does now is of what `reader` does.
void becomePartOf(Operation *reader, Operation *op) {
  for (StringRef name : {attributes::block, attributes::node, attributes::role,
                         attributes::group, attributes::perMicroBatch,
                         attributes::stage, attributes::recompute})
    op->removeAttr(name);
  copyOrigin(reader, op);
}

/// Returns the layout of the pieces.
Attribute turn(Cycle cycle) {
  Value whole = cycle.variable->getResult(0), piece = cycle.slice.getResult();
  SmallVector<Operation *> path;
  Operation *reader = nullptr;
  collectPath(cycle.variable, cycle.slice, path, reader);
  Attribute stored = getSharding(piece);
  cycle.returned->set(cycle.update->getResult(0));
  whole.replaceAllUsesExcept(cycle.gather.getResult(), cycle.slice);
  cycle.gather.getInputMutable().assign(whole);
  piece.replaceAllUsesWith(whole);
  whole.setType(piece.getType());
  cycle.variable->setAttr(attributes::shardings,
                          ArrayAttr::get(cycle.update->getContext(), {stored}));
  cycle.slice.erase();
  // What nothing reads needs no gathering.
  if (!reader) {
    for (Operation *op : llvm::reverse(path))
      op->erase();
    cycle.gather.erase();
    return stored;
  }
  cycle.gather->moveBefore(reader);
  becomePartOf(reader, cycle.gather);
  for (Operation *op : path)
    op->moveBefore(reader);
  return stored;
}

struct KeepUpdatedPiecesPass
    : impl::KeepUpdatedPiecesBase<KeepUpdatedPiecesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<Cycle> cycles;
      for (auto update : function.getOps<OptimizerUpdateOp>())
        if (update->hasAttr(attributes::inPieces)) {
          if (std::optional<Cycle> cycle = findCycle(update)) {
            cycles.push_back(*cycle);
            continue;
          }
          update.emitOpError("is to leave the parameter in its pieces, but "
                             "does not slice, replace and gather it alone");
          signalPassFailure();
        }
      llvm::DenseMap<unsigned, Attribute> stored;
      for (const Cycle &cycle : cycles)
        stored[cycle.returned->getOperandNumber()] = turn(cycle);
      setResultAttributes(function, attributes::sharding,
                          [&](unsigned index) { return stored.lookup(index); });
      Operation *terminator = function.getBody().front().getTerminator();
      function.setFunctionType(
          FunctionType::get(&getContext(), function.getArgumentTypes(),
                            terminator->getOperandTypes()));
    }
  }
};

} // namespace
} // namespace parplan
