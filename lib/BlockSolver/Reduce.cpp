//===- Reduce.cpp - All reductions until none is possible -----------------===//

#include "lib/BlockSolver/Reductions.h"

using namespace parplan;
using namespace parplan::block;

namespace {

/// One node after the other, cheap rules first; comparing values waits until
/// nothing else is possible.
class Fixpoint {
public:
  Fixpoint(Network &network, const ReductionRules &rules)
      : network(network), rules(rules), changed(network.nodes.size()),
        uncompared(network.nodes.size()) {}

  Worklist &getChanged() { return changed; }

  void run() {
    while (!network.isInfeasible) {
      if (!changed.empty()) {
        int node = changed.pop();
        uncompared.push(node);
        if (network.nodes[node].isAlive)
          reduceNode(node);
      } else if (!uncompared.empty()) {
        int node = uncompared.pop();
        if (network.nodes[node].isAlive && rules.canDominate)
          dropDominated(network, node, changed);
      } else {
        return;
      }
    }
  }

private:
  void reduceNode(int node) {
    if (removeForbidden(network, node, changed))
      return;
    for (int edge : std::vector<int>(network.getEdges(node))) {
      normaliseEdge(network, edge, changed);
      if (removeForbidden(network, node, changed) || network.isInfeasible)
        return;
      if (!network.edges[edge].isAlive)
        continue;
      if (rules.canMerge && mergeTie(network, edge, changed))
        return;
    }
    if (rules.canEliminate)
      eliminate(network, node, changed);
  }

  Network &network;
  ReductionRules rules;
  Worklist changed, uncompared;
};

} // namespace

void block::reduce(Network &network, const ReductionRules &rules) {
  Fixpoint fixpoint(network, rules);
  for (size_t i = 0; i < network.nodes.size(); ++i)
    if (network.nodes[i].isAlive)
      fixpoint.getChanged().push(static_cast<int>(i));
  while (!network.isInfeasible) {
    fixpoint.run();
    if (network.isInfeasible)
      return;
    bool isChanged = dropOversized(network, fixpoint.getChanged());
    if (network.isInfeasible)
      return;
    if (rules.canReduceTimes && reduceTimes(network)) {
      // Spans are fewer now, so values compare differently.
      for (size_t i = 0; i < network.nodes.size(); ++i)
        if (network.nodes[i].isAlive)
          fixpoint.getChanged().push(static_cast<int>(i));
      isChanged = true;
    }
    if (!isChanged)
      return;
  }
}
