//===- Assignment.h - One answer, its cost and its memory -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_BLOCKSOLVER_ASSIGNMENT_H
#define PARPLAN_LIB_BLOCKSOLVER_ASSIGNMENT_H

#include "lib/BlockSolver/Graph.h"

namespace parplan::block {

/// A value per node of a graph, with cost and usage kept up to date. Usages are
/// whole numbers below 2^53, so that their sums are exact.
class Assignment {
public:
  explicit Assignment(const Graph &graph);

  void assign(std::vector<int> choices);
  /// Another value of one node; `costChange` is what the caller knows already.
  void set(int node, int value, double costChange);

  int operator[](int node) const { return choices[node]; }
  const std::vector<int> &get() const { return choices; }
  /// With the cap for every forbidden pair.
  double getCost() const { return cost; }
  void addCost(double change) { cost += change; }
  bool fits() const { return excess == 0; }
  /// Sum over times of usage above the limit.
  double getExcess() const { return excess; }
  /// Usage minus limit at a time.
  double getExcess(int time) const { return over[time]; }
  int getWorstTime() const;

private:
  void addUsage(const Graph::Span &span, double change);

  const Graph &graph;
  std::vector<int> choices;
  double cost = 0;
  std::vector<double> over;
  double excess = 0;
};

/// What an answer of a graph costs, apart from its forbidden pairs.
struct AnswerCost {
  double allowed = 0;
  int forbiddenPairs = 0;
};

AnswerCost judge(const Graph &graph, const std::vector<int> &choices);

/// What an answer costs; `forbidden` with a forbidden pair.
double getCost(const Graph &graph, const std::vector<int> &choices);

} // namespace parplan::block

#endif // PARPLAN_LIB_BLOCKSOLVER_ASSIGNMENT_H
