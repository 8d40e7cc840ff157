//===- LinearTest.cpp - Every strategy of one linear ----------------------===//
//
// Part of parplan. Forward and backward of Y = X W under every strategy of the
// table: all ranks compute what one computes, exactly, and communicate and keep
// what the formulas say.
//
//===----------------------------------------------------------------------===//

#include "LinearStrategies.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int shapesPerKind = 100;

class Linear : public testing::TestWithParam<LinearStrategy> {
protected:
  void check(bool dividing, Random &random) {
    const LinearStrategy &strategy = GetParam();
    Mesh mesh = drawMesh(strategy.axes, random);
    int64_t m = drawSize(mesh, dividing, random);
    int64_t k = drawSize(mesh, dividing, random);
    int64_t n = drawSize(mesh, dividing, random);
    Step forward = makeLinear(strategy, mesh, m, k, n, false, random);
    Step whole = makeLinear(strategy, mesh, m, k, n, true, random);
    std::string fault;
    LocalProgram forwardProgram(forward, fault), program(whole, fault);
    ASSERT_EQ(fault, "");
    EXPECT_EQ(program.compare(whole, /*tolerance=*/0), "");

    Numbers numbers = getNumbers(mesh, strategy, m, k, n);
    Calls calls = strategy.forward(numbers);
    Traffic ahead = forwardProgram.schedule().traffic,
            all = program.schedule().traffic;
    EXPECT_EQ(ahead.elements, sumByKind(calls)) << "forward";
    llvm::append_range(calls, strategy.backward(numbers));
    EXPECT_EQ(all.elements, sumByKind(calls)) << "forward and backward";
    EXPECT_EQ(all.ring, strategy.ring(numbers)) << all;

    AtRest atRest = strategy.atRest(numbers);
    EXPECT_EQ(program.getArgumentSize(0), atRest.x);
    EXPECT_EQ(program.getParameterSize("w0"), atRest.w);
    EXPECT_EQ(program.getResultSize(0), atRest.y);
    EXPECT_EQ(program.getResultSize(1), atRest.x) << "gradient of X";
    EXPECT_EQ(program.getResultSize(2), atRest.w) << "gradient of W";
    EXPECT_EQ(program.getCopies(), strategy.copies(numbers));
    if (HasFailure())
      FAIL() << m << "x" << k << "x" << n << "\n" << program.print();
  }

  void checkMany(bool dividing) {
    Random random(dividing ? 1 : 2);
    for (int i = 0; i < shapesPerKind && !HasFailure(); ++i)
      check(dividing, random);
  }
};

TEST_P(Linear, OfSizesThatDivide) { checkMany(true); }

TEST_P(Linear, OfSizesThatNeedPadding) { checkMany(false); }

INSTANTIATE_TEST_SUITE_P(
    Strategies, Linear, testing::ValuesIn(getLinearStrategies()),
    [](const testing::TestParamInfo<LinearStrategy> &info) {
      return std::string(info.param.name);
    });

} // namespace
