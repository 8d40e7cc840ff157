//===- ExactSolver.cpp - Variable elimination per mesh --------------------===//

#include "Lookahead.h"
#include "PreparedSpace.h"
#include "ServersSearch.h"
#include "lib/Planner/Candidates/Refusals.h"
#include "lib/Planner/Completion/Completion.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Planner/Solver.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

#include <algorithm>
#include <atomic>
#include <chrono>

using namespace parplan;

namespace {

/// What the search of cuts of tensor axes may take in any case.
constexpr double leastSecondsOfGrids = 2;
/// Of the time: a search that has not found a plan that fits by then leaves the
/// rest to other requests.
constexpr double shareWithoutPlan = 0.4;

using Clock = std::chrono::steady_clock;

/// The search over all spaces of a request.
class ExactSearch {
public:
  ExactSearch(const PlanningProblem &problem, const PlanRequest &request,
              const PlanCosts &costs)
      : problem(problem), request(request), costs(costs), start(Clock::now()),
        deadline(start + toDuration(request.timeBudgetSeconds)) {}

  PlanResult run() {
    if (auto fault = findImpossible(problem, request)) {
      refuse(*fault);
      return std::move(result);
    }
    if (int64_t least = getLeastBytes(problem, request);
        least > request.memoryLimitBytes) {
      result.leastBytes = least;
      return std::move(result);
    }
    std::vector<PlanSpace> spaces = getSpaces(problem, request);
    Lookahead<PreparedSpace> prepared(spaces.size(), [&](size_t number) {
      return prepareSpace(problem, request, spaces[number], costs,
                          isLate ? 0.0 : bestSeconds.load());
    });
    for (const PlanSpace &space : spaces) {
      visit(space, prepared.take());
      report();
      if (prepared.isEnding())
        announce();
    }
    if (result.answer)
      certify();
    return std::move(result);
  }

private:
  /// Spaces that are left may have faster plans: there is no bound yet.
  void report() const {
    SearchProgress progress;
    if (result.answer)
      progress.bestSeconds = result.evaluation.stepTimeSeconds;
    progress.explored = result.certificate.explored;
    request.control.report(progress);
  }

  /// Tells of a plan that is better than what was told before.
  void announce() {
    if (!request.control.likely || !result.answer ||
        bestSeconds == announcedSeconds)
      return;
    announcedSeconds = bestSeconds;
    request.control.likely(*result.answer);
  }

