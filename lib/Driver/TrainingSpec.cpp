//===- TrainingSpec.cpp - Reading the options of training -----------------===//

#include "lib/Driver/TrainingSpec.h"

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include <cmath>
#include <limits>
#include <set>

using namespace parplan;

namespace {

/// A key of an option, and where its value goes.
struct NumberKey {
  std::string name;
  double *value;
  /// The value lies in [least, limit), or in (least, limit) if `isOpen`.
  double least = 0;
  double limit = std::numeric_limits<double>::infinity();
  bool isOpen = false;
};

/// `KIND:key=value,..`: a kind, and what stands behind the colon.
std::pair<std::string_view, std::string_view> splitKind(std::string_view text) {
  size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::string printRange(const NumberKey &key) {
  std::string text = std::string("a number ") +
                     (key.isOpen ? "above " : "from ") +
                     formatNumber(key.least);
  if (std::isfinite(key.limit))
    text += " and below " + formatNumber(key.limit);
  return text;
}

class NumberReader {
public:
  NumberReader(std::string_view option, DiagnosticEngine &engine)
      : option(option), engine(engine) {}

  void read(std::string_view text, const std::vector<NumberKey> &keys) {
    if (text.empty())
      return;
    for (std::string_view entry : splitText(text, ','))
      readEntry(entry, keys);
  }

private:
  DiagnosticBuilder fail() {
    DiagnosticBuilder error = engine.error(codes::badOptionValue);
    error << option << ": ";
    return error;
  }

  void readEntry(std::string_view entry, const std::vector<NumberKey> &keys) {
    size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      fail() << quoteName(entry) << " is not KEY=VALUE";
      return;
    }
    std::string name(trimText(entry.substr(0, equals)));
    std::string_view word = entry.substr(equals + 1);
    std::vector<std::string> names;
    const NumberKey *key = nullptr;
    for (const NumberKey &candidate : keys) {
      names.push_back(candidate.name);
      if (candidate.name == name)
        key = &candidate;
    }
    if (!key) {
      DiagnosticBuilder error = fail();
      error << "there is no " << quoteName(name);
      error.help(suggest(name, names));
      error.help("there are " + joinText(names, ", "));
      return;
    }
    if (!seen.insert(name).second) {
      fail() << name << " is given twice";
      return;
    }
    std::optional<double> value = parseNumber(word);
    bool isGood = value && std::isfinite(*value) && *value < key->limit &&
                  (key->isOpen ? *value > key->least : *value >= key->least);
    if (isGood)
      *key->value = *value;
    else
      fail() << name << "=" << escapeName(word) << " is not "
             << printRange(*key);
  }

  std::string option;
  DiagnosticEngine &engine;
  std::set<std::string> seen;
};

std::optional<size_t> findKind(std::string_view option, std::string_view kind,
                               const std::vector<std::string> &kinds,
                               DiagnosticEngine &engine) {
  for (size_t index = 0; index < kinds.size(); ++index)
    if (kinds[index] == kind)
      return index;
  DiagnosticBuilder error = engine.error(codes::badOptionValue);
  error << std::string(option) << ": " << quoteName(kind) << " is none of "
        << joinText(kinds, ", ");
  error.help(suggest(kind, kinds));
  return std::nullopt;
}

std::vector<NumberKey> getKeys(OptimizerOptions &options) {
  std::vector<NumberKey> keys = {{"lr", &options.learningRate},
                                 {"weight_decay", &options.weightDecay}};
  switch (options.kind) {
  case OptimizerRule::sgd:
    break;
  case OptimizerRule::momentum:
    keys.push_back({"momentum", &options.momentum, 0, 1});
    break;
  case OptimizerRule::adam:
  case OptimizerRule::adamw:
    keys.push_back({"beta1", &options.beta1, 0, 1});
    keys.push_back({"beta2", &options.beta2, 0, 1});
    // Elements without a gradient, padding among them, are divided by it.
    keys.push_back({"eps", &options.epsilon, 0,
                    std::numeric_limits<double>::infinity(), true});
    break;
  }
  return keys;
}

const std::vector<std::string> lossNames = {"cross-entropy", "mse", "output"};
const std::vector<std::string> optimizerNames = {"sgd", "momentum", "adam",
                                                 "adamw"};
const std::vector<std::string> scheduleNames = {"constant", "linear", "cosine"};

} // namespace

