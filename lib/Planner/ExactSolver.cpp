//===- ExactSolver.cpp - Variable elimination per mesh --------------------===//

#include "parplan/Planner/CostNetwork.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Solver.h"
#include "parplan/Support/Check.h"

#include <chrono>
#include <cmath>

using namespace parplan;

namespace {

/// Largest table of the elimination: 2^24 costs are 128 MiB.
constexpr int64_t tableLimit = int64_t(1) << 24;

/// One choice for a value: its layout at rest, and which of its use layouts are
/// kept as copies for all readers.
struct ValueChoice {
  int rest;
  uint32_t copies;
};

/// The planning problem on one mesh as a cost network. Variables are ops (which
/// assignment) and values (which layout at rest, which shared copies).
class MeshProblem {
public:
  MeshProblem(const PlanningProblem &problem, const Mesh &mesh,
              std::vector<std::vector<FactorAssignment>> assignments,
              const PlanCosts &costs)
      : problem(problem), mesh(mesh), costs(costs), reshards(mesh),
        assignments(std::move(assignments)) {
    rests = getRestCandidates(problem, mesh, this->assignments);
    addOps();
    addValues();
  }

  const CostNetwork &getNetwork() const { return network; }

  PlanningAnswer getAnswer(const std::vector<int> &choices) const {
    PlanningAnswer answer;
    answer.mesh = mesh;
    for (size_t op = 0; op < problem.ops.size(); ++op)
      answer.assignments.push_back(assignments[op][choices[op]]);
    for (size_t value = 0; value < problem.values.size(); ++value)
      answer.rest.push_back(rests[value][getRest(value, choices)]);
    return answer;
  }

  /// Bytes of parameters that every completion of a partial answer needs.
  int64_t getLeastParameterBytes(const std::vector<int> &choices) const {
    int64_t bytes = problem.fixedBytes;
    for (size_t value = 0; value < problem.values.size(); ++value) {
      if (problem.values[value].kind != ValueKind::parameter)
        continue;
      bool chosen = choices[variableOf[value]] >= 0;
      bytes += chosen ? restBytes[value][getRest(value, choices)]
                      : leastBytes[value];
    }
    return bytes;
  }

private:
  int getRest(size_t value, const std::vector<int> &choices) const {
    return valueChoices[value][choices[variableOf[value]]].rest;
  }

  double getPathSeconds(size_t value, const Sharding &from,
                        const Sharding &to) {
    const PlanningValue &description = problem.values[value];
    const ReshardPath &path = reshards.get(description.shape, from, to);
    return path.found ? costs.getPathSeconds(path, mesh, description.shape,
                                             description.elementBytes)
                      : CostNetwork::forbidden;
  }

  void addOps() {
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      llvm::SmallVector<int64_t> operandBytes, resultBytes;
      for (int operand : op.operands)
        operandBytes.push_back(problem.values[operand].elementBytes);
      for (int result : op.results)
        resultBytes.push_back(problem.values[result].elementBytes);
      std::vector<double> seconds;
      for (const FactorAssignment &assignment : assignments[index])
        seconds.push_back(costs.getOpSeconds(evaluateWork(
            op.work, op.rule, getLocalFactorSizes(op.rule, assignment, mesh),
            operandBytes, resultBytes)));
      network.addVariable(std::move(seconds));
    }
  }

  void addValues() {
    struct Reader {
      int op;
      int position;
    };
    std::vector<std::vector<Reader>> readers(problem.values.size());
    std::vector<Reader> writer(problem.values.size(), {-1, 0});
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      for (auto [position, operand] : llvm::enumerate(op.operands))
        readers[operand].push_back(
            {static_cast<int>(index), static_cast<int>(position)});
      for (auto [position, result] : llvm::enumerate(op.results))
        writer[result] = {static_cast<int>(index), static_cast<int>(position)};
    }

