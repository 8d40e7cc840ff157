//===- Rings.cpp - Values of attention in a ring --------------------------===//
//
// Part of parplan.
//
// A rank attends to all keys of its ring at once: the order of blocks changes
// rounding only, which is not that of doubles.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/AttentionValues.h"

using namespace mlir;

namespace parplan {

namespace {

/// The blocks of all ranks, by operand of the op.
using Operands = ArrayRef<const Values *>;

template <typename RingOp> class RingEvaluator {
public:
  RingEvaluator(RingOp op, const Mesh &mesh, Operands operands)
      : op(op), mesh(mesh), operands(operands),
        axes(*op.getAxes().resolve(mesh)), keys(op.getKeys()) {}

protected:
  const Tensor &get(Value operand, int64_t rank) const {
    for (OpOperand &own : op->getOpOperands())
      if (own.get() == operand)
        return (*operands[own.getOperandNumber()])[rank];
    llvm_unreachable("no operand of the ring");
  }

  /// Keys of a block.
  int64_t getBlock(int64_t rank) const {
    RingOp ring = op;
    return get(ring.getKey(), rank).getShape()[1];
  }

  /// The blocks of the ring of `rank`, joined along `dim` without padding.
  Tensor join(Value operand, unsigned dim, int64_t rank) const {
    RankedTensorType type = get(operand, rank).getType();
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = keys;
    Tensor whole(type.clone(shape));
    SmallVector<int64_t> strides = whole.getStrides();
    for (int64_t member : mesh.getGroup(rank, axes)) {
      Interval interval = mesh.getInterval(keys, axes, member);
      const Tensor &block = get(operand, member);
      forEachIndex(block.getShape(),
                   [&](ArrayRef<int64_t> index, int64_t position) {
                     if (index[dim] >= interval.size())
                       return;
                     SmallVector<int64_t> target(index);
                     target[dim] += interval.start;
                     whole[getPosition(target, strides)] = block[position];
                   });
    }
    return whole;
  }

  /// Adds what the owners have of a whole tensor to their blocks.
  void addBlocks(const Tensor &whole, unsigned dim, int64_t rank,
                 Values &blocks) const {
    SmallVector<int64_t> strides = whole.getStrides();
    for (int64_t member : mesh.getGroup(rank, axes)) {
      Interval interval = mesh.getInterval(keys, axes, member);
      Tensor &block = blocks[member];
      forEachIndex(
          block.getShape(), [&](ArrayRef<int64_t> index, int64_t position) {
            if (index[dim] >= interval.size())
              return;
            SmallVector<int64_t> source(index);
            source[dim] += interval.start;
            block[position].real += whole[getPosition(source, strides)].real;
          });
    }
  }

  /// Calls `body` with the operands of an attention to all keys.
  void attendAll(
      int64_t rank,
      llvm::function_ref<void(const AttentionInputs &inputs)> body) const {
    RingOp ring = op;
    Tensor key = join(ring.getKey(), 1, rank);
    Tensor value = join(ring.getValue(), 1, rank);
    AttentionInputs inputs{get(ring.getQuery(), rank), key, value};
    Tensor mask;
    if (Value operand = ring.getMask()) {
      const Tensor &own = get(operand, rank);
      bool isBlock = own.getRank() > 0 && own.getShape().back() != keys &&
                     own.getShape().back() == getBlock(rank);
      mask = isBlock ? join(operand, own.getRank() - 1, rank) : own;
      inputs.mask = &mask;
    }
    if (Value offset = ring.getQueryOffset())
      inputs.offset = get(offset, rank)[0].integer;
    inputs.scale = ring.getScale().convertToDouble();
    inputs.causal = ring.getCausal();
    inputs.zigzag = ring.getZigzag() ? mesh.getWidth(axes) : 1;
    inputs.zeroMaskedRows = true;
    body(inputs);
  }

  Values makeResults(unsigned index) const {
    RingOp ring = op;
    return Values(mesh.getRankCount(), Tensor(cast<RankedTensorType>(
                                           ring->getResult(index).getType())));
  }

  static void round(std::vector<Values> &results) {
    for (Values &result : results)
      for (Tensor &block : result)
        block.roundToType();
  }

  RingOp op;
  const Mesh &mesh;
  Operands operands;
  AxisList axes;
  int64_t keys;
};

class ForwardRing : RingEvaluator<RingAttentionOp> {
public:
  using RingEvaluator::RingEvaluator;

  std::vector<Values> run() {
    std::vector<Values> results;
    for (unsigned index = 0; index < op->getNumResults(); ++index)
      results.push_back(makeResults(index));
    auto type = cast<RankedTensorType>(op.getResult().getType());
    for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
      attendAll(rank, [&](const AttentionInputs &inputs) {
        results[0][rank] = attend(
            inputs, type, results.size() > 1 ? &results[1][rank] : nullptr);
      });
    round(results);
    return results;
  }
};

class BackwardRing : RingEvaluator<RingAttentionGradientOp> {
public:
  using RingEvaluator::RingEvaluator;

  std::vector<Values> run() {
    std::vector<Values> results = {makeResults(0), makeResults(1),
                                   makeResults(2)};
    for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
      attendAll(rank, [&](const AttentionInputs &inputs) {
        Tensor key(inputs.key.getType()), value(inputs.value.getType());
        differentiateAttention(inputs,
                               {get(op.getResult(), rank),
                                get(op.getLogSumExp(), rank),
                                get(op.getResultGradient(), rank)},
                               results[0][rank], key, value);
        addBlocks(key, 1, rank, results[1]);
        addBlocks(value, 1, rank, results[2]);
      });
    round(results);
    return results;
  }
};

} // namespace

std::vector<Values> evaluateRing(Operation *op, const Mesh &mesh,
                                 ArrayRef<const Values *> operands) {
  if (auto ring = dyn_cast<RingAttentionOp>(op))
    return ForwardRing(ring, mesh, operands).run();
  return BackwardRing(cast<RingAttentionGradientOp>(op), mesh, operands).run();
}

} // namespace parplan
