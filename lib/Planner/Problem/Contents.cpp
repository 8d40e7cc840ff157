//===- Contents.cpp - What ops and values are, but for their names --------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Contents.h"

#include "llvm/ADT/Hashing.h"

#include <functional>
#include <tuple>
#include <unordered_map>

using namespace parplan;

/// Numbers things by an equality, first come first.
template <typename IsEqual>
static int intern(std::unordered_multimap<size_t, std::pair<int, int>> &known,
                  size_t hash, int index, int &count, IsEqual isEqual) {
  auto [begin, end] = known.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (isEqual(it->second.first, index))
      return it->second.second;
  known.emplace(hash, std::pair(index, count));
  return count++;
}

static auto describe(const PlanningValue &value) {
  return std::tuple(value.kind, llvm::ArrayRef<int64_t>(value.shape),
                    value.elementBytes, value.isOutput, value.batchDimension,
                    value.sequenceDimension, value.keptDimension,
                    value.updates >= 0, value.exposedReduction,
                    value.exposedGather, value.bucketBytes);
}

static bool isEqual(const WorkTerm &one, const WorkTerm &other) {
  return one.coefficient == other.coefficient && one.factors == other.factors;
}

static bool areEqual(llvm::ArrayRef<WorkTerm> some,
                     llvm::ArrayRef<WorkTerm> others) {
  return std::equal(
      some.begin(), some.end(), others.begin(), others.end(),
      [](const auto &one, const auto &other) { return isEqual(one, other); });
}

static bool isEqual(const OpWork &one, const OpWork &other) {
  return one.kind == other.kind && areEqual(one.flops, other.flops) &&
         areEqual(one.transcendentals, other.transcendentals) &&
         one.rows == other.rows && one.columns == other.columns &&
         one.contracted == other.contracted && one.batch == other.batch &&
         one.rowShare == other.rowShare &&
         one.contractedShare == other.contractedShare;
}

static bool isEqual(const ShardingRule &one, const ShardingRule &other) {
  return one.factors == other.factors && one.operands == other.operands &&
         one.results == other.results && one.linearity == other.linearity &&
         one.flat == other.flat && one.panelFactors == other.panelFactors;
}

/// All numbers of an op that are neither its rule nor its work.
static auto describe(const PlanningOp &op) {
  return std::tuple(op.batchFactor, op.sequenceFactor, op.expertFactor,
                    op.experts, op.expertsPerToken, op.keyFactor, op.headFactor,
                    op.zigzag, op.group >= 0, op.isLeader, op.role,
                    op.perMicroBatch, op.accumulates, op.coupledReductions,
                    llvm::ArrayRef<int8_t>(op.movedBytes), op.isInReader,
                    op.fusedReads, op.isMadePerUpload);
}

Contents parplan::getContents(const PlanningProblem &problem,
                              llvm::ArrayRef<int64_t> labels) {
  Contents contents;
  std::unordered_multimap<size_t, std::pair<int, int>> knownValues, knownOps;
  int count = 0;
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    size_t hash = llvm::hash_combine(
        static_cast<int>(value.kind), value.elementBytes, value.isOutput,
        llvm::hash_combine_range(value.shape.begin(), value.shape.end()));
    contents.ofValue.push_back(intern(knownValues, hash,
                                      static_cast<int>(index), count,
                                      [&](int one, int other) {
                                        return describe(problem.values[one]) ==
                                               describe(problem.values[other]);
                                      }));
  }
  auto areSame = [&](llvm::ArrayRef<int> some, llvm::ArrayRef<int> others) {
    return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                      [&](int one, int other) {
                        return contents.ofValue[one] == contents.ofValue[other];
                      });
  };
  auto areEqualOps = [&](int one, int other) {
    const PlanningOp &left = problem.ops[one], &right = problem.ops[other];
    return (labels.empty() || labels[one] == labels[other]) &&
           left.type == right.type && describe(left) == describe(right) &&
           areSame(left.operands, right.operands) &&
           areSame(left.results, right.results) &&
           isEqual(left.rule, right.rule) && isEqual(left.work, right.work);
  };
  count = 0;
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    size_t hash =
        llvm::hash_combine(static_cast<int>(op.role), op.perMicroBatch,
                           std::hash<std::string>()(op.type));
    for (int operand : op.operands)
      hash = llvm::hash_combine(hash, contents.ofValue[operand]);
    for (int result : op.results)
      hash = llvm::hash_combine(hash, contents.ofValue[result]);
    for (const Factor &factor : op.rule.factors)
      hash = llvm::hash_combine(hash, factor.size);
    contents.ofOp.push_back(
        intern(knownOps, hash, static_cast<int>(index), count, areEqualOps));
  }
  return contents;
}
