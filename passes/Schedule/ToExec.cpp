//===- ToExec.cpp - From tensors to statements on buffers -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/ArenaPacking.h"
#include "passes/Schedule/FusableOps.h"
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/ProgramInterface.h"
#include "passes/Schedule/StagingRing.h"
#include "passes/Schedule/Variables.h"

#include "dialects/parplan/ParplanOps.h"
#include "dialects/parplan/TensorTypes.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Sharding/ServerPositions.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/Diagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_TOEXEC
#include "passes/Schedule/Passes.h.inc"

namespace {

/// Translates one function. Programs stand in the module and its constants are
/// defined one after the other; then each of them may be another thread's.
class ProgramTranslator {
public:
  ProgramTranslator(ModuleOp module, func::FuncOp function, MeshAttr mesh,
                    ModuleParts &parts)
      : parts(parts), function(function),
        placement(module, function.getName(), mesh,
                  function->getAttrOfType<IntegerAttr>(attributes::position)),
        interface(function, placement, parts), staging(function, placement) {}

  Placement &getPlacement() { return placement; }

  void defineData() {
    for (auto constant : function.getBody().front().getOps<ConstantOp>())
      interface.defineData(constant);
  }

  LogicalResult run() {
    if (failed(interface.findVariables()))
      return failure();
    interface.defineInputs();
    addKernels();
    interface.defineVariables();
    assignPacks(function, placement);
    for (Operation &op : function.getBody().front())
      if (failed(translate(&op)))
        return failure();
    // Of servers, whose program serves one worker after the other.
    if (getServerAxis(getOnlyMesh(function->getParentOp())) &&
        placement.getProgram().getPosition() == serverPosition)
      placement.getProgram().setStalenessAttr(
          function->getAttrOfType<IntegerAttr>(attributes::staleness));
    return success();
  }

  /// Of the translated function, which keeps its place in the module: bodies
  /// are freed side by side, functions are erased one after the other.
  void dropBody() {
    function.getBody().dropAllReferences();
    function.getBody().getBlocks().clear();
  }

private:
  /// Copies the kernels that the function launches into the program.
  void addKernels() {
    llvm::DenseSet<Attribute> launched;
    for (auto map : function.getBody().front().getOps<exec::MapOp>())
      launched.insert(map.getKernelAttr().getAttr());
    OpBuilder builder =
        OpBuilder::atBlockBegin(&placement.getProgram().getBody().front());
    for (exec::KernelOp kernel : parts.kernels)
      if (launched.contains(kernel.getSymNameAttr()))
        builder.clone(*kernel);
  }

  //===--------------------------------------------------------------------===//
  // Statements
  //===--------------------------------------------------------------------===//

  /// What is computed from values on the host is made there.
  LogicalResult translate(Operation *op) {
    if (!isOnHost(op))
      return lower(op);
    if (failed(bringToHost(op)))
      return failure();
    if (auto update = dyn_cast<OptimizerUpdateOp>(op);
        update && staging.isStaged(update)) {
      staging.lowerUpdate(update);
      return success();
    }
    placement.setTier(exec::Tier::host);
    LogicalResult result = lower(op);
    placement.setTier(exec::Tier::device);
    return result;
  }

