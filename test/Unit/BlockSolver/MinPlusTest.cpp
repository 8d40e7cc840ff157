//===- MinPlusTest.cpp - All kernels give the same bits -------------------===//

#include "lib/BlockSolver/MinPlus.h"
#include "lib/BlockSolver/Random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace parplan::block;

namespace {

TEST(MinPlus, KernelsAgreeBitByBitForAllSizes) {
  if (!hasKernel(Kernel::avx512))
    GTEST_SKIP() << "this processor has one kernel alone";
  Random random(3);
  for (int columns = 8; columns <= 72; columns += 8)
    for (int rows = 1; rows <= 20; ++rows) {
      std::vector<double> table(static_cast<size_t>(rows) * columns);
      std::vector<double> offsets(rows);
      for (double &entry : table)
        entry = random.flip(0.3) ? 1e15 : random.uniform(-1e6, 1e6);
      for (double &offset : offsets)
        offset = random.uniform(-1e6, 1e6);
      std::vector<double> expected(columns), generic(columns), best(columns);
      for (int column = 0; column < columns; ++column) {
        expected[column] = forbidden;
        for (int row = 0; row < rows; ++row)
          expected[column] = std::min(
              expected[column], table[row * columns + column] + offsets[row]);
      }
      getMinPlus(Kernel::generic)(generic.data(), table.data(), offsets.data(),
                                  rows, columns);
      getMinPlus(Kernel::best)(best.data(), table.data(), offsets.data(), rows,
                               columns);
      size_t bytes = columns * sizeof(double);
      EXPECT_EQ(std::memcmp(generic.data(), expected.data(), bytes), 0);
      EXPECT_EQ(std::memcmp(best.data(), expected.data(), bytes), 0);
    }
}

} // namespace
