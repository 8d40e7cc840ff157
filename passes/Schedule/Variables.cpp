//===- Variables.cpp - Where the new values of variables go ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/Variables.h"

#include "dialects/parplan/TensorTypes.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// Views of inputs
//===----------------------------------------------------------------------===//

bool isInputView(SliceOp slice) {
  Value input = slice.getInput();
  if (!isa<BlockArgument>(input) && !input.getDefiningOp<ParameterOp>())
    return false;
  ArrayRef<int64_t> whole = getTensorType(input).getShape();
  ArrayRef<int64_t> part = getTensorType(slice.getResult()).getShape();
  // One element of all dimensions before the last one that is cut.
  size_t last = 0;
  for (auto [position, dim] : llvm::enumerate(slice.getDims())) {
    if (slice.getSteps()[position] != 1 && part[dim] != 1)
      return false;
    if (part[dim] == whole[dim])
      continue;
    last = std::max<size_t>(last, dim);
  }
  return llvm::all_of(part.take_front(last),
                      [](int64_t size) { return size == 1; });
}

int64_t getViewOffset(SliceOp slice) {
  ArrayRef<int64_t> whole = getTensorType(slice.getInput()).getShape();
  int64_t offset = 0;
  for (auto [position, dim] : llvm::enumerate(slice.getDims())) {
    int64_t stride = 1;
    for (int64_t size : whole.drop_front(dim + 1))
      stride *= size;
    offset += slice.getStarts()[position] * stride;
  }
  return offset;
}

bool loadsWhereItStores(exec::KernelOp kernel, unsigned input) {
  auto stores = kernel.getBody().front().getOps<exec::StoreOp>();
  if (!llvm::hasSingleElement(stores))
    return false;
  exec::StoreOp store = *stores.begin();
  return llvm::all_of(
      kernel.getBody().front().getOps<exec::LoadOp>(), [&](exec::LoadOp load) {
        return load.getInput() != input ||
               (load.getOffset() == store.getOffset() &&
                load.getStrides() == store.getStrides() &&
                load.getDynamic().empty() && !load.getCondition());
      });
}

//===----------------------------------------------------------------------===//
// Aliases
//===----------------------------------------------------------------------===//

/// The operand whose bytes are those of the op's result; null if it makes its
/// own.
static Value getAliased(Operation *op, const Mesh &mesh) {
  if (isa<ReshapeOp, StorageViewOp>(op))
    return op->getOperand(0);
  if (auto move = dyn_cast<CollectiveOpInterface>(op)) {
    FailureOr<AxisList> axes = move.getCollectiveAxes().resolve(mesh);
    if (succeeded(axes) && mesh.getWidth(*axes) == 1)
      return op->getOperand(0);
  }
  return {};
}

/// The operand whose bytes the op's results hold: all, parts of them, or all in
/// another order. Null if it makes its own.
static Value getHeld(Operation *op, const Mesh &mesh) {
  if (isa<SliceOp, TransposeOp, UnpackOp>(op))
    return op->getOperand(0);
  return getAliased(op, mesh);
}

