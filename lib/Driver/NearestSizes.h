//===- NearestSizes.h - Requests near an impossible one ---------*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_NEARESTSIZES_H
#define PARPLAN_DRIVER_NEARESTSIZES_H

#include <cstdint>
#include <string>
#include <vector>

namespace parplan {

/// The largest divisor of `total` up to `wanted` and the smallest one from
/// there on; one number where they are the same.
std::vector<int64_t> getNearestDivisors(int64_t wanted, int64_t total);

/// The multiple of `step` nearest to `total`, at least one; the larger of two
/// that are as near.
int64_t getNearestMultiple(int64_t step, int64_t total);

/// The grid of `wanted.size()` sizes of two or more that is nearest to
/// `wanted`: its product is `total`, or with `divides` any divisor of it. Near
/// is what differs least in the sum of the logarithms' differences; of equals
/// the one with more devices, then the more square one. Empty where there is
/// none.
std::vector<int64_t> getNearestGrid(const std::vector<int64_t> &wanted,
                                    int64_t total, bool divides);

/// "try A, B or C", or empty without requests.
std::string adviseRequests(const std::vector<std::string> &requests);

} // namespace parplan

#endif // PARPLAN_DRIVER_NEARESTSIZES_H
