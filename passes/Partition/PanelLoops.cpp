//===- PanelLoops.cpp - Local ops that move panels ------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Partition/PanelLoops.h"

#include "dialects/parplan/Panels.h"
#include "parplan/Support/Check.h"

using namespace mlir;

namespace parplan {

namespace {

/// A product: which letter is cut into panels, and over which axes each tensor
/// is cut along it, follow from the assignment.
Operation *createPanelMatmul(OpBuilder &builder, MatmulOp op,
                             ValueRange operands, const ShardingRule &rule,
                             const FactorAssignment &assignment,
                             const ShardingAccess &access) {
  auto getAxes = [&](const TensorFactors &tensor) {
    return access.getAttr(getPanelAxes(tensor, assignment));
  };
  const Factor &panel = rule.factors[assignment.panels.factor];
  RankedTensorType type =
      access.getLocalType(cast<RankedTensorType>(op.getResult().getType()),
                          getMadeSharding(rule, assignment, /*result=*/0));
  AxisListAttr axes[] = {getAxes(rule.operands[0]), getAxes(rule.operands[1]),
                         getAxes(rule.results[0])};
  PARPLAN_CHECK(
      llvm::any_of(axes,
                   [](AxisListAttr list) { return !list.getNames().empty(); }),
      "S21: no tensor moves in a loop over panels");
  std::optional<ExpertRows> rows = op.getRows();
  if (rows) {
    PARPLAN_CHECK(!rows->first, "experts count from 0 before localisation");
    rows->experts = operands[2];
  }
  return builder.create<PanelMatmulOp>(op.getLoc(), type, operands[0],
                                       operands[1], op.getSpec(), panel.name,
                                       panel.size, axes, rows);
}

} // namespace

Operation *createPanelOp(OpBuilder &builder, Operation *op,
                         ValueRange localOperands, const ShardingRule &rule,
                         const FactorAssignment &assignment,
                         const ShardingAccess &access) {
  auto product = dyn_cast<MatmulOp>(op);
  PARPLAN_CHECK(product, "S21: no local op loops over panels of factor '",
                rule.factors[assignment.panels.factor].name, "'");
  return createPanelMatmul(builder, product, localOperands, rule, assignment,
                           access);
}

LogicalResult verifyPanelOp(Operation *op, const ShardingAccess &access) {
  auto product = dyn_cast<PanelMatmulOp>(op);
  if (!product)
    return success();
  for (auto [index, tensor, axes] :
       llvm::enumerate(product.getTensors(), product.getPanelAxes())) {
    std::optional<unsigned> dim = findPanelDim(product, index);
    if (!dim)
      continue;
    FailureOr<Sharding> sharding = access.getSharding(tensor);
    if (failed(sharding))
      return failure();
    if (access.getAttr(sharding->dims[*dim]) != axes)
      return op->emitError("after partition: S21: dimension ")
             << *dim << " of " << (index < 2 ? "operand " : "result ")
             << index % 2 << " lies in "
             << toString(*sharding, access.getMesh()) << ", not split by "
             << axes;
  }
  return success();
}

} // namespace parplan
