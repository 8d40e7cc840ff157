//===- Exhaustion.cpp - The best plan of a small instance -----------------===//

#include "Exhaustion.h"

#include "Stages.h"
#include "Variants.h"

#include "lib/Planner/Candidates/EveryLayout.h"
#include "lib/Planner/Evaluation/StepTime.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Planner/VisitSums.h"

#include "llvm/ADT/STLExtras.h"

using namespace parplan;
using namespace parplan::small;

void Frontier::add(int64_t bytes, double seconds) {
  auto behind = secondsByBytes.upper_bound(bytes);
  if (behind != secondsByBytes.begin() && std::prev(behind)->second <= seconds)
    return;
  while (behind != secondsByBytes.end() && behind->second >= seconds)
    behind = secondsByBytes.erase(behind);
  secondsByBytes[bytes] = seconds;
}

std::optional<double> Frontier::getBest(int64_t limit) const {
  auto behind = secondsByBytes.upper_bound(limit);
  if (behind == secondsByBytes.begin())
    return std::nullopt;
  return std::prev(behind)->second;
}

namespace {

class Exhaustion {
public:
  Exhaustion(const Instance &instance, llvm::ArrayRef<int64_t> limits,
             int64_t mostPlans)
      : instance(instance), limits(limits),
        mostPlans(static_cast<double>(mostPlans)) {}

  std::optional<Frontier> run() {
    // First all that there is to count.
    for (bool isCounting : {true, false})
      for (const auto &[count, problem] : instance.steps) {
        PlanEvaluator evaluator(problem, *instance.costs);
        StageCutter cutter(problem, instance, limits);
        auto variants =
            getVariants(problem, instance, static_cast<size_t>(mostPlans));
        if (!variants)
          return std::nullopt;
        for (int64_t positions : getPositions())
          for (const PlanSpace &space : getSpacesOf(problem, positions)) {
            EveryLayout layouts(problem, getRequest(positions), space);
            if (layouts.getCount() == 0)
              continue;
            std::vector<Stages> stages;
            if (positions > 1)
              stages = cutter.list(positions, layouts.get());
            if (positions > 1 && stages.empty())
              continue;
            if (isCounting)
              sum += layouts.getCount() *
                     static_cast<double>(variants->size()) *
                     (positions > 1 ? static_cast<double>(stages.size()) : 1);
            else
              judgeAll(problem, evaluator, layouts, *variants, cutter, stages);
            if (sum > mostPlans)
              return std::nullopt;
          }
      }
    return std::move(frontier);
  }

private:
  std::vector<int64_t> getPositions() const {
    const PlanRequest &request = instance.request;
    if (instance.searched == Searched::layouts)
      return {request.pipelineSize.value_or(1)};
    std::vector<int64_t> all;
    for (int64_t count = 1; count <= request.deviceCount; ++count)
      if (request.deviceCount % count == 0 &&
          request.pipelineSize.value_or(count) == count)
        all.push_back(count);
    return all;
  }

  PlanRequest getRequest(int64_t positions) const {
    PlanRequest request = instance.request;
    request.pipelineSize = positions;
    return request;
  }

  /// A joint search takes the meshes of the largest micro-batches, as far as
  /// every rank has samples.
  std::vector<PlanSpace> getSpacesOf(const PlanningProblem &problem,
                                     int64_t positions) const {
    const PlanningProblem &largest = instance.steps.begin()->second;
    std::vector<PlanSpace> spaces = getSpaces(largest, getRequest(positions));
    if (instance.searched != Searched::jointly || instance.request.dataSize ||
        !isTraining(problem))
      return spaces;
    int64_t samples = std::numeric_limits<int64_t>::max();
    for (const PlanningOp &op : problem.ops)
      if (op.role == OpRole::forward && op.batchFactor >= 0)
        samples = std::min(samples, op.rule.factors[op.batchFactor].size);
    llvm::erase_if(spaces, [&](const PlanSpace &space) {
      return space.mesh.getWidth(getDataAxes(space.mesh)) > samples;
    });
    return spaces;
  }

  void judgeAll(const PlanningProblem &problem, PlanEvaluator &evaluator,
                EveryLayout &layouts, const std::vector<Variant> &variants,
                const StageCutter &cutter, const std::vector<Stages> &stages) {
    do {
      PlanningAnswer answer = layouts.get();
      bool isWhole = findPipelineAxis(answer.mesh) < 0;
      // What is illegal without variants is with all of them.
      if (isWhole && !evaluator.verify(answer).empty())
        continue;
      for (const Variant &variant : variants) {
        variant.apply(problem, answer);
        if (isWhole)
          judge(evaluator, answer);
        for (const Stages &choice : stages) {
          PlanningAnswer staged = answer;
          cutter.cut(choice, staged);
          frontier.hasRooms |= splitsBackward(choice.shape.kind);
          ++frontier.plans;
          take(evaluator.timeAndJudge(staged, choice.limitBytes));
          if (instance.searched == Searched::lastResorts)
            judgeVisits(problem, evaluator, staged);
        }
      }
    } while (layouts.advance());
  }

  /// Sums that a visit may move once, all of them so.
  void judgeVisits(const PlanningProblem &problem, PlanEvaluator &evaluator,
                   PlanningAnswer &answer) {
    std::vector<int> sums = findVisitSums(problem, answer);
    if (sums.empty())
      return;
    answer.perVisit.assign(problem.ops.size(), false);
    for (int op : sums)
      answer.perVisit[op] = true;
    judge(evaluator, answer);
  }

  void judge(PlanEvaluator &evaluator, const PlanningAnswer &answer) {
    ++frontier.plans;
    std::vector<std::string> faults = evaluator.verify(answer);
    if (faults.empty())
      take({{}, evaluator.evaluate(answer)});
  }

  void take(const PlanJudgement &judgement) {
    if (judgement.faults.empty())
      frontier.add(judgement.evaluation.peakBytes,
                   judgement.evaluation.stepTimeSeconds);
  }

  const Instance &instance;
  llvm::ArrayRef<int64_t> limits;
  double mostPlans, sum = 0;
  Frontier frontier;
};

} // namespace

std::optional<Frontier> small::exhaust(const Instance &instance,
                                       llvm::ArrayRef<int64_t> limits,
                                       int64_t mostPlans) {
  return Exhaustion(instance, limits, mostPlans).run();
}
