//===- UnitNetwork.cpp - The costs of a unit as a network -----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitNetwork.h"

#include "PhaseComponents.h"
#include "UnitLifetimes.h"
#include "UnitRuns.h"

#include "parplan/Planner/Evaluator.h"

#include <map>
#include <tuple>

using namespace parplan;

using Part = StepUnits::Part;

namespace {

class NetworkBuilder {
public:
  NetworkBuilder(const UnitSample &sample, const StepUnits &units,
                 UnitLists &tables, int kind, const UnitRemaking &remaking,
                 UnitScope scope, SecondsOfOps opSeconds,
                 std::shared_ptr<FactorPool> pool)
      : sample(sample), problem(sample.problem), units(units), tables(tables),
        kind(kind), range(sample.kinds[kind]), remaking(remaking), scope(scope),
        opSeconds(opSeconds), runs(sample, kind, remaking),
        lifetimes(sample, runs) {
    made.network = VectorNetwork(std::move(pool));
  }

  UnitNetwork build() {
    addVariables();
    addDecisions();
    for (int value = range.firstValue; value < range.endValue; ++value) {
      if (!coversValue(value))
        continue;
      if (sample.values[value].part != Part::foreign)
        addValue(value);
      else if (sample.values[value].tiedTo >= 0)
        addAllCopies(value);
    }
    return std::move(made);
  }

private:
  const std::vector<int> &getRests(int value) const {
    return tables.rests[value];
  }

  bool coversOp(const PlanningOp &op) const {
    return scope == UnitScope::all ||
           (scope == UnitScope::samples && op.batchFactor >= 0);
  }
  bool coversValue(int value) const {
    if (scope == UnitScope::variables)
      return !getRests(value).empty();
    return scope != UnitScope::samples ||
           problem.values[value].batchDimension >= 0;
  }

  void addVariables() {
    UnitVariables &variables = made.variables;
    auto addSlots = [&](int boundary, std::vector<int> &slots) {
      if (boundary < 0)
        return;
      for (const std::vector<int> &rests : tables.slotRests[boundary])
        slots.push_back(
            made.network.addVariable(static_cast<int>(rests.size())));
    };
    addSlots(units.kinds[kind].before, variables.before);
    addSlots(units.kinds[kind].behind, variables.behind);
    variables.ofDecision.assign(sample.decisions.all.size(), -1);
    for (auto [number, decision] : llvm::enumerate(sample.decisions.all))
      if (decision.leader >= range.firstOp && decision.leader < range.endOp)
        variables.ofDecision[number] =
            made.network.addVariable(tables.choiceCounts[decision.leader]);
    variables.ofPlace.assign(problem.ops.size(), -1);
    for (int op = range.firstOp; op < range.endOp; ++op)
      if (tables.mayMove[op])
        variables.ofPlace[op] = made.network.addVariable(/*choiceCount=*/2);
    variables.ofValue.assign(problem.values.size(), -1);
    for (int value = range.firstValue; value < range.endValue; ++value) {
      const UnitSample::Value &description = sample.values[value];
      int &variable = variables.ofValue[value];
      if (description.part == Part::before)
        variable = variables.before[description.slot];
      else if (description.part == Part::behind)
        variable = variables.behind[description.slot];
      else if ((description.part != Part::foreign || description.tiedTo >= 0) &&
               problem.values[value].updates < 0 && getRests(value).size() > 1)
        variable =
            made.network.addVariable(static_cast<int>(getRests(value).size()));
      if (description.tiedTo >= 0 && variable >= 0)
        variables.tied.push_back(variable);
    }
    // What replaces a variable lies as it does.
    for (int value = range.firstValue; value < range.endValue; ++value)
      if (int updated = problem.values[value].updates; updated >= 0)
        variables.ofValue[value] = variables.ofValue[updated];
  }

  int getChoiceCount(int op) const { return tables.choiceCounts[op]; }
  int getVariable(int op) const {
    return made.variables.ofDecision[sample.decisions.ofOp[op]];
  }

