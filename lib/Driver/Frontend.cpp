//===- Frontend.cpp - From a model file to a planning problem -------------===//

#include "lib/Driver/Frontend.h"

#include "dialects/exec/ExecDialect.h"
#include "dialects/parplan/ParplanOps.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/Phase.h"
#include "parplan/Planner/Kernels.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"
#include "passes/Order/Passes.h"
#include "passes/Simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace parplan;

std::unique_ptr<mlir::MLIRContext> parplan::makeContext(bool hasThreads) {
  using Threading = mlir::MLIRContext::Threading;
  auto context = std::make_unique<mlir::MLIRContext>(
      hasThreads ? Threading::ENABLED : Threading::DISABLED);
  // Users know nodes of their model, not our ops.
  context->printOpOnDiagnostic(false);
  context->loadDialect<mlir::func::FuncDialect, ParplanDialect,
                       exec::ExecDialect>();
  return context;
}

mlir::func::FuncOp SimplifiedModel::getMain() const {
  auto function = model.module.get().lookupSymbol<mlir::func::FuncOp>("main");
  PARPLAN_CHECK(function, "an imported module has a function @main");
  return function;
}

SimplifiedModel SimplifiedModel::clone() const {
  SimplifiedModel copy;
  copy.model.module = model.module.get().clone();
  copy.model.info = model.info;
  copy.globalBatch = globalBatch;
  copy.microBatches = microBatches;
  copy.microBatchSize = microBatchSize;
  copy.whole = whole;
  copy.loopObstacle = loopObstacle;
  return copy;
}

bool Frontend::hasPasses() const {
  return getMain()->hasAttr(attributes::microBatches);
}

