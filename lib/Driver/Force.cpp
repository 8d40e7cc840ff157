//===- Force.cpp - The list of --force ------------------------------------===//

#include "lib/Driver/Force.h"

#include "parplan/Support/CheckedMath.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace parplan;

namespace {

/// What the values of a key look like.
enum class ValueForm { size, grid2, grid3, word };

struct ForceKey {
  std::string_view name;
  ValueForm form;
  /// Words that are allowed (`word`), before a ':' where there is one.
  std::vector<std::string_view> words;
  /// The value that asks for nothing, and so is carried out already; empty for
  /// keys that are fully carried out.
  std::string_view neutral;
  /// Its value is a factor of the number of devices.
  bool isParallelism;
};

const std::vector<ForceKey> &getKeys() {
  static const std::vector<ForceKey> keys = {
      {"dp", ValueForm::size, {}, "", true},
      {"tp1d", ValueForm::size, {}, "", true},
      {"cp", ValueForm::size, {}, "1", true},
      {"ep", ValueForm::size, {}, "1", true},
      {"pp", ValueForm::size, {}, "1", true},
      {"tp2d", ValueForm::grid2, {}, "1x1", true},
      {"tp2.5d", ValueForm::grid3, {}, "1x1x1", true},
      {"tp3d", ValueForm::grid3, {}, "1x1x1", true},
      {"sp", ValueForm::word, {"on", "off"}, "off", false},
      {"schedule",
       ValueForm::word,
       {"gpipe", "1f1b", "1f1b-eager", "interleaved", "zb-h1", "zb-h2", "zb-v",
        "v-half", "v-min"},
       "gpipe",
       false},
      {"micro-batches", ValueForm::size, {}, "1", false},
      {"zero", ValueForm::word, {"0", "1", "2", "3"}, "0", false},
      {"recompute",
       ValueForm::word,
       {"none", "selective", "full"},
       "none",
       false},
      {"offload",
       ValueForm::word,
       {"none", "optimizer", "parameters", "activations"},
       "none",
       false},
      {"parameter-server", ValueForm::word, {"sync", "async"}, "none", false},
      {"servers", ValueForm::size, {}, "none", false},
  };
  return keys;
}

/// `3`, `2x2` or `2x2x2` as sizes; empty when it is none of that.
std::vector<int64_t> parseSizes(std::string_view text, size_t count) {
  std::vector<int64_t> sizes;
  for (std::string_view part : splitText(text, 'x')) {
    std::optional<int64_t> size = parseInteger(part);
    if (!size || *size < 1)
      return {};
    sizes.push_back(*size);
  }
  return sizes.size() == count ? sizes : std::vector<int64_t>();
}

/// Splits at commas outside of double quotes.
std::vector<std::string_view> splitEntries(std::string_view text) {
  std::vector<std::string_view> entries;
  size_t start = 0;
  bool quoted = false;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '"')
      quoted = !quoted;
    if (i == text.size() || (text[i] == ',' && !quoted)) {
      entries.push_back(trimText(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  return entries;
}

class ForceParser {
public:
  ForceParser(int64_t gpus, bool isTraining, DiagnosticEngine &engine)
      : gpus(gpus), isTraining(isTraining), engine(engine) {}

  ForceOptions parse(std::string_view text) {
    for (std::string_view entry : splitEntries(text)) {
      if (entry.empty())
        continue;
      if (entry.starts_with("node:"))
        parseNode(entry);
      else
        parseEntry(entry);
    }
    checkProduct();
    checkZero();
    return std::move(force);
  }

private:
  void parseEntry(std::string_view entry) {
    size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      engine.error(codes::badForceSyntax)
          << "--force: " << quoteName(entry) << " is not KEY=VALUE";
      return;
    }
    std::string_view name = entry.substr(0, equals);
    std::string_view value = entry.substr(equals + 1);
    const auto &keys = getKeys();
    auto key = llvm::find_if(keys, [&](const ForceKey &candidate) {
      return candidate.name == name;
    });
    if (key == keys.end()) {
      std::vector<std::string> names = {"node"};
      for (const ForceKey &candidate : keys)
        names.emplace_back(candidate.name);
      DiagnosticBuilder error = engine.error(codes::unknownForceKey);
      error << "--force: unknown key " << quoteName(name);
      error.help(suggest(name, names))
          .help("keys are " + joinText(names, ", "));
      return;
    }
    if (!seen.insert(key->name).second && key->name != "offload") {
      engine.error(codes::badForceSyntax)
          << "--force: " << std::string(key->name) << " is given twice";
      return;
    }
    if (checkValue(*key, value))
      take(*key, value);
  }

  bool checkValue(const ForceKey &key, std::string_view value) {
    std::vector<int64_t> sizes;
    std::string expected;
    switch (key.form) {
    case ValueForm::size:
      sizes = parseSizes(value, 1);
      expected = "a positive number";
      break;
    case ValueForm::grid2:
      sizes = parseSizes(value, 2);
      expected = "ROWSxCOLUMNS";
      break;
    case ValueForm::grid3:
      sizes = parseSizes(value, 3);
      expected = "three sizes AxBxC";
      break;
    case ValueForm::word: {
      if (llvm::is_contained(key.words, value.substr(0, value.find(':'))))
        return true;
      std::vector<std::string> words(key.words.begin(), key.words.end());
      engine.error(codes::badOptionValue)
          << "--force: " << std::string(key.name) << "=" << escapeName(value)
          << " is none of " << joinText(words, ", ");
      return false;
    }
    }
    if (sizes.empty()) {
      engine.error(codes::badOptionValue)
          << "--force: " << std::string(key.name) << "=" << escapeName(value)
          << " is not " << expected;
      return false;
    }
    if (!key.isParallelism)
      return true;
    std::optional<int64_t> total = 1;
    for (int64_t size : sizes)
      if (total)
        total = checkedMultiply(*total, size);
    if (!total || *total > gpus || gpus % *total != 0) {
      engine.error(codes::impossibleForce)
              .help("a size must divide the number of devices")
          << "--force: " << std::string(key.name) << "=" << escapeName(value)
          << " does not fit --gpus " << gpus;
      return false;
    }
    product = checkedMultiply(product, *total).value_or(gpus + 1);
    given.push_back(std::string(key.name) + "=" + std::string(value));
    return true;
  }

  void take(const ForceKey &key, std::string_view value) {
    if (key.name == "dp")
      force.dataSize = parseInteger(value);
    else if (key.name == "tp1d")
      force.tensorSize = parseInteger(value);
    else if (key.name == "micro-batches" && isTraining)
      force.microBatches = parseInteger(value);
    else if (key.name == "zero" && isTraining)
      force.zeroStage = static_cast<int>(*parseInteger(value));
    else if (value != key.neutral)
      refuse(key, value);
  }

  void refuse(const ForceKey &key, std::string_view value) {
    DiagnosticBuilder error = engine.error(codes::unsupportedOption);
    error << "--force: " << std::string(key.name) << "=" << escapeName(value);
    if (key.name == "micro-batches" || key.name == "zero") {
      error << " is for training";
      error.help("add --train");
      return;
    }
    error << " is not carried out yet";
    error.help("this version plans data parallelism (dp, zero, micro-batches) "
               "and 1D tensor parallelism (tp1d)");
  }

  void parseNode(std::string_view entry) {
    // node:"GLOB":algorithm; the glob may hold colons.
    size_t last = entry.rfind(':');
    std::string_view glob =
        last > 5 ? entry.substr(5, last - 5) : std::string_view();
    std::string_view name = entry.substr(last + 1);
    if (glob.size() >= 2 && glob.front() == '"' && glob.back() == '"')
      glob = glob.substr(1, glob.size() - 2);
    if (last <= 5 || glob.empty()) {
      engine.error(codes::badForceSyntax)
          << "--force: " << quoteName(entry) << " is not node:GLOB:ALGORITHM";
      return;
    }
    static const std::vector<std::string> known = {
        "replicate", "row",  "column",     "summa2d", "gather2d", "2.5d",
        "3d",        "ring", "all-to-all", "gather",  "expert",   "local"};
    std::optional<Algorithm> algorithm = parseAlgorithm(std::string(name));
    if (algorithm) {
      force.nodes.push_back({std::string(glob), *algorithm});
    } else if (llvm::is_contained(known, name)) {
      engine.error(codes::unsupportedOption)
          << "--force: algorithm " << quoteName(name)
          << " is not carried out yet";
    } else {
      DiagnosticBuilder error = engine.error(codes::badOptionValue);
      error << "--force: unknown algorithm " << quoteName(name);
      error.help(suggest(name, known))
          .help("algorithms are " + joinText(known, ", "));
    }
  }

  /// Sizes that are given must leave a whole number of devices, and all of them
  /// when both kinds of axes are given.
  void checkProduct() {
    if (engine.hasErrors())
      return;
    bool complete = force.dataSize && force.tensorSize;
    if (gpus % product != 0 || product > gpus || (complete && product != gpus))
      engine.error(codes::impossibleForce)
              .help(
                  "sizes multiply to --gpus; leave one out to let the planner "
                  "choose it")
          << "--force: " << joinText(given, ", ") << " make " << product
          << " devices, --gpus asks for " << gpus;
  }

  /// ZeRO spreads what replicas would hold alike.
  void checkZero() {
    if (engine.hasErrors() || force.zeroStage.value_or(0) == 0)
      return;
    int64_t replicas =
        force.dataSize.value_or(gpus / force.tensorSize.value_or(1));
    if (replicas == 1)
      engine.error(codes::impossibleForce)
              .help(gpus > 1 ? "give dp=2 or more, or zero=0"
                             : "use --gpus 2 or more, or zero=0")
          << "--force: zero=" << *force.zeroStage
          << " needs data parallelism, and there is one replica";
  }

  int64_t gpus;
  bool isTraining;
  DiagnosticEngine &engine;
  ForceOptions force;
  int64_t product = 1;
  std::set<std::string_view> seen;
  std::vector<std::string> given;
};

} // namespace

ForceOptions parplan::parseForce(std::string_view text, int64_t gpus,
                                 bool isTraining, DiagnosticEngine &engine) {
  return ForceParser(gpus, isTraining, engine).parse(text);
}
