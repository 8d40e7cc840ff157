//===- CommandLine.cpp - From arguments to options ------------------------===//
//
// CLI11 reads words; values are checked here, so that every fault has a code
// and all of them come out in one run.
//
//===----------------------------------------------------------------------===//

#include "tools/parplan/CommandLine.h"

#include "lib/Driver/Force.h"
#include "lib/Driver/TrainingSpec.h"
#include "parplan/Cluster/Calibration.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"
#include "tools/parplan/CommandWords.h"

#include <unistd.h>

using namespace parplan;

namespace {

class Checker {
public:
  Checker(const Words &words, DiagnosticEngine &engine)
      : words(words), engine(engine) {}

  DiagnosticBuilder fail(std::string_view option, std::string_view value,
                         std::string_view expected) {
    DiagnosticBuilder error = engine.error(codes::badOptionValue);
    error << std::string(option) << " " << quoteName(value) << " is not "
          << std::string(expected);
    return error;
  }

  std::optional<int64_t> getPositive(std::string_view option,
                                     const std::optional<std::string> &word,
                                     int64_t most) {
    if (!word)
      return std::nullopt;
    std::optional<int64_t> value = parseInteger(*word);
    if (!value || *value < 1 || *value > most) {
      fail(option, *word, "a number from 1 to " + std::to_string(most));
      return std::nullopt;
    }
    return value;
  }

  size_t getChoice(std::string_view option,
                   const std::optional<std::string> &word,
                   const std::vector<std::string> &choices, size_t standard) {
    if (!word)
      return standard;
    auto it = std::find(choices.begin(), choices.end(), *word);
    if (it != choices.end())
      return static_cast<size_t>(it - choices.begin());
    fail(option, *word, "one of " + joinText(choices, ", "))
        .help(suggest(*word, choices));
    return standard;
  }

  std::map<std::string, int64_t> getDimensions() {
    std::map<std::string, int64_t> dimensions;
    for (const std::string &word : words.dimensions) {
      size_t equals = word.find('=');
      std::optional<int64_t> value;
      if (equals != std::string::npos && equals > 0)
        value = parseInteger(std::string_view(word).substr(equals + 1));
      if (!value || *value < 1 || *value > maxDimension) {
        fail("--dim", word,
             "NAME=VALUE with a value from 1 to " +
                 std::to_string(maxDimension));
        continue;
      }
      std::string name = word.substr(0, equals);
      auto [it, isNew] = dimensions.emplace(name, *value);
      if (!isNew && it->second != *value)
        engine.error(codes::conflictingOptions)
            << "--dim " << escapeName(name) << " is given as " << it->second
            << " and as " << *value;
    }
    return dimensions;
  }

  Target getTarget(bool isCudaTheDefault) {
    size_t choice = getChoice("--target", words.target, {"cuda", "host"},
                              isCudaTheDefault ? 0 : 1);
    return choice == 0 ? Target::cuda : Target::host;
  }

  CalibrationOptions getCalibrationOptions(bool hasCudaCompiler) {
    CalibrationOptions options;
    if (!words.output)
      engine.error(codes::missingOption).help("-o CLUSTER.json")
          << "no file to write is given";
    options.outputPath = words.output.value_or("");
    Machine machine = getMachine();
    options.target = getTarget(hasCudaCompiler && machine.gpus > 0);
    int64_t most = options.target == Target::cuda
                       ? std::max<int64_t>(machine.gpus, 1)
                       : machine.cores;
    options.ranks = getPositive("--gpus", words.gpus, 64).value_or(most);
    return options;
  }

