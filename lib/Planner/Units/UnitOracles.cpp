//===- UnitOracles.cpp - Oracles of the units of a real model -------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/UnitOracles.h"

#include "JoinedMesh.h"
#include "UnitAgreement.h"
#include "UnitAnswer.h"
#include "UnitModelStorage.h"
#include "UnitWork.h"
#include "VariableLists.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>

using namespace parplan;

std::vector<UnitMode> parplan::getAllowedModes(const PlanRequest &request) {
  std::vector<UnitMode> modes;
  if (!request.recompute)
    for (int mode = 0; mode < unitModeCount; ++mode)
      modes.push_back(static_cast<UnitMode>(mode));
  else if (*request.recompute == RecomputeKind::none)
    modes = {UnitMode::keep, UnitMode::gatherAgain};
  else if (*request.recompute == RecomputeKind::selective)
    modes = {UnitMode::selective};
  else
    modes = {UnitMode::full};
  return modes;
}

struct parplan::MeshKnowledge {
  /// The oracles of what has no samples.
  struct VariableOracles {
    explicit VariableOracles(UnitLists lists) : lists(std::move(lists)) {}

    UnitLists lists;
    std::once_flag areMade;
    std::vector<UnitOracle> oracles;
  };

  MeshKnowledge(const Mesh &mesh, const PlanCosts &costs)
      : layouts(mesh, costs) {}

  /// One for all that have equal lists.
  std::shared_ptr<VariableOracles> getVariables(VariableLists variables) {
    std::lock_guard guard(lock);
    std::shared_ptr<VariableOracles> &oracles =
        ofVariables[std::move(variables.key)];
    if (!oracles)
      oracles = std::make_shared<VariableOracles>(std::move(variables.lists));
    return oracles;
  }

  LayoutTable layouts;
  std::shared_ptr<FactorPool> pool = std::make_shared<FactorPool>();

private:
  std::mutex lock;
  std::map<std::vector<int64_t>, std::shared_ptr<VariableOracles>> ofVariables;
};

std::shared_ptr<MeshKnowledge>
parplan::makeMeshKnowledge(const Mesh &mesh, const PlanCosts &costs) {
  return std::make_shared<MeshKnowledge>(mesh, costs);
}

struct UnitOracles::Storage {
  const UnitModel::Storage &model;
  PlanRequest request;
  PlanSpace space;
  const PlanCosts &costs;
  std::shared_ptr<MeshKnowledge> known, joined;

  Storage(const UnitModel::Storage &model, const PlanRequest &request,
          const PlanSpace &space, const PlanCosts &costs,
          std::shared_ptr<MeshKnowledge> givenKnown,
          std::shared_ptr<MeshKnowledge> givenJoined)
      : model(model), request(request), space(space), costs(costs),
        known(givenKnown ? std::move(givenKnown)
                         : makeMeshKnowledge(space.mesh, costs)),
        joined(std::move(givenJoined)) {}

  const UnitChoices &getChoices() {
    std::call_once(hasChoices, [&] {
      choices.emplace(model.sample, request, space, costs);
    });
    return *choices;
  }

  UnitTables &getTables() {
    std::call_once(hasTables, [&] {
      tables.emplace(model.sample, model.units, request, space, getChoices(),
                     known->layouts);
    });
    return *tables;
  }

  UnitOracle &getOracle(int kind) { return getOracles(UnitScope::all)[kind]; }

  const UnitRemaking &getRemaking(int kind, int mode) {
    std::call_once(hasRemakings, [&] {
      for (size_t number = 0; number < model.units.kinds.size(); ++number)
        addRemakings(static_cast<int>(number));
    });
    return remakings[kind][mode];
  }

  std::vector<UnitOracle> &getOracles(UnitScope scope) {
    if (scope == UnitScope::variables)
      return getVariables();
    OfScope &own = ofScopes[static_cast<int>(scope)];
    std::call_once(own.isMade, [&] {
      if (getChoices().refusal)
        return;
      getTables();
      own.oracles = makeOracles(scope, *tables, *known);
      own.isReady = true;
    });
    return own.oracles;
  }

  void forget() {
    known->pool->forget();
    works.clear();
    for (OfScope &own : ofScopes)
      if (own.isReady)
        for (UnitOracle &oracle : own.oracles)
          oracle.forget();
  }

private:
  struct OfScope {
    std::once_flag isMade;
    /// Another thread may be making others.
    std::atomic<bool> isReady = false;
    /// Kinds that are nearly equal share what is known, as modes do.
    std::vector<UnitOracle> oracles;
  };

