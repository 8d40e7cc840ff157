//===- CollectiveLowering.cpp - Moves as calls of communicators -----------===//
//
// Part of parplan.
//
// A communicator joins and cuts whole blocks: [rank][block]. Where the
// dimension that is joined or cut is not the outermost one, or its blocks are
// padded, strided copies bring the bytes into that order and back.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/TensorTypes.h"
#include "passes/Schedule/Origins.h"
#include "passes/Schedule/Placement.h"

#include "parplan/Sharding/Blocks.h"
#include "parplan/Sharding/Reshard.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/Sizes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace parplan {

namespace {

using exec::CollectiveForm;

/// `count` blocks of `length` elements of a dimension; block i starts at
/// whole + i * wholeStep in the whole dimension and is number first + i in the
/// order of ranks.
struct BlockRun {
  int64_t first, count, length, whole, wholeStep;
};

class MoveLowering {
public:
  MoveLowering(Operation *op, Placement &placement)
      : op(op), placement(placement), builder(placement.getStatements()),
        location(op->getLoc()), input(op->getOperand(0)),
        result(op->getResult(0)) {}

  LogicalResult run() {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<StorageViewOp, AllReduceOp, AllGatherOp, ReduceScatterOp,
              AllToAllOp, BroadcastFromOp, ReduceToOp, SendReceiveOp>(
            [&](auto move) { return lower(move); })
        .Default([&](Operation *) -> LogicalResult {
          PARPLAN_UNREACHABLE("no such move");
        });
  }

private:
  //===--------------------------------------------------------------------===//
  // Helpers
  //===--------------------------------------------------------------------===//

  Type getElementType() const { return getTensorType(input).getElementType(); }
  Value getInput() const { return placement.lookup(input); }

  LogicalResult done(Operation *statement) {
    Operation *origins[] = {op};
    setOrigins(statement, origins);
    return success();
  }

  LogicalResult alias() {
    placement.map(result, getInput());
    return success();
  }

  LogicalResult call(CollectiveForm form, AxisListAttr axes, Value in,
                     Value out, int64_t count, int64_t countedElements,
                     ReduceKindAttr kind = {},
                     std::optional<int64_t> root = {}) {
    int64_t bytes = countedElements * exec::getStorageBytes(getElementType());
    return done(builder.create<exec::CollectiveOp>(
        location, exec::CollectiveFormAttr::get(builder.getContext(), form),
        placement.getCommunicator(axes), in, out,
        builder.getI64IntegerAttr(count), builder.getI64IntegerAttr(bytes),
        kind, root ? builder.getI64IntegerAttr(*root) : IntegerAttr()));
  }

  //===--------------------------------------------------------------------===//
  // Blocks of a dimension
  //===--------------------------------------------------------------------===//

  /// The blocks that `axes` cut `size` elements into, in runs of equal ones.
  /// S3; storage is cut in one step (S6).
  SmallVector<BlockRun> getRuns(int64_t size, AxisListAttr axes,
                                bool isStorage) {
    FailureOr<AxisList> positions = axes.resolve(placement.getMesh());
    SmallVector<int64_t> widths;
    for (int axis : *positions)
      widths.push_back(placement.getMesh().getAxis(axis).size);
    int64_t ranks = multiplySizes(widths);
    if (isStorage)
      widths = {ranks};
    SmallVector<BlockRun> runs;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Interval interval = getNestedInterval(size, widths, rank);
      if (interval.size() <= 0)
        continue;
      if (!runs.empty()) {
        BlockRun &last = runs.back();
        int64_t step =
            interval.start - (last.whole + (last.count - 1) * last.wholeStep);
        if (last.length == interval.size() && last.first + last.count == rank &&
            (last.count == 1 || step == last.wholeStep)) {
          last.wholeStep = step;
          ++last.count;
          continue;
        }
      }
      runs.push_back({rank, 1, interval.size(), interval.start, 0});
    }
    return runs;
  }

  /// A tensor of [outer][dimension][inner] and its blocks.
  struct Cut {
    int64_t outer, size, inner, block;
    SmallVector<BlockRun> runs;
    int64_t ranks;

    /// The blocks lie one after the other, as communicators want them.
    bool isDirect() const {
      return outer == 1 && runs.size() == 1 && runs[0].count == ranks &&
             runs[0].length == block &&
             (ranks == 1 || runs[0].wholeStep == block);
    }
    int64_t getBlockElements() const { return outer * block * inner; }
  };

