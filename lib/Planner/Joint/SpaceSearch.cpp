//===- SpaceSearch.cpp - Schedules and meshes, best first -----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/SpaceSearch.h"

#include "Climb.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <set>
#include <utility>

using namespace parplan;

static constexpr double never = std::numeric_limits<double>::infinity();

namespace {

/// How much is known of a configuration; see the levels in the header.
enum class Level {
  none,
  scaled,
  known,
  relaxed,
  ops,
  blocks,
  memory,
  path,
  plan
};

class Search {
public:
  Search(SpaceSource &source, SpaceStates &states,
         std::vector<Configuration> &trail, const SpaceSearchOptions &options)
      : source(source), states(states), options(options), bounds(states),
        incumbent(result, trail, options),
        climb(source, states, incumbent, trail, options),
        callsBefore(states.getCallCount()) {}

  SpaceSearchResult run() {
    listConfigurations();
    climb.run();
    raiseAll();
    startWithPlain();
    while (!open.empty() && open.begin()->first < incumbent.getCutoff()) {
      result.isCutShort = incumbent.isOver();
      if (result.isCutShort)
        break;
      size_t number = open.begin()->second;
      open.erase(open.begin());
      lookAhead(open);
      advance(number);
    }
    certify();
    return std::move(result);
  }

private:
  struct Node {
    Configuration configuration;
    Level level = Level::none;
    double bound = 0;
  };

  /// By bound, then in the order of the source.
  using NodeSet = std::set<std::pair<double, size_t>>;

  void listConfigurations() {
    for (int space = 0; space < source.getSpaceCount(); ++space)
      for (int64_t count : source.getCounts())
        for (ScheduleShape shape : source.getShapes(space)) {
          shape.microBatches = count;
          if (getRefusal(shape))
            continue;
          nodes.push_back({{space, count, shape}});
          if (!incumbent.isOver())
            nodes.back().bound = bounds.getWork(nodes.back().configuration);
        }
    for (size_t number = 0; number < nodes.size(); ++number)
      if (nodes[number].bound != never)
        open.insert({nodes[number].bound, number});
  }

  /// Of all that is open the bounds that need no networks of its own: together
  /// they take less time than a few plans, and are most of what is known in the
  /// end where time is short. Level by level, so that what comes next is known
  /// to other threads.
  void raiseAll() {
    for (Level level : {Level::scaled, Level::relaxed, Level::ops})
      raiseAllTo(level);
  }

  void raiseAllTo(Level level) {
    NodeSet low;
    for (auto [bound, number] : open)
      if (nodes[number].level < level)
        low.insert({bound, number});
    while (!low.empty() && low.begin()->first < incumbent.getCutoff() &&
           !incumbent.isOver(options.timeBudgetSeconds * 0.8)) {
      auto [bound, number] = *low.begin();
      low.erase(low.begin());
      open.erase({bound, number});
      lookAhead(low);
      if (advance(number) && nodes[number].level < level)
        low.insert({nodes[number].bound, number});
    }
  }

  /// A good plan early: of the narrowest spaces, then best first over those of
  /// the usual kind where nothing needs to be made again; and over all of these
  /// where there is none yet.
  void startWithPlain() {
    auto select = [&](SpaceWidth widest, bool isAnyKept) {
      NodeSet some;
      for (auto [bound, number] : open) {
        const Configuration &configuration = nodes[number].configuration;
        bool isKept = source.getKeptBytes(configuration.space,
                                          configuration.microBatches) <=
                      options.memoryLimitBytes;
        if (source.getInfo(configuration.space).width <= widest &&
            (isKept || isAnyKept))
          some.insert({bound, number});
      }
      return some;
    };
    // Where memory is what matters, batches alone come to nothing.
    constexpr int patience = 4;
    int misses = 0;
    explore(select(SpaceWidth::data, true), [&](bool isBetter) {
      misses = isBetter ? 0 : misses + 1;
      return misses == patience;
    });
    explore(select(SpaceWidth::plain, false), [](bool) { return false; });
    if (!result.plan)
      explore(select(SpaceWidth::plain, true),
              [](bool isBetter) { return isBetter; });
  }

