//===- OperatorGroups.cpp - Operators of a plan, blocks together ----------===//

#include "lib/Driver/OperatorGroups.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <tuple>

using namespace parplan;

std::string parplan::generalizeName(const std::string &name) {
  std::string general;
  for (size_t i = 0; i < name.size(); ++i) {
    bool isDigit = std::isdigit(static_cast<unsigned char>(name[i])) != 0;
    if (!isDigit)
      general += name[i];
    else if (general.empty() || general.back() != '*')
      general += '*';
  }
  // The first of a kind often has no number.
  if (general.size() > 2 && general.ends_with("_*"))
    general.resize(general.size() - 2);
  return general;
}

double OperatorGroup::getCommunicationBytes() const {
  double bytes = 0;
  for (const auto &[call, part] : communication)
    bytes += part;
  return bytes;
}

/// All that is done for one node. What it is called after is its operator of
/// the forward pass with most work.
static std::map<std::string, OperatorGroup> groupByNode(PlanField plan) {
  struct Node : OperatorGroup {
    double mostFlops = -1;
  };
  std::map<std::string, Node> nodes;
  for (PlanField op : plan["operators"].getEntries()) {
    std::string name = op["node"].getText(), type = op["op"].getText();
    Node &node = nodes[name.empty() ? type : name];
    double repeat = std::max<double>(1, op["repeat"].getNumber());
    double flops = op["flops"].getNumber() * repeat;
    node.flops += flops;
    std::string role = op["role"].getText();
    bool isNamesake = role == "forward" || role == "loss" || name.empty();
    if (isNamesake && flops > node.mostFlops) {
      node.mostFlops = flops;
      node.op = type;
      node.algorithm = op["algorithm"].getText();
    }
    for (PlanField call : op["collectives"].getEntries()) {
      std::vector<std::string> axes;
      for (PlanField axis : call["axes"].getEntries())
        axes.push_back(axis.getText());
      node.communication[call["kind"].getText() + " over " +
                         joinText(axes, ",")] +=
          call["bytes"].getNumber() * call["count"].getNumber();
    }
  }
  std::map<std::string, OperatorGroup> groups;
  for (auto &[name, node] : nodes)
    groups.emplace(name, std::move(node));
  return groups;
}

std::vector<OperatorGroup> parplan::groupOperators(PlanField plan) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, OperatorGroup> groups;
  for (const auto &[name, node] : groupByNode(plan)) {
    std::string general = generalizeName(name);
    OperatorGroup &group = groups[{general, node.op, node.algorithm}];
    group.name = general;
    group.op = node.op;
    group.algorithm = node.algorithm;
    ++group.count;
    group.flops += node.flops;
    for (const auto &[call, bytes] : node.communication)
      group.communication[call] += bytes;
  }
  std::vector<OperatorGroup> sorted;
  for (auto &[key, group] : groups)
    sorted.push_back(std::move(group));
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const OperatorGroup &left, const OperatorGroup &right) {
        return std::pair(left.flops, left.getCommunicationBytes()) >
               std::pair(right.flops, right.getCommunicationBytes());
      });
  return sorted;
}

std::string parplan::describeGroup(const OperatorGroup &group,
                                   double allFlops) {
  std::string text = std::to_string(group.count) + " x " +
                     (group.algorithm.empty() ? "update" : group.algorithm);
  if (double share = allFlops > 0 ? group.flops / allFlops : 0; share >= 5e-4)
    text +=
        ", " + formatNumber(std::round(share * 1000) / 10) + " % of the work";
  for (const auto &[call, bytes] : group.communication)
    text += ", " + call + " " + formatBytes(std::llround(bytes));
  return text;
}
