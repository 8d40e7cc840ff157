//===- AscendingFit.cpp - Figures that never fall -------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "AscendingFit.h"

#include <algorithm>
#include <cmath>

using namespace parplan;

// Pools of adjacent violators (Ayer et al., "An Empirical Distribution Function
// for Sampling with Incomplete Information", 1955).
void parplan::makeAscending(std::vector<double> &figures) {
  struct Pool {
    double logarithms;
    size_t count;
    double getMean() const { return logarithms / static_cast<double>(count); }
  };
  std::vector<Pool> pools;
  for (double figure : figures) {
    Pool pool = {std::log(figure), 1};
    for (; !pools.empty() && pools.back().getMean() > pool.getMean();
         pools.pop_back()) {
      pool.logarithms += pools.back().logarithms;
      pool.count += pools.back().count;
    }
    pools.push_back(pool);
  }
  auto next = figures.begin();
  for (const Pool &pool : pools) {
    auto end = next + static_cast<std::ptrdiff_t>(pool.count);
    // What does not fall stays to the last bit.
    if (pool.count > 1)
      std::fill(next, end, std::exp(pool.getMean()));
    next = end;
  }
}
