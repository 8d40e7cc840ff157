//===- SpaceSearch.cpp - Schedules and meshes, best first -----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/SpaceSearch.h"

#include "LeastSpace.h"
#include "SpaceState.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <set>

using namespace parplan;

static constexpr double never = std::numeric_limits<double>::infinity();

namespace {

using Clock = std::chrono::steady_clock;

/// How much is known of a configuration; see the levels in the header.
enum class Level { none, scaled, ops, blocks, memory, plan };

class Search {
public:
  Search(SpaceSource &source, const SpaceSearchOptions &options)
      : source(source), options(options), start(Clock::now()) {}

  SpaceSearchResult run() {
    listConfigurations();
    startWithPlain();
    while (!open.empty() && open.begin()->first < getCutoff()) {
      result.isCutShort = isOver();
      if (result.isCutShort)
        break;
      size_t number = open.begin()->second;
      open.erase(open.begin());
      advance(number);
      report();
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

  bool isOver() const {
    if (options.stop && options.stop->load())
      return true;
    std::chrono::duration<double> used = Clock::now() - start;
    return used.count() > options.timeBudgetSeconds;
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

  /// What is known of a space before there is a model; null: it is impossible.
  struct Least {
    std::unique_ptr<SpaceState> state;
    CostVector sum;
  };
  /// Of all spaces alike, or of the one.
  Least &getLeast(const Configuration &configuration, bool isOwn) {
    auto [it, isNew] = leasts.try_emplace(
        std::tuple(configuration.space, configuration.microBatches, isOwn));
    Least &least = it->second;
    if (!isNew)
      return least;
    SpaceSource::LeastModel model =
        isOwn ? source.getLeast(configuration.space, configuration.microBatches)
              : source.getLeastOfAll(configuration.space,
                                     configuration.microBatches);
    if (model.units.empty())
      return least;
    auto space = std::make_unique<LeastSpace>(model);
    least.sum = space->getSum();
    least.state =
        std::make_unique<SpaceState>(std::move(space), options.memoryLimitBytes,
                                     source.getInfo(configuration.space));
    return least;
  }

  /// The busiest position works as long as the mean; infinity: the space or the
  /// schedule is impossible.
  double getWorkBound(const Configuration &configuration) {
    Least &least = getLeast(configuration, /*isOwn=*/false);
    if (!least.state || !least.state->fits(configuration.shape))
      return never;
    Weights weights;
    auto batches = static_cast<double>(configuration.microBatches);
    weights.forward = weights.inputGradient = weights.weightGradient = batches;
    return weights.get(least.sum) /
           static_cast<double>(configuration.shape.positions);
  }

  double getLeastBound(const Configuration &configuration, bool isOwn) {
    Least &least = getLeast(configuration, isOwn);
    if (!least.state)
      return never;
    return least.state->getMemoryBound(configuration.shape, getCutoff());
  }

  /// A good plan early: best first over meshes of the usual kind alone, before
  /// all where nothing needs to be made again.
  void startWithPlain() {
    NodeSet plain, kept;
    for (auto [bound, number] : open) {
      const Configuration &configuration = nodes[number].configuration;
      if (!source.getInfo(configuration.space).isPlain)
        continue;
      bool isKept = source.getKeptBytes(configuration.space,
                                        configuration.microBatches) <=
                    options.memoryLimitBytes;
      (isKept ? kept : plain).insert({bound, number});
    }
    while (!kept.empty() && kept.begin()->first < getCutoff() && !isOver())
      raiseFirst(kept);
    while (!plain.empty() && !result.plan && !isOver())
      raiseFirst(plain);
  }

  /// One level more of the first of some open nodes.
  void raiseFirst(NodeSet &some) {
    auto [bound, number] = *some.begin();
    some.erase(some.begin());
    open.erase({bound, number});
    if (!raise(number))
      return;
    open.insert({nodes[number].bound, number});
    some.insert({nodes[number].bound, number});
  }

  /// One level more; false where the configuration is closed by that.
  bool raise(size_t number) {
    Node &node = nodes[number];
    const Configuration &configuration = node.configuration;
    if (node.level == Level::none) {
      node.bound =
          std::max(node.bound, getLeastBound(configuration, /*isOwn=*/false));
      node.level = Level::scaled;
    } else if (node.level == Level::scaled) {
      node.bound =
          std::max(node.bound, getLeastBound(configuration, /*isOwn=*/true));
      node.level = Level::ops;
    } else if (isTooLongWithFewer(configuration)) {
      node.bound = never;
    } else {
      SpaceState *state = getState(configuration);
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

  /// Cut into more micro-batches, the busiest position works no less: where it
  /// works too long with a number of them that divides this one, the model for
  /// this one need not be made.
  bool isTooLongWithFewer(const Configuration &configuration) {
    if (!source.hasProportionalCosts())
      return false;
    auto begin = states.lower_bound({configuration.space, 0});
    auto end =
        states.lower_bound({configuration.space, configuration.microBatches});
    return std::any_of(begin, end, [&](const auto &entry) {
      ScheduleShape shape = configuration.shape;
      shape.microBatches = entry.first.second;
      return entry.second &&
             configuration.microBatches % shape.microBatches == 0 &&
             entry.second->getWorkBound(shape, getCutoff()) >= getCutoff();
    });
  }

  void advance(size_t number) {
    if (raise(number))
      open.insert({nodes[number].bound, number});
  }

  SpaceState *getState(const Configuration &configuration) {
    std::pair place(configuration.space, configuration.microBatches);
    auto [it, isNew] = states.try_emplace(place);
    if (isNew)
      if (auto model =
              source.make(configuration.space, configuration.microBatches))
        it->second = std::make_unique<SpaceState>(
            std::move(model), options.memoryLimitBytes,
            source.getInfo(configuration.space));
    return it->second.get();
  }

  void plan(size_t number, SpaceState &state) {
    Node &node = nodes[number];
    node.level = Level::plan;
    auto found = state.findPlan(node.configuration.shape);
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
    if (seconds < getBest()) {
      result.plan = std::move(plan);
      result.configuration = node.configuration;
    }
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
    for (const auto &[place, state] : states)
      if (state)
        result.oracleCalls += state->getCallCount();
  }

  SpaceSource &source;
  const SpaceSearchOptions &options;
  Clock::time_point start;
  std::vector<Node> nodes;
  NodeSet open;
  std::map<std::tuple<int, int64_t, bool>, Least> leasts;
  std::map<std::pair<int, int64_t>, std::unique_ptr<SpaceState>> states;
  /// The least bound of what is closed, and whose it is.
  std::pair<double, size_t> closed = {never, 0};
  SpaceSearchResult result;
};

} // namespace

SpaceSearchResult parplan::searchSpaces(SpaceSource &source,
                                        const SpaceSearchOptions &options) {
  return Search(source, options).run();
}
