//===- PlanCosts.cpp - Seconds of the parts of a plan ---------------------===//

#include "parplan/Planner/PlanCosts.h"

#include "parplan/Planner/Panels.h"
#include "parplan/Support/Check.h"

#include <algorithm>
#include <map>

using namespace parplan;

CollectiveKind parplan::getCollectiveKind(MoveKind kind) {
  switch (kind) {
  case MoveKind::allGather:
    return CollectiveKind::allGather;
  case MoveKind::allReduce:
    return CollectiveKind::allReduce;
  case MoveKind::reduceScatter:
    return CollectiveKind::reduceScatter;
  case MoveKind::allToAll:
    return CollectiveKind::allToAll;
  case MoveKind::send:
    return CollectiveKind::send;
  case MoveKind::slice:
  case MoveKind::pend:
  case MoveKind::view:
    break;
  }
  checkFailed(__FILE__, __LINE__, "communicates", "a local move has no kind");
}

double PlanCosts::getTransferSeconds(MemoryTier, MemoryTier,
                                     int64_t bytes) const {
  return getCopySeconds(bytes);
}

double PlanCosts::getHostOpSeconds(const OpCost &cost) const {
  return getOpSeconds(cost);
}

double PlanCosts::getMessageSeconds(const Mesh &mesh, int axis, int64_t bytes,
                                    int64_t /*pieceBytes*/) const {
  return getCollectiveSeconds(CollectiveKind::send, mesh, {axis}, bytes);
}

static double getExposedShare(MoveKind kind, const PlanningValue &value) {
  switch (kind) {
  case MoveKind::allReduce:
  case MoveKind::reduceScatter:
    return value.exposedReduction;
  case MoveKind::allGather:
    return value.exposedGather;
  default:
    return 1;
  }
}

int64_t parplan::getBucketBytes(const Mesh &mesh, const PlanCosts &costs) {
  // Ranks along these axes have other samples or positions, and add their
  // gradients up.
  AxisList axes;
  for (int axis = 0; axis < mesh.getAxisCount(); ++axis)
    if (AxisRole role = mesh.getAxis(axis).role;
        role != AxisRole::tensor && role != AxisRole::pipeline)
      axes.push_back(axis);
  if (axes.empty())
    return 0;
  constexpr int64_t least = int64_t(1) << 20;
  constexpr double saturation = 0.55;
  int64_t bytes = least;
  auto getSeconds = [&](int64_t size) {
    return costs.getCollectiveSeconds(MoveKind::allReduce, mesh, axes, size);
  };
  while (bytes < mostBucketBytes &&
         getSeconds(bytes) > saturation * getSeconds(2 * bytes))
    bytes *= 2;
  return bytes;
}

/// The share of a value in the call that moves its bucket, where everything in
/// it lies as the value does.
double PlanCosts::getMoveSeconds(const Move &move, const Mesh &mesh,
                                 const PlanningValue &value) const {
  int64_t bytes = move.sizeElements * value.elementBytes;
  bool isOfTensors = llvm::any_of(move.axes, [&](int axis) {
    return mesh.getAxis(axis).role == AxisRole::tensor;
  });
  if (value.bucketBytes == 0 || bytes == 0 || isOfTensors)
    return getCollectiveSeconds(move.kind, mesh, move.axes, bytes);
  // Beyond, a call twice as large takes twice as long.
  constexpr auto most = static_cast<double>(mostBucketBytes);
  auto own = static_cast<double>(bytes);
  double share = own / static_cast<double>(value.getWholeBytes());
  double bucket = std::max(
      own, std::min(most, share * static_cast<double>(value.bucketBytes)));
  return own / bucket *
         getCollectiveSeconds(move.kind, mesh, move.axes,
                              static_cast<int64_t>(bucket));
}

