//===- StagingRing.cpp - Through the host, a tile at a time ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/StagingRing.h"
#include "passes/Schedule/LaunchBuilder.h"
#include "passes/Schedule/Lifetimes.h"

#include "parplan/Support/Check.h"

using namespace mlir;

namespace parplan {

using exec::Tier;

StagingRing::StagingRing(func::FuncOp function, Placement &placement)
    : placement(placement), slots(slotCount) {
  int64_t largest = 0;
  for (auto op : function.getBody().front().getOps<TransferOp>())
    largest = std::max(largest, getBytes(op.getInput()));
  slotBytes =
      std::min(largestSlot, ceilDivide(largest, exec::storageAlignment) *
                                exec::storageAlignment);
}

bool StagingRing::isStored(Value tensor) const {
  Value buffer = placement.lookup(tensor);
  return buffer && exec::getTier(buffer) == Tier::nvme;
}

bool StagingRing::passesThrough(TransferOp op) const {
  if (op.getTier() != tiers::host)
    return false;
  if (isStored(op.getInput()))
    return llvm::all_of(op->getUsers(), [](Operation *user) {
      auto onward = dyn_cast<TransferOp>(user);
      return isa<OptimizerUpdateOp>(user) ||
             (onward && onward.getTier() == tiers::device);
    });
  if (exec::getTier(placement.lookup(op.getInput())) != Tier::device ||
      !op->hasOneUse())
    return false;
  auto update = dyn_cast<OptimizerUpdateOp>(*op->user_begin());
  return update && op.getResult() == update.getGradient() &&
         llvm::any_of(update->getOperands(), [&](Value operand) {
           auto other = operand.getDefiningOp<TransferOp>();
           return other && isStored(other.getInput()) && passesThrough(other);
         });
}

bool StagingRing::isStaged(OptimizerUpdateOp op) const {
  return llvm::any_of(op->getOperands(),
                      [&](Value operand) { return isStored(operand); });
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Value StagingRing::takeSlot(int64_t elements, Type type) {
  Value &slot = slots[next];
  next = (next + 1) % slotCount;
  if (!slot) {
    placement.setTier(Tier::host);
    slot = placement.createActivation({slotBytes},
                                      IntegerType::get(type.getContext(), 8));
    placement.setTier(Tier::device);
  }
  return placement.createView(slot, 0, {elements}, type);
}

Value StagingRing::getTile(Value buffer, int64_t first, int64_t elements) {
  Type type = exec::getBufferType(buffer).getElementType();
  return placement.createView(buffer, first * exec::getStorageBytes(type),
                              {elements}, type);
}

void StagingRing::transfer(Operation *op, Value from, Value to) {
  Operation *origins[] = {op};
  setOrigins(placement.getStatements().create<exec::TransferOp>(op->getLoc(),
                                                                from, to),
             origins);
}

void StagingRing::lowerCopy(TransferOp op) {
  Value from = placement.lookup(op.getInput());
  std::optional<Tier> tier = exec::symbolizeTier(op.getTier());
  PARPLAN_CHECK(tier, "a transfer to no tier");
  placement.setTier(*tier);
  Value to = placement.define(op.getResult());
  placement.setTier(Tier::device);
  exec::BufferType type = exec::getBufferType(from);
  int64_t step = slotBytes / exec::getStorageBytes(type.getElementType());
  for (int64_t first = 0; first < type.getElementCount(); first += step) {
    int64_t elements = std::min(step, type.getElementCount() - first);
    Value slot = takeSlot(elements, type.getElementType());
    transfer(op, getTile(from, first, elements), slot);
    transfer(op, slot, getTile(to, first, elements));
  }
}

/// The statements of one update.
class StagedUpdate : public LaunchBuilder {
public:
  StagedUpdate(StagingRing &ring, OptimizerUpdateOp update)
      : LaunchBuilder(update, ring.placement), ring(ring), update(update) {}

  void run() {
    // Parameter, gradient and states, as they are numbered.
    size_t arrays = 2 + update.getStates().size();
    int64_t widest = 1;
    placement.setTier(Tier::host);
    for (Value tensor : update->getOperands().take_front(arrays)) {
      sources.push_back(placement.lookup(tensor));
      widest = std::max(widest, exec::getStorageBytes(getType(sources.back())));
    }
    scalars = {get(update.getLearningRate()), get(update.getStepSize()),
               get(update.getBiasCorrection2Sqrt()), get(update.getScale()),
               get(update.getSkip())};
    placement.setTier(Tier::device);
    for (OpResult result : update->getResults())
      targets.push_back(defineTargets(result));
    elements = exec::getBufferType(sources[0]).getElementCount();
    step = ring.slotBytes / widest;
    SmallVector<Value> tile = fetch(0);
    for (int64_t first = 0; first < elements; first += step) {
      SmallVector<Value> following;
      if (first + step < elements)
        following = fetch(first + step);
      compute(first, tile);
      tile = std::move(following);
    }
  }

private:
  static Type getType(Value buffer) {
    return exec::getBufferType(buffer).getElementType();
  }
  int64_t getExtent(int64_t first) const {
    return std::min(step, elements - first);
  }

  /// Where the transfers go that alone read the result; else a buffer on the
  /// host, the old one's where that is there.
  SmallVector<Value> defineTargets(OpResult result) {
    SmallVector<Value> defined;
    bool isOnlyMoved = llvm::all_of(result.getUsers(), [](Operation *user) {
      auto onward = dyn_cast<TransferOp>(user);
      return onward && onward.getTier() != tiers::host;
    });
    for (Operation *user : result.getUsers()) {
      if (!isOnlyMoved)
        break;
      auto onward = cast<TransferOp>(user);
      std::optional<Tier> tier = exec::symbolizeTier(onward.getTier());
      PARPLAN_CHECK(tier, "a transfer to no tier");
      placement.setTier(*tier);
      defined.push_back(placement.define(onward.getResult()));
    }
    size_t replaced = getReplaced(result.getResultNumber());
    placement.setTier(Tier::host);
    if (!isOnlyMoved)
      defined.push_back(
          exec::getTier(sources[replaced]) == Tier::host
              ? placement.defineInPlace(result, update->getOperand(replaced))
              : placement.define(result));
    placement.setTier(Tier::device);
    return defined;
  }

  /// The operand that a result takes the place of.
  static size_t getReplaced(size_t result) {
    return result == 0 ? 0 : result + 1;
  }

  /// The tile of every array that starts at `first`, on the host.
  SmallVector<Value> fetch(int64_t first) {
    SmallVector<Value> tile;
    for (Value source : sources) {
      Value part = ring.getTile(source, first, getExtent(first));
      if (exec::getTier(source) != Tier::host) {
        Value slot = ring.takeSlot(getExtent(first), getType(source));
        ring.transfer(update, part, slot);
        part = slot;
      }
      tile.push_back(part);
    }
    return tile;
  }

  void compute(int64_t first, ArrayRef<Value> tile) {
    SmallVector<Value> made;
    for (auto [number, where] : llvm::enumerate(targets)) {
      size_t replaced = getReplaced(number);
      if (where.size() == 1 && exec::getTier(where.front()) == Tier::host)
        made.push_back(ring.getTile(where.front(), first, getExtent(first)));
      else if (exec::getTier(sources[replaced]) != Tier::host)
        made.push_back(tile[replaced]);
      else
        made.push_back(
            ring.takeSlot(getExtent(first), getType(sources[replaced])));
    }
    (void)done(builder.create<exec::UpdateOp>(
        location, update.getKindAttr(), tile[0], tile[1], tile.drop_front(2),
        scalars[0], scalars[1], scalars[2], scalars[3], scalars[4], made[0],
        ArrayRef(made).drop_front(), update.getBeta1Attr(),
        update.getBeta2Attr(), update.getEpsilonAttr(),
        update.getWeightDecayAttr(), update.getMomentumAttr(),
        getShare(first)));
    for (auto [value, where] : llvm::zip_equal(made, targets))
      for (Value target : where)
        if (exec::getTier(target) != Tier::host)
          ring.transfer(update, value,
                        ring.getTile(target, first, getExtent(first)));
  }

  /// The work of the tile.
  exec::CostAttr getShare(int64_t first) {
    OpCost cost = getCost().getCost();
    int64_t extent = getExtent(first);
    cost.flops = cost.flops * extent / elements;
    cost.transcendentals = cost.transcendentals * extent / elements;
    auto share = [&](int64_t bytes) { return bytes / elements * extent; };
    cost.bytesRead = share(cost.bytesRead);
    cost.bytesWritten = share(cost.bytesWritten);
    return exec::CostAttr::get(builder.getContext(), cost);
  }

  StagingRing &ring;
  OptimizerUpdateOp update;
  SmallVector<Value> sources, scalars;
  /// Of every result.
  SmallVector<SmallVector<Value>> targets;
  int64_t elements = 0, step = 0;
};

void StagingRing::lowerUpdate(OptimizerUpdateOp op) {
  StagedUpdate(*this, op).run();
}

} // namespace parplan