  /// Until nothing better is left, or it is enough after a configuration that
  /// was planned, perhaps for a better plan.
  void explore(NodeSet some, llvm::function_ref<bool(bool)> isEnough) {
    while (!some.empty() && some.begin()->first < incumbent.getCutoff() &&
           !incumbent.isOver()) {
      auto [bound, number] = *some.begin();
      some.erase(some.begin());
      open.erase({bound, number});
      lookAhead(some);
      double before = incumbent.getBest();
      if (advance(number)) {
        some.insert({nodes[number].bound, number});
        continue;
      }
      if (nodes[number].level == Level::plan &&
          isEnough(incumbent.getBest() < before))
        break;
    }
  }

  /// Lets other threads begin with what is likely to be asked for next.
  void lookAhead(const NodeSet &some) {
    constexpr int mostAhead = 64;
    int ahead = 0;
    for (auto [bound, number] : some) {
      const Node &node = nodes[number];
      if (++ahead > mostAhead || bound >= incumbent.getCutoff())
        break;
      if (node.level == Level::none)
        continue;
      using Next = SpaceSource::Next;
      Next next = node.level == Level::scaled    ? Next::perhapsRelaxed
                  : node.level == Level::known   ? Next::relaxed
                  : node.level == Level::relaxed ? Next::least
                                                 : Next::model;
      if (!states.prepare(node.configuration, next))
        break;
    }
  }

  /// One level more; false where the configuration is closed by that.
  bool raise(size_t number) {
    Node &node = nodes[number];
    const Configuration &configuration = node.configuration;
    if (node.level == Level::none) {
      node.bound =
          std::max(node.bound, bounds.getLeast(configuration, /*isOwn=*/false,
                                               incumbent.getCutoff()));
      node.level = Level::scaled;
    } else if (node.level < Level::relaxed) {
      bool isOfKnown = node.level == Level::scaled;
      node.bound =
          std::max(node.bound, bounds.getRelaxed(configuration, isOfKnown,
                                                 incumbent.getCutoff()));
      node.level = isOfKnown ? Level::known : Level::relaxed;
    } else if (node.level == Level::relaxed) {
      node.bound =
          std::max(node.bound, bounds.getLeast(configuration, /*isOwn=*/true,
                                               incumbent.getCutoff()));
      node.level = Level::ops;
    } else if (states.isTooLongWithFewer(configuration,
                                         incumbent.getCutoff())) {
      node.bound = never;
    } else {
      SpaceState *state = states.get(configuration);
      if (!state)
        return false;
      if (node.level == Level::blocks && node.bound < incumbent.getCutoff()) {
        node.bound =
            std::max(node.bound, state->getMemoryBound(configuration.shape,
                                                       incumbent.getCutoff()));
        node.level = Level::memory;
      } else if (node.level == Level::memory) {
        node.bound =
            std::max(node.bound, state->getPathBound(configuration.shape,
                                                     incumbent.getCutoff()));
        node.level = Level::path;
      } else if (node.level == Level::path) {
        plan(number, *state);
        return false;
      } else {
        node.bound =
            std::max(node.bound, state->getBlockBound(configuration.shape,
                                                      incumbent.getCutoff()));
        node.level = Level::blocks;
      }
    }
    ++result.evaluations;
    // What is infinite took longer than the cutoff, or cannot be.
    if (node.bound >= incumbent.getCutoff()) {
      close(incumbent.getCutoff(), number, /*isCutOff=*/true);
      return false;
    }
    return true;
  }

  /// The same for a node that is open no more but for this; true: it is again.
  bool advance(size_t number) {
    bool isOpen = raise(number);
    if (isOpen)
      open.insert({nodes[number].bound, number});
    report();
    return isOpen;
  }

