//===- OffloadLess.cpp - No more offload than memory asks for -------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "OffloadLess.h"

#include "lib/Planner/Evaluation/Offload.h"
#include "lib/Planner/Evaluation/StepTime.h"
#include "lib/Planner/Problem/LeastCount.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Support/Check.h"

#include <algorithm>
#include <array>
#include <map>

using namespace parplan;

namespace {

/// What comes back together: a parameter, an update with its states and its
/// parameter (which else goes down for it, or up), or all activations.
struct Item {
  /// Of the pipeline, that of the first reader.
  int64_t position = 0;
  llvm::SmallVector<int, 4> values;
};

/// Items of one kind in the order in which they come back.
using Items = std::vector<Item>;

class Returning {
public:
  Returning(const PlanningProblem &problem, const PlanRequest &request,
            const PlanCosts &costs, CompletedPlan &best,
            std::chrono::steady_clock::time_point deadline)
      : request(request), problem(problem), evaluator(problem, costs),
        best(best), away(best.answer), deadline(deadline) {
    collect();
  }

  void run() {
    std::vector<int> order;
    for (auto [number, items] : llvm::enumerate(kinds))
      if (!items.empty())
        order.push_back(static_cast<int>(number));
    do {
      comeBack(order);
    } while (std::next_permutation(order.begin(), order.end()) &&
             !request.isOver(deadline));
  }

private:
  /// How many items of each kind are back.
  using Counts = std::array<size_t, 3>;
  enum Kind { parameters, updates, activations };

  void collect() {
    ScheduleShape shape = getShape(problem, away);
    std::vector<int> positions(problem.values.size(), -1);
    auto getPosition = [&](int op) {
      return parplan::getPosition(shape, std::max(0, away.getStage(op)));
    };
    for (auto [number, op] : llvm::enumerate(problem.ops)) {
      int64_t position = getPosition(static_cast<int>(number));
      for (int value : op.operands)
        if (positions[value] < 0)
          positions[value] = static_cast<int>(position);
      if (!isOnHost(problem, away, static_cast<int>(number)))
        continue;
      Item update = {position, {}};
      for (int result : op.results) {
        int variable = problem.values[result].updates;
        if (variable < 0)
          continue;
        update.values.push_back(result);
        update.values.push_back(variable);
      }
      kinds[updates].push_back(std::move(update));
    }
    Item waiting;
    for (auto [number, value] : llvm::enumerate(problem.values)) {
      int index = static_cast<int>(number);
      if (away.getTier(index) == MemoryTier::device)
        continue;
      if (value.kind == ValueKind::parameter)
        kinds[parameters].push_back({positions[index], {index}});
      else if (value.kind == ValueKind::activation && value.updates < 0)
        waiting.values.push_back(index);
    }
    if (!waiting.values.empty())
      kinds[activations].push_back(std::move(waiting));
    for (Items &items : kinds)
      spread(items);
  }

  /// Each position gets back the same share at any time.
  static void spread(Items &items) {
    std::map<int64_t, size_t> countOf, seen;
    for (const Item &item : items)
      ++countOf[item.position];
    std::vector<std::pair<double, Item>> shares;
    for (Item &item : items) {
      double share = static_cast<double>(++seen[item.position]) /
                     static_cast<double>(countOf[item.position]);
      shares.push_back({share, std::move(item)});
    }
    llvm::stable_sort(shares, [](const auto &first, const auto &second) {
      return first.first < second.first;
    });
    for (auto [item, share] : llvm::zip_equal(items, shares))
      item = std::move(share.second);
  }

  void comeBack(llvm::ArrayRef<int> order) {
    Counts counts = {0, 0, 0};
    for (int kind : order)
      if (!request.isOver(deadline))
        comeBack(kind, counts);
  }

  void comeBack(int kind, Counts &counts) {
    size_t all = kinds[kind].size();
    auto with = [&](size_t count) {
      counts[kind] = count;
      return complete(counts).evaluation;
    };
    size_t most = all - findLeastCount(all, [&](size_t left) {
                    return fits(with(all - left));
                  });
    double least = with(most).stepTimeSeconds;
    counts[kind] = findLeastCount(most, [&](size_t count) {
      return with(count).stepTimeSeconds <= least;
    });
    take(counts);
  }

  PlanningAnswer getAnswer(const Counts &counts) const {
    PlanningAnswer answer = away;
    for (auto [items, count] : llvm::zip_equal(kinds, counts))
      for (const Item &item : llvm::ArrayRef(items).take_front(count))
        for (int value : item.values)
          answer.tiers[value] = MemoryTier::device;
    answer.inPieces = findUpdatedPieces(problem, answer);
    return answer;
  }

  /// Passes of a pipeline get their times.
  CompletedPlan complete(const Counts &counts) {
    PlanningAnswer answer = getAnswer(counts);
    if (!answer.pipeline) {
      PlanEvaluation evaluation = evaluator.evaluate(answer);
      return {std::move(answer), std::move(evaluation)};
    }
    PlanJudgement judgement =
        evaluator.timeAndJudge(answer, request.memoryLimitBytes);
    PARPLAN_CHECK(judgement.faults.empty(), "what comes back is legal");
    return {std::move(answer), std::move(judgement.evaluation)};
  }

  bool fits(const PlanEvaluation &evaluation) const {
    return evaluation.peakBytes <= request.memoryLimitBytes &&
           !findSmallTier(request, evaluation);
  }

  void take(const Counts &counts) {
    CompletedPlan plan = complete(counts);
    if (fits(plan.evaluation) &&
        plan.evaluation.stepTimeSeconds < best.evaluation.stepTimeSeconds)
      best = std::move(plan);
  }

  const PlanRequest &request;
  const PlanningProblem &problem;
  PlanEvaluator evaluator;
  CompletedPlan &best;
  /// With everything away.
  PlanningAnswer away;
  std::chrono::steady_clock::time_point deadline;
  std::array<Items, 3> kinds;
};

} // namespace

CompletedPlan
parplan::offloadLess(const PlanningProblem &problem, const PlanRequest &request,
                     const PlanCosts &costs, CompletedPlan plan,
                     std::chrono::steady_clock::time_point deadline) {
  Returning(problem, request, costs, plan, deadline).run();
  return plan;
}
