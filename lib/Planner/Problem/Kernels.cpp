//===- Kernels.cpp - Which values kernels hand on in registers ------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/Kernels.h"

#include "KernelChains.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace parplan;

namespace {

class Marker {
public:
  explicit Marker(PlanningProblem &problem)
      : problem(problem), makers(problem.values.size(), -1),
        uses(problem.values.size()) {
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      op.movedBytes.clear();
      op.isInReader = false;
      for (int operand : op.operands)
        uses[operand].push_back(static_cast<int>(index));
      for (int result : op.results)
        makers[result] = static_cast<int>(index);
    }
  }

  void markChains();
  void markGroups();

private:
  /// Changes the type of a value of a micro-batch and nothing else.
  bool isCast(const PlanningOp &op) const {
    if (op.operands.size() != 1 || op.results.size() != 1 || op.accumulates ||
        !op.perMicroBatch || !isElementwise(problem, op))
      return false;
    const PlanningValue &from = problem.values[op.operands.front()];
    const PlanningValue &to = problem.values[op.results.front()];
    return from.shape == to.shape && from.elementBytes != to.elementBytes;
  }

  int8_t getBytes(int value) const {
    return static_cast<int8_t>(problem.values[value].elementBytes);
  }
  void moveAll(PlanningOp &op) const {
    for (int operand : op.operands)
      op.movedBytes.push_back(getBytes(operand));
    for (int result : op.results)
      op.movedBytes.push_back(getBytes(result));
  }
  void setMoved(PlanningOp &op, int value, int8_t bytes) const {
    for (auto [place, operand] : llvm::enumerate(op.operands))
      if (operand == value)
        op.movedBytes[place] = bytes;
    for (auto [place, result] : llvm::enumerate(op.results))
      if (result == value)
        op.movedBytes[op.operands.size() + place] = bytes;
  }

  void groupOps();
  void findSources();
  void countGroup(llvm::ArrayRef<int> members);

  PlanningProblem &problem;
  std::vector<int> makers;
  /// Per value its readers, as often as they read it.
  std::vector<std::vector<int>> uses;
  /// Per value what it was cast from, and the least bytes on the way.
  std::vector<int> sources;
  std::vector<int8_t> leastBytes;
  /// Ops of one kernel.
  llvm::EquivalenceClasses<int> kernelOf;
};

void Marker::markChains() {
  std::vector<int> chained = findChainedReads(problem);
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    bool isElement = isElementwise(problem, op);
    if (!isElement && !isSpread(problem, op))
      continue;
    if (op.movedBytes.empty())
      moveAll(op);
    if (chained[index] == 0)
      continue;
    int result = op.results.front();
    op.isInReader = true;
    setMoved(op, result, 0);
    for (int user : uses[result]) {
      PlanningOp &into = problem.ops[user];
      if (into.movedBytes.empty())
        moveAll(into);
      setMoved(into, result, 0);
    }
    // Copies of an index map cost nothing.
    if (!isElement)
      setMoved(op, op.operands.front(), 0);
  }
}

void Marker::findSources() {
  sources.resize(problem.values.size());
  leastBytes.resize(problem.values.size());
  for (size_t value = 0; value < sources.size(); ++value) {
    sources[value] = static_cast<int>(value);
    leastBytes[value] = getBytes(static_cast<int>(value));
    int maker = makers[value];
    if (maker < 0)
      continue;
    const PlanningOp &op = problem.ops[maker];
    bool isView = op.work.kind == WorkKind::none && op.operands.size() == 1 &&
                  op.results.size() == 1;
    if (!isCast(op) && !isView)
      continue;
    int from = op.operands.front();
    sources[value] = sources[from];
    leastBytes[value] = std::min(leastBytes[value], leastBytes[from]);
    int source = sources[value];
    leastBytes[source] = std::min(leastBytes[source], leastBytes[value]);
  }
  for (size_t value = 0; value < sources.size(); ++value)
    leastBytes[value] = leastBytes[sources[value]];
}

void Marker::groupOps() {
  // One kernel for an operator of the model, and one for its gradient.
  std::map<std::pair<int64_t, bool>, int> first;
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    bool joins = op.work.kind == WorkKind::elementwise ||
                 op.work.kind == WorkKind::reduction;
    if (!joins || replacesVariable(problem, op))
      continue;
    int number = static_cast<int>(index);
    kernelOf.insert(number);
    if (op.group < 0 || !op.perMicroBatch)
      continue;
    auto [known, isNew] =
        first.try_emplace({op.group, isBeforeBackward(op.role)}, number);
    if (!isNew)
      kernelOf.unionSets(known->second, number);
  }
  // And what is read by one more kernel alone.
  std::vector<std::set<int>> readers(problem.values.size());
  for (size_t value = 0; value < problem.values.size(); ++value)
    for (int user : uses[value])
      if (isCast(problem.ops[user]))
        for (int behind : uses[problem.ops[user].results.front()])
          readers[sources[value]].insert(behind);
      else
        readers[sources[value]].insert(user);
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    if (!isElementwise(problem, op) || isCast(op) || op.results.size() != 1 ||
        problem.values[op.results.front()].isOutput)
      continue;
    const std::set<int> &behind = readers[sources[op.results.front()]];
    if (behind.size() != 1)
      continue;
    int reader = *behind.begin();
    if (isElementwise(problem, problem.ops[reader]) &&
        isComputedInside(problem, op, problem.ops[reader]))
      kernelOf.unionSets(static_cast<int>(index), reader);
  }
}

