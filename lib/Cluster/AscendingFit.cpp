//===- AscendingFit.cpp - Figures that never fall -------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "AscendingFit.h"

#include <algorithm>
#include <iterator>

using namespace parplan;

// Pools of adjacent violators (Ayer et al., "An Empirical Distribution Function
// for Sampling with Incomplete Information", 1955).
void parplan::makeAscending(std::vector<double> &figures) {
  struct Pool {
    double sum;
    size_t count;
    double getMean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Pool> pools;
  for (double figure : figures) {
    Pool pool = {figure, 1};
    for (; !pools.empty() && pools.back().getMean() >= pool.getMean();
         pools.pop_back()) {
      pool.sum += pools.back().sum;
      pool.count += pools.back().count;
    }
    pools.push_back(pool);
  }
  auto next = figures.begin();
  for (const Pool &pool : pools)
    next = std::fill_n(next, pool.count, pool.getMean());
}