  /// Other spaces have them, too.
  std::vector<UnitOracle> &getVariables() {
    // There are none.
    if (getChoices().refusal)
      return ofScopes[static_cast<int>(UnitScope::variables)].oracles;
    std::call_once(hasVariables, [&] {
      if (!joined)
        joined = makeMeshKnowledge(joinReplicaAxes(space.mesh), costs);
      variables = joined->getVariables(getVariableLists(
          model.sample, model.units, getTables(), joined->layouts));
    });
    std::call_once(variables->areMade, [&] {
      variables->oracles =
          makeOracles(UnitScope::variables, variables->lists, *joined);
    });
    return variables->oracles;
  }

  void addRemakings(int kind) {
    std::vector<UnitRemaking> &ofKind = remakings.emplace_back();
    for (int mode = 0; mode < unitModeCount; ++mode)
      ofKind.push_back(parplan::getRemaking(model.sample, kind,
                                            static_cast<UnitMode>(mode)));
  }

  /// `lists` and `mesh` outlive them. With one mode, as variables have, they
  /// need nothing of this.
  std::vector<UnitOracle> makeOracles(UnitScope scope, UnitLists &lists,
                                      MeshKnowledge &mesh) {
    std::vector<UnitOracle> oracles;
    for (size_t kind = 0; kind < model.units.kinds.size(); ++kind) {
      UnitOracle::GetWork getWork;
      if (scope == UnitScope::all)
        getWork = [this, kind](const BlockPlan &plan,
                               const UnitVariables &ofKind) {
          return getWorkBytes(static_cast<int>(kind), plan, ofKind);
        };
      oracles.emplace_back(
          getModes(scope, static_cast<int>(kind)),
          [this, scope, kind, &lists, &mesh](int mode) {
            return makeUnitNetwork(
                model.sample, model.units, lists, static_cast<int>(kind),
                getRemaking(static_cast<int>(kind), mode), scope,
                {choices->opSeconds, choices->secondsOfPlaces}, mesh.pool);
          },
          std::move(getWork));
    }
    return oracles;
  }

  /// Like the oracles themselves it is asked by one thread at a time.
  double getWorkBytes(int kind, const BlockPlan &plan,
                      const UnitVariables &ofKind) {
    std::unique_ptr<UnitWork> &work = works[kind];
    if (!work)
      work = std::make_unique<UnitWork>(model.sample, kind, getTables(), space);
    return work->getBytes(plan, ofKind, getRemaking(kind, plan.mode));
  }

  /// Of allowed modes that are equal, as where there is nothing to make again,
  /// the first one is all.
  std::vector<int> getModes(UnitScope scope, int kind) {
    std::vector<UnitRemaking> seen;
    std::vector<int> modes;
    for (UnitMode mode : getAllowedModes(request)) {
      auto number = static_cast<int>(mode);
      // Without a backward pass there is nothing to make again, and without
      // bytes of passes there is no reason to.
      bool isUseful =
          modes.empty() || (model.trains && scope != UnitScope::variables);
      const UnitRemaking &remaking = getRemaking(kind, number);
      if (!isUseful || llvm::is_contained(seen, remaking))
        continue;
      seen.push_back(remaking);
      modes.push_back(number);
    }
    return modes;
  }

  std::once_flag hasChoices, hasTables, hasRemakings, hasVariables;
  std::shared_ptr<MeshKnowledge::VariableOracles> variables;
  std::optional<UnitChoices> choices;
  std::optional<UnitTables> tables;
  /// Per kind and mode.
  std::vector<std::vector<UnitRemaking>> remakings;
  /// Of the kinds that were asked for.
  std::map<int, std::unique_ptr<UnitWork>> works;
  std::array<OfScope, unitScopeCount> ofScopes;
};

UnitOracles::UnitOracles(const UnitModel &model, const PlanRequest &request,
                         const PlanSpace &space, const PlanCosts &costs,
                         std::shared_ptr<MeshKnowledge> known,
                         std::shared_ptr<MeshKnowledge> joined)
    : storage(std::make_unique<Storage>(model.get(), request, space, costs,
                                        std::move(known), std::move(joined))) {}

UnitOracles::~UnitOracles() = default;

std::optional<std::string> UnitOracles::getRefusal() const {
  return storage->getChoices().refusal;
}

