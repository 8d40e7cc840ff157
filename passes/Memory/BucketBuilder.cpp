//===- BucketBuilder.cpp - One lane in place of many ----------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Memory/BucketBuilder.h"

#include "dialects/parplan/TensorTypes.h"
#include "passes/Partition/Layouts.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace parplan {

/// Where kernels and copies are fastest, and what buffers start at.
constexpr int64_t alignmentBytes = 64;

BucketBuilder::BucketBuilder(const ShardingAccess &access,
                             ArrayRef<const UpdateLane *> lanes)
    : access(access), lanes(lanes), first(*lanes.front()),
      builder(first.update->getContext()) {
  for (const UpdateLane *lane : lanes)
    inside.insert(lane->ops.begin(), lane->ops.end());
  for (Operation *op : first.ops) {
    if (isEarly(op))
      early.insert(op);
    if (isa<SquareSumOp>(op) ||
        (op->getNumOperands() == 1 && scalars.contains(op->getOperand(0))))
      scalars.insert(op->getResult(0));
  }
  layOut();
}

bool BucketBuilder::isEarly(Operation *op) const {
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *maker = operand.getDefiningOp();
    return maker && (isa<ParameterOp>(maker) || early.contains(maker));
  });
}

/// S6: the bucket is cut as a whole, in equal pieces that are aligned too.
void BucketBuilder::layOut() {
  int64_t elementBytes = alignmentBytes;
  int64_t width = std::max<int64_t>(1, access.getMesh().getServerCount());
  auto regard = [&](Value value) {
    elementBytes = std::min(
        elementBytes, getElementBytes(getTensorType(value).getElementType()));
    width = std::max(
        width, access.getMesh().getWidth(access.getSharding(value)->storage));
  };
  for (ParameterOp source : first.sources)
    regard(source.getResult());
  for (Operation *op : first.ops)
    for (Value result : op->getResults())
      if (!scalars.contains(result))
        regard(result);
  int64_t alignment = alignmentBytes / elementBytes;
  for (const UpdateLane *lane : lanes) {
    offsets.push_back(size);
    size = llvm::alignTo(size + lane->getBlockType(access).getNumElements(),
                         alignment);
  }
  size = llvm::alignTo(size, alignment * width);
}

Sharding BucketBuilder::getBucketSharding(Value value) const {
  Sharding sharding = *access.getSharding(value);
  AxisList split;
  for (const AxisList &axes : sharding.dims)
    split.append(axes.begin(), axes.end());
  llvm::sort(split);
  sharding.dims = {split};
  return sharding;
}

RankedTensorType BucketBuilder::getGlobalType(Value value) const {
  int64_t ranks = access.getMesh().getWidth(getBucketSharding(value).dims[0]);
  return RankedTensorType::get({size * ranks},
                               getTensorType(value).getElementType());
}

/// Gives `bucket` the type and the attributes that follow from `member`.
void BucketBuilder::annotate(Value bucket, Value member) {
  Operation *op = bucket.getDefiningOp();
  Sharding sharding = getBucketSharding(member);
  RankedTensorType global = getGlobalType(member);
  bucket.setType(access.getLocalType(global, sharding));
  ShardingAttr attribute = access.getAttr(sharding);
  op->setAttr(attributes::globalType, TypeAttr::get(global));
  if (isMove(op))
    op->setAttr("out_sharding", attribute);
  else
    op->setAttr(attributes::shardings,
                builder.getArrayAttr(
                    SmallVector<Attribute>(op->getNumResults(), attribute)));
}

SmallVector<Value> BucketBuilder::getMemberValues(
    llvm::function_ref<Value(const UpdateLane &)> get) const {
  SmallVector<Value> members;
  for (const UpdateLane *lane : lanes)
    members.push_back(get(*lane));
  return members;
}

bool BucketBuilder::isOutside(Operation *user) const {
  return !inside.contains(user) && !isa<func::ReturnOp>(user);
}

/// Where the bucket's op `index` belongs: with the first of the members' ops if
/// all is there from the start, else with the last.
Operation *BucketBuilder::getPlace(size_t index) const {
  bool isFirst = early.contains(first.ops[index]);
  Operation *place = first.ops[index];
  for (const UpdateLane *lane : lanes)
    if (lane->ops[index]->isBeforeInBlock(place) == isFirst)
      place = lane->ops[index];
  return place;
}

bool BucketBuilder::isPossible() const {
  for (size_t index = 0; index < first.ops.size(); ++index) {
    Operation *place = getPlace(index);
    for (const UpdateLane *lane : lanes)
      for (Operation *user : lane->ops[index]->getUsers())
        if (isOutside(user) && user->isBeforeInBlock(place))
          return false;
  }
  return true;
}

SmallVector<BucketResult> BucketBuilder::build() {
  for (size_t index = 0; index < first.sources.size(); ++index)
    addSource(index);
  for (size_t index = 0; index < first.leaves.size(); ++index)
    addLeaf(index);
  for (size_t index = 0; index < first.ops.size(); ++index)
    addOp(index);
  for (size_t index = 0; index < first.norms.size(); ++index)
    replaceNorm(index);
  auto function = first.update->getParentOfType<func::FuncOp>();
  Operation *terminator = function.getBody().front().getTerminator();
  SmallVector<BucketResult> results;
  for (auto [index, number] : llvm::enumerate(first.results)) {
    Value member = terminator->getOperand(number);
    BucketResult &result = results.emplace_back();
    result.value = buckets.lookup(member);
    for (const UpdateLane *lane : lanes)
      result.replaced.push_back(lane->results[index]);
    result.attributes = builder.getDictionaryAttr(
        {builder.getNamedAttr(attributes::bucket, getMembers(index)),
         builder.getNamedAttr(attributes::sharding,
                              access.getAttr(getBucketSharding(member))),
         builder.getNamedAttr(attributes::globalType,
                              TypeAttr::get(getGlobalType(member)))});
  }
  return results;
}

