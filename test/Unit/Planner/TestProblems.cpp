//===- TestProblems.cpp - Small graphs to plan ----------------------------===//

#include "TestProblems.h"

#include "parplan/Planner/PlanChoice.h"

using namespace parplan;
using namespace parplan::test;

int ProblemBuilder::addValue(ValueKind kind, llvm::ArrayRef<int64_t> shape) {
  PlanningValue value;
  value.kind = kind;
  value.shape.assign(shape.begin(), shape.end());
  value.name = "v" + std::to_string(problem.values.size());
  problem.values.push_back(value);
  return static_cast<int>(problem.values.size()) - 1;
}

int ProblemBuilder::addInput(llvm::ArrayRef<int64_t> shape) {
  int value = addValue(ValueKind::input, shape);
  problem.values[value].batchDimension = 0;
  return value;
}

int ProblemBuilder::addTokens(llvm::ArrayRef<int64_t> shape) {
  int value = addInput(shape);
  problem.values[value].sequenceDimension = 1;
  return value;
}

int ProblemBuilder::addParameter(llvm::ArrayRef<int64_t> shape) {
  return addValue(ValueKind::parameter, shape);
}

int ProblemBuilder::addProduct(int lhs, int rhs, const std::string &node) {
  const auto left = problem.values[lhs].shape;
  const auto right = problem.values[rhs].shape;
  PlanningOp op;
  op.node = node;
  op.type = "MatMul";
  op.rule.factors = {{"m", left[0], FactorKind::parallel},
                     {"n", right[1], FactorKind::parallel},
                     {"k", left[1], FactorKind::reduceSum}};
  op.rule.operands = {{{0}, {2}}, {{2}, {1}}};
  op.rule.results = {{{0}, {1}}};
  op.rule.linearity = Linearity::separately;
  op.work.kind = WorkKind::matrix;
  op.work.flops = {{2.0, {0, 1, 2}}};
  op.operands = {lhs, rhs};
  bool carriesBatch = problem.values[lhs].batchDimension == 0;
  op.batchFactor = carriesBatch ? 0 : -1;
  int result = addValue(ValueKind::activation, {left[0], right[1]});
  problem.values[result].batchDimension = carriesBatch ? 0 : -1;
  op.results = {result};
  problem.ops.push_back(op);
  return result;
}

int ProblemBuilder::addSum(int lhs, int rhs) {
  const auto shape = problem.values[lhs].shape;
  PlanningOp op;
  op.node = "sum";
  op.type = "Add";
  op.rule.factors = {{"d0", shape[0], FactorKind::parallel},
                     {"d1", shape[1], FactorKind::parallel}};
  op.rule.operands = {{{0}, {1}}, {{0}, {1}}};
  op.rule.results = {{{0}, {1}}};
  op.rule.linearity = Linearity::jointly;
  op.work.flops = {{1.0, {0, 1}}};
  op.operands = {lhs, rhs};
  bool carriesBatch = problem.values[lhs].batchDimension == 0 ||
                      problem.values[rhs].batchDimension == 0;
  op.batchFactor = carriesBatch ? 0 : -1;
  int result = addValue(ValueKind::activation, shape);
  problem.values[result].batchDimension = carriesBatch ? 0 : -1;
  op.results = {result};
  problem.ops.push_back(op);
  return result;
}

/// Derives the batch and the sequence of an op and of its result, and adds
/// both.
int ProblemBuilder::addOp(PlanningOp op, llvm::ArrayRef<int64_t> shape) {
  int result = addValue(ValueKind::activation, shape);
  auto derive = [&](int PlanningOp::*factor, int PlanningValue::*ofValue) {
    for (auto [position, operand] : llvm::enumerate(op.operands)) {
      int dimension = problem.values[operand].*ofValue;
      if (dimension >= 0 && op.*factor < 0)
        op.*factor = op.rule.operands[position][dimension].front();
    }
    for (auto [dimension, factors] : llvm::enumerate(op.rule.results[0]))
      if (op.*factor >= 0 && llvm::is_contained(factors, op.*factor))
        problem.values[result].*ofValue = static_cast<int>(dimension);
  };
  derive(&PlanningOp::batchFactor, &PlanningValue::batchDimension);
  derive(&PlanningOp::sequenceFactor, &PlanningValue::sequenceDimension);
  op.results.insert(op.results.begin(), result);
  op.perMicroBatch = true;
  problem.ops.push_back(std::move(op));
  return result;
}

