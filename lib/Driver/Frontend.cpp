//===- Frontend.cpp - From a model file to a planning problem -------------===//

#include "lib/Driver/Frontend.h"

#include "dialects/exec/ExecDialect.h"
#include "dialects/parplan/ParplanOps.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/Phase.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"
#include "passes/Simplify/Passes.h"
#include "passes/Simplify/Zigzag.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

using namespace parplan;

std::unique_ptr<mlir::MLIRContext> parplan::makeContext() {
  auto context = std::make_unique<mlir::MLIRContext>(
      mlir::MLIRContext::Threading::DISABLED);
  // Users know nodes of their model, not our ops.
  context->printOpOnDiagnostic(false);
  context->loadDialect<mlir::func::FuncDialect, ParplanDialect,
                       exec::ExecDialect>();
  return context;
}

mlir::func::FuncOp Frontend::getMain() const {
  auto function = model.module.get().lookupSymbol<mlir::func::FuncOp>("main");
  PARPLAN_CHECK(function, "an imported module has a function @main");
  return function;
}

bool Frontend::isTraining() const {
  return getMain()->hasAttr(attributes::microBatches);
}

/// Reports every op that needs a kernel which exists for f32 and f64 only.
static void checkElementTypes(mlir::func::FuncOp function,
                              const ModelInfo &info, DiagnosticEngine &engine) {
  function.walk([&](mlir::Operation *op) {
    if (!mlir::isa<MatmulOp, ConvOp, MaxPoolOp, AveragePoolOp, AttentionOp,
                   SoftmaxOp, LogSoftmaxOp, LayerNormOp, RMSNormOp>(op))
      return;
    mlir::Type type = mlir::getElementTypeOrSelf(op->getOperand(0));
    if (type.isF32() || type.isF64())
      return;
    std::string name;
    llvm::raw_string_ostream(name) << type;
    Location location = Location::inFile(info.getPath());
    if (auto node = op->getAttrOfType<mlir::IntegerAttr>(attributes::node))
      location = info.locateNode(static_cast<size_t>(node.getInt()));
    engine.error(codes::unsupportedElementType, std::move(location))
        << "there is no kernel for elements of type " << name
        << "; f32 and f64 have one";
  });
}

/// The model with the batch of one micro-batch. A symbolic batch is bound to
/// it; a fixed one is left to the train phase, which gets its size.
static bool importStep(mlir::MLIRContext &context, FrontendOptions &options,
                       Frontend &frontend, DiagnosticEngine &engine) {
  frontend.model = importModel(context, options.import, engine);
  if (!frontend.model || engine.hasErrors())
    return false;
  const ModelInfo &info = *frontend.model.info;
  int64_t modelBatch = info.batch.value_or(1);
  frontend.globalBatch = options.import.globalBatch.value_or(modelBatch);
  if (!options.training)
    return true;
  TrainingOptions &training = *options.training;
  if (training.microBatches == 0)
    training.microBatches = getMicroBatchCounts(frontend).front();
  frontend.microBatches = training.microBatches;
  int64_t batch = frontend.globalBatch / training.microBatches;
  bool isFixed = info.batchSymbol.empty();
  if (frontend.globalBatch % training.microBatches != 0 ||
      (isFixed && modelBatch % batch != 0)) {
    DiagnosticBuilder error = engine.error(
        codes::badMicroBatches, Location::inFile(options.import.path));
    error << training.microBatches << " micro-batches of "
          << frontend.globalBatch << " samples";
    if (isFixed)
      error << " do not fit the model's fixed batch of " << modelBatch;
    error << ": a micro-batch has a whole number of samples"
          << (isFixed ? " that divides the model's batch" : "");
    return false;
  }
  training.microBatchSize = batch;
  // In single samples an op that mixes them could not be told: the train phase
  // looks for it in the whole batch, and cuts that.
  if (isFixed || batch == modelBatch || batch == 1)
    return true;
  options.import.dims.erase(info.batchSymbol);
  options.import.globalBatch = batch;
  frontend.model = importModel(context, options.import, engine);
  return frontend.model && !engine.hasErrors();
}

