//===- RingLowering.cpp - Attention while keys go round a ring ------------===//
//
// Part of parplan.
//
// On n ranks there are n hops. In hop h a rank works on the block of the rank h
// positions before it, while that block already travels on: two sets of buffers
// take turns. The gradients of a block travel behind it, one rank adding to
// them after the other, and are home after n hops. What a rank adds to them is
// computed while they are on their way to it.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/AttentionBuilder.h"

#include "parplan/Support/Check.h"

using namespace mlir;

namespace parplan {

namespace {

class RingLowering : public AttentionBuilder {
public:
  RingLowering(Operation *op, Placement &placement, AxisListAttr axes,
               int64_t keys)
      : AttentionBuilder(op, placement), axes(axes), keys(keys),
        ranks(placement.getWidth(axes)) {}

  LogicalResult lower(RingAttentionOp attention) {
    if (failed(requireAnyFloat(attention.getQuery())))
      return failure();
    AttentionQueries queries = getQueries(attention);
    KeyBlock block = getBlock(attention);
    AttentionResults results;
    results.output = placement.define(attention.getResult());
    results.logSumExp = defineStatistics(attention);
    for (int64_t hop = 0; hop < ranks; ++hop) {
      KeyBlock next = sendOn(block, hop);
      attend(attention, queries, locate(block, hop), results,
             /*zeroMaskedRows=*/true, /*accumulate=*/hop > 0);
      block = next;
    }
    return success();
  }

