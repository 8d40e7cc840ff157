//===- AttentionBuilder.h - Statements of attentions ------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_ATTENTIONBUILDER_H
#define PARPLAN_PASSES_SCHEDULE_ATTENTIONBUILDER_H

#include "passes/Schedule/LaunchBuilder.h"

namespace parplan {

/// The arrays and strides that do not depend on the block of keys.
struct AttentionQueries {
  mlir::Value query, offset;
  exec::RankValueAttr start;
  llvm::SmallVector<int64_t> queryStrides;
};

/// A block of keys: all of them, or one that a rank has.
struct KeyBlock {
  mlir::Value key, value, mask;
  llvm::SmallVector<int64_t> keyStrides, valueStrides, maskStrides;
  /// Null where the block holds all keys.
  exec::RankValueAttr start, valid;
  bool hasWholeMask = false;
  /// Queries and keys are blocks of a zig-zag order.
  bool isInZigzagOrder = false;
};

/// What an attention writes; `logSumExp` may be null.
struct AttentionResults {
  mlir::Value output, logSumExp;
};

/// What a gradient reads besides the operands of the attention, and writes.
struct GradientArrays {
  mlir::Value result, logSumExp, gradient;
  llvm::SmallVector<int64_t> resultStrides, gradientStrides;
  mlir::Value queryGradient, keyGradient, valueGradient;
};

/// Lowers attentions and their gradients, in a ring or not.
class AttentionBuilder : public LaunchBuilder {
public:
  using LaunchBuilder::LaunchBuilder;

protected:
  /// The strides of batch, sequence and head, seen through a transpose.
  llvm::SmallVector<int64_t> getHeadStrides(mlir::Value tensor);

  template <typename Attention>
  AttentionQueries getQueries(Attention attention) {
    AttentionQueries queries;
    queries.query = get(attention.getQuery());
    queries.queryStrides = getHeadStrides(attention.getQuery());
    readOffset(attention.getQueryOffset(), queries);
    return queries;
  }

  template <typename Attention> KeyBlock getKeys(Attention attention) {
    KeyBlock block;
    block.key = get(attention.getKey());
    block.value = get(attention.getValue());
    block.keyStrides = getHeadStrides(attention.getKey());
    block.valueStrides = getHeadStrides(attention.getValue());
    if (mlir::Value mask = attention.getMask()) {
      block.mask = get(mask);
      block.maskStrides = getMaskStrides(mask);
    }
    return block;
  }

  template <typename Gradient> GradientArrays getArrays(Gradient gradient) {
    GradientArrays arrays;
    arrays.result = get(gradient.getResult());
    arrays.logSumExp = get(gradient.getLogSumExp());
    arrays.gradient = get(gradient.getResultGradient());
    arrays.resultStrides = getHeadStrides(gradient.getResult());
    arrays.gradientStrides = getHeadStrides(gradient.getResultGradient());
    return arrays;
  }

  /// The sizes of `exec.attention`.
  template <typename Attention>
  mlir::DenseI64ArrayAttr getSizes(Attention attention) {
    llvm::ArrayRef<int64_t> query = getShape(attention.getQuery());
    llvm::ArrayRef<int64_t> key = getShape(attention.getKey());
    int64_t valueWidth = getShape(attention.getValue())[3];
    return list(
        {query[0], query[1], key[1], query[2], key[2], query[3], valueWidth});
  }

  /// Appends the statement of `attention` on one block of keys.
  template <typename Attention>
  void attend(Attention attention, const AttentionQueries &queries,
              const KeyBlock &block, const AttentionResults &results,
              bool zeroMaskedRows, bool accumulate) {
    llvm::SmallVector<int64_t> outputStrides =
        getHeadStrides(attention.getResult());
    auto launch = builder.create<exec::AttentionOp>(
        location, queries.query, block.key, block.value, block.mask,
        queries.offset, /*workspace=*/mlir::Value(), results.logSumExp,
        results.output, getSizes(attention), list(queries.queryStrides),
        list(block.keyStrides), list(block.valueStrides), list(outputStrides),
        list(block.maskStrides), attention.getScaleAttr(),
        attention.getCausalAttr(), flag(zeroMaskedRows), flag(accumulate),
        flag(block.hasWholeMask), flag(block.isInZigzagOrder), queries.start,
        block.start, block.valid, getCost());
    finish(launch,
           runtime::attentionWorkspaceBytes(exec::getRuntimeShape(launch),
                                            getElementBytes(queries.query)));
  }

  /// Appends the statement of `gradient` on one block of keys. `accumulate`
  /// adds to the gradient of the query.
  template <typename Gradient>
  void differentiate(Gradient gradient, const AttentionQueries &queries,
                     const KeyBlock &block, const GradientArrays &arrays,
                     bool accumulate) {
    auto launch = builder.create<exec::AttentionGradientOp>(
        location, queries.query, block.key, block.value, arrays.result,
        arrays.logSumExp, arrays.gradient, block.mask, queries.offset,
        /*workspace=*/mlir::Value(), arrays.queryGradient, arrays.keyGradient,
        arrays.valueGradient, getSizes(gradient), list(queries.queryStrides),
        list(block.keyStrides), list(block.valueStrides),
        list(arrays.resultStrides), list(arrays.gradientStrides),
        list(block.maskStrides), gradient.getScaleAttr(),
        gradient.getCausalAttr(), flag(accumulate), flag(block.hasWholeMask),
        flag(block.isInZigzagOrder), queries.start, block.start, block.valid,
        getCost());
    finish(launch,
           runtime::attentionGradientWorkspaceBytes(
               exec::getRuntimeShape(launch), getElementBytes(queries.query)));
  }

private:
  /// The start of the block as a number that every rank knows, or a buffer.
  void readOffset(mlir::Value offset, AttentionQueries &queries);
  /// Right-aligned with [b, h, s, t]; size 1 repeats.
  llvm::SmallVector<int64_t> getMaskStrides(mlir::Value mask);

  template <typename Statement> void finish(Statement launch, int64_t bytes) {
    if (bytes > 0) {
      // All blocks of a ring take turns.
      if (!workspace)
        workspace = placement.createWorkspace(bytes);
      launch.getWorkspaceMutable().assign(workspace);
    }
    (void)done(launch);
  }

  mlir::Value workspace;
};

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_ATTENTIONBUILDER_H