void UnitOracles::prepare(UnitScope scope) { storage->getOracles(scope); }

std::vector<SearchUnit> UnitOracles::getUnits(UnitScope scope) {
  std::vector<UnitOracle> &oracles = storage->getOracles(scope);
  std::vector<SearchUnit> runs;
  const StepUnits &units = storage->model.units;
  for (size_t number = 0; number < units.units.size(); ++number) {
    UnitOracle *oracle = &oracles[units.units[number].kind];
    if (!runs.empty() && runs.back().oracle == oracle)
      ++runs.back().count;
    else
      runs.push_back({oracle, 1, units.isEnd(number)});
  }
  return runs;
}

void UnitOracles::forget() { storage->forget(); }

PlanningAnswer UnitOracles::getAnswer(llvm::ArrayRef<BlockPlan> plans) {
  const auto &model = storage->model;
  PARPLAN_CHECK(plans.size() == model.units.units.size(),
                "every unit has a plan");
  UnitAnswer answer(model.getProblem(), model.units, model.sample,
                    storage->getTables(), storage->space, storage->costs);
  for (auto [number, plan] : llvm::enumerate(plans)) {
    int kind = model.units.units[number].kind;
    answer.add(static_cast<int>(number), plan, storage->getOracle(kind),
               storage->getRemaking(kind, plan.mode));
  }
  return answer.finish();
}

std::vector<BlockPlan> UnitOracles::agree(std::vector<BlockPlan> plans,
                                          llvm::ArrayRef<Weights> weights) {
  const auto &model = storage->model;
  UnitAgreement agreement(std::move(plans), weights);
  for (const auto &ofValue : model.sample.tied) {
    std::vector<UnitAgreement::User> users;
    for (auto [unit, sampled] : ofValue) {
      UnitOracle &oracle = storage->getOracle(model.units.units[unit].kind);
      int variable = oracle.getVariables().ofValue[sampled];
      if (variable >= 0)
        users.push_back(
            {unit, &oracle, variable, storage->getTables().rests[sampled]});
    }
    if (users.size() > 1)
      agreement.settle(users);
  }
  return agreement.take();
}

double UnitOracles::getFixedBytes() const {
  return static_cast<double>(storage->model.sample.problem.fixedBytes);
}

std::pair<int64_t, int64_t> UnitOracles::getMessageBytes(int unit,
                                                         int state) const {
  const auto &model = storage->model;
  UnitTables &tables = storage->getTables();
  int kind = model.units.units[unit].kind;
  std::vector<int> slots =
      storage->getOracle(kind).getSlots(/*isBehind=*/true, state);
  std::pair<int64_t, int64_t> bytes = {0, 0};
  const UnitSample::Range &range = model.sample.kinds[kind];
  for (int value = range.firstValue; value < range.endValue; ++value) {
    const UnitSample::Value &description = model.sample.values[value];
    if (description.part != StepUnits::Part::behind)
      continue;
    int layout = tables.rests[value][slots[description.slot]];
    (description.maker >= 0 ? bytes.first : bytes.second) +=
        tables.layouts.getBytes(tables.forms[value], layout);
  }
  return bytes;
}

std::vector<CostVector> UnitOracles::getLeastOpCosts() {
  std::vector<CostVector> costs;
  int last = -1;
  for (const StepUnits::Unit &unit : storage->model.units.units) {
    if (unit.kind != last)
      costs.push_back(
          getLeastCost(storage->model.sample, storage->getTables(), unit.kind));
    last = unit.kind;
  }
  return costs;
}

std::vector<CostVector>
UnitOracles::sumByUnits(llvm::ArrayRef<double> secondsOfOps) const {
  const UnitSample &sample = storage->model.sample;
  std::vector<CostVector> sums;
  int last = -1;
  for (const StepUnits::Unit &unit : storage->model.units.units) {
    if (unit.kind != last)
      sums.push_back(sumOps(sample, unit.kind, secondsOfOps));
    last = unit.kind;
  }
  return sums;
}

std::vector<OpChoices> UnitOracles::getChoices() const {
  const PlanningProblem &problem = storage->model.sample.problem;
  const UnitChoices &tables = storage->getChoices();
  std::vector<OpChoices> choices;
  for (auto [op, assignments, seconds] :
       llvm::zip_equal(problem.ops, tables.assignments, tables.opSeconds))
    choices.push_back(
        {assignments, seconds, static_cast<double>(getRepeat(problem, op))});
  return choices;
}
