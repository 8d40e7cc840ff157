//===- SmallInstances.cpp - Searches against every plan -------------------===//
//
// Draws small planning problems and compares what the searches find with the
// best of all plans, at several limits of memory:
//
//   SmallInstances [PROBLEMS] [SEED] [MOST-PLANS]
//
// Problems with more plans than MOST-PLANS are left out. Each search has a
// table with a row per feature of the problems and per limit; a problem may
// have several.
//
//   optimal    the plan is the best of all
//   enclosed   lower bound <= best of all < plan
//   refused    no plan fits, and none is found
//   missed     a plan fits, and none is found
//   wrong      anything else, with the seed of the problem on stderr
//
//===----------------------------------------------------------------------===//

#include "Exhaustion.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/FindPlan.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstdlib>

using namespace parplan;
using namespace parplan::small;

namespace {

/// Sums of seconds in another order.
constexpr double tolerance = 1e-9;

/// More than any plan needs.
constexpr int64_t loose = int64_t(1) << 50;

/// A row of the table.
struct Tally {
  int64_t problems = 0, leftOut = 0;
  int64_t optimal = 0, enclosed = 0, refused = 0, missed = 0, wrong = 0;
  /// Sums and largest of (plan - best) / best, and of (best - bound) / best.
  double excess = 0, mostExcess = 0, slack = 0, mostSlack = 0;
};

enum class Outcome { optimal, enclosed, refused, missed, wrong };

/// What a search says of a limit.
struct Claim {
  PlanResult result;
  /// Of all plans, whether there is one or not.
  double lowerBound = 0;
};

/// By search and feature.
using Tables = std::map<Searched, std::map<std::string, Tally>>;

class Comparison {
public:
  Comparison(uint64_t seed, int64_t mostPlans)
      : seed(seed), mostPlans(mostPlans), instance(drawInstance(seed)) {}

  void run(Tables &tables) {
    for (const auto &[count, problem] : instance.steps)
      if (auto fault = verifyProblem(problem)) {
        llvm::errs() << "seed " << seed << ": " << *fault << "\n";
        std::exit(1);
      }
    std::map<std::string, Tally> &table = tables[instance.searched];
    std::vector<std::string> rows = instance.features;
    rows.emplace_back("all");
    std::optional<Frontier> all =
        exhaust(instance, {int64_t(0), loose}, mostPlans);
    for (const std::string &row : rows)
      ++(all ? table[row].problems : table[row].leftOut);
    if (!all)
      return;
    auto limits = getLimits(*all);
    // Which rooms plans have depends on the limit.
    if (all->hasRooms) {
      std::vector<int64_t> bytes;
      for (auto [name, limit] : limits)
        bytes.push_back(limit);
      all = exhaust(instance, bytes, std::numeric_limits<int64_t>::max());
    }
    plans = all->plans;
    for (auto [name, limit] : limits) {
      Claim claim = ask(limit);
      std::optional<double> best = all->getBest(limit);
      Outcome outcome = judge(claim, best, limit);
      if (outcome == Outcome::wrong)
        report(claim, best, limit);
      for (const std::string &row : rows)
        add(table[row], outcome, claim, best);
      add(table[name], outcome, claim, best);
    }
  }

  int64_t plans = 0;

private:
  /// Loose, between what the smallest and what the fastest plan needs, as the
  /// smallest, and below.
  static std::vector<std::pair<const char *, int64_t>>
  getLimits(const Frontier &all) {
    std::vector<std::pair<const char *, int64_t>> limits;
    int64_t least = 0;
    if (!all.isEmpty()) {
      least = all.getLeastBytes();
      int64_t most = all.getMostBytes();
      limits.emplace_back("memory: tightest", least);
      if (most > least + 64)
        limits.emplace_back("memory: between", least + (most - least) / 2);
      limits.emplace_back("memory: impossible", least - 64);
    }
    limits.emplace_back("memory: loose", loose);
    return limits;
  }

  Claim ask(int64_t limit) {
    PlanRequest request = instance.request;
    request.memoryLimitBytes = limit;
    Claim claim;
    switch (instance.searched) {
    case Searched::layouts:
      claim.result =
          solve(instance.steps.begin()->second, request, *instance.costs);
      break;
    case Searched::lastResorts:
      claim.result = findLastResort(instance.steps.begin()->second, request,
                                    *instance.costs);
      break;
    case Searched::jointly:
      claim.result = search(limit);
    }
    bool isKnown =
        claim.result.answer || instance.searched == Searched::jointly;
    if (isKnown)
      claim.lowerBound = claim.result.certificate.lowerBoundSeconds;
    return claim;
  }

  /// One finder for all limits.
  PlanResult search(int64_t limit) {
    if (!finder) {
      for (const auto &[count, problem] : instance.steps)
        problems.counts.push_back(count);
      problems.get = [&](int64_t count) {
        return std::optional(instance.steps.at(count));
      };
      finder.emplace(problems, instance.request, *instance.costs);
    }
    SpaceSearchOptions options;
    options.gap = 0;
    options.memoryLimitBytes = static_cast<double>(limit);
    options.timeBudgetSeconds = 60;
    return finder->find(options).result;
  }