ArrayAttr BucketBuilder::getMembers(size_t source) const {
  SmallVector<Attribute> members;
  for (auto [lane, offset] : llvm::zip_equal(lanes, offsets)) {
    ParameterOp op = lane->sources[source];
    Sharding sharding = *access.getSharding(op.getResult());
    sharding.storage.clear();
    auto global = op->getAttrOfType<TypeAttr>(attributes::globalType);
    members.push_back(MemberAttr::get(op.getContext(), op.getVariable(),
                                      cast<RankedTensorType>(global.getValue()),
                                      access.getAttr(sharding), offset));
  }
  return ArrayAttr::get(builder.getContext(), members);
}

void BucketBuilder::addSource(size_t index) {
  Operation *place = first.sources[index];
  for (const UpdateLane *lane : lanes)
    if (lane->sources[index]->isBeforeInBlock(place))
      place = lane->sources[index];
  builder.setInsertionPoint(place);
  ParameterOp member = first.sources[index];
  // Verified whole: with its attributes.
  OperationState state(member.getLoc(), BucketParameterOp::getOperationName());
  BucketParameterOp::build(
      builder, state,
      RankedTensorType::get({size}, getTensorType(member).getElementType()),
      getMembers(index));
  Value bucket = builder.create(state)->getResult(0);
  annotate(bucket, member);
  if (Attribute tier = member->getAttr(attributes::tier))
    bucket.getDefiningOp()->setAttr(attributes::tier, tier);
  buckets[member] = bucket;
  unpack(bucket, getMemberValues([&](const UpdateLane &lane) {
           return lane.sources[index]->getResult(0);
         }));
}

void BucketBuilder::addLeaf(size_t index) {
  Operation *last = nullptr;
  SmallVector<Value> members = getMemberValues(
      [&](const UpdateLane &lane) { return lane.leaves[index]; });
  for (Value member : members)
    if (Operation *op = member.getDefiningOp();
        op && (!last || last->isBeforeInBlock(op)))
      last = op;
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(first.update->getBlock());
  Value leaf = members.front();
  auto pack = builder.create<PackOp>(
      leaf.getLoc(),
      RankedTensorType::get({size}, getTensorType(leaf).getElementType()),
      members, offsets);
  annotate(pack, leaf);
  if (last)
    copyOrigin(last, pack);
  buckets[leaf] = pack;
}

void BucketBuilder::addOp(size_t index) {
  Operation *member = first.ops[index];
  builder.setInsertionPoint(getPlace(index));
  IRMapping operands;
  for (Value operand : member->getOperands())
    if (Value bucket = buckets.lookup(operand))
      operands.map(operand, bucket);
  Operation *op = builder.clone(*member, operands);
  for (OpResult result : member->getResults()) {
    unsigned number = result.getResultNumber();
    buckets[result] = op->getResult(number);
    if (scalars.contains(result))
      continue;
    annotate(op->getResult(number), result);
  }
  for (OpResult result : member->getResults()) {
    unsigned number = result.getResultNumber();
    if (!scalars.contains(result))
      unpack(op->getResult(number),
             getMemberValues([&](const UpdateLane &lane) {
               return lane.ops[index]->getResult(number);
             }));
  }
}

void BucketBuilder::unpack(Value bucket, ArrayRef<Value> members) {
  auto isRead = [&](Value member) {
    return llvm::any_of(member.getUsers(),
                        [&](Operation *user) { return isOutside(user); });
  };
  if (llvm::none_of(members, isRead))
    return;
  builder.setInsertionPointAfterValue(bucket);
  auto parts = builder.create<UnpackOp>(
      bucket.getLoc(), TypeRange(ValueRange(members)), bucket, offsets);
  SmallVector<Attribute> shardings;
  for (Value member : members)
    shardings.push_back(parplan::getSharding(member));
  parts->setAttr(attributes::shardings, builder.getArrayAttr(shardings));
  copyOrigin(bucket.getDefiningOp(), parts);
  for (auto [index, part] : llvm::enumerate(parts.getOutputs()))
    Value(members[index]).replaceUsesWithIf(part, [&](OpOperand &use) {
      return use.getOwner() != parts && isOutside(use.getOwner());
    });
}

/// The bucket contributes once, in place of the first member.
void BucketBuilder::replaceNorm(size_t index) {
  Value norm = first.norms[index];
  Operation *sum = *norm.getUsers().begin();
  SmallVector<Value> others = getMemberValues(
      [&](const UpdateLane &lane) { return lane.norms[index]; });
  SmallVector<Value> terms;
  for (Value term : sum->getOperands())
    if (term == norm)
      terms.push_back(buckets.lookup(norm));
    else if (!llvm::is_contained(others, term))
      terms.push_back(term);
  sum->setOperands(terms);
}

} // namespace parplan
