//===- SpaceSearch.cpp - Schedules and meshes, best first -----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/SpaceSearch.h"

#include "SpaceStates.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <set>
#include <utility>

using namespace parplan;

static constexpr double never = std::numeric_limits<double>::infinity();

namespace {

using Clock = std::chrono::steady_clock;

/// How much is known of a configuration; see the levels in the header.
enum class Level { none, scaled, known, relaxed, ops, blocks, memory, plan };

class Search {
public:
  Search(SpaceSource &source, SpaceStates &states,
         std::vector<Configuration> &trail, const SpaceSearchOptions &options)
      : source(source), states(states), trail(trail), options(options),
        start(Clock::now()), callsBefore(states.getCallCount()) {}

  SpaceSearchResult run() {
    listConfigurations();
    startWithSeeds();
    climb();
    raiseAll();
    startWithPlain();
    while (!open.empty() && open.begin()->first < getCutoff()) {
      result.isCutShort = isOver();
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

  double getBest() const {
    return result.plan ? result.plan->evaluation.stepTimeSeconds : never;
  }
  double getCutoff() const { return getBest() * (1 - options.gap); }

  bool isOver() const { return isOver(options.timeBudgetSeconds); }
  bool isOver(double seconds) const {
    if (options.stop && options.stop->load())
      return true;
    std::chrono::duration<double> used = Clock::now() - start;
    return used.count() >
           (result.plan ? seconds : std::max(seconds, options.patienceSeconds));
  }

  void listConfigurations() {
    for (int space = 0; space < source.getSpaceCount(); ++space)
      for (int64_t count : source.getCounts())
        for (ScheduleShape shape : source.getShapes(space)) {
          shape.microBatches = count;
          if (getRefusal(shape))
            continue;
          nodes.push_back({{space, count, shape}});
          if (!isOver())
            nodes.back().bound = getWorkBound(nodes.back().configuration);
        }
    for (size_t number = 0; number < nodes.size(); ++number)
      if (nodes[number].bound != never)
        open.insert({nodes[number].bound, number});
  }

  /// The busiest position works as long as the mean; infinity: the space or the
  /// schedule is impossible.
  double getWorkBound(const Configuration &configuration) {
    SpaceStates::Least &least = states.getLeast(configuration, /*isOwn=*/false);
    if (!least.state || !least.state->fits(configuration.shape))
      return never;
    Weights weights;
    auto batches = static_cast<double>(configuration.microBatches);
    weights.forward = weights.inputGradient = weights.weightGradient = batches;
    return weights.get(least.sum) /
           static_cast<double>(configuration.shape.positions);
  }

  double getLeastBound(const Configuration &configuration, bool isOwn) {
    SpaceStates::Least &least = states.getLeast(configuration, isOwn);
    if (!least.state)
      return never;
    return least.state->getMemoryBound(configuration.shape, getCutoff());
  }

  /// 0: nothing is known.
  double getRelaxedBound(const Configuration &configuration, bool isOfKnown) {
    SpaceState *state = states.getRelaxed(configuration, isOfKnown);
    return state ? state->getBlockBound(configuration.shape, getCutoff()) : 0;
  }

  /// Of those that seem as good the ones with the lowest bounds first.
  std::vector<SpaceSource::Seed> getSeeds() {
    constexpr double nearby = 0.01;
    std::vector<SpaceSource::Seed> all =
        source.getSeeds(options.memoryLimitBytes);
    std::vector<std::pair<double, SpaceSource::Seed>> near;
    for (const SpaceSource::Seed &seed : all)
      if (seed.distance <= all.front().distance + nearby &&
          !isOver(options.timeBudgetSeconds / 2))
        near.emplace_back(
            getEarlyBound({seed.space, seed.shape.microBatches, seed.shape}),
            seed);
    llvm::stable_sort(near, llvm::less_first());
    for (auto [seed, bounded] : llvm::zip(all, near))
      seed = bounded.second;
    return all;
  }

  /// Some plan early: without one no bound is ever too high, and to have bounds
  /// of all that is open takes longest. Of equal cuts alone; seeds stay open.
  void startWithSeeds() {
    constexpr int mostPlans = 2;
    int plans = 0;
    // All is known of these but for their plans in this much memory.
    for (const Configuration &configuration : std::vector(trail))
      planSeed(configuration, /*isQuick=*/true);
    for (const SpaceSource::Seed &seed : getSeeds()) {
      // Without a plan there is nothing to climb from.
      double share = plans == 0 ? 0.5 : 0.25;
      if (isOver(share * options.timeBudgetSeconds) || plans == mostPlans)
        break;
      if (planSeed({seed.space, seed.shape.microBatches, seed.shape},
                   /*isQuick=*/true)) {
        seeds.push_back({seed.space, seed.shape.microBatches});
        ++plans;
      }
    }
  }

  /// From the seeds to what is better near them: other schedules on their
  /// meshes, then, near the best, other numbers of micro-batches, and other
  /// meshes; and at last other cuts.
  void climb() {
    std::set<std::pair<int, int64_t>> tried;
    trySchedules(seeds, tried);
    double before = never;
    while (getBest() < before) {
      before = getBest();
      Configuration best = result.configuration;
      trySchedules({{best.space, best.microBatches}}, tried);
      for (int64_t count : source.getCounts())
        if (count <= 2 * best.microBatches && best.microBatches <= 2 * count)
          trySchedules({{best.space, count}}, tried);
      if (getBest() == before)
        trySchedules(source.getNeighbours({best.space, best.microBatches}),
                     tried);
    }
    planNearBest();
  }

  /// Other cuts, of what is near the best with equal ones.
  void planNearBest() {
    constexpr size_t mostPlans = 4;
    constexpr double nearby = 1.02;
    Timed near = std::exchange(climbed, {});
    sortBySeconds(near);
    near.resize(std::min(near.size(), mostPlans));
    double best = getBest();
    for (const auto &[seconds, configuration] : near)
      if (configuration.shape.positions > 1 && seconds <= nearby * best &&
          !isOver())
        planSeed(configuration, /*isQuick=*/false);
  }

  bool isClimbOver() const { return isOver(options.timeBudgetSeconds / 2); }

  /// With the seconds of a bound or a plan.
  using Timed = std::vector<std::pair<double, Configuration>>;
  static void sortBySeconds(Timed &configurations) {
    llvm::stable_sort(configurations, llvm::less_first());
  }

  /// The places with the lowest bounds first, and of a place the schedules:
  /// their plans close others.
  void trySchedules(llvm::ArrayRef<SpaceSource::Place> places,
                    std::set<std::pair<int, int64_t>> &tried) {
    std::vector<std::pair<double, Timed>> all;
    for (auto [space, count] : places) {
      if (!tried.insert({space, count}).second)
        continue;
      Timed ofPlace;
      for (ScheduleShape shape : source.getShapes(space)) {
        if (isClimbOver())
          return;
        shape.microBatches = count;
        Configuration configuration = {space, count, shape};
        double bound = getRefusal(shape) ? never : getEarlyBound(configuration);
        if (bound < getCutoff())
          ofPlace.emplace_back(bound, configuration);
      }
      sortBySeconds(ofPlace);
      if (!ofPlace.empty())
        all.emplace_back(ofPlace.front().first, std::move(ofPlace));
    }
    llvm::stable_sort(all, llvm::less_first());
    for (size_t place = 0; place < all.size(); ++place) {
      for (size_t next = place + 1; next < all.size(); ++next)
        if (all[next].first < getCutoff() &&
            !states.prepare(all[next].second.front().second,
                            SpaceSource::Next::model))
          break;
      tryPlace(std::move(all[place].second));
    }
  }

  void tryPlace(Timed configurations) {
    for (auto &[bound, configuration] : configurations) {
      if (isClimbOver())
        return;
      if (bound < getCutoff())
        bound = std::max(bound, getBlockBound(configuration));
    }
    sortBySeconds(configurations);
    // Bounds leave out most of what waits for its weight gradients.
    std::stable_partition(configurations.begin(), configurations.end(),
                          [](const auto &entry) {
                            return !splitsBackward(entry.second.shape.kind);
                          });
    for (const auto &[bound, configuration] : configurations)
      if (bound < getCutoff() && !isClimbOver())
        planWithin(configuration, /*isQuick=*/true);
  }

  /// Without networks of its own.
  double getEarlyBound(const Configuration &configuration) {
    double bound = getWorkBound(configuration);
    for (bool isOfKnown : {true, false})
      if (bound < getCutoff())
        bound = std::max(bound, getRelaxedBound(configuration, isOfKnown));
    return bound;
  }

  /// Whatever memory there is; infinity: the space is impossible, or it is
  /// above the cutoff.
  double getBlockBound(const Configuration &configuration) {
    SpaceState *state = states.get(configuration);
    return state ? state->getBlockBound(configuration.shape, getCutoff())
                 : never;
  }

  /// True if there is a plan that fits.
  bool planSeed(const Configuration &configuration, bool isQuick) {
    // What takes too long is sooner known than a plan is found.
    return getEarlyBound(configuration) < getCutoff() &&
           getBlockBound(configuration) < getCutoff() &&
           planWithin(configuration, isQuick);
  }

  /// The same of what is possible, and fast enough without its memory.
  bool planWithin(const Configuration &configuration, bool isQuick) {
    SpaceState *state = states.get(configuration);
    double cutoff = getCutoff();
    if (state->getMemoryBound(configuration.shape, cutoff) >= cutoff)
      return false;
    auto found = state->findPlan(configuration.shape, getBest(), isQuick);
    if (!found)
      return false;
    result.plans += found->judged;
    if (found->plan.refusal || found->plan.excessBytes > 0)
      return false;
    if (isQuick)
      climbed.emplace_back(found->plan.evaluation.stepTimeSeconds,
                           configuration);
    keepBetter(std::move(found->plan), configuration);
    return true;
  }

  void keepBetter(JudgedPlan plan, const Configuration &configuration) {
    if (plan.evaluation.stepTimeSeconds >= getBest())
      return;
    result.plan = std::move(plan);
    result.configuration = configuration;
    if (!llvm::is_contained(trail, configuration))
      trail.push_back(configuration);
  }

  /// Of all that is open the bounds that need no networks of its own: together
  /// they take less time than a few plans, and are most of what is known in the
  /// end where time is short.
  void raiseAll() {
    NodeSet low = open;
    while (!low.empty() && low.begin()->first < getCutoff() &&
           !isOver(options.timeBudgetSeconds * 0.8)) {
      auto [bound, number] = *low.begin();
      low.erase(low.begin());
      if (nodes[number].level >= Level::ops)
        continue;
      open.erase({bound, number});
      lookAhead(low);
      if (advance(number))
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
    while (!some.empty() && some.begin()->first < getCutoff() && !isOver()) {
      auto [bound, number] = *some.begin();
      some.erase(some.begin());
      open.erase({bound, number});
      lookAhead(some);
      double before = getBest();
      if (advance(number)) {
        some.insert({nodes[number].bound, number});
        continue;
      }
      if (nodes[number].level == Level::plan && isEnough(getBest() < before))
        break;
    }
  }

  /// Lets other threads begin with what is likely to be asked for next.
  void lookAhead(const NodeSet &some) {
    constexpr int mostAhead = 64;
    int ahead = 0;
    for (auto [bound, number] : some) {
      const Node &node = nodes[number];
      if (++ahead > mostAhead || bound >= getCutoff())
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
          std::max(node.bound, getLeastBound(configuration, /*isOwn=*/false));
      node.level = Level::scaled;
    } else if (node.level < Level::relaxed) {
      bool isOfKnown = node.level == Level::scaled;
      node.bound =
          std::max(node.bound, getRelaxedBound(configuration, isOfKnown));
      node.level = isOfKnown ? Level::known : Level::relaxed;
    } else if (node.level == Level::relaxed) {
      node.bound =
          std::max(node.bound, getLeastBound(configuration, /*isOwn=*/true));
      node.level = Level::ops;
    } else if (states.isTooLongWithFewer(configuration, getCutoff())) {
      node.bound = never;
    } else {
      SpaceState *state = states.get(configuration);
      if (!state)
        return false;
      if (node.level == Level::blocks && node.bound < getCutoff()) {
        node.bound =
            std::max(node.bound,
                     state->getMemoryBound(configuration.shape, getCutoff()));
        node.level = Level::memory;
      } else if (node.level == Level::memory) {
        plan(number, *state);
        return false;
      } else {
        node.bound = std::max(
            node.bound, state->getBlockBound(configuration.shape, getCutoff()));
        node.level = Level::blocks;
      }
    }
    ++result.evaluations;
    // What is infinite took longer than the cutoff, or cannot be.
    if (node.bound >= getCutoff()) {
      close(getCutoff(), number, /*isCutOff=*/true);
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
    auto found = state.findPlan(node.configuration.shape, getBest());
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
    keepBetter(std::move(plan), node.configuration);
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
    double bound = std::min(closed.first, getBest());
    if (!open.empty())
      bound = std::min(bound, open.begin()->first);
    options.progress({getBest(), bound, result.evaluations,
                      static_cast<int64_t>(open.size())});
  }

  void certify() {
    Certificate &certificate = result.certificate;
    double best = getBest(), bound = closed.first;
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
  std::vector<Configuration> &trail;
  const SpaceSearchOptions &options;
  Clock::time_point start;
  int64_t callsBefore;
  /// Plans that fit and began from equal cuts.
  Timed climbed;
  /// Where seeds have plans.
  std::vector<SpaceSource::Place> seeds;
  std::vector<Node> nodes;
  NodeSet open;
  /// The least bound of what is closed, and whose it is.
  std::pair<double, size_t> closed = {never, 0};
  SpaceSearchResult result;
};

} // namespace

SpaceSearch::SpaceSearch(SpaceSource &source)
    : source(source), states(std::make_unique<SpaceStates>(source)) {}

SpaceSearch::~SpaceSearch() = default;

SpaceSearchResult SpaceSearch::run(const SpaceSearchOptions &options) {
  states->setMemoryLimit(options.memoryLimitBytes);
  return Search(source, *states, trail, options).run();
}

SpaceSearchResult parplan::searchSpaces(SpaceSource &source,
                                        const SpaceSearchOptions &options) {
  return SpaceSearch(source).run(options);
}
