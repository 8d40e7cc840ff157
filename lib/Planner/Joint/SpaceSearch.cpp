//===- SpaceSearch.cpp - Schedules and meshes, best first -----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/SpaceSearch.h"

#include "Climb.h"
#include "Frontier.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <cmath>
#include <set>
#include <utility>

using namespace parplan;

namespace {

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
    prepareLater();
    climb.run();
    source.dropLater();
    tellLikely();
    raiseAll();
    startWithPlain();
    while (frontier.getLeastOpen() < incumbent.getCutoff()) {
      result.isCutShort = incumbent.isOver();
      if (result.isCutShort)
        break;
      std::vector<size_t> numbers = frontier.takeBest(incumbent.getCutoff());
      lookAhead(frontier.getOpen());
      if (numbers.size() > 1)
        advanceTogether(numbers);
      else
        advance(numbers.front());
    }
    certify();
    return std::move(result);
  }

private:
  using Level = BoundLevel;
  using Node = Frontier::Node;
  using NodeSet = Frontier::NodeSet;

  void listConfigurations() {
    for (int space = 0; space < source.getSpaceCount(); ++space)
      for (int64_t count : source.getCounts())
        for (ScheduleShape shape : source.getShapes(space)) {
          shape.microBatches = count;
          if (getRefusal(shape))
            continue;
          Node node{{space, count, shape}};
          if (!incumbent.isOver())
            node.bound = bounds.getWork(node.configuration);
          frontier.add(std::move(node));
        }
  }

  /// The climb is the work of one thread; what ops do on the meshes of what is
  /// lowest will be asked for behind it.
  void prepareLater() {
    using Next = SpaceSource::Next;
    for (Next next : {Next::least, Next::variables}) {
      std::set<std::pair<int, int64_t>> places;
      for (auto [bound, number] : frontier.getOpen()) {
        const Configuration &configuration = frontier[number].configuration;
        if (places.insert({configuration.space, configuration.microBatches})
                .second)
          states.prepareLater(configuration, next);
      }
    }
  }

  /// Of all that is open the bounds that need no networks of blocks: together
  /// they take less time than a few plans, and are most of what is known in the
  /// end where time is short. Level by level, so that what comes next is known
  /// to other threads.
  void raiseAll() {
    for (Level level :
         {Level::scaled, Level::relaxed, Level::ops, Level::variables})
      raiseAllTo(level);
  }

  void raiseAllTo(Level level) {
    NodeSet low;
    for (auto [bound, number] : frontier.getOpen())
      if (frontier[number].level < level)
        low.insert({bound, number});
    while (!low.empty() && low.begin()->first < incumbent.getCutoff() &&
           !incumbent.isOver(options.timeBudgetSeconds * 0.8)) {
      auto [bound, number] = *low.begin();
      low.erase(low.begin());
      frontier.take(number);
      lookAhead(low);
      if (advance(number) && frontier[number].level < level)
        low.insert({frontier[number].bound, number});
    }
  }

  /// A good plan early: of the narrowest spaces, then best first over those of
  /// the usual kind where nothing needs to be made again; and over all of these
  /// where there is none yet.
  void startWithPlain() {
    auto select = [&](SpaceWidth widest, bool isAnyKept) {
      NodeSet some;
      for (auto [bound, number] : frontier.getOpen()) {
        const Configuration &configuration = frontier[number].configuration;
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
      frontier.take(number);
      lookAhead(some);
      double before = incumbent.getBest();
      if (advance(number)) {
        some.insert({frontier[number].bound, number});
        continue;
      }
      if (frontier[number].level == Level::plan &&
          isEnough(incumbent.getBest() < before))
        break;
    }
  }

  /// Lets other threads begin with what is likely to be asked for next.
  void lookAhead(const NodeSet &some) {
    constexpr int mostAhead = 64;
    int ahead = 0;
    for (auto [bound, number] : some) {
      const Node &node = frontier[number];
      if (++ahead > mostAhead || bound >= incumbent.getCutoff())
        break;
      std::optional<SpaceSource::Next> next = getLongWork(node.level);
      if (next && !states.prepare(node.configuration, *next))
        break;
    }
  }

  /// Null: the configuration is closed, or impossible.
  SpaceState *findState(size_t number) {
    const Configuration &configuration = frontier[number].configuration;
    double cutoff = incumbent.getCutoff();
    if (!states.isTooLongWithFewer(configuration, cutoff))
      return states.get(configuration);
    ++result.evaluations;
    frontier.close(cutoff, number, /*isCutOff=*/true);
    return nullptr;
  }

  /// One level more of several that are open no more but for this; behind the
  /// path that level is a plan. As long as there is time. What is of different
  /// states is raised at the same time. How many are open again.
  int64_t advanceTogether(llvm::ArrayRef<size_t> numbers) {
    for (size_t number : numbers)
      states.prepare(frontier[number].configuration, SpaceSource::Next::model);
    struct Task {
      size_t number;
      bool isDone = false;
      std::optional<PlanDrafts::Found> found = {};
    };
    // In the order of the best of each state.
    llvm::MapVector<SpaceState *, std::vector<Task>> tasks;
    for (size_t number : numbers)
      if (!tasks.empty() && incumbent.isOver())
        frontier.giveBack(number);
      else if (SpaceState *state = findState(number))
        tasks[state].push_back({number});
    double cutoff = incumbent.getCutoff(), best = incumbent.getBest();
    source.forEach(tasks.size(), [&](size_t place) {
      auto &[state, ofState] = *(tasks.begin() + place);
      for (Task &task : ofState) {
        bool isFirst = place == 0 && &task == ofState.data();
        if (!isFirst && incumbent.isOver())
          return;
        raise(task.number, *state, cutoff, best, task.found);
        task.isDone = true;
      }
    });
    int64_t left = 0;
    for (auto &[state, ofState] : tasks)
      for (Task &task : ofState)
        if (!task.isDone)
          frontier.giveBack(task.number);
        else if (frontier[task.number].level == Level::plan)
          finishPlan(task.number, std::move(task.found));
        else
          left += finish(task.number);
    report();
    return left;
  }

  /// One level more of a configuration, with the plan that is found by that.
  void raise(size_t number, SpaceState &state, double cutoff, double best,
             std::optional<PlanDrafts::Found> &found) {
    const Node &node = frontier[number];
    const ScheduleShape &shape = node.configuration.shape;
    if (isOfState(node.level)) {
      frontier.raise(number, ConfigurationBounds::getNextBoundOfState(
                                 state, shape, node.level, cutoff));
      return;
    }
    frontier.raise(number, node.bound);
    if (!climb.getPlanned(node.configuration))
      found = state.findPlan(shape, best);
  }

  /// After a level more; false where the configuration is closed by that.
  bool finish(size_t number) {
    const Node &node = frontier[number];
    ++result.evaluations;
    // What is infinite took longer than the cutoff, or cannot be.
    if (node.bound >= incumbent.getCutoff()) {
      frontier.close(incumbent.getCutoff(), number, /*isCutOff=*/true);
      return false;
    }
    frontier.giveBack(number);
    return true;
  }

  /// One level more of one that is open no more but for this; true: it is
  /// again.
  bool advance(size_t number) {
    const Node &node = frontier[number];
    if (needsState(node.level))
      return advanceTogether(number) > 0;
    frontier.raise(number, bounds.getNextBound(node.configuration, node.level,
                                               incumbent.getCutoff()));
    bool isOpen = finish(number);
    report();
    return isOpen;
  }

  void finishPlan(size_t number, std::optional<PlanDrafts::Found> found) {
    const Node &node = frontier[number];
    frontier.close(node.bound, number, /*isCutOff=*/false);
    if (auto seconds = climb.getPlanned(node.configuration))
      checkBound(node, *seconds);
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
    checkBound(node, seconds);
    if (incumbent.keepBetter(std::move(plan), node.configuration))
      tellLikely();
  }

  void tellLikely() const {
    if (options.likely && result.plan)
      options.likely(*result.plan, result.configuration);
  }

  void checkBound(const Node &node, double planSeconds) const {
    PARPLAN_CHECK(node.bound <= planSeconds * (1 + 1e-9), "the bound ",
                  node.bound, " of ", describe(node.configuration),
                  " is above its plan of ", planSeconds, " s");
  }

  std::string describe(const Configuration &configuration) const {
    return concat(source.getInfo(configuration.space).name, ", ",
                  configuration.microBatches, " micro-batches, ",
                  printScheduleName(configuration.shape));
  }

  void report() const {
    if (!options.progress)
      return;
    options.progress({incumbent.getBest(),
                      frontier.getLeastBound(incumbent.getBest()).seconds,
                      result.evaluations,
                      static_cast<int64_t>(frontier.getOpen().size())});
  }

  void certify() {
    double best = incumbent.getBest();
    Frontier::LeastBound least = frontier.getLeastBound(best);
    result.boundSource = least.of ? describe(*least.of) : "the plan";
    if (least.of) {
      result.boundMicroBatches = least.of->microBatches;
      result.boundPositions = least.of->shape.positions;
    }
    Certificate &certificate = result.certificate;
    certificate.upperBoundSeconds = result.plan ? best : 0;
    certificate.lowerBoundSeconds = least.seconds;
    certificate.exact = result.plan && least.seconds == best;
    certificate.explored = result.evaluations;
    certificate.pruned = frontier.getPrunedCount();
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
  Frontier frontier;
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
  keepBound(options.memoryLimitBytes, result);
  if (result.plan || options.spareBytes == 0)
    return result;
  SpaceSearchOptions rest = options;
  rest.spareBytes = 0;
  double used = std::chrono::duration<double>(Clock::now() - start).count();
  rest.timeBudgetSeconds -= used;
  // Both searches together have that share of the time.
  if (double left = rest.timeBudgetSeconds; left > 0 && std::isfinite(left))
    rest.shareWithoutPlan =
        std::max(0.0,
                 options.shareWithoutPlan * options.timeBudgetSeconds - used) /
        left;
  return run(rest);
}

void SpaceSearch::keepBound(double memoryLimitBytes,
                            SpaceSearchResult &result) {
  Certificate &certificate = result.certificate;
  if (memoryLimitBytes <= known.memoryLimitBytes &&
      known.seconds > certificate.lowerBoundSeconds) {
    PARPLAN_CHECK(!result.plan ||
                      known.seconds <=
                          certificate.upperBoundSeconds * (1 + 1e-9),
                  "the earlier bound ", known.seconds, " of ", known.source,
                  " is above a plan of ", certificate.upperBoundSeconds, " s");
    certificate.lowerBoundSeconds =
        result.plan ? std::min(known.seconds, certificate.upperBoundSeconds)
                    : known.seconds;
    certificate.exact = result.plan && certificate.lowerBoundSeconds ==
                                           certificate.upperBoundSeconds;
    result.boundSource = known.source;
    result.boundMicroBatches = known.microBatches;
    result.boundPositions = known.positions;
  } else if (result.boundMicroBatches > 0) {
    known = {certificate.lowerBoundSeconds, memoryLimitBytes,
             result.boundSource, result.boundMicroBatches,
             result.boundPositions};
  }
}

SpaceSearchResult parplan::searchSpaces(SpaceSource &source,
                                        const SpaceSearchOptions &options) {
  return SpaceSearch(source).run(options);
}
