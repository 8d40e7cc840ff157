//===- Recompute.cpp - What is made again for the backward pass -----------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Recompute.h"

#include "lib/Planner/Evaluation/Execution.h"
#include "lib/Planner/Problem/LeastCount.h"

#include "parplan/Planner/Evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace parplan;

namespace {

class Recomputation {
public:
  Recomputation(const PlanningProblem &problem, const PlanningAnswer &answer)
      : problem(problem), answer(answer), producers(problem.values.size(), -1),
        isReadBackward(problem.values.size(), false) {
    std::vector<Phase> phases = getPhases(problem);
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      bool isBackward = phases[index] == Phase::inputGradient ||
                        phases[index] == Phase::weightGradient;
      for (int operand : op.operands)
        if (isBackward)
          isReadBackward[operand] = true;
      for (int result : op.results)
        producers[result] = static_cast<int>(index);
    }
  }

  std::vector<bool> getSelective() const {
    std::vector<bool> recomputed(problem.ops.size(), false);
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      bool isCheap = op.keyFactor >= 0 || !isMatrix(op.work.kind);
      recomputed[index] = mayRecompute(op) && isCheap &&
                          llvm::all_of(op.operands, [&](int operand) {
                            int producer = producers[operand];
                            return producer < 0 || isReadBackward[operand] ||
                                   !problem.ops[producer].perMicroBatch ||
                                   recomputed[producer];
                          });
    }
    return recomputed;
  }

  std::vector<bool> getFull() const {
    std::vector<int64_t> parts = getParts();
    std::vector<bool> recomputed(problem.ops.size(), false);
    std::vector<bool> leaves(problem.ops.size(), false);
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      if (!isBeforeBackward(op.role))
        continue;
      for (int operand : op.operands)
        if (int producer = producers[operand];
            producer >= 0 && parts[producer] != parts[index])
          leaves[producer] = true;
    }
    for (auto [index, op] : llvm::enumerate(problem.ops))
      recomputed[index] = parts[index] >= 0 && !leaves[index] &&
                          mayRecompute(op) &&
                          llvm::none_of(op.results, [&](int result) {
                            return problem.values[result].isOutput;
                          });
    return recomputed;
  }

  /// Per op the block or part that it is in, or -1.
  std::vector<int64_t> getParts() const {
    std::vector<int64_t> parts;
    for (const PlanningOp &op : problem.ops)
      parts.push_back(isBeforeBackward(op.role) ? op.block : -1);
    // Without blocks, or with one, which would be all of it.
    int64_t last = -1;
    for (int64_t part : parts)
      last = std::max(last, part);
    return last >= 1 ? parts : cut();
  }

private:
  bool mayRecompute(const PlanningOp &op) const {
    return op.role == OpRole::forward && op.perMicroBatch && !op.accumulates &&
           llvm::none_of(op.results, [&](int result) {
             return problem.values[result].updates >= 0;
           });
  }

  std::vector<int64_t> cut() const {
    std::vector<int> forward;
    for (auto [index, op] : llvm::enumerate(problem.ops))
      if (op.role == OpRole::forward && op.perMicroBatch)
        forward.push_back(static_cast<int>(index));
    std::vector<int64_t> parts(problem.ops.size(), -1);
    std::vector<int64_t> crossing = getCrossing(forward);
    auto size = std::max<size_t>(1, static_cast<size_t>(std::lround(std::sqrt(
                                        static_cast<double>(forward.size())))));
    size_t begin = 0;
    for (int64_t part = 0; begin < forward.size(); ++part) {
      // Within half a part around its end.
      size_t end = begin + size;
      for (size_t other = begin + size / 2 + 1;
           other < begin + size + size / 2 && other < forward.size(); ++other)
        if (end > forward.size() || crossing[other] < crossing[end])
          end = other;
      if (end + size / 2 >= forward.size())
        end = forward.size();
      for (; begin < end; ++begin)
        parts[forward[begin]] = part;
    }
    return parts;
  }

  /// Bytes that are made before the op of each position and read from there on.
  std::vector<int64_t> getCrossing(llvm::ArrayRef<int> forward) const {
    std::vector<int64_t> crossing(forward.size() + 1, 0);
    std::map<int, size_t> positionOf;
    for (auto [position, op] : llvm::enumerate(forward))
      positionOf[op] = position;
    std::map<int, size_t> lastReaders;
    for (auto [position, op] : llvm::enumerate(forward))
      for (int operand : problem.ops[op].operands)
        lastReaders[operand] = position;
    for (auto [value, last] : lastReaders) {
      auto made = positionOf.find(producers[value]);
      if (made == positionOf.end())
        continue;
      int64_t bytes =
          getLocalBytes(problem.values[value], answer.mesh, answer.rest[value]);
      for (size_t at = made->second + 1; at <= last; ++at)
        crossing[at] += bytes;
    }
    return crossing;
  }

  const PlanningProblem &problem;
  const PlanningAnswer &answer;
  std::vector<int> producers;
  std::vector<bool> isReadBackward;
};

} // namespace