    for (size_t value = 0; value < problem.values.size(); ++value) {
      // The distinct layouts in which ops may read the value, and which of them
      // every assignment of every reader reads.
      std::vector<Sharding> layouts;
      std::vector<std::vector<int>> layoutOf;
      for (const Reader &reader : readers[value]) {
        layoutOf.emplace_back();
        for (const FactorAssignment &assignment : assignments[reader.op]) {
          Sharding use = getUseSharding(problem.ops[reader.op].rule, assignment,
                                        reader.position);
          auto it = llvm::find(layouts, use);
          layoutOf.back().push_back(static_cast<int>(it - layouts.begin()));
          if (it == layouts.end())
            layouts.push_back(std::move(use));
        }
      }
      addValue(value, layouts, readers[value].size());
      int variable = variableOf[value];
      const std::vector<ValueChoice> &choices = valueChoices[value];

      for (auto [reader, layout] : llvm::zip_equal(readers[value], layoutOf)) {
        std::vector<double> pair;
        for (const ValueChoice &choice : choices)
          for (int use : layout) {
            bool free = rests[value][choice.rest] == layouts[use];
            bool copied = choice.copies >> use & 1;
            pair.push_back(free || copied ? 0 : CostNetwork::forbidden);
          }
        network.addPair(variable, reader.op, pair);
      }
      if (writer[value].op < 0)
        continue;
      const PlanningOp &op = problem.ops[writer[value].op];
      std::vector<std::vector<double>> toRest;
      for (const FactorAssignment &assignment : assignments[writer[value].op]) {
        Sharding made =
            getMadeSharding(op.rule, assignment, writer[value].position);
        toRest.emplace_back();
        for (const Sharding &rest : rests[value])
          toRest.back().push_back(getPathSeconds(value, made, rest));
      }
      std::vector<double> pair;
      for (const ValueChoice &choice : choices)
        for (const std::vector<double> &seconds : toRest)
          pair.push_back(seconds[choice.rest]);
      network.addPair(variable, writer[value].op, pair);
    }
  }

  /// Adds the variable of a value: every layout at rest with every set of
  /// copies that its readers could need.
  void addValue(size_t value, const std::vector<Sharding> &layouts,
                size_t readerCount) {
    const PlanningValue &description = problem.values[value];
    PARPLAN_CHECK(layouts.size() < 32, "a value has fewer than 32 use layouts");
    std::vector<ValueChoice> choices;
    std::vector<double> seconds;
    for (auto [rest, sharding] : llvm::enumerate(rests[value])) {
      uint32_t useful = 0;
      std::vector<double> copySeconds;
      for (auto [index, layout] : llvm::enumerate(layouts)) {
        double copy = description.kind == ValueKind::constant
                          ? 0
                          : getPathSeconds(value, sharding, layout);
        copySeconds.push_back(copy);
        if (!(sharding == layout) && copy < CostNetwork::forbidden)
          useful |= 1u << index;
      }
      // All subsets of `useful`, the empty one first.
      for (uint32_t copies = 0;; copies = (copies - useful) & useful) {
        if (static_cast<size_t>(__builtin_popcount(copies)) <= readerCount) {
          double sum = 0;
          for (size_t index = 0; index < layouts.size(); ++index)
            if (copies >> index & 1)
              sum += copySeconds[index];
          choices.push_back({static_cast<int>(rest), copies});
          seconds.push_back(sum);
        }
        if (copies == useful)
          break;
      }
    }
    variableOf.push_back(network.addVariable(std::move(seconds)));
    valueChoices.push_back(std::move(choices));

    restBytes.emplace_back();
    for (const Sharding &rest : rests[value])
      restBytes.back().push_back(getLocalBytes(description, mesh, rest));
    leastBytes.push_back(
        *std::min_element(restBytes.back().begin(), restBytes.back().end()));
  }

  const PlanningProblem &problem;
  const Mesh &mesh;
  const PlanCosts &costs;
  ReshardCache reshards;
  std::vector<std::vector<FactorAssignment>> assignments;
  std::vector<std::vector<Sharding>> rests;
  CostNetwork network;
  std::vector<int> variableOf;
  std::vector<std::vector<ValueChoice>> valueChoices;
  std::vector<std::vector<int64_t>> restBytes;
  std::vector<int64_t> leastBytes;
};

} // namespace

