//===- Backend.cpp - From a plan to files of an output directory ----------===//

#include "lib/Driver/Backend.h"

#include "dialects/exec/ExecOps.h"
#include "dialects/parplan/ParplanOps.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/Phase.h"
#include "lib/Import/Save/ModelTemplate.h"
#include "lib/Target/Compile.h"
#include "lib/Target/EmitProgram.h"
#include "lib/Target/Manifest.h"
#include "lib/Target/WeightLayout.h"
#include "parplan/Support/Files.h"
#include "passes/Memory/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Schedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Threading.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace parplan;

/// Of messages to servers, which are one by one: what is pushed while the next
/// bucket is made.
constexpr int64_t pushedBucketBytes = int64_t(1) << 23;

LoweredProgram &LoweredProgram::operator=(LoweredProgram &&other) {
  std::swap(module, other.module);
  std::swap(prediction, other.prediction);
  return *this;
}

LoweredProgram::~LoweredProgram() {
  if (!module)
    return;
  auto programs = llvm::to_vector(module->getOps<exec::ProgramOp>());
  mlir::parallelForEach(module->getContext(), programs,
                        [](exec::ProgramOp program) {
                          program.getBody().dropAllReferences();
                          program.getBody().getBlocks().clear();
                        });
}

std::optional<LoweredProgram>
parplan::lower(const Frontend &frontend, const PlanningAnswer &answer,
               const PlanCosts &costs, IRDumper &dumper,
               DiagnosticEngine &engine, const std::atomic<bool> *stop) {
  // The plan goes into the module that the problem refers to; a copy is
  // lowered, so that another plan can be tried.
  applyAnswer(frontend.getMain(), frontend.graph, answer);
  LoweredProgram lowered;
  lowered.module = mlir::OwningOpRef<mlir::ModuleOp>(
      mlir::cast<mlir::ModuleOp>(frontend.model.module.get()->clone()));
  dumper.dump(*lowered.module, "plan");
  auto run = [&](llvm::StringRef phase,
                 llvm::function_ref<void(mlir::OpPassManager &)> build) {
    if (!runPhase(*lowered.module, phase, build, engine))
      return false;
    dumper.dump(*lowered.module, phase);
    return !stop || !stop->load();
  };
  if (!run("partition", buildPartitionPipeline))
    return std::nullopt;
  if ((frontend.hasPasses() || answer.pipeline) &&
      !run("pipeline", buildPipelinePipeline))
    return std::nullopt;
  if (frontend.isTraining()) {
    int64_t bucketBytes =
        answer.servers ? pushedBucketBytes : getBucketBytes(answer.mesh, costs);
    if (!run("memory", [&](mlir::OpPassManager &manager) {
          buildMemoryPipeline(manager, bucketBytes, &costs);
        }))
      return std::nullopt;
  }
  Program program;
  if (!run("schedule", [&](mlir::OpPassManager &manager) {
        buildSchedulePasses(manager, &costs);
      }))
    return std::nullopt;
  auto close = [&](mlir::OpPassManager &manager) {
    manager.addPass(createVerifyPrograms(&program));
  };
  if (!runChecks(*lowered.module, "schedule", close, engine))
    return std::nullopt;
  lowered.prediction = predictResources(program);
  if (answer.servers && answer.servers->staleness)
    // What servers do has no order by itself.
    for (int64_t rank = answer.servers->workers;
         rank < answer.servers->getRankCount(); ++rank)
      lowered.prediction.ranks[rank].orderDigest.clear();
  return lowered;
}

/// Where the build folder and an installation have it: in ../lib beside the
/// folder of this program.
std::string parplan::findRuntimeFile() {
  static int anchor;
  llvm::SmallString<256> path(
      llvm::sys::fs::getMainExecutable("parplan", &anchor));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "lib", "parplan_runtime.json");
  return std::string(path);
}

/// Classes of the labels of a step: those of the logits; 0 without them.
static int64_t getClassCount(mlir::func::FuncOp step) {
  int64_t classes = 0;
  step.walk([&](CrossEntropyOp loss) {
    classes = loss.getLogits().getType().getShape().back();
  });
  return classes;
}

static runtime::LearningRateSchedule
getSchedule(const LearningRateOptions &options) {
  runtime::LearningRateSchedule schedule;
  switch (options.kind) {
  case LearningRateKind::constant:
    schedule.kind = runtime::LearningRateKind::Constant;
    break;
  case LearningRateKind::linear:
    schedule.kind = runtime::LearningRateKind::Linear;
    break;
  case LearningRateKind::cosine:
    schedule.kind = runtime::LearningRateKind::Cosine;
    break;
  }
  schedule.warmup = options.warmupSteps;
  schedule.total = options.totalSteps;
  schedule.final = options.finalFraction;
  return schedule;
}