int ProblemBuilder::addContraction(int lhs, const std::string &left, int rhs,
                                   const std::string &right,
                                   const std::string &result) {
  PlanningOp op;
  op.node = op.type = "MatMul";
  op.rule.linearity = Linearity::separately;
  op.work.kind = WorkKind::matrix;
  op.work.flops = {{2.0, {}}};
  op.operands = {lhs, rhs};
  auto addTensor = [&](const std::string &letters, int value) {
    TensorFactors tensor;
    for (auto [dimension, letter] : llvm::enumerate(letters)) {
      std::string name(1, letter);
      std::optional<int> factor = op.rule.findFactor(name);
      if (!factor) {
        bool isKept = result.find(letter) != std::string::npos;
        factor = static_cast<int>(op.rule.factors.size());
        op.rule.factors.push_back(
            {name, problem.values[value].shape[dimension],
             isKept ? FactorKind::parallel : FactorKind::reduceSum});
        op.work.flops[0].factors.push_back(*factor);
      }
      tensor.push_back({*factor});
    }
    return tensor;
  };
  op.rule.operands = {addTensor(left, lhs), addTensor(right, rhs)};
  op.rule.results.emplace_back();
  llvm::SmallVector<int64_t> shape;
  for (char letter : result) {
    int factor = *op.rule.findFactor(llvm::StringRef(&letter, 1));
    op.rule.results[0].push_back({factor});
    shape.push_back(op.rule.factors[factor].size);
  }
  for (auto [index, factor] : llvm::enumerate(op.rule.factors))
    for (const std::string &letters : {left, right, result})
      if (letters.find(factor.name) == std::string::npos)
        op.rule.panelFactors.push_back(static_cast<int>(index));
  return addOp(std::move(op), shape);
}

int ProblemBuilder::addAttention(int query, int key, int value,
                                 int64_t keyHeads) {
  const auto queries = problem.values[query].shape;
  const auto keys = problem.values[key].shape;
  PlanningOp op;
  op.node = op.type = "Attention";
  int64_t width = keys[2] / keyHeads;
  op.rule.factors = {{"b", queries[0]},
                     {"s", queries[1]},
                     {"t", keys[1], FactorKind::coupled},
                     {"g", keyHeads},
                     {"r", queries[2] / keys[2]},
                     {"e", width, FactorKind::coupled}};
  op.rule.operands = {
      {{0}, {1}, {3, 4, 5}}, {{0}, {2}, {3, 5}}, {{0}, {2}, {3, 5}}};
  op.rule.results = {{{0}, {1}, {3, 4, 5}}};
  op.rule.panelFactors = {2};
  op.work.flops = {{4.0, {0, 1, 2, 3, 4, 5}}};
  op.operands = {query, key, value};
  op.keyFactor = 2;
  op.headFactor = 3;
  return addOp(std::move(op), queries);
}

int ProblemBuilder::addDispatch(int tokens, int64_t experts) {
  const auto shape = problem.values[tokens].shape;
  PlanningOp op;
  op.node = op.type = "Dispatch";
  op.rule.factors = {{"e", experts}, {"t", shape[0]}, {"d", shape[1]}};
  op.rule.operands = {{{1}, {2}}};
  op.rule.results = {{{0}, {1}, {2}}};
  op.work.flops = {{1.0, {0, 1, 2}}};
  op.operands = {tokens};
  op.expertFactor = 0;
  return addOp(std::move(op), {experts, shape[0], shape[1]});
}

int ProblemBuilder::addCombine(int values) {
  const auto shape = problem.values[values].shape;
  PlanningOp op;
  op.node = op.type = "Combine";
  op.rule.factors = {
      {"e", shape[0], FactorKind::reduceSum}, {"t", shape[1]}, {"d", shape[2]}};
  op.rule.operands = {{{0}, {1}, {2}}};
  op.rule.results = {{{1}, {2}}};
  op.work.flops = {{1.0, {0, 1, 2}}};
  op.operands = {values};
  op.expertFactor = 0;
  return addOp(std::move(op), {shape[1], shape[2]});
}