void parplan::parseLoss(std::string_view text, TrainingOptions &options,
                        DiagnosticEngine &engine) {
  auto [kind, name] = splitKind(text);
  std::optional<size_t> index = findKind("--loss", kind, lossNames, engine);
  if (!index)
    return;
  options.loss = static_cast<LossKind>(*index);
  options.lossOutput = name;
  bool hasColon = text.size() > kind.size();
  if (name.empty() && (hasColon || options.loss == LossKind::output))
    engine.error(codes::badOptionValue)
        << "--loss " << quoteName(text) << " names no output";
}

OptimizerOptions parplan::parseOptimizer(std::string_view text,
                                         DiagnosticEngine &engine) {
  OptimizerOptions options;
  auto [kind, rest] = splitKind(text);
  std::optional<size_t> index =
      findKind("--optimizer", kind, optimizerNames, engine);
  if (!index)
    return options;
  options.kind = static_cast<OptimizerRule>(*index);
  // AdamW alone decays weights unless it is told to.
  if (options.kind != OptimizerRule::adamw)
    options.weightDecay = 0;
  NumberReader("--optimizer " + std::string(kind), engine)
      .read(rest, getKeys(options));
  return options;
}

std::string parplan::printLoss(const TrainingOptions &options) {
  std::string text = lossNames[static_cast<size_t>(options.loss)];
  return options.lossOutput.empty() ? text : text + ":" + options.lossOutput;
}

std::string
parplan::printLearningRateSchedule(const LearningRateOptions &options) {
  std::string text = scheduleNames[static_cast<size_t>(options.kind)] +
                     ":warmup=" + std::to_string(options.warmupSteps);
  if (options.kind == LearningRateKind::constant)
    return text;
  return text + ",total=" + std::to_string(options.totalSteps) +
         ",final=" + formatNumber(options.finalFraction);
}

std::string parplan::printOptimizer(const OptimizerOptions &options) {
  OptimizerOptions copy = options;
  std::vector<std::string> entries;
  for (const NumberKey &key : getKeys(copy))
    entries.push_back(key.name + "=" + formatNumber(*key.value));
  return optimizerNames[static_cast<size_t>(options.kind)] + ":" +
         joinText(entries, ",");
}

LearningRateOptions
parplan::parseLearningRateSchedule(std::string_view text,
                                   DiagnosticEngine &engine) {
  LearningRateOptions options;
  auto [kind, rest] = splitKind(text);
  std::optional<size_t> index =
      findKind("--lr-schedule", kind, {"constant", "linear", "cosine"}, engine);
  if (!index)
    return options;
  options.kind = static_cast<LearningRateKind>(*index);
  double warmup = 0, total = 0;
  std::vector<NumberKey> keys = {{"warmup", &warmup, 0, 1e15}};
  if (options.kind != LearningRateKind::constant) {
    keys.push_back({"total", &total, 0, 1e15});
    keys.push_back({"final", &options.finalFraction, 0, 1e6});
  }
  size_t errors = engine.getErrorCount();
  NumberReader("--lr-schedule " + std::string(kind), engine).read(rest, keys);
  if (engine.getErrorCount() != errors)
    return options;
  options.warmupSteps = static_cast<int64_t>(warmup);
  options.totalSteps = static_cast<int64_t>(total);
  auto isWhole = [](double value) { return value == std::floor(value); };
  if (!isWhole(warmup) || !isWhole(total))
    engine.error(codes::badOptionValue)
        << "--lr-schedule " << quoteName(text)
        << ": warmup and total are numbers of steps";
  else if (options.kind != LearningRateKind::constant &&
           options.totalSteps <= options.warmupSteps)
    engine.error(codes::badOptionValue)
            .help("give total=STEPS, the step at which the schedule ends")
        << "--lr-schedule " << quoteName(text) << ": total "
        << options.totalSteps << " is not above warmup " << options.warmupSteps;
  return options;
}