bool Frontend::isTraining() const {
  return hasPasses() && !getMain()->hasAttr(attributes::forwardOnly);
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

void parplan::setWorkers(FrontendOptions &options,
                         const std::optional<ServerChoice> &servers) {
  bool areAlone = servers && servers->staleness && options.training;
  options.workers = areAlone ? servers->workers : 1;
  if (options.training)
    options.training->countsLabels = areAlone;
}

/// For how many samples the module of a step of `batch` samples is made, where
/// the model leaves that open: of a training step, those of a micro-batch. In a
/// single sample an op that mixes samples could not be told: the phase that
/// cuts the batch looks for it in two, and cuts those. What cannot be cut is
/// left to who reports that, and forward passes are compared with the whole.
static int64_t getModuleSamples(const FrontendOptions &options, int64_t batch) {
  bool isCut = options.microBatches > 1;
  int64_t parts = options.workers * (isCut ? options.microBatches : 1);
  if (batch % parts != 0 || (isCut && !options.training))
    return batch;
  int64_t samples = batch / parts;
  return samples == 1 && batch > 1 ? 2 : samples;
}

/// The model with the batch of one micro-batch. A symbolic batch is bound to
/// it; a fixed one is left to the phase that cuts it, which gets its size.
static bool importStep(mlir::MLIRContext &context, FrontendOptions &options,
                       SimplifiedModel &model, DiagnosticEngine &engine) {
  ImportOptions given = options.import;
  std::optional<int64_t> bound;
  given.chooseSamples = [&](int64_t batch) {
    bound = batch;
    return getModuleSamples(options, batch);
  };
  model.model = importModel(context, given, engine);
  if (!model.model || engine.hasErrors())
    return false;
  const ModelInfo &info = *model.model.info;
  int64_t modelBatch = info.batch.value_or(1);
  model.globalBatch = given.globalBatch.value_or(bound.value_or(modelBatch));
  if (model.globalBatch % options.workers != 0) {
    engine.error(codes::badMicroBatches, Location::inFile(given.path))
        << model.globalBatch << " samples for " << options.workers
        << " workers: each has a whole number of them";
    return false;
  }
  model.globalBatch /= options.workers;
  if (options.microBatches == 0)
    options.microBatches = getMicroBatchCounts(model).front();
  model.microBatches = options.microBatches;
  int64_t batch = model.globalBatch / options.microBatches;
  bool isFixed = info.batchSymbol.empty();
  if (model.globalBatch % options.microBatches != 0 ||
      (isFixed && modelBatch % batch != 0)) {
    DiagnosticBuilder error =
        engine.error(codes::badMicroBatches, Location::inFile(given.path));
    error << options.microBatches << " micro-batches of " << model.globalBatch
          << " samples";
    if (isFixed)
      error << " do not fit the model's fixed batch of " << modelBatch;
    error << ": a micro-batch has a whole number of samples"
          << (isFixed ? " that divides the model's batch" : "");
    return false;
  }
  model.microBatchSize = batch;
  if (modelBatch == model.globalBatch)
    model.whole = model.getMain().getFunctionType();
  if (isFixed || batch == modelBatch || batch == 1)
    return true;
  given.chooseSamples = [&](int64_t) { return batch; };
  model.model = importModel(context, given, engine);
  return model.model && !engine.hasErrors();
}

/// Reports inputs and outputs of a forward pass that are not, in the dimension
/// of their samples, so often as large as those of a micro-batch.
static bool checkParts(const Frontend &frontend, DiagnosticEngine &engine) {
  mlir::func::FuncOp part = frontend.getMain();
  const ModelInfo &info = *frontend.model.info;
  size_t before = engine.getErrorCount();
  auto check = [&](mlir::Type wholeType, mlir::Type partType,
                   std::optional<int64_t> batchDim, mlir::StringAttr name) {
    auto whole = mlir::cast<mlir::RankedTensorType>(wholeType).getShape();
    auto shape = llvm::to_vector(
        mlir::cast<mlir::RankedTensorType>(partType).getShape());
    if (batchDim)
      shape[*batchDim] *= frontend.microBatches;
    if (whole != llvm::ArrayRef(shape))
      engine.error(codes::badMicroBatches, Location::inFile(info.getPath()))
          << quoteName(name.str())
          << " has a size that follows from the batch where it has no samples, "
             "which are in several micro-batches";
  };
  for (unsigned index = 0; index < part.getNumArguments(); ++index)
    check(frontend.whole.getInput(index), part.getArgumentTypes()[index],
          part.getArgAttr(index, attributes::batch) ? std::optional(0)
                                                    : std::nullopt,
          part.getArgAttrOfType<mlir::StringAttr>(index, attributes::name));
  for (unsigned index = 0; index < part.getNumResults(); ++index) {
    auto dim = part.getResultAttrOfType<mlir::IntegerAttr>(
        index, attributes::batchDim);
    check(frontend.whole.getResult(index), part.getResultTypes()[index],
          dim ? std::optional(dim.getInt()) : std::nullopt,
          part.getResultAttrOfType<mlir::StringAttr>(index, attributes::name));
  }
  return engine.getErrorCount() == before;
}

/// Cuts the batch of a forward pass.
static bool cutForward(Frontend &frontend, DiagnosticEngine &engine) {
  SetBatchOptions options;
  options.microBatches = frontend.microBatches;
  options.batch = frontend.microBatchSize;
  options.isForward = true;
  auto build = [&](mlir::OpPassManager &manager) {
    manager.addPass(createSetBatch(options));
  };
  return runModelPhase(*frontend.model.module, "batch", build,
                       *frontend.model.info, codes::badMicroBatches,
                       codes::badMicroBatches, engine) &&
         (!frontend.whole || checkParts(frontend, engine));
}

/// Lets a forward pass compute in a short type.
static bool shorten(Frontend &frontend, ComputePrecision precision,
                    DiagnosticEngine &engine) {
  SetPrecisionOptions options;
  options.type = precision == ComputePrecision::fp16 ? "f16" : "bf16";
  options.roundsWeights = true;
  auto build = [&](mlir::OpPassManager &manager) {
    manager.addPass(createSetPrecision(options));
  };
  return runModelPhase(*frontend.model.module, "precision", build,
                       *frontend.model.info, codes::unsupportedElementType,
                       codes::unsupportedElementType, engine);
}

/// Makes a training step of the simplified module.
static bool train(Frontend &frontend, TrainingOptions options,
                  DiagnosticEngine &engine) {
  options.microBatches = frontend.microBatches;
  options.microBatchSize = frontend.microBatchSize;
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
  return runChecks(
      module, "train",
      [](mlir::OpPassManager &manager) { manager.addPass(createVerifyStep()); },
      engine);
}

std::vector<int64_t>
parplan::getMicroBatchCounts(const SimplifiedModel &model) {
  const ModelInfo &info = *model.model.info;
  auto fits = [&](int64_t count) {
    return !info.batchSymbol.empty() ||
           info.batch.value_or(1) % (model.globalBatch / count) == 0;
  };
  // Divisors come in pairs.
  std::vector<int64_t> divisors;
  for (int64_t small = 1; small * small <= model.globalBatch; ++small)
    if (model.globalBatch % small == 0)
      divisors.insert(divisors.end(), {small, model.globalBatch / small});
  llvm::sort(divisors);
  std::vector<int64_t> counts;
  for (int64_t count : divisors)
    if (fits(count) && (counts.empty() || count >= 2 * counts.back()))
      counts.push_back(count);
  return counts;
}

std::optional<SimplifiedModel>
parplan::simplifyModel(mlir::MLIRContext &context, const FrontendOptions &given,
                       IRDumper &dumper, DiagnosticEngine &engine) {
  FrontendOptions options = given;
  SimplifiedModel result;
  if (!importStep(context, options, result, engine))
    return std::nullopt;
  mlir::ModuleOp module = *result.model.module;
  const ModelInfo &info = *result.model.info;
  dumper.dump(module, "import");
  if (!runPhase(module, "simplify", buildSimplifyPipeline, info,
                result.loopObstacle, engine))
    return std::nullopt;
  dumper.dump(module, "simplify");
  checkElementTypes(result.getMain(), info, engine);
  if (engine.hasErrors())
    return std::nullopt;
  return result;
}

static bool hasSinks(mlir::func::FuncOp function) {
  return llvm::any_of(function.getOps<AttentionOp>(),
                      [](AttentionOp op) { return bool(op.getSink()); });
}

std::optional<Frontend> parplan::finishFrontend(SimplifiedModel simplified,
                                                const FrontendOptions &options,
                                                IRDumper &dumper,
                                                DiagnosticEngine &engine) {
  Frontend frontend{std::move(simplified), {}, {}, {}};
  mlir::ModuleOp module = *frontend.model.module;
  const ModelInfo &info = *frontend.model.info;
  if (!frontend.getMain().getOps<MoeDispatchOp>().empty()) {
    auto build = [&](mlir::OpPassManager &manager) {
      manager.addPass(createGroupExperts({options.expertGroups}));
    };
    if (!runPhase(module, "experts", build, engine))
      return std::nullopt;
    dumper.dump(module, "experts");
  }
  if (options.zigzag > 1) {
    auto build = [&](mlir::OpPassManager &manager) {
      buildOrderPipeline(manager, options.zigzag);
    };
    if (!runPhase(module, "order", build, info, frontend.orderObstacle, engine))
      return std::nullopt;
    dumper.dump(module, "order");
  }
  if (options.training) {
    if (!train(frontend, *options.training, engine))
      return std::nullopt;
    dumper.dump(module, "train");
  } else {
    bool isCut = frontend.microBatches > 1;
    bool isShort = options.precision != ComputePrecision::fp32;
    // Casts belong to micro-batches, too.
    if ((isShort && !shorten(frontend, options.precision, engine)) ||
        (isCut && !cutForward(frontend, engine)))
      return std::nullopt;
    if (isCut || isShort)
      dumper.dump(module, "forward");
  }
  if (hasSinks(frontend.getMain())) {
    auto build = [](mlir::OpPassManager &manager) {
      manager.addPass(createWriteOutSinks());
    };
    auto verify = [](mlir::OpPassManager &manager) {
      manager.addPass(createVerifyStep());
    };
    if (!runPhase(module, "sinks", build, engine) ||
        (options.training && !runChecks(module, "sinks", verify, engine)))
      return std::nullopt;
    dumper.dump(module, "sinks");
  }
  frontend.graph = extractProblem(frontend.getMain(), [&](int64_t node) {
    return info.getNodeName(static_cast<size_t>(node));
  });
  if (options.cluster)
    applyStack(frontend.graph.problem, *options.cluster);
  std::optional<std::string> fault = verifyProblem(frontend.graph.problem);
  PARPLAN_CHECK(!fault, "the planning problem is incomplete: ", *fault);
  dumper.dump(frontend.graph.problem);
  return frontend;
}