Value findDefinition(Value value, const Mesh &mesh) {
  while (value.hasOneUse()) {
    Operation *op = value.getDefiningOp();
    if (!op || isa<ParameterOp, BucketParameterOp, ConstantOp, PackOp>(op))
      return {};
    auto map = dyn_cast<exec::MapOp>(op);
    Value source = map ? map.getInto() : getAliased(op, mesh);
    if (!source && getHeld(op, mesh))
      return {};
    if (!source)
      return value;
    value = source;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

Attribute getVariable(func::FuncOp function, unsigned result) {
  if (Attribute name = function.getResultAttr(result, attributes::variable))
    return name;
  return function.getResultAttr(result, attributes::bucket);
}

namespace {

class VariablePlacer {
public:
  VariablePlacer(func::FuncOp function, const Mesh &mesh)
      : function(function), mesh(mesh) {}

  FailureOr<SmallVector<VariableResult>> run() {
    Operation *end = function.getBody().front().getTerminator();
    DenseMap<Attribute, Operation *> readers;
    for (Operation &op : function.getBody().front())
      if (auto parameter = dyn_cast<ParameterOp>(op))
        readers.try_emplace(parameter.getVariable(), parameter);
      else if (auto bucket = dyn_cast<BucketParameterOp>(op))
        readers.try_emplace(bucket.getMembersAttr(), bucket);
    SmallVector<VariableResult> variables;
    for (OpOperand &operand : end->getOpOperands()) {
      unsigned index = operand.getOperandNumber();
      Attribute name = getVariable(function, index);
      if (!name)
        continue;
      Operation *parameter = readers.lookup(name);
      if (!parameter)
        return function.emitOpError("result ")
               << index << " replaces " << name << ", which nothing reads";
      Value written = isPulled(operand.get()) || isHandedOn(operand.get())
                          ? operand.get()
                          : findDefinition(operand.get(), mesh);
      // A loop over panels writes again what it has written (E4).
      if (written && written.getDefiningOp<PanelMatmulOp>())
        written = {};
      variables.push_back({index, parameter, written});
    }
    // Moving one writer can bring readers of others behind their writers.
    for (int round = 0; round < rounds; ++round)
      if (!llvm::any_of(variables, [&](VariableResult &variable) {
            return settle(variable, /*mayMove=*/true);
          }))
        break;
    for (VariableResult &variable : variables)
      settle(variable, /*mayMove=*/false);
    return variables;
  }

private:
  static constexpr int rounds = 8;

  //===--------------------------------------------------------------------===//
  // Aliases
  //===--------------------------------------------------------------------===//

  Value getAliased(Operation *op) const {
    return parplan::getAliased(op, mesh);
  }

  /// Ops that read the bytes of `value`.
  void collectReaders(Value value,
                      SmallVectorImpl<Operation *> &readers) const {
    for (Operation *user : value.getUsers()) {
      if (!getHeld(user, mesh))
        readers.push_back(user);
      else
        for (Value alias : user->getResults())
          collectReaders(alias, readers);
    }
  }

  /// Whether the bytes of `value` are all those of `variable`.
  bool isAll(Value value, Value variable) const {
    while (value != variable) {
      Operation *op = value.getDefiningOp();
      value = op ? getAliased(op) : Value();
      if (!value)
        return false;
    }
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Order
  //===--------------------------------------------------------------------===//

  static Operation *getFirstWriter(Value written) {
    Operation *op = written.getDefiningOp();
    if (auto pack = dyn_cast<PackOp>(op))
      return pack.getInputs().front().getDefiningOp();
    return isa<exec::EmptyOp>(op) ? *op->user_begin() : op;
  }

  /// The new value of a variable that servers send to the workers: these are
  /// the only ones that read it where it is written.
  static bool isHandedOn(Value value) {
    return value.getDefiningOp<OptimizerUpdateOp>() && !value.hasOneUse() &&
           llvm::all_of(value.getUses(), [](OpOperand &use) {
             return isa<SendOp, func::ReturnOp>(use.getOwner());
           });
  }

  /// A bucket whose pieces are received, in order: they are where it is.
  static bool isPulled(Value value) {
    auto pack = value.getDefiningOp<PackOp>();
    return pack && value.hasOneUse() &&
           llvm::all_of(pack.getInputs(), [](Value piece) {
             return piece.getDefiningOp<ReceiveOp>() && piece.hasOneUse();
           });
  }

  /// Whether `op` may read the old value where it writes the new one.
  bool mayOverwrite(Operation *op, Value written, Value old) const {
    auto readsOnly = [&](OpOperand *allowed) {
      return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
        if (&operand == allowed)
          return isAll(operand.get(), old);
        return !reaches(old, operand.get());
      });
    };
    if (auto update = dyn_cast<OptimizerUpdateOp>(op)) {
      unsigned state = cast<OpResult>(written).getResultNumber();
      return readsOnly(state == 0 ? &update.getParameterMutable()
                                  : &op->getOpOperand(1 + state));
    }
    if (isa<AllReduceOp, BroadcastFromOp>(op))
      return readsOnly(&op->getOpOperand(0));
    auto map = dyn_cast<exec::MapOp>(op);
    if (!map || map.getInto())
      return false;
    auto kernel = SymbolTable::lookupNearestSymbolFrom<exec::KernelOp>(
        op, map.getKernelAttr());
    return kernel &&
           llvm::any_of(llvm::enumerate(map.getInputs()), [&](auto input) {
             return getTensorType(input.value()).getElementType() ==
                        getTensorType(written).getElementType() &&
                    loadsWhereItStores(kernel, input.index()) &&
                    readsOnly(&op->getOpOperand(input.index()));
           });
  }

  /// Whether `value` is `variable` or a part or alias of it.
  bool reaches(Value variable, Value value) const {
    while (value != variable) {
      Operation *op = value.getDefiningOp();
      if (!op)
        return false;
      value = getHeld(op, mesh);
      if (!value)
        return false;
    }
    return true;
  }

  /// Makes sure that nothing reads the old value after it is overwritten; gives
  /// up writing in place where that fails. True if something changed.
  bool settle(VariableResult &variable, bool mayMove) {
    if (!variable.written)
      return false;
    Value old = variable.parameter->getResult(0);
    Operation *writer = getFirstWriter(variable.written);
    SmallVector<Operation *> readers;
    collectReaders(old, readers);
    Operation *last = nullptr;
    bool isLegal = true;
    for (Operation *reader : readers) {
      if (isa<func::ReturnOp>(reader))
        isLegal = false;
      else if (reader == writer)
        isLegal &= mayOverwrite(writer, variable.written, old);
      else if (!reader->isBeforeInBlock(writer) &&
               (!last || last->isBeforeInBlock(reader)))
        last = reader;
    }
    if (isLegal && !last)
      return false;
    // Messages have a total order.
    if (!isLegal || !mayMove || isa<ReceiveOp>(writer) || !sink(writer, last))
      variable.written = {};
    return true;
  }

  /// Moves `op` and what depends on it behind `last`, unless `last` does.
  static bool sink(Operation *op, Operation *last) {
    llvm::DenseSet<Operation *> dependent = {op};
    SmallVector<Operation *> moved = {op};
    for (Operation *next = op->getNextNode(); next != last;
         next = next->getNextNode())
      if (dependsOn(next, dependent)) {
        dependent.insert(next);
        moved.push_back(next);
      }
    if (dependsOn(last, dependent))
      return false;
    Operation *place = last;
    for (Operation *next : moved) {
      next->moveAfter(place);
      place = next;
    }
    return true;
  }

  static bool dependsOn(Operation *op, const DenseSet<Operation *> &ops) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return ops.contains(operand.getDefiningOp());
    });
  }

  func::FuncOp function;
  const Mesh &mesh;
};

} // namespace

FailureOr<SmallVector<VariableResult>> placeVariables(func::FuncOp function,
                                                      const Mesh &mesh) {
  return VariablePlacer(function, mesh).run();
}

} // namespace parplan