/// Makes a training step of the simplified module.
static bool train(Frontend &frontend, const TrainingOptions &options,
                  DiagnosticEngine &engine) {
  const ModelInfo &info = *frontend.model.info;
  InitializerMarks marks = [&](llvm::StringRef name) {
    switch (info.getMark(name)) {
    case ParameterMark::parameter:
      return InitializerMark::parameter;
    case ParameterMark::buffer:
      return InitializerMark::buffer;
    case ParameterMark::none:
      break;
    }
    return InitializerMark::none;
  };
  mlir::ModuleOp module = *frontend.model.module;
  auto build = [&](mlir::OpPassManager &manager) {
    buildTrainPipeline(manager, options, marks);
  };
  if (!runModelPhase(module, "train", build, info, codes::cannotTrain,
                     codes::doubtfulTraining, engine))
    return false;
  frontend.parameters = listParameters(module);
  return runPhase(
      module, "train",
      [](mlir::OpPassManager &manager) { manager.addPass(createVerifyStep()); },
      engine);
}

/// Brings the simplified module into zig-zag order, or says why not.
static std::optional<std::string> changeOrder(Frontend &frontend,
                                              int64_t ranks) {
  std::optional<OrderObstacle> obstacle =
      bringIntoZigzagOrder(frontend.getMain(), ranks);
  if (!obstacle) {
    PARPLAN_CHECK(succeeded(mlir::verify(*frontend.model.module)),
                  "a module in zig-zag order is not valid");
    return std::nullopt;
  }
  auto node =
      obstacle->op
          ? obstacle->op->getAttrOfType<mlir::IntegerAttr>(attributes::node)
          : mlir::IntegerAttr();
  if (!node)
    return obstacle->reason;
  return "node '" +
         escapeName(frontend.model.info->getNodeName(
             static_cast<size_t>(node.getInt()))) +
         "': " + obstacle->reason;
}

std::vector<int64_t> parplan::getMicroBatchCounts(const Frontend &frontend) {
  const ModelInfo &info = *frontend.model.info;
  auto fits = [&](int64_t count) {
    return !info.batchSymbol.empty() ||
           info.batch.value_or(1) % (frontend.globalBatch / count) == 0;
  };
  // Divisors come in pairs.
  std::vector<int64_t> divisors;
  for (int64_t small = 1; small * small <= frontend.globalBatch; ++small)
    if (frontend.globalBatch % small == 0)
      divisors.insert(divisors.end(), {small, frontend.globalBatch / small});
  llvm::sort(divisors);
  std::vector<int64_t> counts;
  for (int64_t count : divisors)
    if (fits(count) && (counts.empty() || count >= 2 * counts.back()))
      counts.push_back(count);
  return counts;
}

std::optional<Frontend> parplan::runFrontend(mlir::MLIRContext &context,
                                             const FrontendOptions &given,
                                             IRDumper &dumper,
                                             DiagnosticEngine &engine) {
  FrontendOptions options = given;
  Frontend frontend;
  if (!importStep(context, options, frontend, engine))
    return std::nullopt;
  mlir::ModuleOp module = *frontend.model.module;
  dumper.dump(module, "import");
  if (!runPhase(module, "simplify", buildSimplifyPipeline, engine))
    return std::nullopt;
  dumper.dump(module, "simplify");
  const ModelInfo &info = *frontend.model.info;
  checkElementTypes(frontend.getMain(), info, engine);
  if (engine.hasErrors())
    return std::nullopt;
  if (options.zigzag > 1) {
    frontend.orderObstacle = changeOrder(frontend, options.zigzag);
    dumper.dump(module, "order");
  }
  if (options.training) {
    if (!train(frontend, *options.training, engine))
      return std::nullopt;
    dumper.dump(module, "train");
  }
  frontend.graph = extractProblem(frontend.getMain(), [&](int64_t node) {
    return info.getNodeName(static_cast<size_t>(node));
  });
  std::optional<std::string> fault = verifyProblem(frontend.graph.problem);
  PARPLAN_CHECK(!fault, "the planning problem is incomplete: ", *fault);
  return frontend;
}
