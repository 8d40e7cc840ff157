//===- AttentionGeometry.cpp - Attentions stay inside their buffers -------===//
//
// Part of parplan. E9 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/GeometryChecks.h"

using namespace mlir;
using namespace parplan;
using namespace parplan::exec;

/// The ranks of the zig-zag order of a statement, whose keys are one block.
template <typename Attention> static int64_t countZigzagRanks(Attention op) {
  std::optional<RankValueAttr> start = op.getKeyStart();
  int64_t keys = op.getShape()[2];
  return op.getZigzag() && start && keys > 0 ? start->getSize() / keys : 1;
}

//===----------------------------------------------------------------------===//
// Shapes of the runtime
//===----------------------------------------------------------------------===//

/// What workspaces depend on; numbers that differ between ranks are left out.
template <typename Attention>
static runtime::AttentionShape getCommonShape(Attention op) {
  runtime::AttentionShape shape = {};
  ArrayRef<int64_t> sizes = op.getShape();
  shape.batch = sizes[0];
  shape.queries = sizes[1];
  shape.keys = sizes[2];
  shape.heads = sizes[3];
  shape.kvHeads = sizes[4];
  shape.width = sizes[5];
  shape.valueWidth = sizes[6];
  llvm::copy(op.getQueryStrides(), shape.queryStride);
  llvm::copy(op.getKeyStrides(), shape.keyStride);
  llvm::copy(op.getValueStrides(), shape.valueStride);
  if (op.getMask()) {
    shape.mask = getBufferType(op.getMask()).getElementType().isInteger(1)
                     ? runtime::MaskKind::Bool
                     : runtime::MaskKind::Float;
    llvm::copy(op.getMaskStrides(), shape.maskStride);
  }
  shape.scale = op.getScale().convertToDouble();
  shape.causal = op.getCausal();
  shape.accumulate = op.getAccumulate();
  shape.wholeMask = op.getWholeMask();
  shape.zigzag = countZigzagRanks(op);
  return shape;
}

runtime::AttentionShape exec::getRuntimeShape(AttentionOp op) {
  runtime::AttentionShape shape = getCommonShape(op);
  llvm::copy(op.getOutputStrides(), shape.outStride);
  shape.zeroMaskedRows = op.getZeroMaskedRows();
  return shape;
}

