//===- parplan-emit.cpp - Emission on its own -----------------------------===//
//
// Part of parplan. For tests: prints or compiles the exec.programs of a module.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/ExecOps.h"
#include "lib/Target/Compile.h"
#include "lib/Target/EmitProgram.h"
#include "lib/Target/Manifest.h"
#include "lib/Target/WeightLayout.h"
#include "parplan/Simulator/Simulator.h"
#include "passes/Schedule/ExtractProgram.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

#include <fstream>

using namespace mlir;
using namespace parplan;

namespace {

namespace options {
llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::init("-"),
                                 llvm::cl::desc("<module>"));
llvm::cl::opt<std::string>
    directory("o", llvm::cl::desc("Write program.cu, weights.bin, "
                                  "manifest.json and source_map.json here"));
llvm::cl::opt<std::string> model("model",
                                 llvm::cl::desc("File of the initializers"));
llvm::cl::opt<std::string> runtimeFile("runtime",
                                       llvm::cl::desc("parplan_runtime.json"));
llvm::cl::opt<std::string> target("compile",
                                  llvm::cl::desc("Compile for host or cuda"));
llvm::cl::opt<bool> prediction("prediction",
                               llvm::cl::desc("Print the predicted resources"));
llvm::cl::opt<bool> order("order",
                          llvm::cl::desc("Let the program check the order of "
                                         "communication"));
} // namespace options

bool writeText(const std::string &name, const std::string &text) {
  std::ofstream stream(options::directory + "/" + name, std::ios::binary);
  stream << text;
  return stream.good();
}

/// Writes the files of the output directory and compiles the program.
bool writeDirectory(const EmittedProgram &emitted, const WeightLayout &weights,
                    parplan::DiagnosticEngine &engine) {
  std::string directory = options::directory;
  bool written =
      writeText("program.cu", emitted.text) &&
      writeText("source_map.json", printSourceMap(emitted, [](int64_t node) {
                  return "node " + std::to_string(node);
                }));
  if (!written) {
    llvm::errs() << "cannot write to " << directory << "\n";
    return false;
  }
  std::optional<std::string> digest =
      writeWeights(weights, options::model, directory + "/weights.bin", engine);
  if (!digest)
    return false;
  if (!options::target.empty()) {
    std::optional<CompileCommands> commands = readCompileCommands(
        options::runtimeFile,
        options::target == "cuda" ? CompileTarget::cuda : CompileTarget::host,
        engine);
    if (!commands || !compileProgram(*commands, directory + "/program.cu",
                                     directory + "/program", engine))
      return false;
  }
  std::vector<ManifestFile> files = {
      describeContent("program.cu", emitted.text),
      {"weights.bin", weights.totalBytes, *digest}};
  return writeText("manifest.json", printManifest(files, options::target));
}

int run(ArrayRef<exec::ProgramOp> programs) {
  parplan::DiagnosticEngine engine;
  WeightLayout weights = layoutWeights(programs);
  Prediction prediction = predictResources(extractProgram(programs));
  if (options::prediction) {
    llvm::outs() << toJson(prediction).dump(1) << "\n";
    return 0;
  }
  EmitOptions emit;
  emit.modelName = exec::ProgramOp(programs.front()).getSymName().str();
  if (options::order)
    for (const RankPrediction &rank : prediction.ranks)
      emit.orderDigests.push_back(rank.orderDigest);
  EmittedProgram emitted = emitProgram(programs, weights, emit, engine);
  if (!engine.hasErrors()) {
    if (options::directory.empty())
      llvm::outs() << emitted.text;
    else if (!writeDirectory(emitted, weights, engine) && !engine.hasErrors())
      return static_cast<int>(ExitCode::cannotWriteOutput);
  }
  llvm::errs() << engine.render({false, "parplan-emit"});
  return static_cast<int>(engine.getExitCode());
}

} // namespace

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv);
  DialectRegistry registry;
  registry.insert<ParplanDialect, exec::ExecDialect>();
  MLIRContext context(registry);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(options::input, sources, &context);
  if (!module)
    return static_cast<int>(ExitCode::badInput);
  SmallVector<exec::ProgramOp> programs = exec::getPrograms(*module);
  if (programs.empty()) {
    llvm::errs() << "there is no exec.program\n";
    return static_cast<int>(ExitCode::badInput);
  }
  return run(programs);
}