  void plan(size_t number, SpaceState &state) {
    Node &node = nodes[number];
    node.level = Level::plan;
    auto found = state.findPlan(node.configuration.shape, incumbent.getBest());
    close(node.bound, number, /*isCutOff=*/false);
    if (!found)
      return;
    result.plans += found->judged;
    JudgedPlan &plan = found->plan;
    if (plan.refusal) {
      if (!llvm::is_contained(result.refusals, *plan.refusal))
        result.refusals.push_back(*plan.refusal);
      return;
    }
    if (plan.excessBytes > 0) {
      result.leastExcessBytes =
          std::min(result.leastExcessBytes, plan.excessBytes);
      return;
    }
    double seconds = plan.evaluation.stepTimeSeconds;
    PARPLAN_CHECK(node.bound <= seconds * (1 + 1e-9), "the bound ", node.bound,
                  " of ", describe(node.configuration),
                  " is above its plan of ", seconds, " s");
    incumbent.keepBetter(std::move(plan), node.configuration);
  }

  /// Whatever the configuration has takes at least so long.
  void close(double bound, size_t number, bool isCutOff) {
    if (bound == never)
      return;
    result.certificate.pruned += isCutOff;
    if (bound < closed.first)
      closed = {bound, number};
  }

  std::string describe(const Configuration &configuration) const {
    return concat(source.getInfo(configuration.space).name, ", ",
                  configuration.microBatches, " micro-batches, ",
                  printScheduleName(configuration.shape));
  }

  void report() const {
    if (!options.progress)
      return;
    double bound = std::min(closed.first, incumbent.getBest());
    if (!open.empty())
      bound = std::min(bound, open.begin()->first);
    options.progress({incumbent.getBest(), bound, result.evaluations,
                      static_cast<int64_t>(open.size())});
  }

  void certify() {
    Certificate &certificate = result.certificate;
    double best = incumbent.getBest(), bound = closed.first;
    std::optional<size_t> source;
    if (bound != never)
      source = closed.second;
    if (!open.empty() && open.begin()->first < bound)
      std::tie(bound, source) = *open.begin();
    certificate.pruned += static_cast<int64_t>(open.size());
    if (bound >= best) {
      bound = best;
      source.reset();
    }
    result.boundSource =
        source ? describe(nodes[*source].configuration) : "the plan";
    certificate.upperBoundSeconds = result.plan ? best : 0;
    certificate.lowerBoundSeconds = bound;
    certificate.exact = result.plan && bound == best;
    certificate.explored = result.evaluations;
    result.oracleCalls = states.getCallCount() - callsBefore;
  }

  SpaceSource &source;
  SpaceStates &states;
  const SpaceSearchOptions &options;
  SpaceSearchResult result;
  ConfigurationBounds bounds;
  Incumbent incumbent;
  Climb climb;
  int64_t callsBefore;
  std::vector<Node> nodes;
  NodeSet open;
  /// The least bound of what is closed, and whose it is.
  std::pair<double, size_t> closed = {never, 0};
};

} // namespace

SpaceSearch::SpaceSearch(SpaceSource &source)
    : source(source), states(std::make_unique<SpaceStates>(source)) {}

SpaceSearch::~SpaceSearch() = default;

SpaceSearchResult SpaceSearch::run(const SpaceSearchOptions &options) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  states->setMemoryLimit(options.memoryLimitBytes, options.spareBytes);
  SpaceSearchResult result = Search(source, *states, trail, options).run();
  if (result.plan || options.spareBytes == 0)
    return result;
  SpaceSearchOptions rest = options;
  rest.spareBytes = 0;
  rest.timeBudgetSeconds -=
      std::chrono::duration<double>(Clock::now() - start).count();
  return run(rest);
}

SpaceSearchResult parplan::searchSpaces(SpaceSource &source,
                                        const SpaceSearchOptions &options) {
  return SpaceSearch(source).run(options);
}