runtime::AttentionShape exec::getRuntimeShape(AttentionGradientOp op) {
  runtime::AttentionShape shape = getCommonShape(op);
  llvm::copy(op.getResultStrides(), shape.outStride);
  return shape;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

namespace {

/// The checks of one statement, whose sizes have names.
template <typename Attention> class AttentionChecks {
public:
  explicit AttentionChecks(Attention op) : op(op) {}

  /// Lists have their lengths; to be called first.
  LogicalResult expectLengths(ArrayRef<ArrayRef<int64_t>> strides) {
    bool sound = op.getShape().size() == 7 &&
                 op.getMaskStrides().size() == (op.getMask() ? 4 : 0);
    for (ArrayRef<int64_t> list : strides)
      sound &= list.size() == 3;
    if (!sound)
      return op.emitOpError("needs seven sizes, three strides per operand and "
                            "four of the mask (E9)");
    ArrayRef<int64_t> sizes = op.getShape();
    if (sizes[4] < 1 || sizes[3] % sizes[4])
      return op.emitOpError("has ")
             << sizes[3] << " heads over " << sizes[4] << " key heads (E9)";
    return success();
  }

  LogicalResult expectQueries(Value buffer, int64_t width,
                              ArrayRef<int64_t> strides, StringRef name) {
    return expectHeads(buffer, op.getShape()[1], op.getShape()[3], width,
                       strides, name);
  }
  LogicalResult expectKeys(Value buffer, int64_t width,
                           ArrayRef<int64_t> strides, StringRef name) {
    return expectHeads(buffer, op.getShape()[2], op.getShape()[4], width,
                       strides, name);
  }

  /// [batch, heads, queries] of the type that sums have.
  LogicalResult expectStatistics(Value statistics) {
    ArrayRef<int64_t> sizes = op.getShape();
    Type element = getBufferType(op.getQuery()).getElementType();
    if (isNarrow(element))
      element = Float32Type::get(op.getContext());
    if (statistics && getBufferType(statistics).getElementType() != element)
      return op.emitOpError("has a log_sum_exp of ")
             << getBufferType(statistics).getElementType() << ", not of "
             << element << " (E9)";
    return expectElements(op, statistics, sizes[0] * sizes[3] * sizes[1],
                          "log_sum_exp");
  }

  /// What depends on where the block of keys lies, and the mask.
  LogicalResult expectBlock() {
    ArrayRef<int64_t> sizes = op.getShape();
    auto start = op.getKeyStart();
    auto valid = op.getValidKeys();
    if (start.has_value() != valid.has_value() ||
        (start && !isBlock(*start, *valid)))
      return op.emitOpError("needs key_start and valid_keys, the start and the "
                            "extent of one block, or neither (E9)");
    if (auto queries = op.getQueryStart();
        queries &&
        (queries->getKind() != RankValueKind::start || queries->getBack() != 0))
      return op.emitOpError(
          "needs as query_start the start of a block of its own rank (E9)");
    if (op.getZigzag() && !isInZigzagOrder())
      return op.emitOpError("is no causal block of as many queries as keys, "
                            "two chunks of a zig-zag order (E9)");
    if (op.getWholeMask() && (!start || !op.getMask()))
      return op.emitOpError("has no mask of all keys of a block (E9)");
    int64_t columns = op.getWholeMask() ? start->getSize() : sizes[2];
    if (op.getMask() &&
        failed(expectReach(op, op.getMask(), 0,
                           {sizes[0], sizes[3], sizes[1], columns},
                           op.getMaskStrides(), "mask")))
      return failure();
    return expectElements(op, op.getQueryOffset(), 1, "offset");
  }

private:
  bool isInZigzagOrder() {
    std::optional<RankValueAttr> queries = op.getQueryStart();
    std::optional<RankValueAttr> keys = op.getKeyStart();
    ArrayRef<int64_t> sizes = op.getShape();
    return op.getCausal() && !op.getQueryOffset() && queries && keys &&
           queries->getSize() == keys->getSize() &&
           queries->getAxes() == keys->getAxes() && sizes[1] == sizes[2] &&
           sizes[2] > 0 && sizes[2] % 2 == 0 && keys->getSize() % sizes[2] == 0;
  }

  static bool isBlock(RankValueAttr start, RankValueAttr extent) {
    return start.getKind() == RankValueKind::start &&
           extent.getKind() == RankValueKind::extent &&
           start.getSize() == extent.getSize() &&
           start.getAxes() == extent.getAxes() &&
           start.getBack() == extent.getBack();
  }

  LogicalResult expectHeads(Value buffer, int64_t length, int64_t heads,
                            int64_t width, ArrayRef<int64_t> strides,
                            StringRef name) {
    return expectReach(op, buffer, 0, {op.getShape()[0], length, heads, width},
                       {strides[0], strides[1], strides[2], 1}, name);
  }

  Attention op;
};

} // namespace

unsigned AttentionOp::getWrittenCount() {
  return (getWorkspace() ? 1 : 0) + (getLogSumExp() ? 1 : 0) + 1;
}

bool AttentionOp::readsWritten() { return getAccumulate(); }

LogicalResult AttentionOp::verifyGeometry() {
  AttentionChecks<AttentionOp> checks(*this);
  if (failed(checks.expectLengths({getQueryStrides(), getKeyStrides(),
                                   getValueStrides(), getOutputStrides()})))
    return failure();
  if (getAccumulate() && !getLogSumExp())
    return emitOpError("accumulates without log_sum_exp (E9)");
  int64_t width = getShape()[5], valueWidth = getShape()[6];
  if (failed(expectSameType(*this, {getQuery(), getKey(), getValue()})) ||
      failed(expectSumType(*this, getQuery(), getOutput())) ||
      failed(checks.expectQueries(getQuery(), width, getQueryStrides(),
                                  "query")) ||
      failed(checks.expectKeys(getKey(), width, getKeyStrides(), "key")) ||
      failed(checks.expectKeys(getValue(), valueWidth, getValueStrides(),
                               "value")) ||
      failed(checks.expectQueries(getOutput(), valueWidth, getOutputStrides(),
                                  "output")) ||
      failed(checks.expectStatistics(getLogSumExp())) ||
      failed(checks.expectBlock()))
    return failure();
  return expectWorkspace(
      *this, getWorkspace(),
      runtime::attentionWorkspaceBytes(getRuntimeShape(*this),
                                       getElementBytes(getQuery())));
}

unsigned AttentionGradientOp::getWrittenCount() {
  return (getWorkspace() ? 1 : 0) + 3;
}

LogicalResult AttentionGradientOp::verifyGeometry() {
  AttentionChecks<AttentionGradientOp> checks(*this);
  if (failed(checks.expectLengths({getQueryStrides(), getKeyStrides(),
                                   getValueStrides(), getResultStrides(),
                                   getGradientStrides()})))
    return failure();
  ArrayRef<int64_t> sizes = getShape();
  int64_t width = sizes[5], valueWidth = sizes[6];
  int64_t queryHeads = sizes[0] * sizes[1] * sizes[3];
  int64_t keyHeads = sizes[0] * sizes[2] * sizes[4];
  if (failed(expectSameType(*this, {getQuery(), getKey(), getValue(),
                                    getResult(), getGradient(),
                                    getKeyGradient(), getValueGradient()})) ||
      failed(expectSumType(*this, getQuery(), getQueryGradient())) ||
      failed(checks.expectQueries(getQuery(), width, getQueryStrides(),
                                  "query")) ||
      failed(checks.expectKeys(getKey(), width, getKeyStrides(), "key")) ||
      failed(checks.expectKeys(getValue(), valueWidth, getValueStrides(),
                               "value")) ||
      failed(checks.expectQueries(getResult(), valueWidth, getResultStrides(),
                                  "result")) ||
      failed(checks.expectQueries(getGradient(), valueWidth,
                                  getGradientStrides(), "gradient")) ||
      failed(checks.expectStatistics(getLogSumExp())) ||
      failed(checks.expectBlock()) ||
      failed(expectElements(*this, getQueryGradient(), queryHeads * width,
                            "query_gradient")) ||
      failed(expectElements(*this, getKeyGradient(), keyHeads * width,
                            "key_gradient")) ||
      failed(expectElements(*this, getValueGradient(), keyHeads * valueWidth,
                            "value_gradient")))
    return failure();
  return expectWorkspace(
      *this, getWorkspace(),
      runtime::attentionGradientWorkspaceBytes(getRuntimeShape(*this),
                                               getElementBytes(getQuery())));
}
