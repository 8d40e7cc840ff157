//===- PlanningProblem.cpp - Completeness of a problem --------------------===//

#include "parplan/Planner/PlanningProblem.h"

#include <map>

using namespace parplan;

int64_t PlanningValue::getWholeBytes() const {
  int64_t bytes = elementBytes;
  for (int64_t size : shape)
    bytes *= size;
  return bytes;
}

int64_t PlanningProblem::getVariableBytes() const {
  int64_t bytes = 0;
  for (const PlanningValue &value : values)
    if (value.kind == ValueKind::parameter || value.kind == ValueKind::state)
      bytes += value.getWholeBytes();
  return bytes;
}

int64_t parplan::alignBytes(int64_t bytes) {
  constexpr int64_t alignment = 64;
  return ceilDivide(bytes, alignment) * alignment;
}

int64_t parplan::getLocalBytes(const PlanningValue &value, const Mesh &mesh,
                               const Sharding &layout) {
  return alignBytes(layout.getLocalElementCount(mesh, value.shape) *
                    value.elementBytes);
}

/// Product of the factor sizes of a dimension.
static int64_t getSize(const ShardingRule &rule, const DimFactors &dim) {
  int64_t size = 1;
  for (int factor : dim)
    size *= rule.factors[factor].size;
  return size;
}

/// Every group has one leader, and of its own.
static std::optional<std::string> verifyGroups(const PlanningProblem &problem) {
  std::map<int64_t, int> leaders;
  for (const PlanningOp &op : problem.ops) {
    if (op.group < 0 && !op.isLeader)
      return "operator '" + op.node + "' (" + op.type +
             "): follows a leader, but is in no group";
    if (op.group >= 0)
      leaders[op.group] += op.isLeader;
  }
  for (auto [group, count] : leaders)
    if (count != 1)
      return "group " + std::to_string(group) + " has " +
             std::to_string(count) + " leaders";
  return std::nullopt;
}

/// What is replaced is a variable of the same shape, and is replaced once.
static std::optional<std::string>
verifyUpdates(const PlanningProblem &problem) {
  std::vector<bool> isUpdated(problem.values.size(), false);
  for (const PlanningValue &value : problem.values) {
    if (value.updates < 0)
      continue;
    auto fail = [&](const std::string &what) {
      return "value '" + value.name + "': " + what;
    };
    if (value.updates >= static_cast<int>(problem.values.size()))
      return fail("replaces a value that does not exist");
    const PlanningValue &variable = problem.values[value.updates];
    if (variable.kind != ValueKind::parameter &&
        variable.kind != ValueKind::state)
      return fail("replaces '" + variable.name + "', which is no variable");
    if (value.kind != ValueKind::activation || value.shape != variable.shape)
      return fail("is not of the shape of '" + variable.name + "'");
    if (isUpdated[value.updates])
      return fail("'" + variable.name + "' is replaced twice");
    isUpdated[value.updates] = true;
  }
  return std::nullopt;
}

std::optional<std::string>
parplan::verifyProblem(const PlanningProblem &problem) {
  if (auto fault = verifyGroups(problem))
    return fault;
  if (auto fault = verifyUpdates(problem))
    return fault;
  std::vector<bool> exists, perMicroBatch;
  for (const PlanningValue &value : problem.values) {
    exists.push_back(value.kind != ValueKind::activation);
    perMicroBatch.push_back(value.kind == ValueKind::input &&
                            value.batchDimension >= 0);
  }
  int count = static_cast<int>(problem.values.size());

  for (const PlanningOp &op : problem.ops) {
    auto fail = [&](const std::string &what) {
      return "operator '" + op.node + "' (" + op.type + "): " + what;
    };
    if (op.rule.operands.size() != op.operands.size() ||
        op.rule.results.size() != op.results.size())
      return fail("its rule is of another number of operands or results");
    if (op.coupledReductions > 0 && (op.operands.empty() || op.results.empty()))
      return fail(
          "it reduces over coupled factors, and reads or makes nothing");
    if (op.fusedReads < 0 || (op.fusedReads > 0 && op.results.size() != 1))
      return fail("what reads it computes it, and it makes no single value");
    auto fits = [&](const TensorFactors &tensor, int value) {
      const auto &shape = problem.values[value].shape;
      if (tensor.size() != shape.size())
        return false;
      for (auto [dim, size] : llvm::zip_equal(tensor, shape))
        if (!dim.empty() && getSize(op.rule, dim) != size)
          return false;
      return true;
    };
    for (auto [tensor, operand] :
         llvm::zip_equal(op.rule.operands, op.operands)) {
      if (operand < 0 || operand >= count || !exists[operand])
        return fail("reads a value before it is produced");
      if (problem.values[operand].updates >= 0)
        return fail("reads '" + problem.values[operand].name +
                    "', which replaces a variable");
      if (problem.microBatches > 1 && perMicroBatch[operand] &&
          !op.perMicroBatch && !op.accumulates)
        return fail("runs once per step and reads '" +
                    problem.values[operand].name +
                    "', which every micro-batch has");
      if (!fits(tensor, operand))
        return fail("its rule does not fit the shape of '" +
                    problem.values[operand].name + "'");
    }
    for (auto [tensor, result] : llvm::zip_equal(op.rule.results, op.results)) {
      if (result < 0 || result >= count || exists[result])
        return fail("produces a value that exists");
      if (!fits(tensor, result))
        return fail("its rule does not fit the shape of '" +
                    problem.values[result].name + "'");
      const PlanningValue &value = problem.values[result];
      if (op.fusedReads > 0 && (value.isOutput || value.isServed))
        return fail("what reads it computes it, and its result is returned");
      exists[result] = true;
      perMicroBatch[result] = op.perMicroBatch && !op.accumulates;
    }
  }
  return std::nullopt;
}