  CompileOptions getCompileOptions(bool planOnly, bool hasCudaCompiler) {
    CompileOptions options;
    if (words.positionals.empty())
      engine.error(codes::missingOption).help("parplan MODEL.onnx --gpus N")
          << "no model is given";
    else
      options.modelPath = words.positionals.front();
    if (words.positionals.size() > 1)
      engine.error(codes::badUsage)
          << "more than one model: " << quoteName(words.positionals[1]);
    if (!words.gpus)
      engine.error(codes::missingOption)
              .help("--gpus N: the plan uses exactly N devices")
          << "--gpus is required";
    options.gpus = getPositive("--gpus", words.gpus, maxDevices).value_or(1);
    options.target = getTarget(hasCudaCompiler);
    options.cluster = words.cluster.value_or("");
    options.dimensions = getDimensions();
    options.globalBatch =
        getPositive("--global-batch", words.globalBatch, maxDimension);
    if (!words.forces.empty()) {
      std::string text = joinText(words.forces, ",");
      options.force = parseForce(text, options.gpus, words.train, engine);
      options.forceEntries = splitForce(text);
    }
    if (words.memoryLimit) {
      options.memoryLimitBytes = parseByteSize(*words.memoryLimit);
      if (!options.memoryLimitBytes || *options.memoryLimitBytes < 1)
        fail("--memory-limit", *words.memoryLimit,
             "a number of bytes, as 512M or 40G");
    }
    if (words.timeBudget) {
      std::optional<double> seconds = parseNumber(*words.timeBudget);
      if (!seconds || !(*seconds > 0) || *seconds > 1e6)
        fail("--time-budget", *words.timeBudget,
             "a positive number of seconds");
      else
        options.timeBudgetSeconds = *seconds;
    }
    if (words.seed) {
      options.seed = parseInteger(*words.seed);
      if (!options.seed)
        fail("--seed", *words.seed, "a number");
    }
    options.planPath = words.plan.value_or("");
    if (words.plan && !words.forces.empty())
      engine.error(codes::conflictingOptions)
              .help("leave --force out, or --plan")
          << "--plan and --force: a plan that is given has decided what "
             "--force "
             "asks for";
    options.dumpDirectory = words.dumpIr.value_or("");
    options.outputDirectory =
        words.output.value_or(getDefaultOutput(options.modelPath));
    size_t emit = getChoice("--emit", words.emit,
                            {"plan", "ir", "source", "exe"}, planOnly ? 0 : 3);
    options.emit = static_cast<EmitStage>(emit);
    readTraining(options);
    return options;
  }

private:
  static constexpr int64_t maxDimension = int64_t(1) << 31;

  static std::string getDefaultOutput(const std::string &model) {
    size_t slash = model.rfind('/');
    std::string name =
        slash == std::string::npos ? model : model.substr(slash + 1);
    if (name.ends_with(".onnx"))
      name.resize(name.size() - 5);
    return name + ".parplan";
  }

  void readTraining(CompileOptions &options) {
    size_t precision =
        getChoice("--precision", words.precision, {"fp32", "bf16", "fp16"}, 0);
    options.precision = static_cast<ComputePrecision>(precision);
    if (!words.train)
      return refuseTraining();
    TrainingOptions &training = options.training.emplace();
    if (words.loss)
      parseLoss(*words.loss, training, engine);
    if (words.optimizer)
      training.optimizer = parseOptimizer(*words.optimizer, engine);
    if (words.schedule)
      options.learningRate = parseLearningRateSchedule(*words.schedule, engine);
    if (words.clipNorm) {
      training.clipNorm = parseNumber(*words.clipNorm);
      if (!training.clipNorm || !(*training.clipNorm > 0))
        fail("--clip-norm", *words.clipNorm, "a positive number");
    }
    training.frozen = words.freezes;
    training.reportGradientNorm = words.reportGradientNorm;
    training.precision = options.precision;
  }

  /// Options that mean nothing for a forward pass.
  void refuseTraining() {
    struct TrainingOption {
      std::string_view name;
      bool isGiven;
    };
    for (TrainingOption option :
         {TrainingOption{"--loss", words.loss.has_value()},
          {"--optimizer", words.optimizer.has_value()},
          {"--lr-schedule", words.schedule.has_value()},
          {"--clip-norm", words.clipNorm.has_value()},
          {"--freeze", !words.freezes.empty()},
          {"--report-gradient-norm", words.reportGradientNorm}})
      if (option.isGiven)
        engine.error(codes::conflictingOptions).help("add --train")
            << std::string(option.name) << " is for training";
  }