  /// The plan is legal, takes what it says and fits.
  bool isHonest(const PlanResult &result, int64_t limit) const {
    const PlanningProblem &problem =
        instance.searched == Searched::jointly
            ? instance.steps.at(result.microBatches)
            : instance.steps.begin()->second;
    if (!verifyAnswer(problem, *result.answer).empty())
      return false;
    PlanEvaluation evaluation =
        evaluatePlan(problem, *result.answer, *instance.costs);
    double seconds = result.evaluation.stepTimeSeconds;
    return evaluation.peakBytes <= limit &&
           std::abs(evaluation.stepTimeSeconds - seconds) <=
               tolerance * seconds;
  }

  Outcome judge(const Claim &claim, std::optional<double> best,
                int64_t limit) const {
    const PlanResult &result = claim.result;
    if (best && claim.lowerBound > *best * (1 + tolerance))
      return Outcome::wrong;
    if (!result.answer)
      return best ? Outcome::missed : Outcome::refused;
    double seconds = result.evaluation.stepTimeSeconds;
    if (!best || !isHonest(result, limit) || seconds < *best * (1 - tolerance))
      return Outcome::wrong;
    bool isBest = seconds <= *best * (1 + tolerance);
    if (result.certificate.exact && !isBest)
      return Outcome::wrong;
    return isBest ? Outcome::optimal : Outcome::enclosed;
  }

  void report(const Claim &claim, std::optional<double> best,
              int64_t limit) const {
    llvm::errs() << "seed " << seed << ", " << limit << " bytes: best "
                 << best.value_or(-1) << ", bound " << claim.lowerBound
                 << ", plan "
                 << (claim.result.answer
                         ? claim.result.evaluation.stepTimeSeconds
                         : -1)
                 << (claim.result.certificate.exact ? ", exact" : "");
    for (const std::string &feature : instance.features)
      llvm::errs() << "; " << feature;
    llvm::errs() << "\n";
  }

  static void add(Tally &tally, Outcome outcome, const Claim &claim,
                  std::optional<double> best) {
    int64_t *counts[] = {&tally.optimal, &tally.enclosed, &tally.refused,
                         &tally.missed, &tally.wrong};
    ++*counts[static_cast<int>(outcome)];
    if (outcome != Outcome::optimal && outcome != Outcome::enclosed)
      return;
    double excess = claim.result.evaluation.stepTimeSeconds / *best - 1;
    double slack = 1 - claim.lowerBound / *best;
    tally.excess += excess;
    tally.mostExcess = std::max(tally.mostExcess, excess);
    tally.slack += slack;
    tally.mostSlack = std::max(tally.mostSlack, slack);
  }

  uint64_t seed;
  int64_t mostPlans;
  Instance instance;
  StepProblems problems;
  std::optional<PlanFinder> finder;
};

} // namespace

static void print(const std::map<std::string, Tally> &table) {
  auto &out = llvm::outs();
  out << "| feature | problems | left out | optimal | enclosed | refused | "
         "missed | wrong | plan above best, mean | most | bound below best, "
         "mean | most |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto &[name, tally] : table) {
    auto count = static_cast<double>(
        std::max<int64_t>(1, tally.optimal + tally.enclosed));
    out << "| " << name << " | ";
    if (tally.problems > 0)
      out << tally.problems << " | " << tally.leftOut;
    else
      out << "| ";
    out << " | " << tally.optimal << " | " << tally.enclosed << " | "
        << tally.refused << " | " << tally.missed << " | " << tally.wrong;
    for (double share : {tally.excess / count, tally.mostExcess,
                         tally.slack / count, tally.mostSlack})
      out << llvm::format(" | %.2f %%", 100 * std::max(0.0, share));
    out << " |\n";
  }
}

int main(int argc, char **argv) {
  int64_t count = argc > 1 ? std::atoll(argv[1]) : 10000;
  uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  int64_t mostPlans = argc > 3 ? std::atoll(argv[3]) : 20000;
  Tables tables;
  int64_t plans = 0, wrong = 0;
  for (int64_t number = 0; number < count; ++number) {
    Comparison comparison(seed + static_cast<uint64_t>(number), mostPlans);
    comparison.run(tables);
    plans += comparison.plans;
  }
  for (const auto &[searched, table] : tables) {
    llvm::outs() << (searched == Searched::layouts   ? "solve"
                     : searched == Searched::jointly ? "findPlan"
                                                     : "findLastResort")
                 << "\n\n";
    print(table);
    llvm::outs() << "\n";
    wrong += table.at("all").wrong;
  }
  llvm::outs() << plans << " plans judged, " << wrong << " wrong\n";
  return wrong == 0 ? 0 : 1;
}