  LogicalResult lower(RingAttentionGradientOp gradient) {
    if (failed(requireAnyFloat(gradient.getQuery())))
      return failure();
    AttentionQueries queries = getQueries(gradient);
    KeyBlock block = getBlock(gradient);
    GradientArrays arrays = getArrays(gradient);
    arrays.queryGradient = placement.define(gradient.getQueryGradient());
    std::pair<Value, Value> travelling, own;
    for (int64_t hop = 0; hop < ranks; ++hop) {
      KeyBlock next = sendOn(block, hop);
      // The first rank of a block starts its sums; the others add to them.
      std::pair<Value, Value> &made = hop == 0 ? travelling : own;
      if (!made.first)
        made =
            ranks == 1 ? defineGradients(gradient) : createGradients(gradient);
      std::tie(arrays.keyGradient, arrays.valueGradient) = made;
      differentiate(gradient, queries, locate(block, hop), arrays,
                    /*accumulate=*/hop > 0);
      if (hop > 0) {
        add(own.first, travelling.first);
        add(own.second, travelling.second);
      }
      if (ranks > 1)
        travelling = sendGradients(gradient, travelling, hop);
      block = next;
    }
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

  template <typename Ring> KeyBlock getBlock(Ring ring) {
    KeyBlock block = getKeys(ring);
    block.isInZigzagOrder = ring.getZigzag();
    if (Value mask = ring.getMask(); mask && !getShape(mask).empty()) {
      int64_t columns = getShape(mask).back();
      int64_t own = getShape(ring.getKey())[1];
      maskTravels = columns == own && own != keys;
      block.hasWholeMask = columns == keys && own != keys;
      // The one column of a block is no repeated one.
      if (maskTravels)
        block.maskStrides.back() = 1;
    }
    return block;
  }

  /// The block of hop `hop`, with where it lies among all keys.
  KeyBlock locate(KeyBlock block, int64_t hop) {
    auto get = [&](exec::RankValueKind kind) {
      return exec::RankValueAttr::get(builder.getContext(), kind, keys, axes,
                                      /*back=*/hop);
    };
    block.start = get(exec::RankValueKind::start);
    block.valid = get(exec::RankValueKind::extent);
    return block;
  }

  /// Sends the block of a hop to the next rank, but for the last hop; returns
  /// that of the next hop.
  KeyBlock sendOn(const KeyBlock &block, int64_t hop) {
    if (hop + 1 == ranks)
      return block;
    KeyBlock next = block;
    KeyBlock &place = places[hop % 2];
    if (!place.key) {
      place.key = createLike(block.key);
      place.value = createLike(block.value);
      if (maskTravels)
        place.mask = createLike(block.mask);
    }
    next.key = exchange(block.key, place.key);
    next.value = exchange(block.value, place.value);
    if (maskTravels)
      next.mask = exchange(block.mask, place.mask);
    return next;
  }

  Value createLike(Value buffer) {
    exec::BufferType type = exec::getBufferType(buffer);
    return placement.createActivation(type.getShape(), type.getElementType());
  }

  /// Each rank sends `from` to the next one of the ring.
  Value exchange(Value from, Value to) {
    SmallVector<int64_t> sendTo, receiveFrom;
    for (int64_t position = 0; position < ranks; ++position) {
      sendTo.push_back((position + 1) % ranks);
      receiveFrom.push_back((position + ranks - 1) % ranks);
    }
    exec::BufferType type = exec::getBufferType(from);
    (void)done(builder.create<exec::ExchangeOp>(
        location, placement.getCommunicator(axes).getValue(), from, to, sendTo,
        receiveFrom, type.getElementCount(), type.getByteSize()));
    return to;
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  /// Hops need the statistics, also where nothing reads them afterwards.
  Value defineStatistics(RingAttentionOp attention) {
    if (attention.getStatistics() && !attention.getLogSumExp().use_empty())
      return placement.define(attention.getLogSumExp());
    if (ranks == 1)
      return {};
    ArrayRef<int64_t> query = getShape(attention.getQuery());
    return placement.createActivation(
        {query[0], query[2], query[1]},
        getTensorType(attention.getResult()).getElementType());
  }

  std::pair<Value, Value> defineGradients(RingAttentionGradientOp gradient) {
    Value key = placement.define(gradient.getKeyGradient());
    return {key, placement.define(gradient.getValueGradient())};
  }

  std::pair<Value, Value> createGradients(RingAttentionGradientOp gradient) {
    auto create = [&](Value tensor) {
      RankedTensorType type = getTensorType(tensor);
      return placement.createActivation(type.getShape(), type.getElementType());
    };
    Value key = create(gradient.getKeyGradient());
    return {key, create(gradient.getValueGradient())};
  }

  /// Sends the gradients of a block behind it; after the last hop they are
  /// home.
  std::pair<Value, Value> sendGradients(RingAttentionGradientOp gradient,
                                        std::pair<Value, Value> travelling,
                                        int64_t hop) {
    std::pair<Value, Value> to;
    if (hop + 1 == ranks)
      to = defineGradients(gradient);
    else if (resting.first)
      to = resting;
    else
      to = createGradients(gradient);
    exchange(travelling.first, to.first);
    exchange(travelling.second, to.second);
    // What was sent is free for the next arrival.
    resting = travelling;
    return to;
  }

  /// Adds an array to another of its type.
  void add(Value terms, Value sums) {
    exec::BufferType type = exec::getBufferType(sums);
    Type element = type.getElementType();
    OpCost cost;
    cost.kind = WorkKind::elementwise;
    cost.flops = static_cast<double>(type.getElementCount());
    cost.bytesRead = 2 * type.getByteSize();
    cost.bytesWritten = type.getByteSize();
    (void)done(builder.create<exec::LaunchOp>(
        location, getAddition(type.getElementCount(), element),
        ValueRange{sums, terms}, sums, builder.getArrayAttr({}),
        exec::CostAttr::get(builder.getContext(), cost)));
  }

  /// The kernel that adds so many elements.
  FlatSymbolRefAttr getAddition(int64_t count, Type element) {
    std::string name;
    llvm::raw_string_ostream(name) << "add_" << element << "_" << count;
    exec::ProgramOp program = placement.getProgram();
    if (!SymbolTable::lookupSymbolIn(program, name))
      createAddition(name, count, element);
    return FlatSymbolRefAttr::get(builder.getContext(), name);
  }

  void createAddition(StringRef name, int64_t count, Type element) {
    OpBuilder outer(&placement.getProgram().getBody());
    auto kernel = outer.create<exec::KernelOp>(
        location, name, ArrayRef<int64_t>{count},
        outer.getTypeArrayAttr({element, element}), element, /*scalars=*/0);
    Block &body = kernel.getBody().emplaceBlock();
    body.addArgument(outer.getI64Type(), location);
    OpBuilder inner = OpBuilder::atBlockEnd(&body);
    auto load = [&](int64_t input) -> Value {
      return inner.create<exec::LoadOp>(
          location, element, input, /*offset=*/0, ArrayRef<int64_t>{1},
          /*dynamic=*/ValueRange(), /*scales=*/ArrayRef<int64_t>(),
          /*condition=*/Value());
    };
    Value sums = load(0), terms = load(1);
    Value total = inner.create<exec::ApplyOp>(
        location, element, exec::ScalarFunction::add, ValueRange{sums, terms});
    inner.create<exec::StoreOp>(location, total, /*offset=*/0,
                                ArrayRef<int64_t>{1});
  }

  AxisListAttr axes;
  int64_t keys, ranks;
  bool maskTravels = false;
  /// Where blocks arrive, by turns.
  KeyBlock places[2];
  /// Where the next gradients can arrive.
  std::pair<Value, Value> resting;
};

template <typename Ring>
LogicalResult lowerRingOp(Ring ring, Placement &placement) {
  return RingLowering(ring, placement, ring.getAxes(), ring.getKeys())
      .lower(ring);
}

} // namespace

LogicalResult lowerRing(Operation *op, Placement &placement) {
  if (auto attention = dyn_cast<RingAttentionOp>(op))
    return lowerRingOp(attention, placement);
  return lowerRingOp(cast<RingAttentionGradientOp>(op), placement);
}

} // namespace parplan
