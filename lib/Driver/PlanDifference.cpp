//===- PlanDifference.cpp - What differs between two plans ----------------===//

#include "lib/Driver/PlanDifference.h"

#include "lib/Driver/OperatorGroups.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

using namespace parplan;

namespace {

std::string printScalar(PlanField field) {
  if (std::string text = field.getText(); !text.empty())
    return text;
  if (field.isBool())
    return field.isTrue() ? "on" : "off";
  return field.isNumber() ? formatNumber(field.getNumber()) : "";
}

std::string printList(PlanField field) {
  std::vector<std::string> parts;
  for (PlanField entry : field.getEntries())
    parts.push_back(printScalar(entry));
  return joinText(parts, ", ");
}

std::string printAxes(PlanField plan) {
  std::vector<std::string> axes;
  for (PlanField axis : plan["mesh"]["axes"].getEntries())
    axes.push_back(axis["name"].getText() + "=" +
                   std::to_string(axis["size"].getCount()));
  return axes.empty() ? "one device" : joinText(axes, " ");
}

/// Of every position.
std::string describeRoom(PlanField plan) {
  std::vector<std::string> bytes;
  for (PlanField position : plan["config"]["waiting_room_bytes"].getEntries())
    bytes.push_back(formatBytes(position.getCount()));
  return bytes.empty() ? "no limit" : joinText(bytes, ", ");
}

std::string printServers(PlanField plan) {
  PlanField servers = plan["servers"];
  if (servers["mode"].getText().empty())
    return "none";
  std::string text = std::to_string(servers["ranks"].getEntries().size()) +
                     " " + servers["mode"].getText();
  if (servers["mode"].getText() == "async")
    text += ", staleness " + std::to_string(servers["staleness"].getCount());
  return text;
}

/// What a plan is of, in the order in which it is said.
std::vector<std::pair<std::string, std::string>> listSettings(PlanField plan) {
  PlanField cluster = plan["cluster"], config = plan["config"];
  return {
      {"model", plan["model"]["file"].getText()},
      {"cluster", cluster["name"].getText()},
      {"devices", printScalar(cluster["gpus"])},
      {"memory limit", formatBytes(cluster["memory_bytes"].getCount())},
      {"mode", plan["mode"].getText()},
      {"global batch", printScalar(config["global_batch"])},
      {"precision", config["precision"].getText()},
      {"loss", config["loss"].getText()},
      {"optimizer", config["optimizer"].getText()},
      {"learning rates", config["lr_schedule"].getText()},
      {"clipping", printScalar(config["clip_norm"])},
      {"gradient norm", printScalar(config["report_gradient_norm"])},
      {"frozen", printList(config["frozen"])},
      {"forced", printList(config["force"])},
      {"mesh", printAxes(plan)},
      {"servers", printServers(plan)},
      {"micro-batches", printScalar(config["micro_batches"])},
      {"schedule", config["schedule"].getText()},
      {"room of micro-batches", describeRoom(plan)},
      {"stages", std::to_string(plan["stages"].getEntries().size())},
      {"ranks of the zig-zag order", printScalar(config["sequence"]["zigzag"])},
  };
}

/// How a parameter is kept and updated.
std::map<std::string, std::string> describeParameters(PlanField plan) {
  std::map<std::string, std::string> parameters;
  for (PlanField parameter : plan["parameters"].getEntries()) {
    std::string text =
        "ZeRO stage " + std::to_string(parameter["zero_stage"].getCount());
    auto addTier = [&](const char *what, const std::string &tier) {
      if (tier == "cpu" || tier == "nvme")
        text += std::string(", ") + what + " on " +
                (tier == "cpu" ? "the host" : "NVMe");
    };
    addTier("values", parameter["tier"].getText());
    addTier("states", parameter["optimizer_tier"].getText());
    parameters[parameter["name"].getText()] = text;
  }
  return parameters;
}

/// Everything that is done for one node of the model.
struct Node {
  std::string op;
  /// Of its forward operator with most work.
  std::string decision;
  int64_t stage = 0;
  /// Operators that belong to no node of the model count by themselves.
  int64_t count = 1;
  bool isRecomputed = false, waitsOnHost = false;
  double mostFlops = -1;
  std::map<std::string, double> seconds;

