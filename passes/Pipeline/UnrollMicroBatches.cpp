//===- UnrollMicroBatches.cpp - All passes of a step ----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/PositionUnroller.h"
#include "passes/Pipeline/ProgramWriter.h"
#include "passes/Pipeline/StageFlow.h"
#include "passes/Pipeline/StepSegments.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_UNROLLMICROBATCHES
#include "passes/Pipeline/Passes.h.inc"

namespace {

/// A step of one stage: segment by segment, micro-batch by micro-batch. What
/// runs once per step has its place in the last micro-batch.
void unrollSegments(func::FuncOp step, const StepSegments &segments,
                    int64_t count) {
  ProgramWriter writer(step, count);
  writer.setNumbering(count > 1);
  auto place = [&](Operation *op, int64_t index) {
    if (runsPerMicroBatch(op) || isa<AccumulateOp>(op))
      writer.write(op, index);
    else if (index == count - 1)
      writer.writeOnce(op);
  };
  Block &body = step.getBody().front();
  if (count == 1)
    for (Operation &op : body.without_terminator())
      place(&op, /*index=*/0);
  else
    for (int segment = StepSegments::start; segment < segments.getCount();
         ++segment)
      for (int64_t index = 0; index < count; ++index)
        for (Operation &op : body.without_terminator())
          if (segments.getSegment(&op) == segment)
            place(&op, index);
  writer.finish(llvm::to_vector(llvm::seq(step.getNumResults())));
}

struct UnrollMicroBatchesPass
    : impl::UnrollMicroBatchesBase<UnrollMicroBatchesPass> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (failed(unroll(function)))
        signalPassFailure();
  }

  /// A piece of a flattened block has no dimension of micro-batches.
  static LogicalResult verifyBatches(func::FuncOp function) {
    bool sound = true;
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      auto sharding =
          function.getArgAttrOfType<ShardingAttr>(index, attributes::sharding);
      if (!function.getArgAttr(index, attributes::batch) || !sharding ||
          !sharding.isStored())
        continue;
      sound = false;
      function.emitError("argument ") << index << " is a batch and stored";
    }
    return success(sound);
  }

  static LogicalResult verifyNoSums(func::FuncOp function) {
    bool sound = true;
    function.walk([&](AccumulateOp op) {
      sound = false;
      op.emitOpError("stands in a function without ")
          << attributes::microBatches;
    });
    return success(sound);
  }

  static LogicalResult unroll(func::FuncOp function) {
    FailureOr<std::optional<PipelineCut>> cut = readPipelineCut(function);
    if (failed(cut))
      return failure();
    auto count = function->getAttrOfType<IntegerAttr>(attributes::microBatches);
    if (!count && failed(verifyNoSums(function)))
      return failure();
    if (!count && !*cut)
      return success();
    std::optional<StepSegments> segments;
    if (count) {
      FailureOr<StepSegments> found = StepSegments::create(function);
      if (failed(found) || failed(verifyBatches(function)))
        return failure();
      segments = std::move(*found);
    }
    if (*cut)
      PositionUnroller(function, **cut, segments ? &*segments : nullptr).run();
    else
      unrollSegments(function, *segments, count.getInt());
    function.erase();
    return success();
  }
};

} // namespace

} // namespace parplan
