//===- ToExec.cpp - From tensors to statements on buffers -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/FusableOps.h"
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/Placement.h"
#include "passes/Schedule/Variables.h"

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Support/Check.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_TOEXEC
#include "passes/Schedule/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral globalTypeName = "parplan.global_type";

RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Translates one function.
class ProgramTranslator {
public:
  ProgramTranslator(ModuleOp module, func::FuncOp function, MeshAttr mesh)
      : module(module), symbols(module), function(function),
        placement(module, function.getName(), mesh) {}

  Placement &getPlacement() { return placement; }

  LogicalResult run() {
    // Before kernels leave the module: it looks at them.
    FailureOr<SmallVector<VariableResult>> placed =
        placeVariables(function, placement.getMesh());
    if (failed(placed))
      return failure();
    variables = std::move(*placed);
    microBatches =
        function->getAttrOfType<IntegerAttr>(attributes::microBatches);
    placement.getProgram().setMicroBatchesAttr(microBatches);
    for (BlockArgument argument : function.getArguments())
      defineInput(argument);
    moveKernels();
    for (const VariableResult &variable : variables) {
      if (auto parameter = dyn_cast<ParameterOp>(variable.parameter))
        defineParameter(parameter);
      else
        defineBucket(cast<BucketParameterOp>(variable.parameter), placement);
      if (variable.written)
        placement.assign(variable.written, getVariableBuffer(variable));
    }
    assignPacks(function, placement);
    for (Operation &op : function.getBody().front())
      if (failed(translate(&op)))
        return failure();
    return success();
  }

private:
  void moveKernels() {
    Block &body = placement.getProgram().getBody().front();
    auto kernels = llvm::to_vector(module.getOps<exec::KernelOp>());
    for (exec::KernelOp kernel : llvm::reverse(kernels))
      kernel->moveBefore(&body, body.begin());
  }

  //===--------------------------------------------------------------------===//
  // What lives outside of a step
  //===--------------------------------------------------------------------===//

  static RankedTensorType getGlobalType(Attribute attribute, Type local) {
    if (auto type = llvm::dyn_cast_if_present<TypeAttr>(attribute))
      return cast<RankedTensorType>(type.getValue());
    return cast<RankedTensorType>(local);
  }

  static StringRef getName(Attribute attribute) {
    auto name = llvm::dyn_cast_if_present<StringAttr>(attribute);
    return name ? name.getValue() : "";
  }

  void defineInput(BlockArgument argument) {
    unsigned index = argument.getArgNumber();
    exec::BlockAttr block = placement.getBlock(
        getName(function.getArgAttr(index, attributes::name)),
        getGlobalType(function.getArgAttr(index, globalTypeName),
                      argument.getType()),
        function.getArgAttrOfType<ShardingAttr>(index, attributes::sharding));
    Value buffer = placement.createInterface(exec::BufferKind::input,
                                             getTensorType(argument), block);
    placement.map(argument, buffer);
    if (!microBatches)
      return;
    auto input = buffer.getDefiningOp<exec::BufferOp>();
    auto schedule =
        function.getArgAttrOfType<StringAttr>(index, attributes::schedule);
    setRole(input, schedule ? schedule.getValue() : block.getName().getValue(),
            /*isInput=*/true);
    if (function.getArgAttr(index, attributes::batch))
      input.setBatched(true);
  }

  /// The roles of a training step's inputs and outputs are called as they are.
  static void setRole(exec::BufferOp buffer, StringRef name, bool isInput) {
    std::optional<exec::BufferRole> role = exec::symbolizeBufferRole(name);
    if (role && (*role < exec::BufferRole::loss) == isInput)
      buffer.setRole(role);
  }

  static ShardingAttr getResultSharding(Operation *op) {
    auto list = op->getAttrOfType<ArrayAttr>(attributes::shardings);
    return list ? cast<ShardingAttr>(list[0]) : ShardingAttr();
  }

