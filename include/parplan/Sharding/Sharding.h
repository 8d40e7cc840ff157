//===- Sharding.h - How one value is spread over a mesh ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Constraint numbers S1 to S21 are
// those of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SHARDING_SHARDING_H
#define PARPLAN_SHARDING_SHARDING_H

#include "parplan/Sharding/Mesh.h"

#include "llvm/ADT/Hashing.h"

#include <optional>
#include <string>

namespace parplan {

enum class ReductionKind { sum, max };

llvm::StringRef stringifyReductionKind(ReductionKind kind);
std::optional<ReductionKind> parseReductionKind(llvm::StringRef text);

/// How one value is spread. A rank holds the block its coordinates select;
/// with `partial` axes the value is the reduction of the blocks over them; with
/// `storage` axes the block, flattened row-major, is kept in pieces. An axis in
/// none of the three is replicated.
struct Sharding {
  /// Per dimension the axes that split it, major to minor.
  llvm::SmallVector<AxisList, 4> dims;
  /// Axes over which the value is a pending reduction, ascending.
  AxisList partial;
  /// Kind of the pending reduction; `sum` where there is none.
  ReductionKind reduction = ReductionKind::sum;
  /// Axes over which the flattened block is kept in pieces, major to minor.
  AxisList storage;

  static Sharding getReplicated(size_t rank) {
    Sharding sharding;
    sharding.dims.resize(rank);
    return sharding;
  }

  /// True when an axis splits a dimension.
  bool isSplit() const;
  bool isPartial() const { return !partial.empty(); }
  bool isStored() const { return !storage.empty(); }
  bool isReplicated() const;

  /// Every axis in dims, partial and storage.
  AxisList getUsedAxes() const;

  /// Block size per dimension, the same on all ranks (S3).
  llvm::SmallVector<int64_t> getLocalShape(const Mesh &mesh,
                                           llvm::ArrayRef<int64_t> shape) const;

  /// Elements a rank keeps: the block, or its piece when stored (S6).
  int64_t getLocalElementCount(const Mesh &mesh,
                               llvm::ArrayRef<int64_t> shape) const;

  bool operator==(const Sharding &other) const = default;
};

llvm::hash_code hash_value(const Sharding &sharding);

/// `{x,z}` with the names of `mesh`.
std::string toString(llvm::ArrayRef<int> axes, const Mesh &mesh);

/// `[{x,z}, {y}] partial=sum{p} stored={q}` with the names of `mesh`.
std::string toString(const Sharding &sharding, const Mesh &mesh);

/// Inverse of `toString`, with spaces free between tokens; nullopt when the
/// text is not of that form. Axes that occur twice are left to
/// `verifySharding`.
std::optional<Sharding> parseSharding(llvm::StringRef text, const Mesh &mesh);

/// Checks S1 and S2 for a value of `rank` dimensions. Returns what is violated,
/// with its number, or nullopt.
std::optional<std::string> verifySharding(const Sharding &sharding,
                                          const Mesh &mesh, size_t rank);

} // namespace parplan

#endif // PARPLAN_SHARDING_SHARDING_H
