//===- Explain.cpp - parplan explain --------------------------------------===//

#include "lib/Driver/Commands.h"
#include "lib/Driver/Replay.h"
#include "parplan/Support/Text.h"

#include <cmath>

using namespace parplan;

namespace {

/// Reads a plan that may lack anything: what is missing reads as empty.
class Field {
public:
  explicit Field(const Json &value) : value(&value) {}

  Field operator[](const char *key) const {
    static const Json missing;
    if (value->is_object())
      if (auto it = value->find(key); it != value->end())
        return Field(*it);
    return Field(missing);
  }
  std::string getText() const {
    const auto *text = value->get_ptr<const std::string *>();
    return text ? sanitize(*text) : std::string();
  }
  double getNumber() const {
    return value->is_number() ? value->get<double>() : 0;
  }
  int64_t getCount() const {
    return value->is_number_integer() ? value->get<int64_t>() : 0;
  }
  bool isTrue() const { return value->is_boolean() && value->get<bool>(); }
  std::vector<Field> getEntries() const {
    std::vector<Field> entries;
    if (value->is_array())
      for (const Json &entry : *value)
        entries.emplace_back(entry);
    return entries;
  }
  std::vector<std::pair<std::string, Field>> getMembers() const {
    std::vector<std::pair<std::string, Field>> members;
    if (value->is_object())
      for (const auto &[name, member] : value->items())
        members.emplace_back(sanitize(name), Field(member));
    return members;
  }

private:
  const Json *value;
};

/// A line of a label and text, aligned.
std::string printLine(std::string label, const std::string &text) {
  label.resize(std::max<size_t>(label.size() + 1, 24), ' ');
  return label + text + "\n";
}

/// How far the arena is from the least that its buffers could share.
std::string printGap(Field memory) {
  if (memory["lower_bound"].getCount() == 0)
    return "";
  // Hundredths of a percent, rounded up: the least is not claimed lightly.
  double hundredths = std::ceil(memory["gap"].getNumber() * 1e4 - 1e-9);
  if (hundredths <= 0)
    return ", the least that is possible";
  return ", " + formatNumber(hundredths / 100) +
         " % above the least that is possible";
}

std::string printMesh(Field plan) {
  std::vector<std::string> axes;
  for (Field axis : plan["mesh"]["axes"].getEntries())
    axes.push_back(
        axis["name"].getText() + "=" + std::to_string(axis["size"].getCount()) +
        " (" + axis["role"].getText() + ", " + axis["tier"].getText() + ")");
  return axes.empty() ? "one device" : joinText(axes, ", ");
}

/// A line per stage: who runs it, which operators it has, what a pass takes.
std::string printStages(Field plan) {
  std::vector<Field> stages = plan["stages"].getEntries();
  if (stages.size() < 2)
    return "";
  auto getRange = [](const std::vector<Field> &numbers) {
    std::string text = std::to_string(numbers.front().getCount());
    if (numbers.size() > 1)
      text += " to " + std::to_string(numbers.back().getCount());
    return text;
  };
  std::vector<Field> operators = plan["operators"].getEntries();
  auto getName = [](Field op) {
    std::string node = op["node"].getText();
    return node.empty() ? op["op"].getText() : node;
  };
  std::string text =
      printLine("schedule", plan["config"]["schedule"].getText() + " over " +
                                std::to_string(stages.size()) + " stages");
  for (Field stage : stages) {
    std::vector<Field> ranks = stage["ranks"].getEntries(),
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
std::string printSavings(Field plan) {
  int64_t recomputed = 0, offloaded = 0, forward = 0;
  for (Field op : plan["operators"].getEntries()) {
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
  for (Field parameter : plan["parameters"].getEntries()) {
    addTier("parameters", parameter["tier"].getText());
    addTier("optimizer", parameter["optimizer_tier"].getText());
  }
  for (const auto &[name, count] : tiers)
    text += printLine(name, "of " + std::to_string(count) + " initializers");
  return text;
}

/// What the products of the model do, by algorithm.
std::string printAlgorithms(Field plan) {
  std::map<std::string, int64_t> counts;
  for (Field op : plan["operators"].getEntries()) {
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

/// Every initializer that the plan reads, once: trained or not, and why.
std::string printParameters(Field plan) {
  std::string text = "parameters\n";
  std::string last;
  for (Field parameter : plan["parameters"].getEntries()) {
    std::string name = parameter["name"].getText();
    if (name == last)
      continue;
    last = name;
    std::vector<std::string> sizes;
    for (Field size : parameter["shape"].getEntries())
      sizes.push_back(std::to_string(size.getCount()));
    bool isTrained = parameter["trained"].isTrue();
    text += std::string(isTrained ? "  trained  " : "  frozen   ") + name +
            " [" + joinText(sizes, ", ") + "]";
    if (isTrained)
      text +=
          ", ZeRO stage " + std::to_string(parameter["zero_stage"].getCount());
    std::string reason = parameter["reason"].getText();
    text += (reason.empty() ? "" : ": " + reason) + "\n";
  }
  return text;
}

std::string explain(Field plan) {
  Field config = plan["config"], predicted = plan["predicted"],
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
  text +=
      printLine("step", formatSeconds(predicted["step_time_s"].getNumber()));
  for (const auto &[name, seconds] : predicted["breakdown_s"].getMembers())
    // Sums that cancel out leave roundings.
    if (seconds.getNumber() > 1e-12)
      text += printLine("  " + name, formatSeconds(seconds.getNumber()));
  Field memory = predicted["peak_memory_bytes"];
  text += printLine("memory",
                    formatBytes(memory["max"].getCount()) + printGap(memory));
  for (const auto &[name, bytes] : memory["by_kind"].getMembers())
    if (bytes.getCount() > 0)
      text += printLine("  " + name, formatBytes(bytes.getCount()));
  text += printLine("lower bound",
                    formatSeconds(certificate["lower_bound_s"].getNumber()) +
                        (certificate["exact"].isTrue()
                             ? ", which the plan reaches: no better one exists"
                             : ""));
  if (plan["mode"].getText() == "train")
    text += printParameters(plan);
  return text;
}

} // namespace

CommandResult parplan::explainPlan(const std::string &planPath,
                                   DiagnosticEngine &engine) {
  CommandResult result;
  std::optional<PlanFile> plan = readPlan(planPath, engine);
  if (!plan)
    return result;
  result.text = explain(Field(plan->document));
  result.document = {{"plan", std::move(plan->document)}};
  return result;
}
