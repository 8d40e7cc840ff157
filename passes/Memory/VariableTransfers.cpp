//===- VariableTransfers.cpp - Variables that rest off the device ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Memory/Transfers.h"

#include "passes/Partition/ShardingAccess.h"

using namespace mlir;

namespace parplan {

namespace {

bool isVariable(Operation *op) {
  return isa_and_present<ParameterOp, BucketParameterOp>(op);
}

class VariableTransfers {
public:
  explicit VariableTransfers(func::FuncOp function)
      : body(function.getBody().front()), builder(function.getContext()) {}

  void run() {
    SmallVector<Operation *> variables;
    SmallVector<OptimizerUpdateOp> updates;
    for (Operation &op : body) {
      if (auto update = dyn_cast<OptimizerUpdateOp>(op))
        updates.push_back(update);
      if (isVariable(&op))
        variables.push_back(&op);
    }
    for (OptimizerUpdateOp update : updates)
      if (!isOnDevice(update))
        setTiers(update);
    for (Operation *variable : variables)
      if (!isOnDevice(variable))
        addUploads(variable);
    // Before any use changes: an update says what its results replace.
    for (OptimizerUpdateOp update : updates)
      moveUpdate(update);
    addReturns();
    insertUploads(std::move(uploads));
    for (Operation *op : llvm::reverse(replaced))
      if (op->use_empty())
        op->erase();
  }

private:
  /// What the update of a variable on the host reads as it rests, rests there.
  void setTiers(OptimizerUpdateOp update) {
    for (Value operand : update->getOperands())
      if (Operation *variable = operand.getDefiningOp();
          isVariable(variable) && isOnDevice(variable)) {
        variable->setAttr(attributes::tier,
                          builder.getStringAttr(getTier(update)));
        stayForStep.insert(variable);
      }
  }

  /// One pass over the variable's block: readers in one direction, of one
  /// micro-batch.
  struct Pass {
    bool isForward = true;
    bool isOfStep = false;
    Attribute microBatch;

    bool operator==(const Pass &other) const = default;
  };

  static Pass getPass(Operation *reader) {
    Pass pass;
    pass.isForward = isBeforeBackward(getReader(reader).role);
    pass.microBatch = reader->getAttr(attributes::microBatch);
    pass.isOfStep = getReader(reader).role == OpRole::optimizer;
    return pass;
  }

  struct Reader {
    OpOperand *use;
    SmallVector<Operation *, 2> path;
  };

  void findReaders(Value value, SmallVector<Operation *, 2> &path,
                   SmallVectorImpl<Reader> &readers) {
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (!isMadePerUpload(user)) {
        readers.push_back({&use, path});
        continue;
      }
      if (!llvm::is_contained(replaced, user))
        replaced.push_back(user);
      path.push_back(user);
      for (Value result : user->getResults())
        findReaders(result, path, readers);
      path.pop_back();
    }
  }

  void addUploads(Operation *variable) {
    SmallVector<Operation *, 2> path;
    SmallVector<Reader> readers;
    findReaders(variable->getResult(0), path, readers);
    llvm::stable_sort(readers, [](const Reader &left, const Reader &right) {
      return left.use->getOwner()->isBeforeInBlock(right.use->getOwner());
    });
    bool staysForStep = stayForStep.contains(variable);
    std::optional<Pass> last;
    Upload upload;
    auto finish = [&] {
      if (!upload.uses.empty())
        uploads.push_back(std::move(upload));
      upload = {};
    };
    for (const Reader &reader : readers) {
      Operation *user = reader.use->getOwner();
      if (isa<func::ReturnOp>(user) ||
          (isa<OptimizerUpdateOp>(user) && !isOnDevice(user)))
        continue;
      Pass pass = getPass(user);
      if (last && !(pass == *last) && !staysForStep)
        finish();
      last = pass;
      if (upload.uses.empty()) {
        upload.value = upload.original = variable->getResult(0);
        upload.firstReader = user;
      }
      upload.uses.push_back(reader.use);
      for (Operation *op : reader.path)
        if (!llvm::is_contained(upload.path, op))
          upload.path.push_back(op);
    }
    finish();
  }

