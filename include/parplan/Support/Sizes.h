//===- Sizes.h - Products of sizes ------------------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SUPPORT_SIZES_H
#define PARPLAN_SUPPORT_SIZES_H

#include <cstdint>

namespace parplan {

/// The product of sizes, 1 of none. It is known to fit: what comes from a file
/// has been through `checkedProduct`.
template <typename Range> int64_t multiplySizes(const Range &sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

} // namespace parplan

#endif // PARPLAN_SUPPORT_SIZES_H
