//===- Search.h - Local search in episodes ----------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_BLOCKSOLVER_SEARCH_H
#define PARPLAN_LIB_BLOCKSOLVER_SEARCH_H

#include "lib/BlockSolver/ForestMove.h"

namespace parplan::block {

/// Looks for cheap answers. An episode begins somewhere (at a rounding of the
/// dual, near the best answer, with one value of a hub forced), raises prices
/// until the limit holds, and improves with forest moves until that has led to
/// nothing for a while.
///
/// All that happens follows from the seed and what `setHints` and `run` are
/// given; `run` stops between two moves, and goes on there.
class Search {
public:
  Search(const Graph &graph, MinPlus minPlus, uint64_t seed);

  /// What others found: an answer that fits or nothing, its cost, and the
  /// dual's prices and rounding.
  void setHints(const std::vector<int> &best, double bestCost,
                const std::vector<double> &prices,
                const std::vector<int> &rounding);
  void run(int64_t work);

  /// The best answer that fits; empty if there is none.
  const std::vector<int> &getBest() const { return best; }
  double getBestCost() const { return bestCost; }
  int64_t getEpisodes() const { return episodes; }
  /// How often a move led to a better answer than any before.
  int64_t getGains() const { return gains; }

private:
  enum class Phase { begin, loosen, repair, polish };

  void begin();
  void loosen();
  void repair();
  void polish();

  // Ways to begin.
  void beginAtRounding();
  void disturbRegion();
  void reoptimisePart();
  void probeHub();

  void drawPriceFactors();
  void scalePrices(double factor);
  void mixPrices();
  bool keepIfBest();
  void move(std::vector<int> &region, const MoveRule &rule);
  int getRandomNode() { return random.below(graph.size()); }
  bool isSmall() const { return graph.size() < 1000; }

  const Graph &graph;
  Random random;
  ForestMove forest;
  Assignment answer;
  Prices prices;
  std::vector<int> all, region;
  std::vector<char> isSeen;

  std::vector<int> best, rounding;
  double bestCost = forbidden;
  std::vector<double> dualPrices;

  Phase phase = Phase::begin;
  /// Soft moves that are left before the repair, and their rule.
  int looseMoves = 0;
  bool isLooseRegional = false;
  MoveRule looseRule;
  int repairs = 0;
  int moves = 0;
  /// Of the episode.
  double episodeCost = forbidden;
  int64_t patience = 0;
  int64_t workOfGain = 0;
  int64_t work = 0;
  int64_t episodes = 0;
  int64_t gains = 0;
};

} // namespace parplan::block

#endif // PARPLAN_LIB_BLOCKSOLVER_SEARCH_H
