//===- TestProblems.cpp - Small graphs to plan ----------------------------===//

#include "TestProblems.h"

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