void Marker::countGroup(llvm::ArrayRef<int> members) {
  std::set<int> inside(members.begin(), members.end()), read;
  auto isRead = [&](int value, bool byOthers) {
    return llvm::any_of(uses[value], [&](int user) {
      return (inside.count(user) == 0) == byOthers;
    });
  };
  bool isFirst = true;
  for (int number : members) {
    PlanningOp &op = problem.ops[number];
    op.movedBytes.clear();
    bool isWeightGradient = op.work.kind == WorkKind::reduction &&
                            op.role == OpRole::weightGradient;
    for (int operand : op.operands) {
      int source = sources[operand];
      int maker = makers[source];
      bool isOwn = maker >= 0 && inside.count(maker);
      bool counts = isWeightGradient || (!isOwn && read.insert(source).second);
      op.movedBytes.push_back(counts ? leastBytes[operand] : 0);
    }
    for (int result : op.results) {
      // A cast that is written is not written again in the other type.
      bool isWritten = problem.values[result].isOutput ||
                       (isRead(result, /*byOthers=*/true) && !isCast(op));
      if (!isWritten && !isCast(op))
        for (int user : uses[result])
          if (isCast(problem.ops[user]))
            isWritten |=
                isRead(problem.ops[user].results.front(), /*byOthers=*/true);
      op.movedBytes.push_back(isWritten ? leastBytes[result] : 0);
    }
    op.isInReader = !isFirst;
    isFirst = false;
  }
}

void Marker::markGroups() {
  findSources();
  groupOps();
  for (auto leader = kernelOf.begin(); leader != kernelOf.end(); ++leader) {
    if (!leader->isLeader())
      continue;
    std::vector<int> members(kernelOf.member_begin(leader),
                             kernelOf.member_end());
    llvm::sort(members);
    countGroup(members);
  }
  // Casts of what no kernel over elements makes or reads belong to its readers.
  for (PlanningOp &op : problem.ops)
    if (isCast(op)) {
      op.movedBytes.assign(op.operands.size() + op.results.size(), 0);
      op.isInReader = true;
    }
}

} // namespace

void parplan::markKernels(PlanningProblem &problem,
                          ElementwiseKernels kernels) {
  Marker marker(problem);
  switch (kernels) {
  case ElementwiseKernels::separate:
    return;
  case ElementwiseKernels::chains:
    return marker.markChains();
  case ElementwiseKernels::groups:
    return marker.markGroups();
  }
}

void parplan::markFusion(PlanningProblem &problem) {
  std::vector<bool> isSummed(problem.values.size(), false);
  for (const PlanningOp &op : problem.ops)
    if (op.accumulates)
      for (int operand : op.operands)
        isSummed[operand] = true;
  for (auto [op, reads] :
       llvm::zip_equal(problem.ops, findChainedReads(problem)))
    op.fusedReads = reads > 0 && isSummed[op.results.front()] ? 0 : reads;
}

void parplan::markOverlap(PlanningProblem &problem, const Stack &stack,
                          double interference) {
  std::vector<bool> isWeight(problem.values.size()), isSummed = isWeight;
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    value.exposedReduction = value.exposedGather = 1;
    isWeight[index] = value.kind == ValueKind::parameter;
  }
  // In program order: makers before readers.
  for (const PlanningOp &op : problem.ops) {
    bool isCopy = !isMatrix(op.work.kind) && !op.perMicroBatch &&
                  op.role == OpRole::forward && op.operands.size() == 1 &&
                  isWeight[op.operands.front()];
    bool isSum = op.role == OpRole::gradientSum &&
                 llvm::any_of(op.operands,
                              [&](int operand) { return isSummed[operand]; });
    for (int result : op.results) {
      isWeight[result] = isCopy;
      isSummed[result] = op.role == OpRole::weightGradient || isSum;
      PlanningValue &value = problem.values[result];
      bool isGradient =
          op.perMicroBatch && !isSummed[result] &&
          (op.role == OpRole::inputGradient || op.role == OpRole::gradientSum);
      if ((isGradient && stack.overlapsTensorGradients) ||
          (isSummed[result] &&
           (stack.overlapsGradientReduction || stack.overlapsParameterGathers)))
        value.exposedReduction = interference;
    }
  }
  if (stack.overlapsParameterGathers)
    for (auto [index, value] : llvm::enumerate(problem.values))
      if (isWeight[index])
        value.exposedGather = interference;
}

/// The program reduces gradients in buckets, gathers what updates make of them
/// likewise, and gathers the weights of a block at once.
static void markBuckets(PlanningProblem &problem) {
  std::vector<int> moved;
  std::set<int64_t> blocks;
  int64_t bytes = 0;
  for (const PlanningOp &op : problem.ops) {
    blocks.insert(op.block);
    for (int result : op.results) {
      int updated = problem.values[result].updates;
      bool isParameter =
          updated >= 0 && problem.values[updated].kind == ValueKind::parameter;
      if (isParameter)
        bytes += problem.values[result].getWholeBytes();
      if (isParameter || op.role == OpRole::weightGradient || op.accumulates)
        moved.push_back(result);
    }
  }
  if (problem.ops.empty())
    return;
  for (int value : moved)
    problem.values[value].bucketBytes = bytes;
  for (PlanningValue &value : problem.values)
    if (value.kind == ValueKind::parameter)
      value.bucketBytes = bytes / static_cast<int64_t>(blocks.size());
}

void parplan::applyStack(PlanningProblem &problem,
                         const ClusterDescription &description) {
  markKernels(problem, description.stack.elementwise);
  markFusion(problem);
  markOverlap(problem, description.stack, description.collectives.interference);
  markBuckets(problem);
}
