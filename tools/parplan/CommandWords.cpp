//===- CommandWords.cpp - The words of the command line -------------------===//
//
// Part of parplan. CLI11 reads them, with exceptions that end here.
//
//===----------------------------------------------------------------------===//

#include "tools/parplan/CommandWords.h"

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

using namespace parplan;

void parplan::addOutputOptions(CLI::App &app, Words &words) {
  app.add_flag("--json", words.json, "one JSON document on standard output");
  app.add_flag("-q,--quiet", words.quiet, "print errors only");
  app.add_flag("-v,--verbose", words.verbose, "say what is being done");
  app.add_option("--color", words.color, "auto, always or never");
}

void parplan::addDimensionOption(CLI::App &app, Words &words) {
  app.add_option("--dim", words.dimensions,
                 "NAME=VALUE: bind a symbolic dimension; repeatable")
      ->allow_extra_args(false);
}

void parplan::addCompileOptions(CLI::App &app, Words &words) {
  app.add_option("MODEL", words.positionals, "the ONNX model");
  app.add_option("--gpus", words.gpus, "devices to use: exactly N");
  app.add_option("--cluster", words.cluster, "preset or JSON file");
  app.add_option("--target", words.target, "cuda or host");
  addDimensionOption(app, words);
  app.add_option("--global-batch", words.globalBatch, "samples in one step");
  app.add_option("--precision", words.precision, "fp32, bf16 or fp16");
  app.add_option("--force", words.forces,
                 "fix part of the plan: dp=N, tp1d=N, tp2d=RxC, cp=N, ep=N, "
                 "sp=on, node:\"GLOB\":ALGORITHM, ..")
      ->allow_extra_args(false);
  app.add_option("--memory-limit", words.memoryLimit,
                 "bytes per device; K M G T are powers of 1024");
  app.add_option("--time-budget", words.timeBudget, "seconds for the search");
  app.add_option("--plan", words.plan, "take this plan instead of searching");
  app.add_option("--seed", words.seed,
                 "written to the plan; nothing random is left");
  app.add_option("-o,--output", words.output, "output directory");
  app.add_option("--emit", words.emit, "stop after plan, ir, source or exe");
  app.add_option("--dump-ir", words.dumpIr, "write the module of every phase");
  app.add_flag("--train", words.train, "build a training step");
  app.add_option("--loss", words.loss,
                 "cross-entropy, mse or output:NAME of the model");
  app.add_option("--optimizer", words.optimizer,
                 "sgd, momentum, adam or adamw, as adamw:lr=3e-4,beta2=0.95");
  app.add_option("--lr-schedule", words.schedule,
                 "constant, linear or cosine, as cosine:warmup=10,total=1000");
  app.add_option("--clip-norm", words.clipNorm,
                 "largest global norm of the gradients");
  app.add_option("--freeze", words.freezes,
                 "GLOB: parameters that stay as they are; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--report-gradient-norm", words.reportGradientNorm,
               "compute the global norm of the gradients in every step");
}

static std::vector<std::string> getOptionNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

bool parplan::parseWords(CLI::App &app, std::vector<std::string> arguments,
                         DiagnosticEngine &engine) {
  std::reverse(arguments.begin(), arguments.end()); // as CLI11 wants them
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp &) {
    return false;
  } catch (const CLI::ExtrasError &) {
    for (const std::string &word : app.remaining()) {
      std::string name = word.substr(0, word.find('='));
      DiagnosticBuilder error = engine.error(codes::unknownOption);
      error << "unknown option " << quoteName(name);
      error.help(suggest(name, getOptionNames(app)));
    }
  } catch (const CLI::ParseError &error) {
    engine.error(codes::badUsage) << sanitize(error.what());
  }
  return true;
}
