//===- MeshProblem.cpp - The planning problem on one mesh -----------------===//

#include "MeshProblem.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Solver.h"
#include "parplan/Support/Check.h"

#include <algorithm>

using namespace parplan;

MeshProblem::MeshProblem(const PlanningProblem &problem, const Mesh &mesh,
                         std::vector<std::vector<FactorAssignment>> assignments,
                         const PlanCosts &costs)
    : problem(problem), mesh(mesh), costs(costs), reshards(mesh),
      assignments(std::move(assignments)) {
  rests = getRestCandidates(problem, mesh, this->assignments);
  addOps();
  addValues();
}

PlanningAnswer MeshProblem::getAnswer(const std::vector<int> &choices) const {
  PlanningAnswer answer;
  answer.mesh = mesh;
  for (size_t op = 0; op < problem.ops.size(); ++op)
    answer.assignments.push_back(assignments[op][choices[op]]);
  for (size_t value = 0; value < problem.values.size(); ++value)
    answer.rest.push_back(rests[value][getRest(value, choices)]);
  return answer;
}

int64_t
MeshProblem::getLeastParameterBytes(const std::vector<int> &choices) const {
  int64_t bytes = problem.fixedBytes;
  for (size_t value = 0; value < problem.values.size(); ++value) {
    if (problem.values[value].kind != ValueKind::parameter)
      continue;
    bool chosen = choices[variableOf[value]] >= 0;
    bytes +=
        chosen ? restBytes[value][getRest(value, choices)] : leastBytes[value];
  }
  return bytes;
}

CostNetwork MeshProblem::getNetwork(double secondsPerByte,
                                    llvm::ArrayRef<double> opWeights) const {
  std::vector<double> weightBefore = {0};
  for (double weight : opWeights)
    weightBefore.push_back(weightBefore.back() + weight);
  CostNetwork priced = network;
  for (size_t value = 0; value < problem.values.size(); ++value) {
    auto [first, last] = liveRanges[value];
    double price =
        secondsPerByte * (weightBefore[last + 1] - weightBefore[first]);
    std::vector<double> seconds;
    for (int64_t bytes : choiceBytes[value])
      seconds.push_back(price * static_cast<double>(bytes));
    priced.addCosts(variableOf[value], seconds);
    const Making &making = makings[value];
    if (making.op < 0)
      continue;
    // What is made in another layout lives beside that at rest.
    seconds.clear();
    for (const ValueChoice &choice : valueChoices[value])
      for (auto [layout, bytes] : making.layouts)
        seconds.push_back(layout == rests[value][choice.rest]
                              ? 0
                              : secondsPerByte * opWeights[making.op] *
                                    static_cast<double>(bytes));
    priced.addPair(variableOf[value], making.op, seconds);
  }
  return priced;
}

int MeshProblem::getRest(size_t value, const std::vector<int> &choices) const {
  return valueChoices[value][choices[variableOf[value]]].rest;
}

double MeshProblem::getPathSeconds(size_t value, const Sharding &from,
                                   const Sharding &to) {
  const PlanningValue &description = problem.values[value];
  const ReshardPath &path = reshards.get(description.shape, from, to);
  return path.found ? costs.getPathSeconds(path, mesh, description.shape,
                                           description.elementBytes)
                    : CostNetwork::forbidden;
}

void MeshProblem::addOps() {
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

void MeshProblem::addValues() {
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
    int end = static_cast<int>(problem.ops.size()) - 1;
    bool persistent = problem.values[value].kind != ValueKind::activation;
    int first = persistent ? 0 : std::max(writer[value].op, 0);
    int last = persistent || problem.values[value].isOutput ? end
               : readers[value].empty()                     ? first
                                        : readers[value].back().op;
    liveRanges.emplace_back(first, last);
    makings.emplace_back();
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
    makings.back().op = writer[value].op;
    std::vector<std::vector<double>> toRest;
    for (const FactorAssignment &assignment : assignments[writer[value].op]) {
      Sharding made =
          getMadeSharding(op.rule, assignment, writer[value].position);
      makings.back().layouts.emplace_back(
          made, getLocalBytes(problem.values[value], mesh, made));
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

void MeshProblem::addValue(size_t value, const std::vector<Sharding> &layouts,
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

  std::vector<int64_t> layoutBytes;
  for (const Sharding &layout : layouts)
    layoutBytes.push_back(getLocalBytes(description, mesh, layout));
  restBytes.emplace_back();
  for (const Sharding &rest : rests[value])
    restBytes.back().push_back(getLocalBytes(description, mesh, rest));
  leastBytes.push_back(
      *std::min_element(restBytes.back().begin(), restBytes.back().end()));
  choiceBytes.emplace_back();
  for (const ValueChoice &choice : valueChoices.back()) {
    int64_t bytes = restBytes.back()[choice.rest];
    for (size_t index = 0; index < layouts.size(); ++index)
      if (choice.copies >> index & 1)
        bytes += layoutBytes[index];
    choiceBytes.back().push_back(bytes);
  }
}