  void addDecisions() {
    std::map<int, std::vector<Components>> costs;
    for (const UnitRuns::Run &run : runs.all) {
      auto &ofDecision = costs[getVariable(run.op)];
      ofDecision.resize(getChoiceCount(run.op));
      if (!coversOp(problem.ops[run.op]))
        continue;
      int component = getComponent(sample, run.op, run.phase);
      if (made.variables.ofPlace[run.op] >= 0)
        addPlaces(run.op, component);
      else
        for (auto [choice, seconds] : llvm::enumerate(opSeconds.all[run.op]))
          ofDecision[choice][component] += seconds;
    }
    for (auto &[variable, ofChoices] : costs) {
      VectorNetwork::Factor factor;
      factor.addVariable(variable, static_cast<int>(ofChoices.size()));
      for (const Components &cost : ofChoices)
        factor.add(cost);
      made.network.add(std::move(factor));
    }
  }

  /// On the device or on the host.
  void addPlaces(int op, int component) {
    VectorNetwork::Factor factor;
    factor.addVariable(getVariable(op), getChoiceCount(op));
    factor.addVariable(made.variables.ofPlace[op], /*choiceCount=*/2);
    for (const std::array<double, 2> &places : opSeconds.ofPlaces[op])
      for (double seconds : places) {
        Components cost{};
        cost[component] = seconds;
        factor.add(cost);
      }
    made.network.add(std::move(factor));
  }

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  void addValue(int value) {
    addResting(value);
    if (int maker = sample.values[value].maker; maker >= 0) {
      addMaking(value, maker, sample.phases[maker]);
      if (runs.isRemade[value])
        addMaking(value, maker, Phase::inputGradient);
    }
    if (problem.values[value].kind != ValueKind::constant)
      addAllCopies(value);
  }

  void addAllCopies(int value) {
    addCopies(value, runs.readsOf[value]);
    addCopies(value, runs.remadeReadsOf[value]);
  }

  /// True if one is before the backward pass and the other is not.
  static bool isAcross(Phase first, Phase last) {
    return first <= Phase::forward && last > Phase::forward;
  }

  /// A table over the layouts of a value, and over the place that moves it.
  void addUnary(int value, llvm::function_ref<Components(int)> getCost) {
    VectorNetwork::Factor factor;
    llvm::ArrayRef<int> rests = getRests(value);
    int variable = made.variables.ofValue[value], mover = tables.movers[value];
    if (variable >= 0)
      factor.addVariable(variable, static_cast<int>(rests.size()));
    else
      rests = rests.take_front(1);
    if (mover >= 0)
      factor.addVariable(made.variables.ofPlace[mover], /*choiceCount=*/2);
    for (int rest : rests) {
      factor.add(getCost(rest));
      if (mover >= 0)
        factor.add(Components{}); // It is on the host.
    }
    made.network.add(std::move(factor));
  }

  /// Bytes at rest for the whole step or for every micro-batch in flight.
  void addResting(int value) {
    const PlanningValue &description = problem.values[value];
    if (description.updates >= 0 ||
        tables.movers[value] == UnitLists::otherMover)
      return;
    double count = 0;
    int component = permanent;
    if (description.kind != ValueKind::activation) {
      bool isPerBatch = description.kind == ValueKind::input &&
                        description.batchDimension >= 0;
      count = isPerBatch ? static_cast<double>(problem.microBatches) : 1;
    } else {
      std::tie(component, count) = lifetimes.getLifetime(value);
    }
    double waits = component == saved ? lifetimes.countWaiting(value) : 0;
    if (count == 0 && waits == 0)
      return;
    addUnary(value, [&](int rest) {
      auto bytes = static_cast<double>(
          tables.layouts.getBytes(tables.forms[value], rest));
      Components cost{};
      cost[component] = count * bytes;
      cost[waiting] = waits * bytes;
      return cost;
    });
  }

