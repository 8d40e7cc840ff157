//===- Assignment.cpp - One answer, its cost and its memory ---------------===//

#include "lib/BlockSolver/Assignment.h"

#include <algorithm>

using namespace parplan;
using namespace parplan::block;

AnswerCost block::judge(const Graph &graph, const std::vector<int> &choices) {
  AnswerCost cost{graph.getConstant(), 0};
  for (int node = 0; node < graph.size(); ++node) {
    cost.allowed += graph.getCosts(node)[choices[node]];
    for (int link = graph.getLinkBegin(node); link < graph.getLinkMiddle(node);
         ++link) {
      const Graph::Link &end = graph.getLink(link);
      double entry = graph.getTable(
          end)[static_cast<size_t>(choices[end.other]) * graph.getPadded(node) +
               choices[node]];
      if (graph.isForbidden(entry))
        ++cost.forbiddenPairs;
      else
        cost.allowed += entry;
    }
  }
  return cost;
}

double block::getCost(const Graph &graph, const std::vector<int> &choices) {
  AnswerCost cost = judge(graph, choices);
  return cost.forbiddenPairs > 0 ? forbidden : cost.allowed;
}

Assignment::Assignment(const Graph &graph) : graph(graph) {
  assign(std::vector<int>(graph.size(), 0));
}

void Assignment::assign(std::vector<int> values) {
  choices = std::move(values);
  AnswerCost judged = judge(graph, choices);
  cost = judged.allowed + judged.forbiddenPairs * graph.getCap();
  over.assign(graph.getTimeCount(), 0);
  for (int node = 0; node < graph.size(); ++node)
    for (const Graph::Span &span : graph.getSpans(node)) {
      double usage = graph.getUsages(span)[choices[node]];
      over[span.begin] += usage;
      if (span.end < graph.getTimeCount())
        over[span.end] -= usage;
    }
  excess = 0;
  double usage = 0;
  for (size_t time = 0; time < over.size(); ++time) {
    usage += over[time];
    over[time] = usage - graph.getSlack()[time];
    excess += std::max(0.0, over[time]);
  }
}

void Assignment::addUsage(const Graph::Span &span, double change) {
  double before = 0, after = 0;
  for (int time = span.begin; time < span.end; ++time) {
    before += std::max(0.0, over[time]);
    over[time] += change;
    after += std::max(0.0, over[time]);
  }
  excess += after - before;
}

void Assignment::set(int node, int value, double costChange) {
  cost += costChange;
  if (value == choices[node])
    return;
  for (const Graph::Span &span : graph.getSpans(node)) {
    const double *usages = graph.getUsages(span);
    if (double change = usages[value] - usages[choices[node]]; change != 0)
      addUsage(span, change);
  }
  choices[node] = value;
}

int Assignment::getWorstTime() const {
  return static_cast<int>(std::max_element(over.begin(), over.end()) -
                          over.begin());
}