  /// The tier in which the variable that `result` replaces rests.
  StringRef getRestingTier(OptimizerUpdateOp update, OpResult result) const {
    unsigned number = result.getResultNumber();
    Value old =
        number == 0 ? update.getParameter() : update.getStates()[number - 1];
    Operation *variable = old.getDefiningOp();
    return isVariable(variable) ? getTier(variable) : StringRef(tiers::device);
  }

  /// Brings what an update on the host reads there, and what it makes to where
  /// that is read.
  void moveUpdate(OptimizerUpdateOp update) {
    if (isOnDevice(update))
      return;
    SmallVector<StringRef> rests;
    for (OpResult result : update->getResults())
      rests.push_back(getRestingTier(update, result));
    // Tensors; single numbers come as they are needed.
    for (OpOperand &operand :
         update->getOpOperands().take_front(2 + update.getStates().size())) {
      Operation *maker = operand.get().getDefiningOp();
      bool rests = isVariable(maker) && !isOnDevice(maker);
      if (rests && getTier(maker) == tiers::host)
        continue;
      if (maker && !rests)
        builder.setInsertionPointAfter(maker);
      else
        builder.setInsertionPoint(update);
      operand.set(createTransfer(builder, operand.get(), tiers::host, update));
    }
    builder.setInsertionPointAfter(update);
    for (auto [result, rest] : llvm::zip_equal(update->getResults(), rests))
      moveUses(result, rest, update);
  }

  /// What is returned goes to where it rests; the rest is read on the device.
  void moveUses(Value made, StringRef rest, Operation *maker) {
    SmallVector<OpOperand *> returned, read;
    for (OpOperand &use : made.getUses())
      (isa<func::ReturnOp>(use.getOwner()) ? returned : read).push_back(&use);
    if (!read.empty())
      setUses(read, createTransfer(builder, made, tiers::device, maker));
    if (!returned.empty() && rest != tiers::host)
      setUses(returned, createTransfer(builder, made, rest, maker));
  }

  static void setUses(ArrayRef<OpOperand *> uses, Value value) {
    for (OpOperand *use : uses)
      use->set(value);
  }

  /// New values that were made on the device and rest elsewhere.
  void addReturns() {
    auto function = cast<func::FuncOp>(body.getParentOp());
    llvm::DenseMap<Attribute, StringRef> resting;
    for (Operation &op : body)
      if (isVariable(&op) && !isOnDevice(&op))
        resting[getName(&op)] = getTier(&op);
    Operation *terminator = body.getTerminator();
    for (OpOperand &operand : terminator->getOpOperands()) {
      unsigned index = operand.getOperandNumber();
      Attribute name = function.getResultAttr(index, attributes::variable);
      if (!name)
        name = function.getResultAttr(index, attributes::bucket);
      StringRef tier = name ? resting.lookup(name) : StringRef();
      Operation *maker = operand.get().getDefiningOp();
      if (tier.empty() || !maker || isVariable(maker) ||
          isa<TransferOp>(maker) ||
          (isa<OptimizerUpdateOp>(maker) && !isOnDevice(maker)))
        continue;
      builder.setInsertionPointAfter(maker);
      operand.set(createTransfer(builder, operand.get(), tier, maker));
    }
  }

  static Attribute getName(Operation *variable) {
    if (auto parameter = dyn_cast<ParameterOp>(variable))
      return parameter.getVariable();
    return cast<BucketParameterOp>(variable).getMembersAttr();
  }

  Block &body;
  OpBuilder builder;
  std::vector<Upload> uploads;
  /// Variables that are uploaded once per step.
  llvm::DenseSet<Operation *> stayForStep;
  /// Ops of paths, which every upload has copies of.
  SmallVector<Operation *> replaced;
};

} // namespace

void insertVariableTransfers(func::FuncOp function) {
  VariableTransfers(function).run();
}

} // namespace parplan
