//===- Solver.cpp - Rounds of a dual and a search -------------------------===//
//
// A round has two sides that do not see each other: passes of the dual, and
// episodes of the search (two searches once the bound has come to rest). Each
// does an amount of work that is counted, not timed. Between rounds they
// exchange what they found, and values that cannot be in a better answer are
// dropped. So nothing depends on which side is faster; time decides only after
// which round the answer is given.
//
//===----------------------------------------------------------------------===//

#include "parplan/BlockSolver/Solver.h"

#include "lib/BlockSolver/Dual.h"
#include "lib/BlockSolver/Reductions.h"
#include "lib/BlockSolver/Search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>

using namespace parplan;
using namespace parplan::block;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t firstWork = 4'000'000;
constexpr int64_t lastWork = 200'000'000;

class RoundSolver {
public:
  RoundSolver(const Problem &problem, const SolverOptions &options)
      : problem(problem), options(options), start(Clock::now()),
        minPlus(getMinPlus(options.kernel)), network(problem) {
    reduce(network);
    rebuild();
  }

  Solution run(const std::function<void(const Progress &)> &report) {
    double longest = 0, next = 0;
    int64_t work = firstWork;
    while (!isDone() && !isOver(next)) {
      Clock::time_point begin = Clock::now();
      runRound(work);
      exchange();
      ++solution.progress.round;
      prune();
      std::chrono::duration<double> taken = Clock::now() - begin;
      longest = std::max(longest, taken.count());
      int64_t nextWork = std::min(lastWork, 2 * work);
      next =
          longest * static_cast<double>(nextWork) / static_cast<double>(work);
      work = nextWork;
      updateProgress();
      if (report)
        report(solution.progress);
    }
    updateProgress();
    return solution;
  }

private:
  double getSeconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  bool isDone() const { return isClosed || solution.isOptimal(); }

  /// `next`: what the next round would take.
  bool isOver(double next) const {
    if (options.rounds > 0 && solution.progress.round >= options.rounds)
      return true;
    return solution.progress.round > 0 &&
           getSeconds() + 1.2 * next > options.seconds;
  }

  double getCostError() const { return network.precision.getError(); }

  /// Nothing is left that costs less than the best answer.
  void close() {
    isClosed = true;
    solution.lowerBound =
        std::max(solution.lowerBound, solution.cost - getCostError());
  }

  void runRound(int64_t work) {
    bool isDualAtRest = isResting && solution.progress.round % 4 != 0;
    auto runFirst = [&] {
      if (isDualAtRest)
        searches[1]->run(work);
      else
        dual->run(work, solution.cost);
    };
    auto runSecond = [&] { searches[0]->run(work); };
    if (!options.useThreads) {
      runFirst();
      runSecond();
      return;
    }
    std::thread other(runFirst);
    runSecond();
    other.join();
  }

  /// The best answer of all, and what the next round begins with.
  void exchange() {
    if (dual->getBestFittingCost() < solution.cost)
      accept(dual->getBestFitting());
    for (const std::unique_ptr<Search> &search : searches)
      if (search->getBestCost() < solution.cost)
        accept(search->getBest());
    improveBound(dual->getSafeBound());
    std::vector<int> best = restrict(solution.choices);
    double cost = best.empty() ? forbidden : getCost(*graph, best);
    for (const std::unique_ptr<Search> &search : searches)
      search->setHints(best, cost, dual->getBestPrices(), dual->getRounding());
  }

  void accept(const std::vector<int> &choices) {
    Choices whole = expand(choices);
    Evaluation evaluation = evaluate(problem, whole);
    // Costs that are no whole numbers are rounded in the graph.
    if (evaluation.peak <= problem.usageLimit &&
        evaluation.cost < solution.cost) {
      solution.cost = evaluation.cost;
      solution.choices = std::move(whole);
    }
  }

  void improveBound(double bound) {
    // Values were dropped that no better answer than the best one has.
    double safe = bound - getCostError();
    if (problem.costStep > 0 && getCostError() == 0 && std::isfinite(safe))
      safe = std::ceil(safe / problem.costStep) * problem.costStep;
    safe = std::min(safe, solution.cost);
    if (safe > solution.lowerBound + 1e-6 * std::abs(safe))
      roundOfGain = solution.progress.round;
    solution.lowerBound = std::max(solution.lowerBound, safe);
    isResting =
        solution.progress.round > roundOfGain + (graph->size() < 1000 ? 6 : 24);
  }