  void defineParameter(ParameterOp op) {
    if (placement.lookup(op.getResult()) ||
        (op->use_empty() && !isVariable(op)))
      return;
    auto initializer =
        symbols.lookup<InitializerOp>(op.getInitializerAttr().getValue());
    PARPLAN_CHECK(initializer, "a parameter names no initializer");
    ShardingAttr sharding = getResultSharding(op);
    Attribute global = op->getAttr(globalTypeName);
    if (!global && !op.getView())
      global = initializer.getTypeAttr();
    int64_t offset = 0;
    SmallVector<int64_t> strides;
    if (std::optional<ViewAttr> view = op.getView()) {
      offset = view->getOffset();
      strides.assign(view->getStrides().begin(), view->getStrides().end());
    }
    exec::BlockAttr block = placement.getBlock(
        initializer.getName(), getGlobalType(global, op.getType()), sharding,
        op.getInitializerAttr(), offset, strides, op.getSlotAttr());
    // Tied weights in one layout are one buffer.
    auto [place, isNew] = parameters.try_emplace({block, op.getType()});
    if (isNew)
      place->second = placement.createInterface(
          op.getSlot() ? exec::BufferKind::state : exec::BufferKind::parameter,
          getTensorType(op.getResult()), block);
    placement.map(op.getResult(), place->second);
  }

  Value getVariableBuffer(const VariableResult &variable) const {
    return placement.lookup(variable.parameter->getResult(0));
  }

  bool isVariable(ParameterOp op) const {
    return llvm::any_of(variables, [&](const VariableResult &variable) {
      return variable.parameter == op;
    });
  }

  void defineConstant(ConstantOp op) {
    if (op->use_empty())
      return;
    OpBuilder builder(placement.getProgram());
    auto [place, isNew] = data.try_emplace(op.getValueAttr());
    if (isNew) {
      std::string name = "data" + std::to_string(data.size() - 1);
      auto bytes =
          builder.create<exec::DataOp>(op.getLoc(), name, op.getValueAttr());
      place->second = FlatSymbolRefAttr::get(bytes.getSymNameAttr());
    }
    RankedTensorType type = getTensorType(op.getResult());
    exec::BlockAttr block =
        placement.getBlock(place->second.getValue(), type, {}, place->second);
    placement.map(
        op.getResult(),
        placement.createInterface(exec::BufferKind::parameter, type, block));
  }