/// For every initializer of a stack its name, and which one it is there.
static std::map<std::string, std::pair<std::string, int64_t>>
findStacks(mlir::ModuleOp module) {
  std::map<std::string, std::pair<std::string, int64_t>> stacks;
  mlir::SymbolTable symbols(module);
  for (auto stack : module.getOps<InitializerOp>())
    if (std::optional<mlir::ArrayAttr> members = stack.getMembers())
      for (auto [index, member] : llvm::enumerate(*members)) {
        auto symbol = llvm::cast<mlir::FlatSymbolRefAttr>(member).getValue();
        llvm::StringRef name = symbols.lookup<InitializerOp>(symbol).getName();
        stacks[name.str()] = {stack.getName().str(),
                              static_cast<int64_t>(index)};
      }
  return stacks;
}

/// What the loop around a training step needs to know. Writes the template of
/// the trained model where a program is built.
static bool describeTraining(const Frontend &frontend,
                             const CompileOptions &options,
                             const std::string &templatePath,
                             EmitTraining &training, DiagnosticEngine &engine) {
  training.learningRate = options.training->optimizer.learningRate;
  training.schedule = getSchedule(options.learningRate);
  training.modelSha256 = frontend.model.info->computeSha256();
  training.classes = getClassCount(frontend.getMain());
  // As torch.amp begins.
  if (options.training->precision == ComputePrecision::fp16)
    training.initialLossScale = 65536;
  if (options.emit != EmitStage::executable)
    return true;
  std::optional<ModelTemplate> content =
      writeModelTemplate(*frontend.model.info, templatePath, engine);
  if (!content)
    return false;
  training.savesModel = content->isModel;
  auto stacks = findStacks(*frontend.model.module);
  for (TemplateInitializer &initializer : content->initializers) {
    auto [stack, index] = stacks[initializer.name];
    training.saved.push_back({std::move(initializer.name), initializer.onnxType,
                              std::move(initializer.shape), initializer.offset,
                              initializer.bytes, std::move(stack), index});
  }
  return true;
}

bool parplan::emitProgram(const Frontend &frontend,
                          const LoweredProgram &lowered,
                          const CompileOptions &options,
                          OutputDirectory &directory,
                          DiagnosticEngine &engine) {
  const ModelInfo &info = *frontend.model.info;
  WeightLayout weights = layoutWeights(*lowered.module);
  EmitOptions emit;
  emit.modelName = llvm::sys::path::filename(options.modelPath).str();
  for (const RankPrediction &rank : lowered.prediction.ranks)
    emit.orderDigests.push_back(rank.orderDigest);
  constexpr const char *templateName = "trained.onnx.template";
  if (options.training &&
      !describeTraining(frontend, options,
                        directory.getPath() + "/" + templateName, emit.training,
                        engine))
    return false;
  EmittedProgram emitted = emitProgram(*lowered.module, weights, emit, engine);
  if (engine.hasErrors())
    return false;

  std::vector<ManifestFile> files;
  auto write = [&](const std::string &name, const std::string &content) {
    files.push_back(describeContent(name, content));
    return directory.writeFile(name, content, engine);
  };
  if (options.emit == EmitStage::ir) {
    std::string text;
    llvm::raw_string_ostream(text) << *lowered.module;
    if (!write("program.mlir", text))
      return false;
  } else {
    std::string sourceMap = printSourceMap(emitted, [&](int64_t node) {
      return info.getNodeName(static_cast<size_t>(node));
    });
    if (!write("program.cu", emitted.text) ||
        !write("source_map.json", sourceMap))
      return false;
  }
  if (options.emit == EmitStage::executable) {
    std::string path = directory.getPath() + "/weights.bin";
    std::optional<std::string> sha256 =
        writeWeights(weights, options.modelPath, path, engine);
    if (!sha256)
      return false;
    files.push_back({"weights.bin", weights.totalBytes, *sha256});
    if (options.training) {
      std::optional<ManifestFile> trained =
          describeFile(directory.getPath(), templateName, engine);
      if (!trained)
        return false;
      files.push_back(std::move(*trained));
    }

    std::optional<CompileCommands> commands = readCompileCommands(
        findRuntimeFile(),
        options.target == Target::host ? CompileTarget::host
                                       : CompileTarget::cuda,
        engine);
    if (!commands ||
        !compileProgram(*commands, directory.getPath() + "/program.cu",
                        directory.getPath() + "/program", engine))
      return false;
    std::optional<ManifestFile> executable =
        describeFile(directory.getPath(), "program", engine);
    if (!executable)
      return false;
    files.push_back(std::move(*executable));
  }
  return directory.writeFile(
      "manifest.json",
      printManifest(files, options.target == Target::host ? "host" : "cuda"),
      engine);
}