  /// From what the maker's choices make to what is at rest.
  void addMaking(int value, int maker, Phase phase) {
    const PlanningOp &op = problem.ops[maker];
    auto position = llvm::find(op.results, value) - op.results.begin();
    const std::vector<int> &makings = tables.makings[maker][position];
    int component =
        op.accumulates ? meeting : getComponent(sample, maker, phase);
    std::map<int, int> numbers;
    std::vector<int> classes, distinct;
    for (int layout : makings) {
      auto [it, isNew] =
          numbers.try_emplace(layout, static_cast<int>(numbers.size()));
      if (isNew)
        distinct.push_back(layout);
      classes.push_back(it->second);
    }
    VectorNetwork::Factor factor;
    int variable = made.variables.ofValue[value];
    if (variable >= 0)
      factor.addVariable(variable, static_cast<int>(getRests(value).size()));
    factor.addVariable(getVariable(maker), std::move(classes));
    factor.reserve(getRests(value).size() * distinct.size());
    llvm::ArrayRef<int> rests = getRests(value);
    std::vector<double> seconds =
        tables.layouts.getAllSeconds(tables.forms[value], distinct, rests);
    for (size_t rest = 0; rest < rests.size(); ++rest)
      for (auto [number, layout] : llvm::enumerate(distinct)) {
        Components cost{};
        cost[component] = seconds[number * rests.size() + rest];
        if (lifetimes.isSum(value))
          cost[permanent] += static_cast<double>(
              tables.layouts.getBytes(tables.forms[value], layout));
        if (cost[component] == BoundaryMatrix::impossible)
          factor.add({});
        else
          factor.add(cost);
      }
    made.network.add(std::move(factor));
  }

  /// The copies that the readers of a value need, by its layout at rest and
  /// their choices.
  void addCopies(int value, llvm::ArrayRef<UnitRead> reads) {
    if (reads.empty())
      return;
    VectorNetwork::Factor factor;
    int variable = made.variables.ofValue[value];
    if (variable >= 0)
      factor.addVariable(variable, static_cast<int>(getRests(value).size()));
    // Per decision a choice of each class.
    std::vector<int> decisions;
    for (const UnitRead &read : reads)
      if (int decision = sample.decisions.ofOp[read.op];
          !llvm::is_contained(decisions, decision))
        decisions.push_back(decision);
    std::vector<std::vector<int>> choices;
    int64_t combinations = static_cast<int64_t>(getRests(value).size());
    for (int decision : decisions) {
      std::map<std::vector<int>, int> numbers;
      std::vector<int> classes;
      choices.emplace_back();
      int count = getChoiceCount(sample.decisions.all[decision].leader);
      for (int choice = 0; choice < count; ++choice) {
        std::vector<int> key;
        for (const UnitRead &read : reads)
          if (sample.decisions.ofOp[read.op] == decision)
            key.push_back(tables.uses[read.op][read.position][choice]);
        auto [it, isNew] = numbers.try_emplace(
            std::move(key), static_cast<int>(numbers.size()));
        if (isNew)
          choices.back().push_back(choice);
        classes.push_back(it->second);
      }
      combinations *= static_cast<int64_t>(choices.back().size());
      factor.addVariable(made.variables.ofDecision[decision],
                         std::move(classes));
    }
    constexpr int64_t mostCombinations = 1 << 17;
    // Without it the network is a bound.
    if (combinations > mostCombinations)
      return;
    // Per read its decision, and per choice of it what it uses, by the place in
    // a list of all that is used.
    std::vector<int> ofRead, layouts;
    std::vector<std::vector<int>> placesOf;
    for (const UnitRead &read : reads) {
      ofRead.push_back(static_cast<int>(
          llvm::find(decisions, sample.decisions.ofOp[read.op]) -
          decisions.begin()));
      std::vector<int> &places = placesOf.emplace_back();
      for (int choice : choices[ofRead.back()]) {
        int layout = tables.uses[read.op][read.position][choice];
        auto place = llvm::find(layouts, layout) - layouts.begin();
        if (place == static_cast<std::ptrdiff_t>(layouts.size()))
          layouts.push_back(layout);
        places.push_back(static_cast<int>(place));
      }
    }
    factor.reserve(static_cast<size_t>(combinations));
    std::vector<size_t> places(decisions.size(), 0);
    std::vector<int> used(reads.size());
    for (int rest : getRests(value)) {
      std::vector<CopyCost> copyCosts = getCopyCosts(value, rest, layouts);
      const Sharding &atRest = tables.layouts.get(rest);
      for (;;) {
        for (size_t number = 0; number < reads.size(); ++number)
          used[number] = placesOf[number][places[ofRead[number]]];
        if (auto cost = getCost(value, atRest, reads, used, copyCosts))
          factor.add(*cost);
        else
          factor.add({});
        size_t at = places.size();
        while (at-- > 0 && ++places[at] == choices[at].size())
          places[at] = 0;
        if (at == size_t(-1))
          break;
      }
    }
    made.network.add(std::move(factor));
  }

