//===- ChainTest.cpp - Linears that follow each other ---------------------===//
//
// Part of parplan. Between linears of these chains nothing is resharded: what
// is communicated is what the linears communicate, and values are exact.
//
//===----------------------------------------------------------------------===//

#include "LinearStrategies.h"

#include <gtest/gtest.h>

using namespace parplan;
using namespace parplan::test;

namespace {

/// X [m, a], the hidden value [m, b], Y [m, c].
struct ChainNumbers {
  int64_t m, a, b, c;
  int64_t t, x, y, z;
};

struct ChainCase {
  std::string name, axes;
  ChainPlan plan;
  /// Forward and backward, each linear by itself.
  Calls (*calls)(const ChainNumbers &);
};

void PrintTo(const ChainCase &chain, std::ostream *stream) {
  *stream << chain.name;
}

std::vector<ChainCase> getChains() {
  LinearPlan column = {"n:t", "n:t", "n:t"};
  ChainCase columnRow = {
      "ColumnThenRow",
      "t",
      {"", {column, {"k:t", "", "k:t"}}},
      [](const ChainNumbers &s) {
        return Calls{{allReduce, s.m * s.c}, {allReduce, s.m * s.a}};
      }};

  ChainCase sequence = {"ColumnThenRowWithSequence",
                        "t",
                        {"m:t", {column, {"k:t", "m:t", "k:t"}}},
                        [](const ChainNumbers &s) {
                          int64_t rows = s.t * ceilDivide(s.m, s.t);
                          return Calls{{allGather, rows * s.a},
                                       {reduceScatter, rows * s.c},
                                       {allGather, rows * s.c},
                                       {reduceScatter, rows * s.a}};
                        }};

  // X and both weights are gathered once, and so is the hidden value.
  LinearPlan gather = {"k:x n:y", "m:x n:y", "m:x n:y"};
  ChainCase twoDimensions = {
      "Gather2dThenGather2d",
      "xy",
      {"m:x k:y", {gather, gather}},
      [](const ChainNumbers &s) {
        int64_t moved =
            s.y * (block(s.m, s.x, s.a, s.y) + block(s.m, s.x, s.b, s.y)) +
            s.x * (block(s.a, s.x, s.b, s.y) + block(s.b, s.x, s.c, s.y));
        return Calls{{allGather, moved}, {reduceScatter, moved}};
      }};

  // Panels of X and W, once for each of the three products of a linear.
  LinearPlan panels = {"k:x n:y", "m:x n:y", "m:x n:y panels k:x,y"};
  ChainCase summaTwice = {"Summa2dThenSumma2d",
                          "xy",
                          {"m:x k:y", {panels, panels}},
                          [](const ChainNumbers &s) {
                            int64_t moved = block(s.m, s.x, s.a, 1) +
                                            block(s.m, s.x, s.b, 1) +
                                            block(s.a, 1, s.b, s.y) +
                                            block(s.b, 1, s.c, s.y);
                            return Calls{{CollectiveKind::broadcast, 2 * moved},
                                         {CollectiveKind::reduce, moved}};
                          }};

  // y and z change places; weights are kept in pieces, so gathered twice.
  ChainCase threeDimensions = {
      "Tensor3dThenTensor3d",
      "xyz",
      {"m:x,z k:y",
       {{"k:y n:z /x", "m:x,y n:z", "m:x k:y n:z"},
        {"k:z n:y /x", "m:x,z n:y", "m:x k:z n:y"}}},
      [](const ChainNumbers &s) {
        int64_t input = s.z * block(s.m, s.x * s.z, s.a, s.y);
        int64_t hidden = s.y * block(s.m, s.x * s.y, s.b, s.z);
        int64_t output = s.z * block(s.m, s.x * s.z, s.c, s.y);
        int64_t weights = s.x * (ceilDivide(block(s.a, s.y, s.b, s.z), s.x) +
                                 ceilDivide(block(s.b, s.z, s.c, s.y), s.x));
        // Gathered along y: the hidden value for the second product, its
        // gradient for the first one.
        return Calls{{allGather, input + 2 * hidden + output + 2 * weights},
                     {reduceScatter, input + 2 * hidden + output + weights}};
      }};

  std::vector<ChainCase> chains = {columnRow, sequence, twoDimensions,
                                   summaTwice, threeDimensions};
  for (size_t index = 0, count = chains.size(); index < count; ++index) {
    ChainCase chain = chains[index];
    chain.name += "AndResidual";
    chain.plan.hasResidual = true;
    chains.push_back(chain);
  }
  return chains;
}

class Chain : public testing::TestWithParam<ChainCase> {
protected:
  void check(bool dividing, Random &random) {
    const ChainCase &chain = GetParam();
    Mesh mesh = drawMesh(chain.axes, random);
    auto drawOne = [&] { return drawSize(mesh, dividing, random); };
    auto getWidth = [&](const char *name) {
      std::optional<int> axis = mesh.findAxis(name);
      return axis ? mesh.getAxis(*axis).size : 1;
    };
    ChainNumbers numbers = {drawOne(),     drawOne(),     drawOne(),
                            drawOne(),     getWidth("t"), getWidth("x"),
                            getWidth("y"), getWidth("z")};
    if (chain.plan.hasResidual)
      numbers.c = numbers.a;
    Step step = makeChain(mesh, chain.plan,
                          {numbers.m, {numbers.a, numbers.b, numbers.c}},
                          /*withBackward=*/true, random);
    std::string fault;
    LocalProgram program(step, fault);
    ASSERT_EQ(fault, "");
    EXPECT_EQ(program.compare(step, /*tolerance=*/0), "");
    EXPECT_EQ(program.schedule().traffic.elements,
              sumByKind(chain.calls(numbers)));
    if (HasFailure())
      FAIL() << program.print();
  }
};

TEST_P(Chain, ReshardsNothingBetween) {
  Random random(3);
  for (int i = 0; i < 200 && !HasFailure(); ++i)
    check(/*dividing=*/i % 2 == 0, random);
}

INSTANTIATE_TEST_SUITE_P(Strategies, Chain, testing::ValuesIn(getChains()),
                         [](const testing::TestParamInfo<ChainCase> &info) {
                           return info.param.name;
                         });

/// A residual over one 3D linear ends where y and z have not changed back: on
/// a square of both, the block of X is sent once in each direction.
TEST(Chain, ResidualOverOneTensor3dSendsABlock) {
  for (int64_t x : {2, 3}) {
    Mesh mesh({{"x", x}, {"y", 2}, {"z", 2}});
    int64_t m = 4 * x, k = 6;
    ChainPlan plan = {"m:x,z k:y",
                      {{"k:y n:z /x", "m:x,y n:z", "m:x k:y n:z"}},
                      /*gathersAgain=*/false,
                      /*hasResidual=*/true};
    Random random(4);
    Step step = makeChain(mesh, plan, {m, {k, k}}, true, random);
    std::string fault;
    LocalProgram program(step, fault);
    ASSERT_EQ(fault, "");
    EXPECT_EQ(program.compare(step, /*tolerance=*/0), "");
    EXPECT_EQ(program.schedule().traffic.elements[CollectiveKind::send],
              2 * m * k / (4 * x));
  }
}

} // namespace
