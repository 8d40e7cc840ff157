//===- block_walk.h - Copies between blocks and strided arrays ------------===//

#ifndef PARPLAN_RUNTIME_LIB_BLOCK_WALK_H
#define PARPLAN_RUNTIME_LIB_BLOCK_WALK_H

#include "engine.h"

#include <vector>

namespace parplan {
namespace runtime {

/// The block of a rank of a strided array: the loops over what exists of it
/// and the element at which it starts there.
class BlockWalk {
public:
  /// `strides` in elements, one for each dimension.
  BlockWalk(const Program &program, const std::vector<int64_t> &coordinates,
            Table<Dimension> dimensions, const std::vector<int64_t> &strides,
            int64_t width);

  /// Elements of the dense block, padding included.
  int64_t elements() const { return count; }
  /// Whether the block has padding.
  bool padded() const { return hasPadding; }
  /// Copies into the dense block (`gather`), or out of it. Padding is neither
  /// read nor written; nothing is allocated.
  void copy(bool gather, char *strided, char *dense) const;

private:
  /// One loop of a copy between strided and dense memory.
  struct Loop {
    int64_t strided; // bytes between neighbours there
    int64_t dense;   // bytes between neighbours in the block
    int64_t valid;
    /// Of a dimension in zig-zag order: where the block starts in it.
    int64_t first, size, zigzag;
  };
  void walk(size_t depth, bool gather, char *strided, char *dense) const;

  std::vector<Loop> loops;
  int64_t width;
  int64_t start = 0;
  int64_t count = 1;
  bool empty = false;
  bool hasPadding = false;
};

std::vector<int64_t> rowMajorStrides(Table<Dimension> dimensions);
std::vector<int64_t> stridesOf(const Parameter &parameter);

/// Where the host can fill a range of an arena: the arena itself, or a buffer
/// that `finish` uploads. Starts with zeros.
class Staging {
public:
  Staging(EngineRank &rank, Range range);
  char *data() { return target; }
  void zero();
  void finish() {
    if (!buffer.empty())
      rank.upload(range.offset, target, range.bytes, range.tier);
  }

private:
  EngineRank &rank;
  Range range;
  std::vector<char> buffer;
  char *target;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_BLOCK_WALK_H