  static Clock::duration toDuration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(seconds));
  }

  void refuse(std::string reason) {
    if (!llvm::is_contained(result.refusals, reason))
      result.refusals.push_back(std::move(reason));
  }

  /// Until when a space may be searched. Cuts of the tensor axes get as much
  /// time as all that was before.
  Clock::time_point getDeadline(const PlanSpace &space) {
    if (!result.answer)
      return start + toDuration(shareWithoutPlan * request.timeBudgetSeconds);
    if (space.hasParts)
      return deadline;
    if (!deadlineOfGrids)
      deadlineOfGrids = std::min(
          deadline, Clock::now() + std::max(Clock::now() - start,
                                            toDuration(leastSecondsOfGrids)));
    return *deadlineOfGrids;
  }

  void visit(const PlanSpace &space, const PreparedSpace &prepared) {
    auto end = getDeadline(space);
    if (prepared.refusal)
      return refuse(*prepared.refusal);
    double computeBound = prepared.computeBound;
    if (result.answer && computeBound >= bestSeconds) {
      lowerBound = std::min(lowerBound, computeBound);
      ++result.certificate.pruned;
      return;
    }
    // One space is looked at in any case.
    bool hasLooked = result.certificate.explored > 0;
    isLate = isLate || request.control.isStopped() ||
             (hasLooked && request.isOver(end));
    if (isLate) {
      result.isCutShort = true;
      return leaveOut(computeBound);
    }
    PARPLAN_CHECK(prepared.problem, "a space was left out by mistake");
    if (prepared.problem->isTooRich()) {
      refuse("a value has too many layouts on the mesh " +
             describeMesh(space.mesh));
      return leaveOut(computeBound);
    }
    if (prepared.excessiveBytes > 0) {
      result.leastBytes = std::min(result.leastBytes, prepared.excessiveBytes);
      ++result.certificate.pruned;
      return;
    }
    if (!prepared.fastest) {
      result.isCutShort = true;
      return leaveOut(computeBound);
    }
    if (needsCompletion(request))
      planCompleted(prepared, end);
    else
      plan(prepared, end);
  }

  /// A space that is not searched only gives a bound.
  void leaveOut(double bound) {
    exact = false;
    lowerBound = std::min(lowerBound, bound);
    result.boundWithoutLimitSeconds =
        std::min(result.boundWithoutLimitSeconds, bound);
  }

  /// Says why a space has no layouts, or none was found.
  void refuseLayouts(const Minimum &fastest) {
    refuse(fastest.isExact ? "no layout satisfies every operator"
                           : "the graph is too wide for exact elimination");
  }

  void plan(const PreparedSpace &prepared, Clock::time_point end) {
    const MeshProblem &meshProblem = *prepared.problem;
    const CostNetwork &network = meshProblem.getNetwork();
    const Minimum &fastest = *prepared.fastest;
    exact &= fastest.isExact;
    double bound = fastest.lowerBound;
    if (network.getCost(fastest.choices) == CostNetwork::forbidden) {
      if (!fastest.isExact)
        leaveOut(bound);
      return refuseLayouts(fastest);
    }
    result.boundWithoutLimitSeconds =
        std::min(result.boundWithoutLimitSeconds, bound);
    auto getPeak = [&](const std::vector<int> &choices) {
      int op = 0;
      int64_t bytes =
          getPeakBytes(problem, meshProblem.getAnswer(choices), &op);
      result.smallestBytes = std::min(result.smallestBytes, bytes);
      return std::pair(bytes, op);
    };
    std::optional<std::vector<int>> choices;
    ++result.certificate.explored;
    if (getPeak(fastest.choices).first <= request.memoryLimitBytes) {
      choices = fastest.choices;
    } else {
      choices = findThatFits(meshProblem, getPeak, end, bound);
    }
    if (choices) {
      PlanningAnswer answer = meshProblem.getAnswer(*choices);
      PlanEvaluation evaluation = evaluatePlan(problem, answer, costs);
      take({std::move(answer), evaluation}, network.getCost(*choices), bound);
    }
    lowerBound = std::min(lowerBound, bound);
  }

  /// The fastest layouts, completed, or if they do not fit smaller ones. Other
  /// layouts with the same stages are not compared.
  void planCompleted(const PreparedSpace &prepared, Clock::time_point end) {
    const MeshProblem &meshProblem = *prepared.problem;
    const CostNetwork &network = meshProblem.getNetwork();
    const Minimum &fastest = *prepared.fastest;
    exact = false;
    ++result.certificate.explored;
    double bound = std::max(
        prepared.computeBound,
        getBoundOfPositions(fastest.lowerBound - prepared.mostOptimizerSeconds,
                            meshProblem.getMesh()));
    lowerBound = std::min(lowerBound, bound);
    result.boundWithoutLimitSeconds =
        std::min(result.boundWithoutLimitSeconds, bound);
    if (network.getCost(fastest.choices) == CostNetwork::forbidden)
      return refuseLayouts(fastest);
    bool isRefused = false;
    std::optional<CompletedPlan> best;
    double bestCost = 0;
    auto getPeak = [&](const std::vector<int> &choices) {
      constexpr int64_t tooMuch = std::numeric_limits<int64_t>::max();
      std::string refusal;
      std::optional<CompletedPlan> plan = completePlan(
          problem, request, costs, meshProblem.getAnswer(choices),
          best ? std::min(best->evaluation.stepTimeSeconds, bestSeconds.load())
               : bestSeconds.load(),
          end, refusal);
      if (!plan) {
        isRefused = true;
        refuse(refusal);
        return std::pair(tooMuch, 0);
      }
      if (auto tier = findSmallTier(request, plan->evaluation)) {
        refuse(*tier);
        return std::pair(tooMuch, 0);
      }
      int64_t bytes = plan->evaluation.peakBytes;
      result.smallestBytes = std::min(result.smallestBytes, bytes);
      int op = 0;
      if (bytes > request.memoryLimitBytes) {
        getPeakBytes(problem, plan->answer, &op);
      } else if (!best || plan->evaluation.stepTimeSeconds <
                              best->evaluation.stepTimeSeconds) {
        best = std::move(plan);
        bestCost = network.getCost(choices);
      }
      return std::pair(bytes, op);
    };
    if (getPeak(fastest.choices).first > request.memoryLimitBytes && !isRefused)
      findSmallerPlan(meshProblem, problem.ops.size(), bound, request, getPeak,
                      end);
    if (best)
      take(std::move(*best), bestCost, bound);
    else
      result.isCutShort |= request.isOver(end);
  }

  /// A plan that fits, then all plans that are faster in ascending order of
  /// time until one of them fits. `bound` rises to what was ruled out.
  std::optional<std::vector<int>> findThatFits(const MeshProblem &meshProblem,
                                               GetPeak getPeak,
                                               Clock::time_point end,
                                               double &bound) {
    auto choices = findSmallerPlan(meshProblem, problem.ops.size(), bound,
                                   request, getPeak, end);
    double seconds =
        choices ? evaluatePlan(problem, meshProblem.getAnswer(*choices), costs)
                      .stepTimeSeconds
                : CostNetwork::forbidden;
    if (!choices &&
        meshProblem.getLeastPeakBytes() > request.memoryLimitBytes) {
      bound = CostNetwork::forbidden;
      return std::nullopt;
    }
    // Looking at a partial plan takes time in proportion to the values. Where
    // no price of memory led to a plan that fits, there hardly is one.
    int64_t nodeLimit = std::clamp<int64_t>(
        20000000 / static_cast<int64_t>(problem.values.size() + 1), 2000,
        200000);
    if (!choices)
      nodeLimit /= 10;
    // The whole network: what is dominated in time may need less memory.
    auto elimination = meshProblem.getNetwork().eliminate(request.tableLimit);
    if (!elimination) {
      exact = false;
      return choices;
    }
    bool stopped = false;
    auto isLate = [&] { return stopped |= request.isOver(end); };
    auto enumeration = elimination->enumerate(
        [&](const std::vector<int> &answer) {
          return isLate() || getPeak(answer).first <= request.memoryLimitBytes;
        },
        [&](int variable, int choice, const std::vector<int> &partial) {
          // When it is late nothing is dropped, so that the best answer that is
          // left ends the visit and bounds the others.
          std::vector<int> extended = partial;
          extended[variable] = choice;
          return !isLate() && meshProblem.getLeastParameterBytes(extended) >
                                  request.memoryLimitBytes;
        },
        nodeLimit, seconds);
    bound = enumeration.lowerBound;
    result.certificate.explored += enumeration.expanded;
    result.certificate.pruned += enumeration.dropped;
    if (enumeration.found && !stopped)
      return std::move(enumeration.found);
    if (!choices && stopped)
      result.isCutShort = true;
    if (!enumeration.complete || stopped)
      exact = false;
    else if (!choices)
      bound = CostNetwork::forbidden;
    return choices;
  }

  /// Keeps a plan if it is the best so far. The layouts have the given cost in
  /// the network.
  void take(CompletedPlan plan, double layoutSeconds, double &bound) {
    const PlanEvaluation &evaluation = plan.evaluation;
    if (evaluation.peakBytes > request.memoryLimitBytes) {
      exact = false;
      return;
    }
    bound = std::min(bound, evaluation.stepTimeSeconds);
    if (result.answer &&
        evaluation.stepTimeSeconds >= result.evaluation.stepTimeSeconds)
      return;
    result.answer = std::move(plan.answer);
    result.evaluation = evaluation;
    result.objectiveSeconds = layoutSeconds;
    bestSeconds = evaluation.stepTimeSeconds;
  }

  void certify() {
    Certificate &certificate = result.certificate;
    certificate.upperBoundSeconds = result.evaluation.stepTimeSeconds;
    certificate.lowerBoundSeconds =
        std::min(lowerBound, certificate.upperBoundSeconds);
    // Solver and evaluator add the same seconds in another order.
    if (exact && certificate.getGap() < 1e-9)
      certificate.lowerBoundSeconds = certificate.upperBoundSeconds;
    certificate.exact = exact;
  }

  const PlanningProblem &problem;
  const PlanRequest &request;
  const PlanCosts &costs;
  Clock::time_point start, deadline;
  std::optional<Clock::time_point> deadlineOfGrids;
  PlanResult result;
  /// Of `result`. Threads that prepare spaces read this and `isLate` at any
  /// time, and need not know what is new: it only falls, that stays set, and
  /// `visit` asks both again before anything else of a space. So answers are
  /// those of one thread.
  std::atomic<double> bestSeconds = CostNetwork::forbidden;
  /// Of spaces that are left only a bound is asked.
  std::atomic<bool> isLate = false;
  double lowerBound = CostNetwork::forbidden;
  bool exact = true;
  /// Of the plan that was told last.
  double announcedSeconds = CostNetwork::forbidden;
};

} // namespace

PlanResult parplan::solve(const PlanningProblem &problem,
                          const PlanRequest &request, const PlanCosts &costs) {
  if (request.servers)
    return searchWorkers(
        problem, request, costs,
        [&](const PlanningProblem &workers, const PlanRequest &asked) {
          return solve(workers, asked, costs);
        });
  return ExactSearch(problem, request, costs).run();
}
