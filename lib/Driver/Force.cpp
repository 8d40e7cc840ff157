//===- Force.cpp - The list of --force ------------------------------------===//

#include "lib/Driver/Force.h"

#include "lib/Driver/ForceRules.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace parplan;

namespace {

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
    if (!countServers(text))
      return {};
    for (std::string_view entry : splitEntries(text)) {
      if (entry.empty())
        continue;
      if (entry.starts_with("node:"))
        parseNode(entry);
      else
        parseEntry(entry);
    }
    if (!engine.hasErrors())
      checkProduct(given, gpus, engine);
    if (!engine.hasErrors())
      checkCombinations(force, gpus, engine);
    return std::move(force);
  }

private:
  /// Sizes are those of the workers: they come first.
  bool countServers(std::string_view text) {
    bool areGiven = false, areUsed = false;
    constexpr std::string_view key = "servers=";
    for (std::string_view entry : splitEntries(text)) {
      areUsed |= entry.starts_with("parameter-server=");
      if (!entry.starts_with(key))
        continue;
      areGiven = true;
      servers.servers = parseInteger(entry.substr(key.size())).value_or(1);
    }
    // A forward pass has nothing to keep, and is told so.
    if (!isTraining)
      return true;
    if (!checkServers(servers.servers, areGiven, areUsed, gpus, engine))
      return false;
    if (areUsed)
      gpus -= servers.servers;
    servers.workers = gpus;
    return true;
  }

  void parseEntry(std::string_view entry) {
    size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      engine.error(codes::badForceSyntax)
          << "--force: " << quoteName(entry) << " is not KEY=VALUE";
      return;
    }
    std::string_view name = entry.substr(0, equals);
    std::string_view value = entry.substr(equals + 1);
    const auto &keys = getForceKeys();
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
    std::string text = std::string(key.name) + "=" + escapeName(value);
    size_t count = key.form == ForceForm::grid2   ? 2
                   : key.form == ForceForm::grid3 ? 3
                                                  : 1;
    if (key.form == ForceForm::word) {
      if (isWordOf(key, value))
        return true;
      std::vector<std::string> words(key.words.begin(), key.words.end());
      engine.error(codes::badOptionValue)
          << "--force: " << text << " is none of " << joinText(words, ", ");
      return false;
    }
    ForcedSizes forced{std::string(key.name), parseSizes(value, count)};
    if (forced.sizes.empty()) {
      engine.error(codes::badOptionValue)
          << "--force: " << text << " is not "
          << (count == 1   ? "a positive number"
              : count == 2 ? "ROWSxCOLUMNS"
                           : "three sizes AxBxC");
      return false;
    }
    if (!key.isParallelism)
      return true;
    if (!checkSizes(forced, gpus, engine))
      return false;
    given.push_back(std::move(forced));
    return true;
  }

  void take(const ForceKey &key, std::string_view value) {
    if (key.isForTraining && !isTraining) {
      if (value != key.neutral)
        engine.error(codes::unsupportedOption).help("add --train")
            << "--force: " << std::string(key.name) << "=" << escapeName(value)
            << " is for training";
      return;
    }
    if (key.name == "dp")
      force.dataSize = parseInteger(value);
    else if (key.name == "tp1d")
      force.tensorSize = parseInteger(value);
    else if (key.name == "tp2d")
      takeGrid(ForcedGrid::Kind::grid2d);
    else if (key.name == "tp2.5d")
      takeGrid(ForcedGrid::Kind::grid2_5d);
    else if (key.name == "tp3d")
      takeGrid(ForcedGrid::Kind::grid3d);
    else if (key.name == "cp")
      force.contextSize = parseInteger(value);
    else if (key.name == "ep")
      force.expertSize = parseInteger(value);
    else if (key.name == "pp")
      force.pipelineSize = parseInteger(value);
    else if (key.name == "sp")
      force.sequenceParallel = value == "on";
    else if (key.name == "schedule")
      takeSchedule(value);
    else if (key.name == "micro-batches")
      force.microBatches = parseInteger(value);
    else if (key.name == "zero")
      force.zeroStage = static_cast<int>(*parseInteger(value));
    else if (key.name == "recompute")
      force.recompute = value == "full"        ? RecomputeKind::full
                        : value == "selective" ? RecomputeKind::selective
                                               : RecomputeKind::none;
    else if (key.name == "offload")
      takeOffload(value);
    else if (key.name == "parameter-server")
      takeServerMode(value);
  }

  /// A grid of one rank is no grid: it asks for no tensor parallelism.
  void takeGrid(ForcedGrid::Kind kind) {
    const ForcedSizes &forced = given.back();
    if (forced.getProduct() == 1)
      force.tensorSize = 1;
    else
      force.grid = {kind, {forced.sizes.begin(), forced.sizes.end()}};
  }

  void takeSchedule(std::string_view value) {
    std::optional<ScheduleName> name = parseScheduleName(value);
    PARPLAN_CHECK(name, "a word of the key is the name of a schedule");
    // The forward passes of gpipe are all of it.
    if (!isTraining && name->kind == ScheduleKind::gpipe)
      name->kind = ScheduleKind::forwardOnly;
    if (hasBackward(name->kind) != isTraining) {
      engine.error(codes::impossibleForce)
              .help(isTraining ? "try schedule=1f1b"
                               : "try schedule=forward-only, or with several "
                                 "chunks per rank schedule=forward-only:2; or "
                                 "add --train")
          << "--force: schedule=" << escapeName(value)
          << (isTraining ? " has no backward passes, and a training step does"
                         : " orders backward passes, and a forward pass has "
                           "none");
      return;
    }
    force.schedule = {name->kind, name->chunks};
  }

  /// `async` alone lets a worker be one step ahead of another.
  void takeServerMode(std::string_view value) {
    force.servers = servers;
    if (value == "sync")
      return;
    size_t equals = value.find('=');
    force.servers->staleness = equals == std::string_view::npos
                                   ? 1
                                   : *parseInteger(value.substr(equals + 1));
  }

  /// Several kinds of values are offloaded together, each to one tier.
  void takeOffload(std::string_view value) {
    bool isFirst = !force.offload;
    OffloadChoice &choice = isFirst ? force.offload.emplace() : *force.offload;
    offloads.emplace_back(value);
    auto contradict = [&] {
      engine.error(codes::badForceSyntax)
              .help("give one tier for each of optimizer, parameters and "
                    "activations, or none alone")
          << "--force: offload=" << joinText(offloads, ", offload=")
          << " contradict each other";
    };
    if (offloads.size() > 1 && llvm::is_contained(offloads, "none"))
      return contradict();
    if (value == "activations:cpu")
      choice.activations = true;
    size_t colon = value.find(':');
    if (colon == std::string_view::npos || value == "activations:cpu")
      return;
    MemoryTier &tier =
        value.starts_with("optimizer") ? choice.optimizer : choice.parameters;
    MemoryTier wanted =
        value.substr(colon + 1) == "cpu" ? MemoryTier::host : MemoryTier::nvme;
    if (tier != MemoryTier::device && tier != wanted)
      return contradict();
    tier = wanted;
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
    if (std::optional<Algorithm> algorithm =
            parseAlgorithm(std::string(name))) {
      force.nodes.push_back({std::string(glob), *algorithm});
      return;
    }
    std::vector<std::string> known;
    for (Algorithm algorithm : allAlgorithms)
      known.push_back(stringifyAlgorithm(algorithm).str());
    DiagnosticBuilder error = engine.error(codes::badOptionValue);
    error << "--force: unknown algorithm " << quoteName(name);
    error.help(suggest(name, known))
        .help("algorithms are " + joinText(known, ", "));
  }

  int64_t gpus;
  bool isTraining;
  DiagnosticEngine &engine;
  ForceOptions force;
  /// What `parameter-server` takes.
  ServerChoice servers;
  std::set<std::string_view> seen;
  std::vector<ForcedSizes> given;
  /// Values of `offload`, in order.
  std::vector<std::string> offloads;
};

} // namespace

ForceOptions parplan::parseForce(std::string_view text, int64_t gpus,
                                 bool isTraining, DiagnosticEngine &engine) {
  return ForceParser(gpus, isTraining, engine).parse(text);
}

std::vector<std::string> parplan::splitForce(std::string_view text) {
  std::vector<std::string> entries;
  for (std::string_view entry : splitEntries(text))
    if (!entry.empty())
      entries.emplace_back(entry);
  return entries;
}

std::vector<std::string> parplan::printOffload(const OffloadChoice &choice) {
  std::vector<std::string> values;
  auto add = [&](const std::string &what, MemoryTier tier) {
    if (tier != MemoryTier::device)
      values.push_back(what + (tier == MemoryTier::nvme ? ":nvme" : ":cpu"));
  };
  add("optimizer", choice.optimizer);
  add("parameters", choice.parameters);
  add("activations",
      choice.activations ? MemoryTier::host : MemoryTier::device);
  return values;
}
