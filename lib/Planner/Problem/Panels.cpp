//===- Panels.cpp - What a loop over panels moves -------------------------===//

#include "parplan/Planner/Panels.h"

#include "parplan/Sharding/Panels.h"

#include <map>

using namespace parplan;

namespace {

/// A tensor that moves in a loop.
struct MovingTensor {
  const PlanningValue *value;
  /// Among the operands and results of the op.
  size_t number;
  bool isResult;
  AxisList axes;
  /// The block that a rank holds, and its dimension of panels.
  llvm::SmallVector<int64_t> block;
  size_t dimension;

  /// Bytes of `length` positions of the dimension of panels.
  int64_t getBytes(int64_t length) const {
    int64_t bytes = value->elementBytes * length;
    for (size_t other = 0; other < block.size(); ++other)
      if (other != dimension)
        bytes *= block[other];
    return bytes;
  }

  /// Whether a panel of so many positions lies in one piece in the block.
  bool isContiguous(int64_t length) const {
    return length == block[dimension] ||
           llvm::all_of(llvm::ArrayRef(block).take_front(dimension),
                        [](int64_t size) { return size == 1; });
  }
};

bool isRing(const PlanningOp &op, const FactorAssignment &assignment) {
  return assignment.panels.factor == op.keyFactor;
}

std::vector<MovingTensor> getMovingTensors(const PlanningProblem &problem,
                                           const PlanningOp &op,
                                           const FactorAssignment &assignment,
                                           const Mesh &mesh) {
  std::vector<MovingTensor> moving;
  size_t visited = 0;
  auto visit = [&](const TensorFactors &tensor, int value, bool isResult,
                   const Sharding &layout) {
    MovingTensor entry;
    entry.number = visited++;
    entry.axes = getPanelAxes(tensor, assignment);
    if (entry.axes.empty())
      return;
    entry.value = &problem.values[value];
    entry.isResult = isResult;
    entry.block = layout.getLocalShape(mesh, entry.value->shape);
    for (auto [dimension, factors] : llvm::enumerate(tensor))
      if (llvm::is_contained(factors, assignment.panels.factor))
        entry.dimension = dimension;
    moving.push_back(std::move(entry));
  };
  for (size_t position = 0; position < op.operands.size(); ++position)
    visit(op.rule.operands[position], op.operands[position], false,
          getUseSharding(op.rule, assignment, static_cast<int>(position)));
  for (size_t position = 0; position < op.results.size(); ++position)
    visit(op.rule.results[position], op.results[position], true,
          getMadeSharding(op.rule, assignment, static_cast<int>(position)));
  return moving;
}

/// Those over which the panels of every operand and result move.
llvm::SmallVector<AxisList>
getAxesOfTensors(const PlanningOp &op, const FactorAssignment &assignment) {
  llvm::SmallVector<AxisList> axes;
  for (const TensorFactors &tensor :
       llvm::concat<const TensorFactors>(op.rule.operands, op.rule.results))
    axes.push_back(getPanelAxes(tensor, assignment));
  return axes;
}

} // namespace

llvm::SmallVector<int64_t, 8>
parplan::getPanelSizes(const PlanningOp &op, const FactorAssignment &assignment,
                       const Mesh &mesh) {
  llvm::SmallVector<int64_t, 8> sizes;
  for (const Interval &panel :
       getPanelIntervals(op.rule.factors[assignment.panels.factor].size,
                         getAxesOfTensors(op, assignment), mesh))
    sizes.push_back(panel.size());
  return sizes;
}

bool parplan::keepsOrder(const PlanningOp &op,
                         const FactorAssignment &assignment, const Mesh &mesh) {
  if (op.zigzag == 1)
    return true;
  return assignment.panels.exists() && isRing(op, assignment) &&
         op.sequenceFactor >= 0 &&
         assignment.axes[op.sequenceFactor] == assignment.panels.axes &&
         mesh.getWidth(assignment.panels.axes) == op.zigzag;
}

std::vector<PanelCall>
parplan::getPanelCalls(const PlanningProblem &problem, const PlanningOp &op,
                       const FactorAssignment &assignment, const Mesh &mesh) {
  std::vector<PanelCall> calls;
  if (!assignment.panels.exists())
    return calls;
  std::map<int64_t, int64_t> countOfSize;
  for (int64_t size : getPanelSizes(op, assignment, mesh))
    ++countOfSize[size];
  for (const MovingTensor &tensor :
       getMovingTensors(problem, op, assignment, mesh)) {
    if (isRing(op, assignment)) {
      int64_t hops = mesh.getWidth(tensor.axes) - (tensor.isResult ? 0 : 1);
      calls.push_back({CollectiveKind::send, tensor.axes,
                       tensor.getBytes(tensor.block[tensor.dimension]), hops});
      continue;
    }
    for (auto [size, count] : countOfSize)
      calls.push_back(
          {tensor.isResult ? CollectiveKind::reduce : CollectiveKind::broadcast,
           tensor.axes, tensor.getBytes(size), count});
  }
  return calls;
}

int64_t parplan::getPanelBytes(const PlanningProblem &problem,
                               const PlanningOp &op,
                               const FactorAssignment &assignment,
                               const Mesh &mesh) {
  if (!assignment.panels.exists())
    return 0;
  auto panels = getPanels(op.rule.factors[assignment.panels.factor].size,
                          getAxesOfTensors(op, assignment), mesh);
  int64_t bytes = 0;
  for (const MovingTensor &tensor :
       getMovingTensors(problem, op, assignment, mesh)) {
    if (isRing(op, assignment)) {
      bytes += 2 * alignBytes(tensor.getBytes(tensor.block[tensor.dimension]));
      continue;
    }
    for (int64_t length :
         getSlotSizes(panels, tensor.number, mesh.getWidth(tensor.axes),
                      [&](const Panel &panel) {
                        return tensor.isContiguous(panel.size);
                      }))
      bytes += alignBytes(tensor.getBytes(length));
  }
  return bytes;
}