  bool isOnHost(Operation *op) {
    if (isa<TransferOp, func::ReturnOp, ReshapeOp, SliceOp, UnpackOp,
            StorageViewOp>(op))
      return false;
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      Value buffer = placement.lookup(operand);
      return buffer && exec::getTier(buffer) != exec::Tier::device;
    });
  }

  /// Single numbers that `op` reads come to the host: inputs are given there
  /// too, others are copied.
  LogicalResult bringToHost(Operation *op) {
    auto update = dyn_cast<OptimizerUpdateOp>(op);
    bool isStaged = update && staging.isStaged(update);
    size_t arrays = isStaged ? 2 + update.getStates().size() : 0;
    for (Value operand : op->getOperands().drop_front(arrays)) {
      Value buffer = placement.lookup(operand);
      if (!buffer || exec::getTier(buffer) == exec::Tier::host ||
          onHost.contains(operand))
        continue;
      RankedTensorType type = getTensorType(operand);
      if (exec::getTier(buffer) == exec::Tier::nvme ||
          type.getNumElements() != 1)
        return op->emitOpError("reads values on the host and ")
               << stringifyTier(exec::getTier(buffer))
               << ": parplan.transfer is missing";
      placement.setTier(exec::Tier::host);
      Value twin;
      if (auto argument = dyn_cast<BlockArgument>(operand)) {
        twin = interface.createInput(argument);
      } else {
        twin =
            placement.createActivation(type.getShape(), type.getElementType());
        copyBuffer(op->getLoc(), buffer, twin, placement);
      }
      placement.setTier(exec::Tier::device);
      placement.mapOnHost(operand, twin);
      onHost.insert(operand);
    }
    return success();
  }

  LogicalResult lower(Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](ParameterOp parameter) {
          interface.defineParameter(parameter);
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
          interface.defineConstant(constant);
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
          interface.defineOutputs(end);
          interface.storeVariables(end);
          return success();
        })
        .Case<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp,
              BroadcastFromOp, ReduceToOp, SendReceiveOp, StorageViewOp>(
            [&](Operation *move) { return lowerMove(move, placement); })
        .Case<SendOp, ReceiveOp>([&](Operation *message) {
          return lowerMessage(message, placement);
        })
        .Case([&](TransferOp transfer) { return translate(transfer); })
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

  LogicalResult translate(TransferOp transfer) {
    // A staged update has written it.
    if (transfer->use_empty() || placement.lookup(transfer.getResult()))
      return success();
    Value from = placement.lookup(transfer.getInput());
    exec::Tier tier = exec::getTier(from);
    if (staging.passesThrough(transfer))
      placement.map(transfer.getResult(), from);
    else if ((tier == exec::Tier::nvme &&
              transfer.getTier() == tiers::device) ||
             (tier == exec::Tier::device && transfer.getTier() == tiers::nvme))
      staging.lowerCopy(transfer);
    else
      return lowerTransfer(transfer, placement);
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

  ModuleParts &parts;
  func::FuncOp function;
  Placement placement;
  ProgramInterface interface;
  StagingRing staging;
  /// Tensors on the device that were brought to the host too.
  llvm::DenseSet<Value> onHost;
};

struct ToExecPass : impl::ToExecBase<ToExecPass> {
  using ToExecBase::ToExecBase;
  explicit ToExecPass(const PlanCosts *costs) : costs(costs) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    if (functions.empty()) {
      module.emitError("there is no function @main");
      return signalPassFailure();
    }
    MeshOp mesh = getOnlyMesh(module);
    if (!mesh) {
      module.emitError("a program needs a module with one mesh");
      return signalPassFailure();
    }
    std::unique_ptr<PlanCosts> loaded;
    if (!costs) {
      parplan::DiagnosticEngine engine;
      loaded =
          loadCosts(cluster, mesh.getMesh().getMesh().getRankCount(), engine);
      if (!loaded) {
        module.emitError(engine.render());
        return signalPassFailure();
      }
    }
    const PlanCosts &used = costs ? *costs : *loaded;
    ModuleParts parts(module);
    int64_t looks = packingLooks / static_cast<int64_t>(functions.size());
    // A few at a time: what is known of their values takes memory.
    constexpr size_t mostAtOnce = 4;
    ArrayRef<func::FuncOp> left = functions;
    while (!left.empty()) {
      std::vector<std::unique_ptr<ProgramTranslator>> translators;
      for (func::FuncOp function : left.take_front(mostAtOnce)) {
        translators.push_back(std::make_unique<ProgramTranslator>(
            module, function, mesh.getMesh(), parts));
        translators.back()->defineData();
      }
      if (failed(failableParallelForEach(
              &getContext(), translators,
              [](const auto &translator) { return translator->run(); })))
        return signalPassFailure();
      left = left.drop_front(translators.size());
      finish(translators, used, looks);
    }
    for (func::FuncOp function : functions)
      function.erase();
    for (exec::KernelOp kernel : parts.kernels)
      kernel.erase();
    mesh.erase();
  }

  /// Programs have nothing in common any more.
  void finish(ArrayRef<std::unique_ptr<ProgramTranslator>> translators,
              const PlanCosts &used, int64_t looks) {
    std::vector<SmallVector<Placement::Memory>> memories(translators.size());
    parallelFor(&getContext(), 0, translators.size(), [&](size_t number) {
      Placement &placement = translators[number]->getPlacement();
      memories[number] = placement.placeBuffers(used, looks);
      placeEvents(placement.getProgram());
      translators[number]->dropBody();
    });
    if (!report)
      return;
    for (const auto &[translator, tiers] :
         llvm::zip_equal(translators, memories))
      for (const Placement::Memory &memory : tiers) {
        InFlightDiagnostic remark =
            emitRemark(translator->getPlacement().getProgram().getLoc());
        if (memory.tier != exec::Tier::device)
          remark << stringifyTier(memory.tier) << " ";
        remark << "arena of " << memory.peak << " bytes, lower bound "
               << memory.lowerBound;
      }
  }

  const PlanCosts *costs = nullptr;
};

} // namespace

std::unique_ptr<Pass> createToExec(const PlanCosts *costs) {
  return std::make_unique<ToExecPass>(costs);
}

} // namespace parplan
