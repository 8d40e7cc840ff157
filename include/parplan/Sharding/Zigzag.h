//===- Zigzag.h - The zig-zag order of a sequence ---------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// Of causal attention the last of n contiguous blocks has most to do. Cut in 2n
// chunks, with chunks i and 2n-1-i behind each other as block i, all n blocks
// have the same.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SHARDING_ZIGZAG_H
#define PARPLAN_SHARDING_ZIGZAG_H

#include <cstdint>

namespace parplan {

/// The position in the model's order of element `index` of a dimension of
/// `size` in zig-zag order over `ranks`. 2 `ranks` divides `size`, or `ranks`
/// is 1: then both orders are one.
constexpr int64_t getZigzagPosition(int64_t index, int64_t size,
                                    int64_t ranks) {
  if (ranks == 1)
    return index;
  int64_t chunk = size / (2 * ranks);
  int64_t rank = index / (2 * chunk), inner = index % (2 * chunk);
  return inner < chunk ? rank * chunk + inner
                       : size - (rank + 2) * chunk + inner;
}

} // namespace parplan

#endif // PARPLAN_SHARDING_ZIGZAG_H