int64_t parplan::getRepeat(const PlanningProblem &problem,
                           const PlanningOp &op) {
  return op.perMicroBatch || op.accumulates ? problem.microBatches : 1;
}

int64_t parplan::getResultRepeat(const PlanningProblem &problem,
                                 const PlanningOp &op) {
  return op.accumulates ? 1 : getRepeat(problem, op);
}

bool parplan::mayReshard(const PlanningValue &value, const Mesh &mesh,
                         const Sharding &from, const Sharding &to) {
  return value.keptDimension < 0 ||
         llvm::all_of(from.dims[value.keptDimension], [&](int axis) {
           return mesh.getAxis(axis).role == AxisRole::data ||
                  llvm::is_contained(to.dims[value.keptDimension], axis);
         });
}

CopyReader parplan::getCopyReader(const PlanningOp &op) {
  return {op.role, op.perMicroBatch || op.accumulates};
}

bool parplan::isTraining(const PlanningProblem &problem) {
  return llvm::any_of(problem.values, [](const PlanningValue &value) {
    return value.updates >= 0 || value.isServed;
  });
}

/// True for what runs once for every micro-batch of a segment.
static bool isOfMicroBatch(const PlanningOp &op) {
  return op.perMicroBatch && !op.accumulates;
}

std::vector<int> parplan::getSegments(const PlanningProblem &problem) {
  // One more than the sums on a path that leads to another micro-batch.
  std::vector<int> depths(problem.values.size(), 0);
  int last = 0;
  for (const PlanningOp &op : problem.ops) {
    int depth = 0;
    for (int operand : op.operands)
      depth = std::max(depth, depths[operand]);
    if (isOfMicroBatch(op))
      last = std::max(last, depth);
    for (int result : op.results)
      depths[result] = depth + (op.accumulates ? 1 : 0);
  }
  // What micro-batches have is made as late as its readers allow: labels are
  // counted before the first forward pass, which is with its backward pass. A
  // sum is complete one segment before micro-batches read it.
  std::vector<int> ofMicroBatches(problem.values.size(), last + 1),
      ofStep(problem.values.size(), last), latest(problem.ops.size(), last);
  for (size_t index = problem.ops.size(); index-- > 0;) {
    const PlanningOp &op = problem.ops[index];
    bool isOnce = !isOfMicroBatch(op);
    for (int result : op.results)
      latest[index] =
          std::min({latest[index], ofMicroBatches[result] - (isOnce ? 1 : 0),
                    ofStep[result]});
    for (int operand : op.operands) {
      int &limit = isOnce ? ofStep[operand] : ofMicroBatches[operand];
      limit = std::min(limit, latest[index]);
    }
  }
  // What runs once follows what it reads.
  std::vector<int> ofOp, made(problem.values.size(), 0);
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    int segment = 0;
    for (int operand : op.operands)
      segment = std::max(segment, made[operand]);
    if (isOfMicroBatch(op))
      segment = latest[index];
    ofOp.push_back(segment);
    for (int result : op.results)
      made[result] = segment;
  }
  return ofOp;
}