PlanResult parplan::solve(const PlanningProblem &problem,
                          const PlanRequest &request, const PlanCosts &costs) {
  using Clock = std::chrono::steady_clock;
  auto deadline = Clock::now() +
                  std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>(request.timeBudgetSeconds));
  PlanResult result;
  result.leastBytes = std::numeric_limits<int64_t>::max();
  double lowerBound = CostNetwork::forbidden;
  bool exact = true;

  for (const Mesh &mesh : getMeshes(request)) {
    std::optional<std::string> refusal;
    auto assignments = getAllowedAssignments(problem, request, mesh, refusal);
    if (refusal) {
      result.refusals.push_back(*refusal);
      continue;
    }
    MeshProblem meshProblem(problem, mesh, std::move(assignments), costs);
    std::vector<int> nothing(meshProblem.getNetwork().getVariableCount(), -1);
    int64_t least = meshProblem.getLeastParameterBytes(nothing);
    if (least > request.memoryLimitBytes) {
      result.leastBytes = std::min(result.leastBytes, least);
      ++result.certificate.pruned;
      continue;
    }
    auto elimination = meshProblem.getNetwork().eliminate(tableLimit);
    if (!elimination) {
      exact = false;
      lowerBound = 0;
      result.refusals.push_back("the graph is too wide for exact elimination");
      continue;
    }
    if (elimination->getMinimum() == CostNetwork::forbidden) {
      result.refusals.push_back("no layout satisfies every operator");
      continue;
    }

    // Plans in ascending order of time until one fits.
    int64_t leastSeen = std::numeric_limits<int64_t>::max();
    auto fits = [&](const std::vector<int> &choices) {
      int64_t bytes = getPeakBytes(problem, meshProblem.getAnswer(choices));
      leastSeen = std::min(leastSeen, bytes);
      return bytes <= request.memoryLimitBytes || Clock::now() > deadline;
    };
    std::optional<std::vector<int>> choices;
    double bound = elimination->getMinimum();
    if (std::vector<int> best = elimination->getBest(); fits(best)) {
      choices = std::move(best);
      ++result.certificate.explored;
    } else {
      constexpr int64_t nodeLimit = 200000;
      auto enumeration = elimination->enumerate(
          fits,
          [&](int variable, int choice, const std::vector<int> &partial) {
            std::vector<int> extended = partial;
            extended[variable] = choice;
            return Clock::now() > deadline ||
                   meshProblem.getLeastParameterBytes(extended) >
                       request.memoryLimitBytes;
          },
          nodeLimit);
      choices = std::move(enumeration.found);
      bound = enumeration.lowerBound;
      result.certificate.explored += enumeration.expanded;
      result.certificate.pruned += enumeration.dropped;
      if (!enumeration.complete || Clock::now() > deadline)
        exact = false;
      else if (!choices)
        bound = CostNetwork::forbidden;
    }
    if (choices) {
      PlanningAnswer answer = meshProblem.getAnswer(*choices);
      PlanEvaluation evaluation = evaluatePlan(problem, answer, costs);
      if (evaluation.peakBytes > request.memoryLimitBytes) {
        exact = false;
      } else {
        if (!result.answer ||
            evaluation.stepTimeSeconds < result.evaluation.stepTimeSeconds) {
          result.answer = std::move(answer);
          result.evaluation = evaluation;
        }
        bound = std::min(bound, evaluation.stepTimeSeconds);
      }
    }
    lowerBound = std::min(lowerBound, bound);
    result.leastBytes = std::min(result.leastBytes, leastSeen);
  }
  if (result.answer) {
    result.certificate.upperBoundSeconds = result.evaluation.stepTimeSeconds;
    result.certificate.lowerBoundSeconds =
        std::min(lowerBound, result.evaluation.stepTimeSeconds);
    // Solver and evaluator add the same seconds in another order.
    if (exact && result.certificate.getGap() < 1e-9)
      result.certificate.lowerBoundSeconds =
          result.certificate.upperBoundSeconds;
    result.certificate.exact = exact;
  }
  return result;
}
