//===- ActivationTransfers.cpp - What waits for the backward pass ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Memory/Transfers.h"

#include "passes/Partition/ShardingAccess.h"

using namespace mlir;

namespace parplan {

namespace {

bool waits(Operation *op) {
  auto tier = op->getAttrOfType<StringAttr>(attributes::tier);
  return tier && tier.getValue() == tiers::host &&
         !isa<ParameterOp, BucketParameterOp, OptimizerUpdateOp, TransferOp>(
             op) &&
         isBeforeBackward(getReader(op).role);
}

/// The value whose bytes `value` shares.
Value getRoot(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  return value;
}

/// What the backward pass reads of `root`, through reshapes.
class BackwardReaders {
public:
  explicit BackwardReaders(Value root) {
    upload.original = root;
    SmallVector<Operation *, 2> path;
    find(root, path);
  }

  Upload upload;

private:
  void find(Value value, SmallVector<Operation *, 2> &path) {
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<func::ReturnOp>(user))
        continue;
      if (isa<ReshapeOp>(user)) {
        path.push_back(user);
        find(user->getResult(0), path);
        path.pop_back();
      } else if (!isBeforeBackward(getReader(user).role)) {
        add(use, path);
      }
    }
  }

  void add(OpOperand &use, ArrayRef<Operation *> path) {
    Operation *user = use.getOwner();
    if (!upload.firstReader || user->isBeforeInBlock(upload.firstReader))
      upload.firstReader = user;
    upload.uses.push_back(&use);
    for (Operation *op : path)
      if (!llvm::is_contained(upload.path, op))
        upload.path.push_back(op);
  }
};

} // namespace

void insertActivationTransfers(func::FuncOp function) {
  llvm::SetVector<Value> roots;
  for (Operation &op : function.getBody().front())
    if (waits(&op))
      for (Value result : op.getResults())
        if (Value root = getRoot(result); root.getDefiningOp())
          roots.insert(root);
  std::vector<Upload> uploads;
  OpBuilder builder(function.getContext());
  for (Value root : roots) {
    Operation *maker = root.getDefiningOp();
    if (isa<ParameterOp, BucketParameterOp, ConstantOp, UnpackOp>(maker))
      continue;
    BackwardReaders readers(root);
    if (readers.upload.uses.empty())
      continue;
    builder.setInsertionPointAfter(maker);
    readers.upload.value =
        createTransfer(builder, root, tiers::host, maker).getResult();
    uploads.push_back(std::move(readers.upload));
  }
  insertUploads(std::move(uploads));
}

} // namespace parplan