std::vector<bool> parplan::getRecomputed(const PlanningProblem &problem,
                                         const PlanningAnswer &answer,
                                         RecomputeKind kind) {
  Recomputation recomputation(problem, answer);
  switch (kind) {
  case RecomputeKind::none:
    return {};
  case RecomputeKind::selective:
    return recomputation.getSelective();
  case RecomputeKind::full:
    return recomputation.getFull();
  }
  return {};
}

bool parplan::recomputeUntilFits(const PlanningProblem &problem,
                                 const PlanCosts &costs, PlanningAnswer &answer,
                                 int64_t limitBytes) {
  Recomputation recomputation(problem, answer);
  std::vector<bool> selective = recomputation.getSelective(),
                    full = recomputation.getFull();
  std::vector<int64_t> parts = recomputation.getParts();
  // Single ops, then parts; each kind by seconds per byte.
  struct Step {
    bool isPart = false;
    double secondsPerByte = 0;
    std::vector<int> ops;
  };
  std::vector<Step> steps;
  std::map<int64_t, std::vector<int>> ofParts;
  auto add = [&](bool isPart, std::vector<int> ops) {
    double seconds = 0;
    int64_t bytes = 1;
    for (int index : ops) {
      const PlanningOp &op = problem.ops[index];
      seconds += costs.getOpSeconds(problem, op, answer.assignments[index],
                                    answer.mesh);
      for (int result : op.results)
        bytes += getLocalBytes(problem.values[result], answer.mesh,
                               answer.rest[result]);
    }
    steps.push_back(
        {isPart, seconds / static_cast<double>(bytes), std::move(ops)});
  };
  for (size_t op = 0; op < problem.ops.size(); ++op) {
    if (selective[op])
      add(/*isPart=*/false, {static_cast<int>(op)});
    if (full[op])
      ofParts[parts[op]].push_back(static_cast<int>(op));
  }
  for (auto &[part, ops] : ofParts)
    add(/*isPart=*/true, std::move(ops));
  llvm::stable_sort(steps, [](const Step &first, const Step &second) {
    return std::pair(first.isPart, first.secondsPerByte) <
           std::pair(second.isPart, second.secondsPerByte);
  });
  std::vector<bool> before = answer.recomputed;
  auto fitsWith = [&](size_t count) {
    answer.recomputed.assign(problem.ops.size(), false);
    for (const Step &step : llvm::ArrayRef(steps).take_front(count))
      for (int op : step.ops)
        answer.recomputed[op] = true;
    return getPeakBytes(problem, answer) <= limitBytes;
  };
  if (!fitsWith(steps.size())) {
    answer.recomputed = std::move(before);
    return false;
  }
  return fitsWith(findLeastCount(steps.size(), fitsWith));
}
