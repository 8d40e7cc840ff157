//===- InferAssignment.cpp - Assignments that read operands as they lie ---===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Sharding/ShardingRule.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

namespace parplan {

namespace {

/// Hands the axes of one operand dimension to its factors, as far as legal.
void takeDimAxes(const ShardingRule &rule, const DimFactors &dim,
                 llvm::ArrayRef<int> axes, llvm::ArrayRef<bool> decided,
                 const Mesh &mesh, FactorAssignment &assignment) {
  auto next = dim.begin();
  for (int axis : axes) {
    // Major factors take what they can; S10 refuses a factor too early.
    for (auto factor = next; factor != dim.end(); ++factor) {
      if (decided[*factor])
        continue;
      assignment.axes[*factor].push_back(axis);
      if (!verifyAssignment(rule, assignment, mesh)) {
        next = factor;
        break;
      }
      assignment.axes[*factor].pop_back();
    }
  }
}

/// S6: a flat op reads the pieces that the first stored operand lies in.
void takeStorageAxes(const ShardingRule &rule, const Sharding &operand,
                     const Mesh &mesh, FactorAssignment &assignment) {
  if (!rule.flat || !assignment.storage.empty())
    return;
  for (int axis : operand.storage) {
    assignment.storage.push_back(axis);
    if (verifyAssignment(rule, assignment, mesh))
      assignment.storage.pop_back();
  }
}

/// S8, S9: pending axes of the operands stay pending where the op is linear.
void takePendingAxes(const ShardingRule &rule,
                     llvm::ArrayRef<Sharding> operands, const Mesh &mesh,
                     FactorAssignment &assignment) {
  if (rule.linearity == Linearity::none)
    return;
  for (size_t operand = 0; operand < operands.size(); ++operand) {
    if (operands[operand].reduction != ReductionKind::sum)
      continue;
    if (rule.linearity == Linearity::separately) {
      if (!assignment.pending.empty())
        return;
      assignment.pendingOperand = static_cast<int>(operand);
    }
    for (int axis : operands[operand].partial) {
      assignment.pending.push_back(axis);
      if (verifyAssignment(rule, assignment, mesh))
        assignment.pending.pop_back();
    }
  }
  if (assignment.pending.empty())
    assignment.pendingOperand = 0;
  llvm::sort(assignment.pending);
}

} // namespace

FactorAssignment inferAssignment(const ShardingRule &rule,
                                 llvm::ArrayRef<Sharding> operands,
                                 const Mesh &mesh) {
  PARPLAN_CHECK(operands.size() == rule.operands.size(), operands.size(),
                " shardings for ", rule.operands.size(), " operands");
  FactorAssignment assignment = FactorAssignment::getReplicated(rule);
  // Factors that carry axes of an earlier operand keep them as they are.
  llvm::SmallVector<bool, 8> decided(rule.factors.size(), false);
  for (size_t operand = 0; operand < operands.size(); ++operand) {
    const TensorFactors &tensor = rule.operands[operand];
    PARPLAN_CHECK(operands[operand].dims.size() == tensor.size(), "operand ",
                  operand, " has ", tensor.size(), " dimensions, its sharding ",
                  operands[operand].dims.size());
    for (size_t dim = 0; dim < tensor.size(); ++dim)
      takeDimAxes(rule, tensor[dim], operands[operand].dims[dim], decided, mesh,
                  assignment);
    takeStorageAxes(rule, operands[operand], mesh, assignment);
    for (size_t factor = 0; factor < rule.factors.size(); ++factor)
      decided[factor] = !assignment.axes[factor].empty();
  }
  takePendingAxes(rule, operands, mesh, assignment);
  return assignment;
}

} // namespace parplan
