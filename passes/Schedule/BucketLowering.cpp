//===- BucketLowering.cpp - Buckets as bytes of the arena -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/TensorTypes.h"
#include "passes/Schedule/Placement.h"
#include "passes/Schedule/Variables.h"

#include "parplan/Support/Check.h"

using namespace mlir;

namespace parplan {

void copyBuffer(Location location, Value from, Value to, Placement &placement) {
  OpBuilder &builder = placement.getStatements();
  if (exec::getTier(from) != exec::getTier(to)) {
    builder.create<exec::TransferOp>(location, from, to);
    return;
  }
  exec::BufferType type = exec::getBufferType(from);
  OpCost cost;
  cost.kind = WorkKind::copy;
  cost.bytesRead = cost.bytesWritten = type.getByteSize();
  builder.create<exec::CopyOp>(location, from, to,
                               ArrayRef<int64_t>{type.getElementCount()}, 0,
                               ArrayRef<int64_t>{1}, 0, ArrayRef<int64_t>{1},
                               exec::CostAttr::get(builder.getContext(), cost),
                               /*only=*/exec::MemberAttr());
}

//===----------------------------------------------------------------------===//
// Packs
//===----------------------------------------------------------------------===//

/// The place of member `index` in the bucket's buffer.
static Value createPlace(PackOp op, size_t index, Value bucket,
                         Placement &placement) {
  RankedTensorType type = getTensorType(op.getInputs()[index]);
  return placement.createView(bucket,
                              op.getOffsets()[index] *
                                  exec::getStorageBytes(type.getElementType()),
                              type.getShape(), type.getElementType());
}

namespace {

class PackAssigner {
public:
  explicit PackAssigner(Placement &placement) : placement(placement) {}

  void assign(PackOp op) {
    RankedTensorType type = getTensorType(op.getResult());
    Value bucket = placement.getAssigned(op.getResult());
    if (!bucket) {
      bucket =
          placement.createActivation(type.getShape(), type.getElementType());
      placement.assign(op.getResult(), bucket);
    }
    for (auto [index, input] : llvm::enumerate(op.getInputs()))
      if (Value made = findDefinition(input, placement.getMesh()))
        assign(made, createPlace(op, index, bucket, placement));
  }

private:
  /// What the definition overwrites is made there too: sums over micro-batches
  /// grow in their bucket.
  void assign(Value made, Value place) {
    if (placement.isAssigned(made))
      return;
    placement.assign(made, place);
    auto map = made.getDefiningOp<exec::MapOp>();
    if (!map || map.getInto())
      return;
    auto kernel = cast<exec::KernelOp>(SymbolTable::lookupSymbolIn(
        placement.getProgram(), map.getKernelAttr()));
    for (auto [number, input] : llvm::enumerate(map.getInputs())) {
      RankedTensorType type = getTensorType(input);
      if (type.getElementType() != getTensorType(made).getElementType() ||
          type.getNumElements() != getTensorType(made).getNumElements() ||
          !loadsWhereItStores(kernel, number))
        continue;
      if (Value before = findDefinition(input, placement.getMesh())) {
        assign(before, place);
        return;
      }
    }
  }

  Placement &placement;
};

} // namespace

void assignPacks(func::FuncOp function, Placement &placement) {
  PackAssigner assigner(placement);
  for (auto op : function.getBody().front().getOps<PackOp>())
    assigner.assign(op);
}

void lowerPack(PackOp op, Placement &placement) {
  Value bucket = placement.define(op.getResult());
  RankedTensorType type = getTensorType(op.getResult());
  int64_t width = exec::getStorageBytes(type.getElementType());
  OpBuilder &builder = placement.getStatements();
  auto clear = [&](int64_t start, int64_t end) {
    if (start == end)
      return;
    OpCost cost;
    cost.kind = WorkKind::copy;
    cost.bytesWritten = (end - start) * width;
    builder.create<exec::ZeroOp>(
        op.getLoc(),
        placement.createView(bucket, start * width, {end - start},
                             type.getElementType()),
        exec::CostAttr::get(builder.getContext(), cost));
  };
  int64_t end = 0;
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    Value made = placement.lookup(input);
    if (exec::getBuffer(made) != exec::getBuffer(bucket))
      copyBuffer(op.getLoc(), made, createPlace(op, index, bucket, placement),
                 placement);
    clear(end, op.getOffsets()[index]);
    end = op.getOffsets()[index] + getTensorType(input).getNumElements();
  }
  clear(end, type.getNumElements());
}

void lowerUnpack(UnpackOp op, Placement &placement) {
  Value bucket = placement.lookup(op.getBucket());
  for (auto [output, offset] :
       llvm::zip_equal(op.getOutputs(), op.getOffsets())) {
    RankedTensorType type = getTensorType(output);
    placement.map(output,
                  placement.createView(
                      bucket,
                      offset * exec::getStorageBytes(type.getElementType()),
                      type.getShape(), type.getElementType()));
  }
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

void defineBucket(BucketParameterOp op, Placement &placement) {
  if (placement.lookup(op.getResult()))
    return;
  ModuleOp module = op->getParentOfType<ModuleOp>();
  SmallVector<int64_t> offsets;
  SmallVector<exec::BlockAttr> blocks;
  for (auto member : op.getMembers().getAsRange<MemberAttr>()) {
    VariableAttr variable = member.getVariable();
    auto initializer = module.lookupSymbol<InitializerOp>(
        variable.getInitializer().getValue());
    PARPLAN_CHECK(initializer, "a bucket names no initializer");
    int64_t offset = 0;
    ArrayRef<int64_t> strides;
    if (ViewAttr view = variable.getView()) {
      offset = view.getOffset();
      strides = view.getStrides();
    }
    blocks.push_back(placement.getBlock(
        initializer.getName(), member.getType(), member.getSharding(),
        variable.getInitializer(), offset, strides, variable.getSlot()));
    offsets.push_back(member.getOffset());
  }
  // What all pieces of the bucket have together.
  auto global = cast<RankedTensorType>(
      op->getAttrOfType<TypeAttr>(attributes::globalType).getValue());
  auto sharding = cast<ShardingAttr>(
      op->getAttrOfType<ArrayAttr>(attributes::shardings)[0]);
  FailureOr<Sharding> whole = sharding.resolve(placement.getMesh());
  PARPLAN_CHECK(succeeded(whole), "a bucket over an unknown axis");
  whole->storage.clear();
  auto bucket = exec::BucketAttr::get(
      op.getContext(),
      whole->getLocalShape(placement.getMesh(), global.getShape())[0],
      sharding.getStorage(), offsets, blocks);
  bool isState = !blocks.empty() && blocks.front().getSlot();
  placement.setTier(getRestingTier(op));
  placement.map(op.getResult(),
                placement.createBucket(isState ? exec::BufferKind::state
                                               : exec::BufferKind::parameter,
                                       getTensorType(op.getResult()), bucket));
  placement.setTier(exec::Tier::device);
}

} // namespace parplan