  std::string describe() const {
    return decision + (isRecomputed ? ", recomputed" : "") +
           (waitsOnHost ? ", waits on the host" : "");
  }
};

/// `column (n over tp0=4)`
std::string describeDecision(PlanField op,
                             const std::map<std::string, int64_t> &sizes) {
  std::vector<std::string> factors;
  for (const auto &[factor, list] : op["factors"].getMembers()) {
    std::vector<std::string> axes;
    for (PlanField axis : list.getEntries()) {
      auto size = sizes.find(axis.getText());
      axes.push_back(
          axis.getText() +
          (size == sizes.end() ? "" : "=" + std::to_string(size->second)));
    }
    factors.push_back(factor + " over " + joinText(axes, " "));
  }
  std::string algorithm = op["algorithm"].getText();
  return factors.empty() ? algorithm
                         : algorithm + " (" + joinText(factors, ", ") + ")";
}

struct Nodes {
  std::map<std::string, Node> byName;
  int64_t positions = 1;
  bool haveSeconds = true;
};

Nodes collectNodes(PlanField plan) {
  Nodes nodes;
  std::map<std::string, int64_t> sizes;
  for (PlanField axis : plan["mesh"]["axes"].getEntries()) {
    sizes[axis["name"].getText()] = axis["size"].getCount();
    if (axis["role"].getText() == "pipeline")
      nodes.positions = std::max<int64_t>(1, axis["size"].getCount());
  }
  for (PlanField op : plan["operators"].getEntries()) {
    std::string name = op["node"].getText(), type = op["op"].getText();
    auto [place, isNew] = nodes.byName.try_emplace(name.empty() ? type : name);
    Node &node = place->second;
    node.count += name.empty() && !isNew;
    std::string role = op["role"].getText();
    bool isNamesake = role == "forward" || role == "loss";
    double flops = isNamesake ? op["flops"].getNumber() : -0.5;
    if (flops > node.mostFlops) {
      node.mostFlops = flops;
      node.op = type;
      node.decision = describeDecision(op, sizes);
      node.stage = op["stage"].getCount();
    }
    node.isRecomputed |= op["recompute"].getText() == "recompute";
    node.waitsOnHost |= op["recompute"].getText() == "offload";
    nodes.haveSeconds &= op["breakdown_s"].isObject();
    for (const auto &[what, seconds] : op["breakdown_s"].getMembers())
      node.seconds[what] +=
          seconds.getNumber() / static_cast<double>(nodes.positions);
  }
  return nodes;
}

/// Compares the nodes of two plans; those of one alone are not in the other.
class NodeComparison {
public:
  NodeComparison(const Nodes &before, const Nodes &after) {
    std::set<std::string> names;
    for (const Nodes *side : {&before, &after})
      for (const auto &[name, node] : side->byName)
        names.insert(name);
    auto find = [](const Nodes &nodes, const std::string &name) {
      auto found = nodes.byName.find(name);
      return found == nodes.byName.end() ? nullptr : &found->second;
    };
    for (const std::string &name : names)
      compare(name, find(before, name), find(after, name));
  }

  std::vector<OperatorDifference> takeGroups() {
    std::vector<OperatorDifference> list;
    for (auto &[key, group] : groups)
      if (group.before != group.after || std::abs(group.costSeconds) > 1e-12)
        list.push_back(std::move(group));
    std::stable_sort(
        list.begin(), list.end(),
        [](const OperatorDifference &left, const OperatorDifference &right) {
          return std::abs(left.costSeconds) > std::abs(right.costSeconds);
        });
    return list;
  }

  double allSeconds = 0;
  int64_t movedToOtherStages = 0;

private:
  void compare(const std::string &name, const Node *before, const Node *after) {
    const Node &known = after ? *after : *before;
    std::string was = before ? before->describe() : "absent";
    std::string is = after ? after->describe() : "absent";
    std::string general = generalizeName(name);
    OperatorDifference &group = groups[{general, known.op, was, is}];
    group.name = general;
    group.op = known.op;
    group.before = was;
    group.after = is;
    group.count +=
        std::max<int64_t>(before ? before->count : 0, after ? after->count : 0);
    movedToOtherStages += before && after && before->stage != after->stage;
    add(group, before, -1);
    add(group, after, 1);
  }

  void add(OperatorDifference &group, const Node *node, double sign) {
    if (!node)
      return;
    for (const auto &[what, seconds] : node->seconds) {
      group.breakdown[what] += sign * seconds;
      group.costSeconds += sign * seconds;
      allSeconds += sign * seconds;
    }
  }

  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Key, OperatorDifference> groups;
};

double countCommunication(PlanField plan) {
  double bytes = 0;
  PlanField communication = plan["predicted"]["communication"];
  for (PlanField rank : communication["per_rank"].getEntries())
    for (const auto &[kind, call] : rank.getMembers())
      bytes += call["bytes"].getNumber();
  return bytes;
}

void compareParameters(PlanField before, PlanField after,
                       std::vector<Difference> &differences) {
  std::map<std::string, std::string> known = describeParameters(before);
  std::map<std::pair<std::string, std::string>, int64_t> counts;
  for (const auto &[name, text] : describeParameters(after))
    if (auto was = known.find(name); was != known.end() && was->second != text)
      ++counts[{was->second, text}];
  for (const auto &[change, count] : counts)
    differences.push_back(
        {std::to_string(count) + (count == 1 ? " parameter" : " parameters"),
         change.first, change.second});
}

} // namespace

PlanDifference parplan::findDifference(PlanField before, PlanField after) {
  PlanDifference difference;
  auto settings = listSettings(before), others = listSettings(after);
  for (size_t index = 0; index < settings.size(); ++index)
    if (settings[index].second != others[index].second)
      difference.settings.push_back({settings[index].first,
                                     settings[index].second,
                                     others[index].second});
  compareParameters(before, after, difference.counts);

  Nodes old = collectNodes(before), current = collectNodes(after);
  NodeComparison nodes(old, current);
  if (int64_t count = nodes.movedToOtherStages; count > 0)
    difference.counts.push_back(
        {std::to_string(count) + (count == 1 ? " operator" : " operators"), "",
         "in other stages"});
  difference.operators = nodes.takeGroups();

  PlanField was = before["predicted"], is = after["predicted"];
  difference.stepSeconds = {was["step_time_s"].getNumber(),
                            is["step_time_s"].getNumber()};
  difference.peakBytes = {was["peak_memory_bytes"]["max"].getNumber(),
                          is["peak_memory_bytes"]["max"].getNumber()};
  difference.communicationBytes = {countCommunication(before),
                                   countCommunication(after)};
  for (const auto &[name, seconds] : was["breakdown_s"].getMembers())
    difference.breakdown[name].before = seconds.getNumber();
  for (const auto &[name, seconds] : is["breakdown_s"].getMembers())
    difference.breakdown[name].after = seconds.getNumber();
  if (old.haveSeconds && current.haveSeconds)
    difference.restSeconds = difference.stepSeconds.get() - nodes.allSeconds;
  return difference;
}
