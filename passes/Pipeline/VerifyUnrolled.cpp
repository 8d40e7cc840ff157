//===- VerifyUnrolled.cpp - Closes the pipeline phase ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanOps.h"
#include "passes/Pipeline/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_VERIFYUNROLLED
#include "passes/Pipeline/Passes.h.inc"

namespace {

struct VerifyUnrolledPass : impl::VerifyUnrolledBase<VerifyUnrolledPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(attributes::microBatches))
        verify(function);
  }

private:
  InFlightDiagnostic fail(Operation *op) {
    signalPassFailure();
    return op->emitOpError("after pipeline: ");
  }

  void verify(func::FuncOp function) {
    auto count = function->getAttrOfType<IntegerAttr>(attributes::microBatches);
    for (Operation &op : function.getBody().front()) {
      if (isa<AccumulateOp>(op))
        fail(&op) << "sums over micro-batches are chains";
      if (op.hasAttr(attributes::perMicroBatch))
        fail(&op) << "has '" << attributes::perMicroBatch
                  << "', but every op runs once";
    }
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      if (!function.getArgAttr(index, attributes::batch))
        continue;
      auto type = cast<RankedTensorType>(function.getArgumentTypes()[index]);
      if (type.getRank() == 0 || type.getDimSize(0) != count.getInt())
        fail(function) << "argument " << index << " has no dimension of "
                       << count.getInt() << " micro-batches in front";
      auto sharding =
          function.getArgAttrOfType<ShardingAttr>(index, attributes::sharding);
      if (sharding && !sharding.getDims().empty() &&
          !sharding.getDims().front().getNames().empty())
        fail(function) << "argument " << index
                       << " splits its micro-batches over devices";
    }
    for (unsigned index = 0; index < function.getNumResults(); ++index) {
      auto dim = function.getResultAttrOfType<IntegerAttr>(
          index, attributes::batchDim);
      if (!dim)
        continue;
      auto type = cast<RankedTensorType>(function.getResultTypes()[index]);
      if (type.getRank() < dim.getInt() + 2 ||
          type.getDimSize(0) != count.getInt())
        fail(function) << "result " << index << " has no dimension of "
                       << count.getInt() << " micro-batches in front";
    }
  }
};

} // namespace
} // namespace parplan
