//===- BucketBuilder.h - One lane in place of many --------------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_MEMORY_BUCKETBUILDER_H
#define PARPLAN_PASSES_MEMORY_BUCKETBUILDER_H

#include "passes/Memory/UpdateLanes.h"

namespace parplan {

/// A new result of a function and the results that it replaces.
struct BucketResult {
  mlir::Value value;
  mlir::DictionaryAttr attributes;
  llvm::SmallVector<unsigned> replaced;
};

/// Builds the lane of a bucket of `lanes`, which are equal, beside them, and
/// lets all others read it. What is left of the lanes are ops without uses, but
/// for the function's results.
class BucketBuilder {
public:
  BucketBuilder(const ShardingAccess &access,
                llvm::ArrayRef<const UpdateLane *> lanes);

  /// True if all readers of reduced gradients come after the last of them.
  bool isPossible() const;

  llvm::SmallVector<BucketResult> build();

private:
  void layOut();
  Sharding getBucketSharding(mlir::Value value) const;
  mlir::RankedTensorType getGlobalType(mlir::Value value) const;
  void annotate(mlir::Value bucket, mlir::Value member);
  mlir::ArrayAttr getMembers(size_t source) const;

  void addSource(size_t index);
  void addLeaf(size_t index);
  void addOp(size_t index);
  /// Lets readers outside of the lanes read parts of `bucket`; `members` are
  /// what they have read, by lane.
  void unpack(mlir::Value bucket, llvm::ArrayRef<mlir::Value> members);
  void replaceNorm(size_t index);

  mlir::SmallVector<mlir::Value> getMemberValues(
      llvm::function_ref<mlir::Value(const UpdateLane &)> get) const;
  bool isOutside(mlir::Operation *user) const;
  /// True where nothing but variables is needed.
  bool isEarly(mlir::Operation *op) const;
  mlir::Operation *getPlace(size_t index) const;

  const ShardingAccess &access;
  llvm::ArrayRef<const UpdateLane *> lanes;
  const UpdateLane &first;
  mlir::OpBuilder builder;
  llvm::SmallVector<int64_t> offsets;
  /// Elements of the whole bucket of a rank.
  int64_t size = 0;
  llvm::DenseSet<mlir::Operation *> inside;
  /// Ops of the first lane that need nothing but variables.
  llvm::DenseSet<mlir::Operation *> early;
  /// Scalars, which are no buckets.
  llvm::DenseSet<mlir::Value> scalars;
  /// From values of the first lane to those of the bucket.
  llvm::DenseMap<mlir::Value, mlir::Value> buckets;
};

} // namespace parplan

#endif // PARPLAN_PASSES_MEMORY_BUCKETBUILDER_H
