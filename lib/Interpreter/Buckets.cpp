//===- Buckets.cpp - Values of buckets ------------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Families.h"

#include <algorithm>

using namespace mlir;

namespace parplan {

static void copyElements(const Tensor &from, int64_t start, Tensor &to,
                         int64_t offset, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[offset + i] = from[start + i];
}

MaybeValues evaluateBucket(const Evaluation &evaluation) {
  if (auto pack = dyn_cast<PackOp>(evaluation.op)) {
    Tensor bucket = evaluation.makeResult();
    for (auto [input, offset] :
         llvm::zip_equal(evaluation.operands, pack.getOffsets()))
      copyElements(*input, 0, bucket, offset, input->getSize());
    return Values{bucket};
  }
  auto unpack = dyn_cast<UnpackOp>(evaluation.op);
  if (!unpack)
    return std::nullopt;
  Values outputs;
  for (auto [index, offset] : llvm::enumerate(unpack.getOffsets())) {
    outputs.push_back(evaluation.makeResult(index));
    copyElements(evaluation.operand(0), offset, outputs.back(), 0,
                 outputs.back().getSize());
  }
  return outputs;
}

/// Elements of a bucket of which a rank keeps a piece.
static int64_t getWholeSize(RankedTensorType globalType, Sharding sharding,
                            const Mesh &mesh) {
  sharding.storage.clear();
  return sharding.getLocalElementCount(mesh, globalType.getShape());
}

Values shardBucket(ArrayRef<Tensor> values, ArrayRef<MemberAttr> members,
                   RankedTensorType globalType, const Sharding &sharding,
                   const Mesh &mesh) {
  int64_t size = getWholeSize(globalType, sharding, mesh);
  Values whole(mesh.getRankCount(), Tensor(globalType.clone({size})));
  for (auto [value, member] : llvm::zip_equal(values, members)) {
    std::vector<Tensor> blocks =
        shard(value, *member.getSharding().resolve(mesh), mesh);
    for (auto [rank, block] : llvm::enumerate(blocks))
      copyElements(block, 0, whole[rank], member.getOffset(), block.getSize());
  }
  if (!sharding.isStored())
    return whole;
  int64_t count = sharding.getLocalElementCount(mesh, globalType.getShape());
  Values pieces(mesh.getRankCount(), Tensor(globalType.clone({count})));
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
    int64_t start = mesh.getIndex(rank, sharding.storage) * count;
    copyElements(whole[rank], start, pieces[rank], 0,
                 std::clamp<int64_t>(size - start, 0, count));
  }
  return pieces;
}

std::optional<std::string> unshardBucket(ArrayRef<Tensor> pieces,
                                         ArrayRef<MemberAttr> members,
                                         RankedTensorType globalType,
                                         const Sharding &sharding,
                                         const Mesh &mesh, Values &values) {
  int64_t size = getWholeSize(globalType, sharding, mesh);
  int64_t count = sharding.getLocalElementCount(mesh, globalType.getShape());
  Values whole;
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
    Tensor bucket(globalType.clone({size}));
    int64_t start = 0;
    for (int64_t member : mesh.getGroup(rank, sharding.storage)) {
      copyElements(pieces[member], 0, bucket, start,
                   std::clamp<int64_t>(size - start, 0, count));
      start += count;
    }
    whole.push_back(std::move(bucket));
  }
  std::vector<bool> isGap(size, true);
  for (MemberAttr member : members) {
    Sharding own = *member.getSharding().resolve(mesh);
    RankedTensorType type = member.getType();
    std::vector<Tensor> blocks(
        mesh.getRankCount(),
        Tensor(type.clone(own.getLocalShape(mesh, type.getShape()))));
    int64_t blockSize = blocks.front().getSize();
    for (auto [rank, block] : llvm::enumerate(blocks))
      copyElements(whole[rank], member.getOffset(), block, 0, blockSize);
    std::fill_n(isGap.begin() + member.getOffset(), blockSize, false);
    if (auto fault = unshard(blocks, type, own, mesh, values.emplace_back()))
      return fault;
  }
  for (auto [rank, bucket] : llvm::enumerate(whole))
    for (int64_t i = 0; i < size; ++i)
      if (isGap[i] && bucket.getNumber(i) != 0)
        return "S4: element " + std::to_string(i) +
               " between members of rank " + std::to_string(rank) +
               " is not zero";
  return std::nullopt;
}

} // namespace parplan