int ProblemBuilder::addElementwise(llvm::ArrayRef<int> operands,
                                   Linearity linearity) {
  llvm::SmallVector<int64_t> shape = problem.values[operands[0]].shape;
  PlanningOp op;
  op.node = op.type = "Elementwise";
  op.rule.linearity = linearity;
  op.rule.flat = true;
  op.work.flops = {{1.0, {}}};
  TensorFactors tensor;
  for (auto [dimension, size] : llvm::enumerate(shape)) {
    op.rule.factors.push_back({"d" + std::to_string(dimension), size});
    op.work.flops[0].factors.push_back(static_cast<int>(dimension));
    tensor.push_back({static_cast<int>(dimension)});
  }
  op.operands.assign(operands.begin(), operands.end());
  op.rule.operands.assign(operands.size(), tensor);
  op.rule.results = {tensor};
  return addOp(std::move(op), shape);
}

int ProblemBuilder::addNorm(llvm::ArrayRef<int> operands, int reductions) {
  int result = addElementwise(operands);
  PlanningOp &op = problem.ops.back();
  op.rule.flat = false;
  op.rule.factors.back().kind = FactorKind::coupled;
  op.coupledReductions = reductions;
  return result;
}

int ProblemBuilder::addSquareSum(int value, int64_t group) {
  PlanningOp op;
  op.node = op.type = "SquareSum";
  op.rule.flat = true;
  op.rule.operands.emplace_back();
  for (auto [dimension, size] : llvm::enumerate(problem.values[value].shape)) {
    op.rule.factors.push_back(
        {"d" + std::to_string(dimension), size, FactorKind::reduceSum});
    op.rule.operands[0].push_back({static_cast<int>(dimension)});
  }
  op.rule.results.emplace_back();
  op.operands = {value};
  int result = addOp(std::move(op), {});
  setRole(OpRole::optimizer, group);
  problem.ops.back().perMicroBatch = false;
  return result;
}

int ProblemBuilder::addAccumulate(int value) {
  int result = addElementwise(value, Linearity::jointly);
  PlanningOp &op = problem.ops.back();
  op.perMicroBatch = false;
  op.accumulates = true;
  op.role = OpRole::gradientSum;
  return result;
}

void ProblemBuilder::addUpdate(int parameter, int gradient, int stateCount) {
  llvm::SmallVector<int> states = {parameter, gradient};
  const auto shape = problem.values[parameter].shape;
  for (int state = 0; state < stateCount; ++state)
    states.push_back(addValue(ValueKind::state, shape));
  int updated = addElementwise(states);
  PlanningOp &op = problem.ops.back();
  op.perMicroBatch = false;
  op.role = OpRole::optimizer;
  problem.values[updated].updates = parameter;
  problem.values[updated].isOutput = true;
  for (int state = 0; state < stateCount; ++state) {
    int next = addValue(ValueKind::activation, shape);
    problem.values[next].updates = states[state + 2];
    problem.values[next].isOutput = true;
    op.results.push_back(next);
    op.rule.results.push_back(op.rule.results[0]);
  }
}

void ProblemBuilder::setRole(OpRole role, int64_t group) {
  PlanningOp &op = problem.ops.back();
  op.role = role;
  op.group = group;
  op.isLeader = group < 0 || isBeforeBackward(role);
}

ProblemBuilder::Layer ProblemBuilder::addLayer(int input, int weight) {
  int64_t group = nextGroup++;
  int result = addContraction(input, "mk", weight, "kn", "mn");
  setRole(OpRole::forward, group);
  auto addBackward = [this, input, weight, group](int gradient) {
    int ofInput = addContraction(gradient, "mn", weight, "kn", "mk");
    setRole(OpRole::inputGradient, group);
    int ofWeight = addContraction(input, "mk", gradient, "mn", "kn");
    setRole(OpRole::weightGradient, group);
    return std::pair(ofInput, ofWeight);
  };
  return {result, addBackward};
}

