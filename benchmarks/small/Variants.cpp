//===- Variants.cpp - What is made again, and where values rest -----------===//

#include "Variants.h"

#include "lib/Planner/Evaluation/Offload.h"
#include "lib/Planner/Units/UnitRemaking.h"

#include "llvm/ADT/STLExtras.h"

using namespace parplan;
using namespace parplan::small;

void Variant::apply(const PlanningProblem &problem,
                    PlanningAnswer &answer) const {
  answer.recomputed = recomputed;
  answer.gathersAgain = gathersAgain;
  answer.tiers = tiers;
  answer.inPieces.clear();
  if (restsInPieces)
    answer.inPieces = findUpdatedPieces(problem, answer);
}

/// Copies of a value are of the unit that reads them.
static bool ownsCopies(const UnitSample::Value &value) {
  using Part = StepUnits::Part;
  return value.part == Part::own ||
         ((value.part == Part::before || value.part == Part::behind) &&
          value.maker < 0);
}

static void addMode(const PlanningProblem &problem, const UnitSample &sample,
                    const StepUnits::Unit &unit, const UnitRemaking &remaking,
                    Variant &variant) {
  const UnitSample::Range &range = sample.kinds[unit.kind];
  for (auto [place, op] : llvm::enumerate(unit.ops))
    variant.recomputed[op] = remaking.recomputed[range.firstOp + place];
  for (auto [place, value] : llvm::enumerate(unit.values))
    if (remaking.gathersAgain &&
        ownsCopies(sample.values[range.firstValue + place]) &&
        problem.values[value].kind == ValueKind::activation)
      variant.gathersAgain[value] = true;
}

/// A joint search has all modes of units unless what is made again is forced.
static bool isAllowed(UnitMode mode, std::optional<RecomputeKind> forced) {
  if (!forced)
    return true;
  switch (*forced) {
  case RecomputeKind::none:
    return mode == UnitMode::keep || mode == UnitMode::gatherAgain;
  case RecomputeKind::selective:
    return mode == UnitMode::selective;
  case RecomputeKind::full:
    return mode == UnitMode::full;
  }
  return false;
}

static std::optional<std::vector<Variant>>
getVariantsOfUnits(const PlanningProblem &problem,
                   std::optional<RecomputeKind> forced, size_t most) {
  StepUnits units = getStepUnits(problem, foldProblem(problem));
  UnitSample sample = makeUnitSample(problem, units);
  Variant none;
  none.recomputed.assign(problem.ops.size(), false);
  none.gathersAgain.assign(problem.values.size(), false);
  std::vector<Variant> variants = {none};
  for (const StepUnits::Unit &unit : units.units) {
    std::vector<UnitRemaking> modes;
    for (int number = 0; number < unitModeCount; ++number) {
      auto mode = static_cast<UnitMode>(number);
      UnitRemaking remaking = getRemaking(sample, unit.kind, mode);
      if (isAllowed(mode, forced) && !llvm::is_contained(modes, remaking))
        modes.push_back(std::move(remaking));
    }
    if (variants.size() * modes.size() > most)
      return std::nullopt;
    std::vector<Variant> longer;
    for (const Variant &variant : variants)
      for (const UnitRemaking &mode : modes)
        addMode(problem, sample, unit, mode, longer.emplace_back(variant));
    variants = std::move(longer);
  }
  return variants;
}

/// Each of the variants with every set of updates on the host.
static std::optional<std::vector<Variant>>
withUpdatesOnHost(const PlanningProblem &problem, std::vector<Variant> variants,
                  size_t most) {
  for (const PlanningOp &op : problem.ops) {
    if (!updatesParameter(problem, op))
      continue;
    if (2 * variants.size() > most)
      return std::nullopt;
    for (size_t number = 0, count = variants.size(); number < count; ++number) {
      Variant variant = variants[number];
      variant.tiers.resize(problem.values.size(), MemoryTier::device);
      moveUpdate(problem, op, MemoryTier::host, variant.tiers);
      variant.restsInPieces = true;
      variants.push_back(std::move(variant));
    }
  }
  return variants;
}

namespace {

/// Sets of single choices.
class Subsets {
public:
  Subsets(const PlanningProblem &problem, const PlanRequest &request)
      : problem(problem) {
    if (request.recompute != RecomputeKind::none)
      addRemaking();
    if (!request.offload)
      addTiers();
  }

  std::optional<std::vector<Variant>> get(size_t most) const {
    if (changes.size() >= 64 || size_t(1) << changes.size() > most)
      return std::nullopt;
    Variant none;
    none.recomputed.assign(problem.ops.size(), false);
    none.tiers.assign(problem.values.size(), MemoryTier::device);
    std::vector<Variant> variants = {std::move(none)};
    for (const Change &change : changes)
      for (size_t number = 0, count = variants.size(); number < count;
           ++number) {
        variants.push_back(variants[number]);
        change(variants.back());
      }
    return variants;
  }

private:
  using Change = std::function<void(Variant &)>;
  void either(Change change) { changes.push_back(std::move(change)); }

  static bool isForward(const PlanningOp &op) {
    return op.role == OpRole::forward && op.perMicroBatch && !op.accumulates;
  }

  void addRemaking() {
    for (auto [index, op] : llvm::enumerate(problem.ops))
      if (isForward(op))
        either([number = index](Variant &variant) {
          variant.recomputed[number] = true;
        });
  }

  bool isReadBackward(int value) const {
    return llvm::any_of(problem.ops, [&](const PlanningOp &op) {
      return !isBeforeBackward(op.role) && op.perMicroBatch &&
             llvm::is_contained(op.operands, value);
    });
  }

  void addTiers() {
    for (const PlanningOp &op : problem.ops)
      if (isForward(op))
        for (int result : op.results)
          if (isReadBackward(result))
            either([result](Variant &variant) {
              variant.tiers[result] = MemoryTier::host;
            });
    bool hasUpdates = false;
    for (const PlanningOp &op : problem.ops) {
      for (int result : op.results) {
        int variable = problem.values[result].updates;
        if (variable < 0)
          continue;
        hasUpdates = true;
        bool isState = problem.values[variable].kind == ValueKind::state;
        either([=](Variant &variant) {
          variant.tiers[result] = MemoryTier::host;
          if (isState)
            variant.tiers[variable] = MemoryTier::host;
        });
        if (problem.values[variable].kind == ValueKind::parameter)
          either([variable](Variant &variant) {
            variant.tiers[variable] = MemoryTier::host;
          });
      }
    }
    if (hasUpdates)
      either([](Variant &variant) { variant.restsInPieces = true; });
  }

  const PlanningProblem &problem;
  std::vector<Change> changes;
};

} // namespace

std::optional<std::vector<Variant>>
small::getVariants(const PlanningProblem &problem, const Instance &instance,
                   size_t most) {
  if (instance.searched == Searched::layouts || !isTraining(problem))
    return std::vector<Variant>(1);
  if (instance.searched == Searched::jointly) {
    auto variants =
        getVariantsOfUnits(problem, instance.request.recompute, most);
    return variants && instance.request.updatesMayMove
               ? withUpdatesOnHost(problem, std::move(*variants), most)
               : variants;
  }
  return Subsets(problem, instance.request).get(most);
}