  Choices expand(const std::vector<int> &choices) const {
    Choices whole(problem.nodes.size(), -1);
    for (int node = 0; node < graph->size(); ++node)
      whole[graph->getOriginal(node)] = graph->getId(node, choices[node]);
    network.undo.expand(whole);
    return whole;
  }

  /// An answer in the values of the graph; empty if one of them is gone.
  std::vector<int> restrict(const Choices &whole) const {
    if (whole.empty())
      return {};
    std::vector<int> choices;
    for (int node = 0; node < graph->size(); ++node) {
      int value = graph->findValue(node, whole[graph->getOriginal(node)]);
      if (value < 0)
        return {};
      choices.push_back(value);
    }
    return choices;
  }

  /// Drops values whose least cost exceeds that of the best answer, and
  /// reduces again if that is worth beginning anew.
  void prune() {
    int64_t round = solution.progress.round;
    if (isDone() || solution.choices.empty() || (round % 8 != 0 && round > 8) ||
        graph->size() == 0)
      return;
    std::vector<char> hopeless =
        dual->findHopeless(solution.cost + getCostError());
    int64_t count = std::count(hopeless.begin(), hopeless.end(), 1);
    bool isWorthIt =
        count * 10 > graph->getValueCount() ||
        (count > 0 && graph->size() < 1000 && dual->getPasses() > 1000);
    if (!isWorthIt)
      return;
    for (int node = 0; node < graph->size(); ++node)
      for (int value = 0; value < graph->getDomain(node); ++value)
        if (hopeless[graph->getOffset(node) + value]) {
          Network::Node &from = network.nodes[graph->getOriginal(node)];
          from.costs[value] = forbidden;
        }
    reduce(network);
    rebuild();
  }

  /// Graph, dual and searches of the network as it is now.
  void rebuild() {
    if (network.isInfeasible)
      return close();
    // Prices go to the times that took over.
    std::vector<double> pricesById(network.timeHeirs.size(), 0);
    if (dual) {
      std::vector<char> isLeft(pricesById.size(), 0);
      for (int id : network.timeIds)
        isLeft[id] = 1;
      for (size_t time = 0; time < graph->getTimeIds().size(); ++time) {
        int id = graph->getTimeIds()[time];
        while (id >= 0 && !isLeft[id])
          id = network.timeHeirs[id];
        if (id >= 0)
          pricesById[id] += dual->getBestPrices()[time];
      }
    }
    graph = std::make_unique<Graph>(network);
    std::vector<double> prices;
    for (int id : graph->getTimeIds())
      prices.push_back(pricesById[id]);
    dual = std::make_unique<Dual>(*graph, minPlus, prices);
    if (graph->size() == 0) {
      accept({});
      return close();
    }
    for (int i = 0; i < 2; ++i) {
      uint64_t seed = options.seed * 1000003 + ++searchCount;
      searches[i] = std::make_unique<Search>(*graph, minPlus, seed);
    }
  }

  void updateProgress() {
    Progress &progress = solution.progress;
    progress.seconds = getSeconds();
    progress.cost = solution.cost;
    progress.lowerBound = solution.lowerBound;
    if (!graph)
      return;
    progress.nodes = graph->size();
    progress.values = graph->getValueCount();
    progress.times = graph->getTimeCount();
    progress.livePrices = static_cast<int>(std::count_if(
        dual->getBestPrices().begin(), dual->getBestPrices().end(),
        [](double price) { return price > 0; }));
    progress.passes = dual->getPasses();
    progress.episodes = 0;
    for (const std::unique_ptr<Search> &search : searches)
      progress.episodes += search ? search->getEpisodes() : 0;
  }

  const Problem &problem;
  SolverOptions options;
  Clock::time_point start;
  MinPlus minPlus;
  Network network;
  Solution solution;
  std::unique_ptr<Graph> graph;
  std::unique_ptr<Dual> dual;
  std::unique_ptr<Search> searches[2];
  uint64_t searchCount = 0;
  bool isClosed = false;
  int64_t roundOfGain = 0;
  bool isResting = false;
};

} // namespace

Solution block::solve(const Problem &problem, const SolverOptions &options,
                      const std::function<void(const Progress &)> &report) {
  return RoundSolver(problem, options).run(report);
}