  /// The buffer of a result becomes an output; what is an input, a parameter, a
  /// part of something or an output already is copied.
  void defineOutputs(func::ReturnOp op) {
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned index = operand.getOperandNumber();
      if (getVariable(function, index))
        continue;
      RankedTensorType type = getTensorType(operand.get());
      exec::BlockAttr block = placement.getBlock(
          getName(function.getResultAttr(index, attributes::name)),
          getGlobalType(function.getResultAttr(index, globalTypeName), type),
          function.getResultAttrOfType<ShardingAttr>(index,
                                                     attributes::sharding));
      Value buffer = placement.lookup(operand.get());
      auto output = buffer.getDefiningOp<exec::BufferOp>();
      if (output && output.getKind() == exec::BufferKind::activation) {
        output.setKind(exec::BufferKind::output);
        output.setBlockAttr(block);
      } else {
        Value copy =
            placement.createInterface(exec::BufferKind::output, type, block);
        copyBuffer(op.getLoc(), buffer, copy, placement);
        output = copy.getDefiningOp<exec::BufferOp>();
      }
      if (microBatches)
        setRole(output, block.getName(), /*isInput=*/false);
      outputs.push_back(output);
    }
    // In the order of the function's results.
    for (exec::BufferOp output : outputs)
      if (Operation *last = findLastBuffer(); last != output)
        output->moveAfter(last);
  }

  /// Copies the new values that were not written in place, last of all.
  void storeVariables(func::ReturnOp op) {
    SmallVector<std::pair<Value, Value>> copies;
    for (const VariableResult &variable : variables) {
      Value from = placement.lookup(op.getOperand(variable.index));
      Value to = getVariableBuffer(variable);
      auto buffer = to.getDefiningOp<exec::BufferOp>();
      if (variable.written)
        buffer.setTrained(true);
      if (exec::getBuffer(from) == buffer)
        continue;
      // Another variable's old value, which may be overwritten before.
      if (exec::BufferKind kind = exec::getBuffer(from).getKind();
          kind == exec::BufferKind::parameter ||
          kind == exec::BufferKind::state) {
        exec::BufferType type = exec::getBufferType(from);
        Value kept =
            placement.createActivation(type.getShape(), type.getElementType());
        copyBuffer(op.getLoc(), from, kept, placement);
        from = kept;
      }
      buffer.setTrained(true);
      copies.push_back({from, to});
    }
    for (auto [from, to] : copies)
      copyBuffer(op.getLoc(), from, to, placement);
  }

  Operation *findLastBuffer() {
    Operation *last = nullptr;
    for (auto buffer :
         placement.getProgram().getBody().front().getOps<exec::BufferOp>())
      last = buffer;
    return last;
  }

  //===--------------------------------------------------------------------===//
  // Statements
  //===--------------------------------------------------------------------===//

  LogicalResult translate(Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](ParameterOp parameter) {
          defineParameter(parameter);
          return success();
        })
        .Case([&](BucketParameterOp bucket) {
          defineBucket(bucket, placement);
          return success();
        })
        .Case([&](PackOp pack) {
          lowerPack(pack, placement);
          return success();
        })
        .Case([&](UnpackOp unpack) {
          lowerUnpack(unpack, placement);
          return success();
        })
        .Case([&](ConstantOp constant) {
          defineConstant(constant);
          return success();
        })
        .Case([&](ReshapeOp reshape) {
          placement.map(reshape.getResult(),
                        placement.lookup(reshape.getInput()));
          return success();
        })
        .Case([&](PanelMatmulOp product) -> LogicalResult {
          if (product->use_empty())
            return success();
          return lowerPanels(product, placement);
        })
        .Case<RingAttentionOp, RingAttentionGradientOp>(
            [&](Operation *ring) -> LogicalResult {
              if (ring->use_empty())
                return success();
              return lowerRing(ring, placement);
            })
        .Case([&](BlockStartOp start) -> LogicalResult {
          // Ranks know it: no value of the arena.
          for (OpOperand &use : start->getUses())
            if (!readsPosition(use))
              return start.emitOpError("is left: it needs "
                                       "parplan-fuse-elementwise");
          return success();
        })
        .Case([&](TransposeOp transpose) { return translate(transpose); })
        .Case([&](SliceOp slice) { return translate(slice); })
        .Case([&](exec::EmptyOp empty) {
          placement.define(empty.getResult());
          return success();
        })
        .Case([&](func::ReturnOp end) {
          defineOutputs(end);
          storeVariables(end);
          return success();
        })
        .Case<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp,
              BroadcastFromOp, ReduceToOp, SendReceiveOp, StorageViewOp>(
            [&](Operation *move) { return lowerMove(move, placement); })
        .Default([&](Operation *other) -> LogicalResult {
          if (other->use_empty())
            return success();
          return lowerLaunch(other, placement);
        });
  }

  /// A view that attention reads through its strides.
  LogicalResult translate(TransposeOp transpose) {
    if (!llvm::all_of(transpose->getUses(), readsHeadsByStrides))
      return transpose.emitOpError("is left: it needs "
                                   "parplan-fuse-elementwise");
    placement.map(transpose.getResult(),
                  placement.lookup(transpose.getInput()));
    return success();
  }

  LogicalResult translate(SliceOp slice) {
    if (!isInputView(slice))
      return slice.emitOpError("is left: it needs parplan-fuse-elementwise");
    RankedTensorType type = getTensorType(slice.getResult());
    placement.map(
        slice.getResult(),
        placement.createView(placement.lookup(slice.getInput()),
                             getViewOffset(slice) *
                                 exec::getStorageBytes(type.getElementType()),
                             type.getShape(), type.getElementType()));
    return success();
  }

  ModuleOp module;
  /// Initializers by name: there are thousands.
  SymbolTable symbols;
  func::FuncOp function;
  Placement placement;
  llvm::DenseMap<std::pair<Attribute, Type>, Value> parameters;
  llvm::MapVector<Attribute, FlatSymbolRefAttr> data;
  SmallVector<exec::BufferOp> outputs;
  SmallVector<VariableResult> variables;
  /// Of a training step.
  IntegerAttr microBatches;
};

struct ToExecPass : impl::ToExecBase<ToExecPass> {
  using ToExecBase::ToExecBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto function = module.lookupSymbol<func::FuncOp>("main");
    if (!function) {
      module.emitError("there is no function @main");
      return signalPassFailure();
    }
    MeshOp mesh = getOnlyMesh(module);
    if (!mesh) {
      module.emitError("a program needs a module with one mesh");
      return signalPassFailure();
    }
    ProgramTranslator translator(module, function, mesh.getMesh());
    if (failed(translator.run()))
      return signalPassFailure();
    Placement &placement = translator.getPlacement();
    Placement::Memory memory = placement.placeBuffers();
    placeEvents(placement.getProgram());
    if (report)
      emitRemark(placement.getProgram().getLoc(), "arena of ")
          << memory.peak << " bytes, lower bound " << memory.lowerBound;
    function.erase();
    mesh.erase();
  }
};

} // namespace
} // namespace parplan
