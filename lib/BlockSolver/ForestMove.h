//===- ForestMove.h - Many nodes changed at once, optimally -----*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_BLOCKSOLVER_FORESTMOVE_H
#define PARPLAN_LIB_BLOCKSOLVER_FORESTMOVE_H

#include "lib/BlockSolver/Assignment.h"
#include "lib/BlockSolver/MinPlus.h"
#include "lib/BlockSolver/Prices.h"
#include "lib/BlockSolver/Random.h"

namespace parplan::block {

/// How trees are judged.
struct MoveRule {
  /// Take a tree's best values only if the limit is exceeded by no more than
  /// before; else raise the price of the worst time. Without it, prices alone
  /// keep memory down.
  bool isHard = true;
  /// Random costs on top, as a part of the spread of a node's costs.
  double noise = 0;
  /// Of all prices. Below 1, failed moves raise none.
  double priceFactor = 1;
  /// Trees have at most this many nodes.
  int treeLimit = 1 << 30;
};

/// A forest move freezes some nodes of a region so that the others form trees,
/// and gives every tree the values that are best beside the frozen ones, by
/// minima up and choices down.
class ForestMove {
public:
  ForestMove(const Graph &graph, MinPlus minPlus);

  /// Nodes with a flag are frozen in any case.
  std::vector<char> isPinned;
  /// Factors on the price of each node.
  std::vector<double> priceFactors;

  /// Changes `answer`, and `prices` where a hard move failed. `region` comes
  /// back in another order. Returns the work, about a unit per nanosecond.
  int64_t run(std::vector<int> &region, const MoveRule &rule,
              Assignment &answer, Prices &prices, Random &random);

private:
  int findRoot(int node);
  void chooseForest(const std::vector<int> &region, int treeLimit);
  void orderTree(int root);
  void solveTree(const MoveRule &rule, const Assignment &answer,
                 const Prices &prices, Random &random);
  void judgeTree(const MoveRule &rule, Assignment &answer, Prices &prices);
  int chooseLeast(const double *costs, int count, Random &random) const;

  const Graph &graph;
  MinPlus minPlus;
  int64_t work = 0;

  // Of the region: whether a node is in the forest, and its tree.
  std::vector<char> isFree, isDone;
  std::vector<int> roots, sizes;
  /// Of the tree: nodes, parents first; the link to the parent, or -1.
  std::vector<int> order, parentLinks, values;
  /// Costs beside frozen nodes without prices, and with all that counts.
  std::vector<double> plain, full;
  std::vector<double> scratch;
  std::vector<int> joined;
};

/// The nodes within some distance of one, at most `size` of them.
std::vector<int> findRegion(const Graph &graph, int start, int size,
                            Random &random, std::vector<char> &isSeen);

} // namespace parplan::block

#endif // PARPLAN_LIB_BLOCKSOLVER_FORESTMOVE_H