double PlanCosts::getPathSeconds(const ReshardPath &path, const Mesh &mesh,
                                 const PlanningValue &value) const {
  double seconds = 0;
  for (const Move &move : path.moves) {
    if (move.kind == MoveKind::view)
      continue;
    if (move.isLocal())
      seconds +=
          getCopySeconds(move.result.getLocalElementCount(mesh, value.shape) *
                         value.elementBytes);
    else
      seconds +=
          getExposedShare(move.kind, value) * getMoveSeconds(move, mesh, value);
  }
  return seconds;
}

/// Work on pieces of flattened blocks is the work on blocks, divided.
static OpCost divideWork(OpCost cost, int64_t pieces) {
  auto count = static_cast<double>(pieces);
  cost.flops /= count;
  cost.transcendentals /= count;
  cost.bytesRead = ceilDivide(cost.bytesRead, pieces);
  cost.bytesWritten = ceilDivide(cost.bytesWritten, pieces);
  return cost;
}

double PlanCosts::getOpSeconds(const PlanningProblem &problem,
                               const PlanningOp &op,
                               const FactorAssignment &assignment,
                               const Mesh &mesh) const {
  llvm::SmallVector<int64_t> operandBytes, resultBytes;
  for (int operand : op.operands)
    operandBytes.push_back(problem.values[operand].elementBytes);
  for (int result : op.results)
    resultBytes.push_back(problem.values[result].elementBytes);
  if (!op.movedBytes.empty()) {
    llvm::ArrayRef<int8_t> moved = op.movedBytes;
    size_t reads = op.operands.size();
    operandBytes.assign(moved.begin(), moved.begin() + reads);
    resultBytes.assign(moved.begin() + reads, moved.end());
  }
  auto sizes = getLocalFactorSizes(op.rule, assignment, mesh);
  auto getSeconds = [&] {
    OpCost cost =
        evaluateWork(op.work, op.rule, sizes, operandBytes, resultBytes);
    cost.isInReader = op.isInReader;
    return getOpSeconds(divideWork(cost, mesh.getWidth(assignment.storage)));
  };
  double seconds = 0;
  if (!assignment.panels.exists()) {
    seconds = getSeconds();
  } else {
    // Panels have few sizes.
    std::map<int64_t, double> ofSize;
    for (int64_t size : getPanelSizes(op, assignment, mesh)) {
      sizes[assignment.panels.factor] = size;
      auto [known, isNew] = ofSize.try_emplace(size, 0);
      if (isNew)
        known->second = getSeconds();
      seconds += known->second;
    }
  }
  return static_cast<double>(getRepeat(problem, op)) * seconds;
}

/// The reductions inside an op whose coupled factors carry axes: of what they
/// couple there is one element for all of their elements.
static double getCoupledSeconds(const PlanCosts &costs,
                                const PlanningProblem &problem,
                                const PlanningOp &op,
                                const FactorAssignment &assignment,
                                const Mesh &mesh) {
  AxisList axes = getCoupledAxes(op.rule, assignment);
  if (axes.empty() || op.coupledReductions == 0)
    return 0;
  auto sizes = getLocalFactorSizes(op.rule, assignment, mesh);
  int64_t bytes = problem.values[op.results.front()].elementBytes;
  for (const DimFactors &dimension : op.rule.results.front())
    for (int factor : dimension)
      if (op.rule.factors[factor].kind != FactorKind::coupled)
        bytes *= sizes[factor];
  return op.coupledReductions *
         costs.getCollectiveSeconds(CollectiveKind::allReduce, mesh, axes,
                                    bytes);
}

double PlanCosts::getInnerSeconds(const PlanningProblem &problem,
                                  const PlanningOp &op,
                                  const FactorAssignment &assignment,
                                  const Mesh &mesh) const {
  double seconds = getCoupledSeconds(*this, problem, op, assignment, mesh);
  for (const PanelCall &call : getPanelCalls(problem, op, assignment, mesh))
    seconds += static_cast<double>(call.count) *
               getCollectiveSeconds(call.kind, mesh, call.axes, call.bytes);
  return static_cast<double>(getRepeat(problem, op)) * seconds;
}