  const Words &words;
  DiagnosticEngine &engine;
};

struct CommandName {
  std::string_view name;
  Command command;
  std::string_view summary;
};
constexpr CommandName commandNames[] = {
    {"plan", Command::plan, "stop after the plan"},
    {"check", Command::check, "replay a plan with the independent evaluator"},
    {"explain", Command::explain, "say what a plan does and what it trains"},
    {"diff", Command::diff, "say what differs between two plans, and its cost"},
    {"ops", Command::ops, "list the operators of a model and their support"},
    {"clusters", Command::clusters, "list the presets, or print one as JSON"},
    {"calibrate", Command::calibrate,
     "measure this machine, as a cluster file"},
};

std::string getTopHelp(const CLI::App &app) {
  std::string text = "parplan MODEL.onnx --gpus N [options]\n";
  for (const CommandName &name : commandNames) {
    std::string line = "parplan " + std::string(name.name) + " ..";
    line.resize(24, ' ');
    text += line + std::string(name.summary) + "\n";
  }
  return text + "\n" + app.help();
}

} // namespace

CommandLine parplan::parseCommandLine(const std::vector<std::string> &arguments,
                                      bool hasCudaCompiler,
                                      DiagnosticEngine &engine) {
  CommandLine line;
  Words words;
  std::vector<std::string> rest = arguments;
  if (!rest.empty())
    for (const CommandName &name : commandNames)
      if (rest.front() == name.name) {
        line.command = name.command;
        rest.erase(rest.begin());
        break;
      }
  // Known before anything can fail, so that failures come out in the right
  // form.
  line.output.json =
      std::find(rest.begin(), rest.end(), "--json") != rest.end();

  CLI::App app(
      "Plans ONNX models over clusters of GPUs and compiles the plan.");
  addOutputOptions(app, words);
  bool version = false;
  app.add_flag("--version", version, "print the version");
  switch (line.command) {
  case Command::compile:
  case Command::plan:
    addCompileOptions(app, words);
    break;
  case Command::ops:
    app.add_option("MODEL", words.positionals, "the ONNX model");
    addDimensionOption(app, words);
    break;
  case Command::check:
    app.add_option("PLAN", words.positionals, "plan.json, and the ONNX model");
    addDimensionOption(app, words);
    break;
  case Command::explain:
    app.add_option("PLAN", words.positionals,
                   "plan.json, and its model where that is not where the plan "
                   "says");
    app.add_option("--why-not", words.whyNot,
                   "what another --force would cost, or why it is impossible");
    break;
  case Command::diff:
    app.add_option("PLAN", words.positionals, "two plan.json of one model");
    break;
  case Command::calibrate:
    app.add_option("--gpus", words.gpus,
                   "ranks that share the machine; one per GPU or core unless "
                   "given");
    app.add_option("--target", words.target,
                   "cuda or host; cuda where there are GPUs");
    app.add_option("-o,--output", words.output, "the cluster file to write");
    break;
  default:
    app.add_option("NAME", words.positionals, "a preset or a cluster file");
  }

  if (!parseWords(app, rest, engine)) {
    line.helpText =
        line.command == Command::compile ? getTopHelp(app) : app.help();
    line.command = Command::help;
    return line;
  }
  if (version) {
    line.command = Command::version;
    return line;
  }
  line.output.quiet = words.quiet;
  line.output.verbose = words.verbose;
  Checker checker(words, engine);
  size_t color =
      checker.getChoice("--color", words.color, {"auto", "always", "never"}, 0);
  line.output.color = color == 1 || (color == 0 && isatty(STDERR_FILENO));

  bool compiles =
      line.command == Command::compile || line.command == Command::plan;
  if (compiles) {
    line.compile = checker.getCompileOptions(line.command == Command::plan,
                                             hasCudaCompiler);
    return line;
  }
  if (line.command == Command::calibrate) {
    line.calibration = checker.getCalibrationOptions(hasCudaCompiler);
    return line;
  }
  line.arguments = words.positionals;
  line.dimensions = checker.getDimensions();
  bool areTwo = line.command == Command::diff;
  size_t least = line.command == Command::clusters ? 0 : areTwo ? 2 : 1;
  bool takesModel =
      line.command == Command::check || line.command == Command::explain;
  size_t most = takesModel || areTwo ? 2 : 1;
  line.whyNot = words.whyNot;
  if (line.arguments.size() < least)
    engine.error(codes::missingOption)
        << (line.command == Command::ops ? "no model is given"
            : areTwo                     ? "diff compares two plans"
                                         : "no plan is given");
  if (line.arguments.size() > most)
    engine.error(codes::badUsage)
        << "unexpected argument " << quoteName(line.arguments[most]);
  return line;
}
