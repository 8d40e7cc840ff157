//===- Explain.cpp - parplan explain --------------------------------------===//

#include "lib/Driver/Commands.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/OperatorGroups.h"
#include "lib/Driver/PlanField.h"
#include "lib/Driver/Replay.h"
#include "lib/Driver/ShadowPrices.h"
#include "parplan/Support/Text.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

#include <cmath>

using namespace parplan;

namespace {

/// A line of a label and text, aligned.
std::string printLine(std::string label, const std::string &text) {
  label.resize(std::max<size_t>(label.size() + 1, 24), ' ');
  return label + text + "\n";
}

std::string formatShare(double share) {
  return formatNumber(std::round(share * 1000) / 10) + " %";
}

/// How far the arena is from the least that its buffers could share.
std::string printGap(PlanField memory) {
  if (memory["lower_bound"].getCount() == 0)
    return "";
  // Hundredths of a percent, rounded up: the least is not claimed lightly.
  double hundredths = std::ceil(memory["gap"].getNumber() * 1e4 - 1e-9);
  if (hundredths <= 0)
    return ", the least that is possible";
  return ", " + formatNumber(hundredths / 100) +
         " % above the least that is possible";
}

std::string printMesh(PlanField plan) {
  std::vector<std::string> axes;
  for (PlanField axis : plan["mesh"]["axes"].getEntries())
    axes.push_back(
        axis["name"].getText() + "=" + std::to_string(axis["size"].getCount()) +
        " (" + axis["role"].getText() + ", " + axis["tier"].getText() + ")");
  return axes.empty() ? "one device" : joinText(axes, ", ");
}

/// A line per stage: who runs it, which operators it has, what a pass takes.
/// What micro-batches may have together of the memory of a rank, over all
/// positions; empty: no limit.
std::string printRoom(PlanField plan) {
  std::vector<int64_t> bytes;
  for (PlanField position : plan["config"]["waiting_room_bytes"].getEntries())
    bytes.push_back(position.getCount());
  if (bytes.empty())
    return "";
  auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
  std::string text = formatBytes(*least);
  return *least == *most ? text : text + " to " + formatBytes(*most);
}

std::string printStages(PlanField plan) {
  std::vector<PlanField> stages = plan["stages"].getEntries();
  if (stages.size() < 2)
    return "";
  auto getRange = [](const std::vector<PlanField> &numbers) {
    std::string text = std::to_string(numbers.front().getCount());
    if (numbers.size() > 1)
      text += " to " + std::to_string(numbers.back().getCount());
    return text;
  };
  std::vector<PlanField> operators = plan["operators"].getEntries();
  auto getName = [](PlanField op) {
    std::string node = op["node"].getText();
    return node.empty() ? op["op"].getText() : node;
  };
  PlanField config = plan["config"];
  std::string schedule = config["schedule"].getText() + " over " +
                         std::to_string(stages.size()) + " stages";
  if (std::string room = printRoom(plan); !room.empty())
    schedule += ", micro-batches may have " + room + " a rank";
  std::string text = printLine("schedule", schedule);
  for (PlanField stage : stages) {
    std::vector<PlanField> ranks = stage["ranks"].getEntries(),
                           nodes = stage["nodes"].getEntries();
    if (ranks.empty() || nodes.size() != 2)
      continue;
    std::string names;
    size_t first = nodes.front().getCount(), last = nodes.back().getCount();
    if (first < operators.size() && last < operators.size())
      names =
          ", " + getName(operators[first]) + " to " + getName(operators[last]);
    double backward = stage["input_gradient_s"].getNumber() +
                      stage["weight_gradient_s"].getNumber();
    text += printLine("  stage " + std::to_string(stage["index"].getCount()),
                      "ranks " + getRange(ranks) + ", operators " +
                          getRange(nodes) + names + ", forward " +
                          formatSeconds(stage["forward_s"].getNumber()) +
                          ", backward " + formatSeconds(backward));
  }
  return text;
}

/// What is not kept on the device: recomputed operators, and what is offloaded.
std::string printSavings(PlanField plan) {
  int64_t recomputed = 0, offloaded = 0, forward = 0;
  for (PlanField op : plan["operators"].getEntries()) {
    std::string role = op["role"].getText(), kept = op["recompute"].getText();
    forward += role == "forward" || role == "loss";
    recomputed += kept == "recompute";
    offloaded += kept == "offload";
  }
  std::string text;
  auto addCount = [&](const std::string &label, int64_t count) {
    if (count > 0)
      text += printLine(label, std::to_string(count) + " of " +
                                   std::to_string(forward) +
                                   " operators of the forward pass");
  };
  addCount("recomputed", recomputed);
  addCount("waiting on the host", offloaded);
  std::map<std::string, int64_t> tiers;
  auto addTier = [&](const std::string &what, const std::string &tier) {
    if (tier == "cpu" || tier == "nvme")
      ++tiers[what + " on " + (tier == "cpu" ? "the host" : "NVMe")];
  };
  for (PlanField parameter : plan["parameters"].getEntries()) {
    addTier("parameters", parameter["tier"].getText());
    addTier("optimizer", parameter["optimizer_tier"].getText());
  }
  for (const auto &[name, count] : tiers)
    text += printLine(name, "of " + std::to_string(count) + " initializers");
  return text;
}

/// What the products of the model do, by algorithm.
std::string printAlgorithms(PlanField plan) {
  std::map<std::string, int64_t> counts;
  for (PlanField op : plan["operators"].getEntries()) {
    std::string type = op["op"].getText();
    if (op["role"].getText() == "forward" &&
        (type == "MatMul" || type == "Gemm" || type == "Conv"))
      ++counts[op["algorithm"].getText()];
  }
  std::vector<std::string> parts;
  for (const auto &[name, count] : counts)
    parts.push_back(std::to_string(count) + " " + name);
  return parts.empty() ? "none" : joinText(parts, ", ");
}

/// Every initializer that the plan reads, once: trained or not, and why; those
/// that are called alike and treated alike in one line.
std::string printParameters(PlanField plan) {
  std::vector<std::pair<std::string, int64_t>> lines;
  std::map<std::string, size_t> places;
  std::string last;
  for (PlanField parameter : plan["parameters"].getEntries()) {
    std::string name = parameter["name"].getText();
    if (name == last)
      continue;
    last = name;
    std::vector<std::string> sizes;
    for (PlanField size : parameter["shape"].getEntries())
      sizes.push_back(std::to_string(size.getCount()));
    bool isTrained = parameter["trained"].isTrue();
    std::string text = (isTrained ? "  trained  " : "  frozen   ") +
                       generalizeName(name) + " [" + joinText(sizes, ", ") +
                       "]";
    if (isTrained)
      text +=
          ", ZeRO stage " + std::to_string(parameter["zero_stage"].getCount());
    std::string reason = parameter["reason"].getText();
    text += reason.empty() ? "" : ": " + reason;
    auto [place, isNew] = places.try_emplace(text, lines.size());
    if (isNew)
      lines.emplace_back(text, 0);
    ++lines[place->second].second;
  }
  std::string text = "parameters\n";
  for (const auto &[line, count] : lines)
    text += line +
            (count > 1 ? ", " + std::to_string(count) + " of them" : "") + "\n";
  return text;
}

/// What most of the work is, and what communicates most.
std::string printGroups(PlanField plan) {
  constexpr size_t most = 10;
  std::vector<OperatorGroup> groups = groupOperators(plan);
  double allFlops = 0;
  for (const OperatorGroup &group : groups)
    allFlops += group.flops;
  // What does next to nothing is not worth a line.
  llvm::erase_if(groups, [&](const OperatorGroup &group) {
    return group.flops < 1e-3 * allFlops && group.communication.empty();
  });
  std::string text = "operators\n";
  for (const OperatorGroup &group :
       llvm::ArrayRef<OperatorGroup>(groups).take_front(most))
    text += printLine("  " + group.name + " (" + group.op + ")",
                      describeGroup(group, allFlops));
  if (groups.size() > most)
    text += "  and " + std::to_string(groups.size() - most) +
            " more kinds that do less\n";
  return groups.empty() ? "" : text;
}

/// What the step would be shorter with.
std::string printBinding(PlanField plan) {
  PlanField predicted = plan["predicted"];
  double step = predicted["step_time_s"].getNumber();
  std::string most;
  double seconds = 0;
  for (const auto &[name, part] : predicted["breakdown_s"].getMembers())
    if (part.getNumber() > seconds) {
      most = name;
      seconds = part.getNumber();
    }
  std::string text;
  if (step > 0 && !most.empty())
    text = printLine("most of the step",
                     most + ", " + formatShare(seconds / step));
  double limit = plan["cluster"]["memory_bytes"].getNumber();
  double peak = predicted["peak_memory_bytes"]["max"].getNumber();
  if (limit > 0)
    text += printLine("memory in use", formatShare(peak / limit) + " of " +
                                           formatBytes(std::llround(limit)) +
                                           " a device");
  return text;
}

/// Nothing where there is no model to evaluate the plan on.
std::optional<std::vector<ShadowPrice>> findPrices(const PlanFile &plan,
                                                   const std::string &modelPath,
                                                   DiagnosticEngine &engine) {
  const PlanClaims &claims = plan.claims;
  const std::string &path = modelPath.empty() ? claims.modelFile : modelPath;
  if (modelPath.empty() && !llvm::sys::fs::is_regular_file(path))
    return std::nullopt;
  IRDumper dumper("", engine);
  std::optional<Replay> replay = replayPlan(plan, path, {}, dumper, engine);
  if (!replay)
    return std::nullopt;
  std::vector<ShadowPrice> prices =
      getRatePrices(replay->frontend.graph.problem, replay->answer,
                    replay->cluster, *parsePrecision(claims.precision));
  // Nothing is faster than an exact plan, and a small one is not held back.
  bool mayBind = !PlanField(plan.document)["certificate"]["exact"].isTrue() &&
                 claims.peakBytes > claims.memoryLimitBytes / 4;
  if (mayBind)
    if (auto price = findMemoryPrice(*replay, claims, path))
      prices.insert(prices.begin(), std::move(*price));
  return prices;
}

std::string printPrices(const std::optional<std::vector<ShadowPrice>> &prices) {
  if (!prices)
    return "what more of something is worth: give the model, too\n";
  std::string text = "a step is shorter with\n";
  for (const ShadowPrice &price : *prices)
    text += "  " + price.change + ": by " + formatSeconds(price.seconds) + "\n";
  return prices->empty() ? "" : text;
}

std::string explain(PlanField plan,
                    const std::optional<std::vector<ShadowPrice>> &prices) {
  PlanField config = plan["config"], predicted = plan["predicted"],
            certificate = plan["certificate"];
  std::string text;
  text += printLine("model", plan["model"]["file"].getText());
  text += printLine("mode", plan["mode"].getText());
  text += printLine("mesh", printMesh(plan));
  text += printLine("batch",
                    std::to_string(config["global_batch"].getCount()) +
                        " samples in " +
                        std::to_string(config["micro_batches"].getCount()) +
                        " micro-batches");
  text += printLine("products", printAlgorithms(plan));
  text += printStages(plan);
  text += printSavings(plan);
  text += printGroups(plan);
  text +=
      printLine("step", formatSeconds(predicted["step_time_s"].getNumber()));
  for (const auto &[name, seconds] : predicted["breakdown_s"].getMembers())
    // Sums that cancel out leave roundings.
    if (seconds.getNumber() > 1e-12)
      text += printLine("  " + name, formatSeconds(seconds.getNumber()));
  PlanField memory = predicted["peak_memory_bytes"];
  text += printLine("memory",
                    formatBytes(memory["max"].getCount()) + printGap(memory));
  for (const auto &[name, bytes] : memory["by_kind"].getMembers())
    if (bytes.getCount() > 0)
      text += printLine("  " + name, formatBytes(bytes.getCount()));
  text += printBinding(plan);
  text += printLine("lower bound",
                    formatSeconds(certificate["lower_bound_s"].getNumber()) +
                        (certificate["exact"].isTrue()
                             ? ", which the plan reaches: no better one exists"
                             : ""));
  text += printPrices(prices);
  if (plan["mode"].getText() == "train")
    text += printParameters(plan);
  return text;
}

} // namespace

CommandResult parplan::explainPlan(const std::string &planPath,
                                   const std::string &modelPath,
                                   DiagnosticEngine &engine) {
  CommandResult result;
  std::optional<PlanFile> plan = readPlan(planPath, engine);
  if (!plan)
    return result;
  // Without a model that is asked for, prices are a bonus.
  DiagnosticEngine said;
  std::optional<std::vector<ShadowPrice>> prices =
      findPrices(*plan, modelPath, said);
  if (!modelPath.empty())
    engine.append(std::move(said));
  if (engine.hasErrors())
    return result;
  result.text = explain(PlanField(plan->document), prices);
  result.document = {{"plan", std::move(plan->document)}};
  if (prices) {
    Json &list = result.document["shadow_prices"] = Json::array();
    for (const ShadowPrice &price : *prices)
      list.push_back({{"resource", price.resource},
                      {"change", price.change},
                      {"gain_s", price.seconds}});
  }
  return result;
}