  /// Cuts dimension `dim` (-1: the flat block) of a tensor of type `whole`.
  Cut cut(RankedTensorType whole, int64_t dim, AxisListAttr axes,
          int64_t block) {
    ArrayRef<int64_t> shape = whole.getShape();
    Cut cut;
    cut.ranks = placement.getWidth(axes);
    cut.block = block;
    if (dim < 0) {
      cut.outer = cut.inner = 1;
      cut.size = whole.getNumElements();
    } else {
      cut.outer = multiplySizes(shape.take_front(dim));
      cut.size = shape[dim];
      cut.inner = multiplySizes(shape.drop_front(dim + 1));
    }
    cut.runs = getRuns(cut.size, axes, dim < 0);
    return cut;
  }

  /// Copies between the whole and [rank][outer][block][inner].
  void copyBlocks(const Cut &cut, Value in, Value out, bool joins) {
    for (const BlockRun &run : cut.runs) {
      int64_t row = run.length * cut.inner;
      SmallVector<int64_t> extents = {run.count, cut.outer, row};
      SmallVector<int64_t> blocks = {cut.getBlockElements(),
                                     cut.block * cut.inner, 1};
      SmallVector<int64_t> whole = {run.wholeStep * cut.inner,
                                    cut.size * cut.inner, 1};
      int64_t blockOffset = run.first * cut.getBlockElements();
      int64_t wholeOffset = run.whole * cut.inner;
      OpCost cost;
      cost.kind = WorkKind::copy;
      cost.bytesRead = cost.bytesWritten =
          multiplySizes(extents) * exec::getStorageBytes(getElementType());
      auto copy = builder.create<exec::CopyOp>(
          location, in, out, extents, joins ? blockOffset : wholeOffset,
          joins ? blocks : whole, joins ? wholeOffset : blockOffset,
          joins ? whole : blocks,
          exec::CostAttr::get(builder.getContext(), cost),
          /*only=*/exec::MemberAttr());
      (void)done(copy);
    }
  }

  /// The blocks of the buffer `whole` in the order of ranks, padded with zeros.
  Value pack(const Cut &cut, Value whole) {
    if (cut.isDirect())
      return whole;
    Value packed = placement.createActivation(
        {cut.ranks * cut.getBlockElements()}, getElementType());
    int64_t covered = 0;
    for (const BlockRun &run : cut.runs)
      covered += run.count * run.length;
    if (covered != cut.ranks * cut.block) {
      OpCost cost;
      cost.kind = WorkKind::copy;
      cost.bytesWritten = cut.ranks * cut.getBlockElements() *
                          exec::getStorageBytes(getElementType());
      (void)done(builder.create<exec::ZeroOp>(
          location, packed, exec::CostAttr::get(builder.getContext(), cost)));
    }
    copyBlocks(cut, whole, packed, /*joins=*/false);
    return packed;
  }

  /// Where the gathered blocks of the result arrive.
  Value getGathered(const Cut &cut) {
    if (cut.isDirect())
      return placement.define(result);
    return placement.createActivation({cut.ranks * cut.getBlockElements()},
                                      getElementType());
  }

  void unpack(const Cut &cut, Value gathered) {
    if (!cut.isDirect())
      copyBlocks(cut, gathered, placement.define(result), /*joins=*/true);
  }

  static int64_t getBlockSize(RankedTensorType block, int64_t dim) {
    return dim < 0 ? block.getNumElements() : block.getDimSize(dim);
  }

  //===--------------------------------------------------------------------===//
  // Moves
  //===--------------------------------------------------------------------===//

  LogicalResult lower(StorageViewOp) {
    PARPLAN_CHECK(getTensorType(input).getNumElements() ==
                      getTensorType(result).getNumElements(),
                  "a view of other bytes");
    return alias();
  }

  LogicalResult lower(AllReduceOp move) {
    if (placement.getWidth(move.getAxes()) == 1)
      return alias();
    Value in = getInput();
    Value out = placement.defineInPlace(result, input);
    int64_t count = getTensorType(input).getNumElements();
    return call(CollectiveForm::all_reduce, move.getAxes(), in, out, count,
                count, move.getKindAttr());
  }

  LogicalResult lower(AllGatherOp move) {
    if (placement.getWidth(move.getAxes()) == 1)
      return alias();
    int64_t dim = static_cast<int64_t>(move.getDim());
    Cut joined = cut(getTensorType(result), dim, move.getAxes(),
                     getBlockSize(getTensorType(input), dim));
    Value gathered = getGathered(joined);
    int64_t count = joined.getBlockElements();
    if (failed(call(CollectiveForm::all_gather, move.getAxes(), getInput(),
                    gathered, count, count * joined.ranks)))
      return failure();
    unpack(joined, gathered);
    return success();
  }

