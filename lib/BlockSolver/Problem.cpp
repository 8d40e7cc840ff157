//===- Problem.cpp - Faults of problems, costs of choices -----------------===//

#include "parplan/BlockSolver/Problem.h"

#include "parplan/Support/Check.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace parplan;
using namespace parplan::block;

namespace {

bool isCost(double cost) {
  return !std::isnan(cost) && (std::isfinite(cost) || cost > 0);
}

double getLargest(const std::vector<double> &costs) {
  double largest = 0;
  for (double cost : costs)
    if (cost != forbidden)
      largest = std::max(largest, std::abs(cost));
  return largest;
}

} // namespace

std::optional<std::string> block::findFault(const Problem &problem) {
  double costs = 0;
  int64_t budget = largestSum;
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const Node &node = problem.nodes[i];
    if (node.costs.empty())
      return concat("node ", i, " has no value");
    if (node.usages.size() != node.costs.size())
      return concat("node ", i, " has ", node.costs.size(), " costs and ",
                    node.usages.size(), " usages");
    if (!std::all_of(node.costs.begin(), node.costs.end(), isCost))
      return concat("node ", i, " has a cost that is no number");
    costs += getLargest(node.costs);
    if (costs >= largestSum)
      return concat("the costs up to node ", i, " are too large to add up");
    int64_t most = *std::max_element(node.usages.begin(), node.usages.end());
    if (*std::min_element(node.usages.begin(), node.usages.end()) < 0)
      return concat("node ", i, " has a negative usage");
    if (most >= budget)
      return concat("the usages up to node ", i, " are too large to add up");
    budget -= most;
  }
  int64_t count = static_cast<int64_t>(problem.nodes.size());
  for (size_t i = 0; i < problem.edges.size(); ++i) {
    const Edge &edge = problem.edges[i];
    for (int node : {edge.first, edge.second})
      if (node < 0 || node >= count)
        return concat("edge ", i, " joins node ", node, " of ", count);
    size_t entries = problem.nodes[edge.first].costs.size() *
                     problem.nodes[edge.second].costs.size();
    if (edge.costs.size() != entries)
      return concat("edge ", i, " has ", edge.costs.size(), " costs, not ",
                    entries);
    if (!std::all_of(edge.costs.begin(), edge.costs.end(), isCost))
      return concat("edge ", i, " has a cost that is no number");
    costs += getLargest(edge.costs);
    if (costs >= largestSum)
      return concat("the costs up to edge ", i, " are too large to add up");
  }
  return std::nullopt;
}

Evaluation block::evaluate(const Problem &problem, const Choices &choices) {
  PARPLAN_CHECK(choices.size() == problem.nodes.size(),
                "a choice for every node");
  Evaluation evaluation;
  // All changes of a time count before it is compared.
  std::map<int64_t, int64_t> changes;
  for (size_t i = 0; i < choices.size(); ++i) {
    const Node &node = problem.nodes[i];
    evaluation.cost += node.costs[choices[i]];
    if (node.begin >= node.end || node.usages[choices[i]] == 0)
      continue;
    changes[node.begin] += node.usages[choices[i]];
    changes[node.end] -= node.usages[choices[i]];
  }
  for (const Edge &edge : problem.edges)
    evaluation.cost += edge.costs[choices[edge.first] *
                                      problem.nodes[edge.second].costs.size() +
                                  choices[edge.second]];
  int64_t usage = 0;
  for (const auto &[time, change] : changes) {
    usage += change;
    evaluation.peak = std::max(evaluation.peak, usage);
  }
  return evaluation;
}
