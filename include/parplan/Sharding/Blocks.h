//===- Blocks.h - Cutting and joining the bytes of tensors ------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// The meaning of a sharding, executable: what every rank holds, byte for byte.
// Tensors are row-major, elements any number of whole bytes.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SHARDING_BLOCKS_H
#define PARPLAN_SHARDING_BLOCKS_H

#include "parplan/Sharding/Reshard.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace parplan {

using Bytes = std::vector<uint8_t>;

/// Shape and element size of a row-major tensor.
struct TensorLayout {
  llvm::SmallVector<int64_t> shape;
  int64_t elementBytes = 1;

  int64_t getElementCount() const;
  int64_t getByteCount() const { return getElementCount() * elementBytes; }
};

/// Copies a box of `extent` elements per dimension from `sourceStart` in
/// `source` to `targetStart` in `target`. Both boxes lie inside their tensors.
void copyBox(llvm::ArrayRef<int64_t> extent, int64_t elementBytes,
             const uint8_t *source, llvm::ArrayRef<int64_t> sourceShape,
             llvm::ArrayRef<int64_t> sourceStart, uint8_t *target,
             llvm::ArrayRef<int64_t> targetShape,
             llvm::ArrayRef<int64_t> targetStart);

/// Piece `index` of a dimension of `size` elements cut by `widths`, major to
/// minor: nested ceilings (S3).
Interval getNestedInterval(int64_t size, llvm::ArrayRef<int64_t> widths,
                           int64_t index);

/// The box of the whole tensor that `rank` holds, per dimension. Storage is not
/// regarded.
llvm::SmallVector<Interval> getHeldBox(const Mesh &mesh,
                                       llvm::ArrayRef<int64_t> shape,
                                       const Sharding &sharding, int64_t rank);

/// The block of `rank`, or its piece when stored, padded with zeros (S4, S6).
/// Pending axes are not regarded: for a partial value `global` is the summand
/// of this rank.
Bytes shardTensor(const Mesh &mesh, const TensorLayout &tensor,
                  const Sharding &sharding, int64_t rank,
                  llvm::ArrayRef<uint8_t> global);

struct UnshardChecks {
  /// Replicas are equal bit for bit (S5).
  bool replicas = true;
  /// Padding is zero (S4). An element whose highest bit alone is set counts as
  /// zero: it is the negative zero of floating point.
  bool padding = true;
};

/// Inverse of `shardTensor` for all ranks at once. `sharding` is complete (not
/// partial); `blocks` has what every rank holds. Returns what `checks` find
/// violated, with its number, rank and index; then `global` is not to be used.
std::optional<std::string>
unshardTensor(const Mesh &mesh, const TensorLayout &tensor,
              const Sharding &sharding, llvm::ArrayRef<Bytes> blocks,
              Bytes &global, UnshardChecks checks = {});

/// Piece `index` of a block that is cut along `dim` into the product of
/// `widths` pieces of equal size, padded with zeros (S3, S4).
Bytes sliceBlock(llvm::ArrayRef<uint8_t> block, const TensorLayout &layout,
                 int dim, llvm::ArrayRef<int64_t> widths, int64_t index);

/// The pieces of `sliceBlock` joined again: `layout` is that of the joined
/// block. The padding of the pieces is dropped.
Bytes joinBlocks(llvm::ArrayRef<Bytes> pieces, const TensorLayout &layout,
                 int dim, llvm::ArrayRef<int64_t> widths);

/// Combines the second block into the first, element by element.
using CombineBlocks = llvm::function_ref<void(Bytes &, const Bytes &)>;

/// What all ranks hold after `move`, given what they hold before it in the
/// sharding `before`. Reductions combine in the order of the group, so that all
/// members of a group agree bit for bit (S5).
std::vector<Bytes> moveBlocks(const Mesh &mesh, const TensorLayout &tensor,
                              const Sharding &before, const Move &move,
                              llvm::ArrayRef<Bytes> blocks,
                              CombineBlocks combine);

} // namespace parplan

#endif // PARPLAN_SHARDING_BLOCKS_H
