//===- BucketGradients.cpp - Updates in buckets ---------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Memory/BucketBuilder.h"
#include "passes/Memory/Passes.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_BUCKETGRADIENTS
#include "passes/Memory/Passes.h.inc"

namespace {

using Bucket = SmallVector<const UpdateLane *>;

std::optional<int64_t> getStageOf(Value leaf) {
  Operation *maker = leaf.getDefiningOp();
  return maker ? getStage(maker) : std::nullopt;
}

/// Whether the same passes contribute to the lanes: ops of the same stages, and
/// all that one pass contributes is there before the next one does. Else the
/// bucket would hold what one chunk of a position has made until the other one
/// has, which are many micro-batches apart.
bool areOfSamePasses(const UpdateLane &one, const UpdateLane &other) {
  auto isBefore = [](Value left, Value right) {
    Operation *first = left.getDefiningOp(), *second = right.getDefiningOp();
    return !first || (second && first->isBeforeInBlock(second));
  };
  for (size_t leaf = 0; leaf < one.leaves.size(); ++leaf)
    if (getStageOf(one.leaves[leaf]) != getStageOf(other.leaves[leaf]))
      return false;
  for (size_t next = 1; next < one.leaves.size(); ++next)
    if (!isBefore(one.leaves[next - 1], other.leaves[next]) ||
        !isBefore(other.leaves[next - 1], one.leaves[next]))
      return false;
  return true;
}

/// Equal lanes of the same passes in order, each as long as it fits into
/// `limit`.
std::vector<Bucket> divide(ArrayRef<UpdateLane> lanes, int64_t limit,
                           const ShardingAccess &access) {
  struct Open {
    size_t bucket;
    int64_t bytes = 0;
  };
  std::vector<Bucket> buckets;
  llvm::StringMap<Open> open;
  for (const UpdateLane &lane : lanes) {
    RankedTensorType type = lane.getBlockType(access);
    int64_t bytes =
        type.getNumElements() * getElementBytes(type.getElementType());
    auto [found, isNew] = open.try_emplace(lane.signature);
    Open &current = found->second;
    bool fits =
        !isNew && current.bytes + bytes <= limit &&
        llvm::all_of(buckets[current.bucket], [&](const UpdateLane *member) {
          return areOfSamePasses(*member, lane);
        });
    if (!fits) {
      current = {buckets.size()};
      buckets.emplace_back();
    }
    current.bytes += bytes;
    buckets[current.bucket].push_back(&lane);
  }
  return buckets;
}

/// Puts the results of buckets where the first of their members was.
void replaceResults(func::FuncOp function, ArrayRef<BucketResult> results) {
  Operation *terminator = function.getBody().front().getTerminator();
  llvm::DenseMap<unsigned, const BucketResult *> replaced;
  for (const BucketResult &result : results)
    for (unsigned index : result.replaced)
      replaced[index] = &result;
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributeLists;
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    const BucketResult *result = replaced.lookup(index);
    if (!result) {
      values.push_back(operand.get());
      attributeLists.push_back(function.getResultAttrDict(index));
    } else if (index == *llvm::min_element(result->replaced)) {
      values.push_back(result->value);
      attributeLists.push_back(result->attributes);
    }
  }
  terminator->setOperands(values);
  function.setFunctionType(FunctionType::get(function.getContext(),
                                             function.getArgumentTypes(),
                                             TypeRange(ValueRange(values))));
  function.setAllResultAttrs(attributeLists);
}

void eraseUnused(ArrayRef<const UpdateLane *> lanes) {
  SmallVector<Operation *> ops;
  for (const UpdateLane *lane : lanes) {
    ops.append(lane->ops.begin(), lane->ops.end());
    ops.append(lane->sources.begin(), lane->sources.end());
  }
  llvm::sort(ops, [](Operation *left, Operation *right) {
    return right->isBeforeInBlock(left);
  });
  for (Operation *op : ops)
    if (op->use_empty())
      op->erase();
}

struct BucketGradientsPass : impl::BucketGradientsBase<BucketGradientsPass> {
  using BucketGradientsBase::BucketGradientsBase;

  void runOnOperation() override {
    FailureOr<ShardingAccess> access = ShardingAccess::create(getOperation());
    if (failed(access))
      return signalPassFailure();
    if (bytes > 0)
      for (auto function : getOperation().getOps<func::FuncOp>())
        run(function, *access);
  }

  void run(func::FuncOp function, const ShardingAccess &access) {
    std::vector<UpdateLane> lanes = findUpdateLanes(function, access);
    SmallVector<BucketResult> results;
    SmallVector<const UpdateLane *> replaced;
    // Servers keep buckets only: what fits no other one has one of its own.
    size_t least = access.getMesh().getServerCount() > 0 ? 1 : 2;
    std::vector<Bucket> buckets = divide(lanes, bytes, access);
    for (size_t index = 0; index < buckets.size(); ++index) {
      Bucket bucket = buckets[index];
      if (bucket.size() < least)
        continue;
      BucketBuilder builder(access, bucket);
      if (!builder.isPossible()) {
        for (const UpdateLane *lane : bucket)
          if (bucket.size() > 1)
            buckets.push_back({lane});
        continue;
      }
      results.append(builder.build());
      replaced.append(bucket.begin(), bucket.end());
    }
    if (results.empty())
      return;
    replaceResults(function, results);
    eraseUnused(replaced);
  }
};

} // namespace

} // namespace parplan