  /// A copy of a value in another layout than at rest.
  struct CopyCost {
    bool isAtRest;
    double seconds, bytes;
  };
  std::vector<CopyCost> getCopyCosts(int value, int rest,
                                     llvm::ArrayRef<int> layouts) {
    std::vector<CopyCost> costs;
    int form = tables.forms[value];
    std::vector<double> seconds =
        tables.layouts.getAllSeconds(form, {rest}, layouts);
    for (auto [layout, ofCopy] : llvm::zip_equal(layouts, seconds))
      costs.push_back(
          {layout == rest, ofCopy,
           static_cast<double>(tables.layouts.getBytes(form, layout))});
    return costs;
  }

  /// Of the copies that reads use, by their places in `copyCosts`; nullopt:
  /// some cannot be made.
  std::optional<Components> getCost(int value, const Sharding &atRest,
                                    llvm::ArrayRef<UnitRead> reads,
                                    llvm::ArrayRef<int> used,
                                    llvm::ArrayRef<CopyCost> copyCosts) const {
    const UnitSample::Value &inUnit = sample.values[value];
    bool again = remaking.gathersAgain &&
                 problem.values[value].kind == ValueKind::activation;
    bool isCrossing =
        inUnit.part == Part::before || inUnit.part == Part::behind;
    bool isHalf = isCrossing && (inUnit.isReadForwardElsewhere ||
                                 inUnit.isReadBackwardElsewhere);
    double share = isHalf ? 0.5 : 1.0 / inUnit.readingUnits;
    struct Copy {
      int place;
      CopyReader reader;
      Phase first, last;
    };
    llvm::SmallVector<Copy, 4> copies;
    Components cost{};
    for (auto [read, place] : llvm::zip_equal(reads, used)) {
      if (copyCosts[place].isAtRest)
        continue;
      auto shared = llvm::find_if(
          copies, [&, &read = read, place = place](const Copy &copy) {
            return copy.place == place &&
                   sharesCopies(copy.reader, read.reader, atRest, again);
          });
      if (shared != copies.end()) {
        shared->last = read.phase;
        continue;
      }
      if (copyCosts[place].seconds == BoundaryMatrix::impossible)
        return std::nullopt;
      cost[getComponent(sample, read.op, read.phase)] +=
          copyCosts[place].seconds;
      copies.push_back({place, read.reader, read.phase, read.phase});
    }
    for (const Copy &copy : copies) {
      if (isAcross(copy.first, copy.last))
        cost[saved] += copyCosts[copy.place].bytes;
      if (copy.first < Phase::weightGradient &&
          copy.last == Phase::weightGradient)
        cost[waiting] += copyCosts[copy.place].bytes;
    }
    for (double &component : cost)
      component *= share;
    return cost;
  }

  const UnitSample &sample;
  const PlanningProblem &problem;
  const StepUnits &units;
  UnitLists &tables;
  int kind;
  const UnitSample::Range &range;
  const UnitRemaking &remaking;
  UnitScope scope;
  SecondsOfOps opSeconds;
  UnitRuns runs;
  UnitLifetimes lifetimes;
  UnitNetwork made;
};

} // namespace

UnitNetwork parplan::makeUnitNetwork(const UnitSample &sample,
                                     const StepUnits &units, UnitLists &tables,
                                     int kind, const UnitRemaking &remaking,
                                     UnitScope scope, SecondsOfOps opSeconds,
                                     std::shared_ptr<FactorPool> pool) {
  return NetworkBuilder(sample, units, tables, kind, remaking, scope, opSeconds,
                        std::move(pool))
      .build();
}