ProblemBuilder::Layer ProblemBuilder::addNormLayer(int input) {
  int64_t group = nextGroup++;
  int result = addNorm(input);
  setRole(OpRole::forward, group);
  auto addBackward = [this, input, group](int gradient) {
    int ofInput = addNorm({input, gradient});
    setRole(OpRole::inputGradient, group);
    return std::pair(ofInput, -1);
  };
  return {result, addBackward};
}

ProblemBuilder::Layer ProblemBuilder::addElementwiseLayer(int input,
                                                          bool isLinear) {
  int64_t group = nextGroup++;
  int result = addElementwise(input);
  setRole(OpRole::forward, group);
  auto addBackward = [this, input, isLinear, group](int gradient) {
    int ofInput =
        isLinear ? addElementwise(gradient) : addElementwise({gradient, input});
    setRole(OpRole::inputGradient, group);
    return std::pair(ofInput, -1);
  };
  return {result, addBackward};
}

int ProblemBuilder::addSpread(int column, int like) {
  int wide = addElementwise(like);
  setRole(OpRole::forward);
  PlanningOp &op = problem.ops.back();
  op.operands = {column};
  op.rule.operands[0][1].clear();
  op.rule.flat = false;
  op.work.kind = WorkKind::copy;
  return wide;
}

ProblemBuilder::Layer ProblemBuilder::addScaledLayer(int input, int factor) {
  int64_t group = nextGroup++;
  int result = addElementwise({input, factor});
  setRole(OpRole::forward, group);
  auto addBackward = [this, factor, group](int gradient) {
    int ofInput = addElementwise({gradient, factor});
    setRole(OpRole::inputGradient, group);
    return std::pair(ofInput, -1);
  };
  return {result, addBackward};
}

PlanningProblem parplan::test::makeMlp(int64_t batch, int64_t width,
                                       int64_t hidden) {
  ProblemBuilder builder;
  int x = builder.addInput({batch, width});
  int up = builder.addParameter({width, hidden});
  int down = builder.addParameter({hidden, width});
  int h = builder.addProduct(x, up, "up");
  builder.markOutput(builder.addProduct(h, down, "down"));
  return std::move(builder.problem);
}

namespace {

class OneProblem : public CandidateOracle {
public:
  OneProblem(const PlanningProblem &problem, const PlanRequest &request,
             const PlanCosts &costs)
      : problem(problem), request(request), costs(costs) {}

  bool prepare(const PlanCandidate &) override { return true; }

  PlanResult search(const PlanCandidate &candidate, int64_t limitBytes,
                    double seconds) override {
    PlanRequest limited = request;
    limited.memoryLimitBytes = limitBytes;
    limited.timeBudgetSeconds = seconds;
    PlanResult result = searchPlan(problem, limited, costs, candidate.effort);
    if (!first)
      first = result;
    return result;
  }

  std::optional<ProgramNeed> lower(const PlanCandidate &,
                                   const PlanResult &plan) override {
    return ProgramNeed{plan.evaluation.peakBytes, std::nullopt};
  }

  double getLeastSeconds(const PlanCandidate &candidate,
                         double seconds) override {
    PlanRequest limited = request;
    limited.timeBudgetSeconds = seconds;
    return parplan::getLeastSeconds(problem, limited, costs, candidate.effort);
  }

  std::optional<PlanResult> first;

private:
  const PlanningProblem &problem;
  const PlanRequest &request;
  const PlanCosts &costs;
};

} // namespace

PlanResult parplan::test::choosePlanOf(const PlanningProblem &problem,
                                       const PlanRequest &request,
                                       const PlanCosts &costs) {
  OneProblem oracle(problem, request, costs);
  int64_t microBatches = problem.microBatches;
  PlanChoice choice =
      choosePlan(listCandidates(microBatches, /*orders=*/1, /*positions=*/1,
                                isTraining(problem)),
                 request.memoryLimitBytes, request.timeBudgetSeconds, oracle);
  return choice.candidate ? choice.plan : *oracle.first;
}