  LogicalResult lower(ReduceScatterOp move) {
    if (placement.getWidth(move.getAxes()) == 1)
      return alias();
    int64_t dim = static_cast<int64_t>(move.getDim());
    Cut pieces = cut(getTensorType(input), dim, move.getAxes(),
                     getBlockSize(getTensorType(result), dim));
    Value packed = pack(pieces, getInput());
    int64_t count = pieces.getBlockElements();
    return call(CollectiveForm::reduce_scatter, move.getAxes(), packed,
                placement.define(result), count, count * pieces.ranks,
                move.getKindAttr());
  }

  LogicalResult lower(AllToAllOp move) {
    if (placement.getWidth(move.getAxes()) == 1)
      return alias();
    int64_t fromDim = static_cast<int64_t>(move.getFromDim());
    int64_t toDim = static_cast<int64_t>(move.getToDim());
    RankedTensorType inType = getTensorType(input);
    RankedTensorType outType = getTensorType(result);
    Cut pieces =
        cut(inType, toDim, move.getAxes(), getBlockSize(outType, toDim));
    Value packed = pack(pieces, getInput());
    Cut joined =
        cut(outType, fromDim, move.getAxes(), getBlockSize(inType, fromDim));
    Value gathered = getGathered(joined);
    int64_t count = pieces.getBlockElements();
    if (failed(call(CollectiveForm::all_to_all, move.getAxes(), packed,
                    gathered, count, count * pieces.ranks)))
      return failure();
    unpack(joined, gathered);
    return success();
  }

  LogicalResult lower(BroadcastFromOp move) {
    if (placement.getWidth(move.getAxes()) == 1)
      return alias();
    Value in = getInput();
    Value out = placement.defineInPlace(result, input);
    int64_t count = getTensorType(input).getNumElements();
    return call(CollectiveForm::broadcast, move.getAxes(), in, out, count,
                count, {}, move.getRoot());
  }

  LogicalResult lower(ReduceToOp move) {
    if (placement.getWidth(move.getAxes()) == 1)
      return alias();
    Value in = getInput();
    Value out = placement.define(result);
    int64_t count = getTensorType(input).getNumElements();
    // Ranks that are not the root keep zeros.
    (void)done(builder.create<exec::ZeroOp>(location, out, exec::CostAttr()));
    return call(CollectiveForm::reduce, move.getAxes(), in, out, count, count,
                move.getKindAttr(), move.getRoot());
  }

  LogicalResult lower(SendReceiveOp move) {
    if (placement.getWidth(move.getAxes()) == 1)
      return alias();
    const Mesh &mesh = placement.getMesh();
    FailureOr<Sharding> before = move.getInSharding().resolve(mesh);
    FailureOr<Sharding> after = move.getOutSharding().resolve(mesh);
    FailureOr<AxisList> axes = move.getAxes().resolve(mesh);
    PARPLAN_CHECK(succeeded(before) && succeeded(after) && succeeded(axes),
                  "a move over an unknown axis");
    Move send{
        MoveKind::send, *axes, Move::storage, Move::storage, *after, 0, 0};
    std::vector<int64_t> sources = getSendSources(mesh, *before, send);
    int64_t ranks = mesh.getWidth(*axes);
    SmallVector<int64_t> receiveFrom(ranks, -1), sendTo(ranks, -1);
    for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
      int64_t position = mesh.getIndex(rank, *axes);
      int64_t source = mesh.getIndex(sources[rank], *axes);
      PARPLAN_CHECK(receiveFrom[position] < 0 ||
                        receiveFrom[position] == source,
                    "blocks move differently in different groups");
      receiveFrom[position] = source;
      sendTo[source] = position;
    }
    int64_t count = getTensorType(input).getNumElements();
    Value in = getInput();
    Value out = placement.define(result);
    return done(builder.create<exec::ExchangeOp>(
        location, placement.getCommunicator(move.getAxes()).getValue(), in, out,
        sendTo, receiveFrom, count,
        count * exec::getStorageBytes(getElementType())));
  }

  Operation *op;
  Placement &placement;
  OpBuilder &builder;
  Location location;
  Value input, result;
};

} // namespace

LogicalResult lowerMove(Operation *op, Placement &placement) {
  return MoveLowering(op, placement).run();
}

} // namespace parplan
