//===- Memory.cpp - Highest sum of live bytes of a plan -------------------===//

#include "parplan/Planner/Evaluator.h"

#include <algorithm>

using namespace parplan;

int64_t parplan::getLocalBytes(const PlanningValue &value, const Mesh &mesh,
                               const Sharding &layout) {
  constexpr int64_t alignment = 64;
  return ceilDivide(layout.getLocalElementCount(mesh, value.shape) *
                        value.elementBytes,
                    alignment) *
         alignment;
}

namespace {

/// Bytes live at every op, kept as differences.
class Timeline {
public:
  explicit Timeline(size_t opCount) : differences(opCount + 1) {}

  /// `bytes` from `first` to `last`, both included.
  void add(int first, int last, int64_t bytes) {
    differences[first] += bytes;
    differences[last + 1] -= bytes;
  }
  /// The highest sum, and the first op that has it.
  std::pair<int64_t, int> getPeak() const {
    int64_t live = 0;
    std::pair<int64_t, int> peak = {0, 0};
    for (size_t op = 0; op < differences.size(); ++op)
      if ((live += differences[op]) > peak.first)
        peak = {live, static_cast<int>(op)};
    return peak;
  }

private:
  std::vector<int64_t> differences;
};

/// Largest block between two moves of a path: it lives beside both ends.
int64_t getTransientBytes(const ReshardPath &path, const PlanningValue &value,
                          const Mesh &mesh) {
  int64_t bytes = 0;
  for (size_t i = 0; i + 1 < path.moves.size(); ++i)
    bytes = std::max(bytes, getLocalBytes(value, mesh, path.moves[i].result));
  return bytes;
}

} // namespace

int64_t parplan::getPeakBytes(const PlanningProblem &problem,
                              const PlanningAnswer &answer, int *peakOp) {
  int end = static_cast<int>(problem.ops.size()) - 1;
  int64_t fixed = problem.fixedBytes;
  if (end < 0)
    return fixed;
  const Mesh &mesh = answer.mesh;
  Timeline timeline(problem.ops.size());
  ReshardCache reshards(mesh);

  std::vector<int> producer(problem.values.size(), 0);
  std::vector<int> lastUse(problem.values.size(), -1);
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    for (int operand : op.operands)
      lastUse[operand] = static_cast<int>(index);
    for (int result : op.results) {
      producer[result] = static_cast<int>(index);
      lastUse[result] = std::max(lastUse[result], static_cast<int>(index));
    }
  }
  for (auto [index, op] : llvm::enumerate(problem.ops))
    for (auto [position, result] : llvm::enumerate(op.results)) {
      const PlanningValue &value = problem.values[result];
      Sharding made = getMadeSharding(op.rule, answer.assignments[index],
                                      static_cast<int>(position));
      if (made == answer.rest[result])
        continue;
      int at = static_cast<int>(index);
      timeline.add(at, at,
                   getLocalBytes(value, mesh, made) +
                       getTransientBytes(
                           reshards.get(value.shape, made, answer.rest[result]),
                           value, mesh));
    }
  auto copies = getCopies(problem, answer);
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    int64_t bytes = getLocalBytes(value, mesh, answer.rest[index]);
    bool persistent = value.kind == ValueKind::parameter ||
                      value.kind == ValueKind::constant ||
                      value.kind == ValueKind::input;
    if (persistent)
      fixed += bytes;
    else
      timeline.add(producer[index], value.isOutput ? end : lastUse[index],
                   bytes);
    for (const ValueCopy &copy : copies[index]) {
      timeline.add(copy.firstUse, copy.lastUse,
                   getLocalBytes(value, mesh, copy.layout));
      timeline.add(
          copy.firstUse, copy.firstUse,
          getTransientBytes(
              reshards.get(value.shape, answer.rest[index], copy.layout), value,
              mesh));
    }
  }
  auto [peak, op] = timeline.getPeak();
  if (peakOp)
    *peakOp = op;
  return fixed + peak;
}
