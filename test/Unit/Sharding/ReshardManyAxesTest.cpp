//===- ReshardManyAxesTest.cpp - Axes that move as one --------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestMeshes.h"
#include "TestPaths.h"

#include "gtest/gtest.h"

using namespace parplan;
using namespace parplan::test;

namespace {

TEST(ReshardManyAxes, EightAxesStayCheapToSearch) {
  // 256 ranks: data axes in front, tensor axes anywhere.
  Random random(5);
  Mesh mesh = makeMesh("a=2 b=2 c=2 d=2 x=2 y=2 z=2 w=2");
  llvm::SmallVector<int64_t> shape = {64, 96, 1024};
  for (int i = 0; i < 100; ++i) {
    Sharding from = makeRandomSharding(random, mesh, 3, {/*partial=*/true});
    Sharding to = makeRandomSharding(random, mesh, 3, {/*partial=*/true});
    for (Sharding *sharding : {&from, &to}) {
      for (AxisList &axes : sharding->dims)
        llvm::erase_if(axes, [](int axis) { return axis < 4; });
      llvm::erase_if(sharding->partial, [](int axis) { return axis < 4; });
      sharding->dims[0].insert(sharding->dims[0].begin(), {0, 1, 2, 3});
    }
    ReshardPath path = findReshardPath(mesh, shape, from, to);
    ASSERT_TRUE(path.found);
    if (!path.moves.empty()) {
      EXPECT_EQ(path.moves.back().result, to);
    }
  }
}

/// Axes stay in front of a dimension: fewer move.
bool hasCommonFront(const Sharding &from, const Sharding &to) {
  return llvm::any_of(llvm::zip_equal(from.dims, to.dims), [](const auto &dim) {
    const auto &[one, other] = dim;
    return !one.empty() && !other.empty() && one.front() == other.front();
  });
}

TEST(ReshardManyAxes, AxesThatStayNeighboursMoveAsOne) {
  Random random(6);
  Mesh whole = makeMesh("x=4 y=6 z=4");
  Mesh cut = makeMesh("x0=2 x1=2 y0=2 y1=3 z0=2 z1=2");
  llvm::SmallVector<int64_t> shape = {96, 192, 96};
  RandomShardingOptions options{/*partial=*/true, /*max=*/true,
                                /*storage=*/true};
  int joined = 0;
  for (int i = 0; i < 300; ++i) {
    Sharding from = makeRandomSharding(random, whole, 3, options);
    Sharding to = makeRandomSharding(random, whole, 3, options);
    ReshardPath path = findReshardPath(whole, shape, from, to);
    ReshardPath ofCut = findReshardPath(cut, shape, cutAxes(from), cutAxes(to));
    ASSERT_EQ(ofCut.found, path.found);
    AxisList used = from.getUsedAxes();
    llvm::append_range(used, to.getUsedAxes());
    llvm::sort(used);
    used.erase(llvm::unique(used), used.end());
    // Up to four axes are searched one by one.
    bool areJoined = used.size() == 3;
    joined += areJoined;
    int64_t ring = ofCut.getRingElementsAllRanks();
    EXPECT_LE(ring, path.getRingElementsAllRanks())
        << toString(from, whole) << " -> " << toString(to, whole) << ": "
        << print(ofCut, cut);
    if (areJoined && !hasCommonFront(from, to)) {
      EXPECT_EQ(ring, path.getRingElementsAllRanks());
      EXPECT_EQ(ofCut.getCallCount(), path.getCallCount());
    }
    if (!ofCut.moves.empty()) {
      EXPECT_EQ(ofCut.moves.back().result, cutAxes(to));
    }
  }
  EXPECT_GT(joined, 100);
}

TEST(ReshardManyAxes, AxesOfSamplesMoveAsOneHoweverFew) {
  Random random(8);
  // As many axes as are searched one by one.
  Mesh whole({{"x", 4, AxisRole::data}, {"y", 6, AxisRole::context}});
  Mesh cut({{"x0", 2, AxisRole::data},
            {"x1", 2, AxisRole::context},
            {"y0", 2, AxisRole::context},
            {"y1", 3, AxisRole::context}});
  llvm::SmallVector<int64_t> shape = {96, 192};
  RandomShardingOptions options{/*partial=*/true, /*max=*/false,
                                /*storage=*/true};
  for (int i = 0; i < 300; ++i) {
    Sharding from = makeRandomSharding(random, whole, 2, options);
    Sharding to = makeRandomSharding(random, whole, 2, options);
    ReshardPath path = findReshardPath(whole, shape, from, to);
    ReshardPath ofCut = findReshardPath(cut, shape, cutAxes(from), cutAxes(to));
    ASSERT_EQ(ofCut.found, path.found);
    if (!hasCommonFront(from, to)) {
      EXPECT_EQ(ofCut.getRingElementsAllRanks(), path.getRingElementsAllRanks())
          << toString(from, whole) << " -> " << toString(to, whole);
      EXPECT_EQ(ofCut.getCallCount(), path.getCallCount());
    }
  }
}

TEST(ReshardManyAxes, OneOfTwoAxesOfSamplesIsNotGatheredAlone) {
  // On tensor axes a send puts x in the place of a before b is gathered.
  for (AxisRole role : {AxisRole::tensor, AxisRole::data}) {
    Mesh mesh({{"a", 2, role},
               {"b", 2, role},
               {"x", 2, AxisRole::tensor},
               {"y", 2, AxisRole::tensor}});
    ReshardPath path =
        findReshardPath(mesh, {72}, makeSharding("[{a,b}] stored={y}", mesh),
                        makeSharding("[{}] stored={x,y}", mesh));
    EXPECT_EQ(path.getRingElementsAllRanks(),
              role == AxisRole::tensor ? 720 : 1008);
  }
}

TEST(ReshardManyAxes, JoinedAxesAreNamedOneByOne) {
  Mesh mesh = makeMesh("a=2 b=2 x=2 y=3 z=2");
  Sharding from = makeSharding("[{}, {z}] partial=sum{a,b}", mesh);
  Sharding to = makeSharding("[{x,y}, {}] stored={a,b}", mesh);
  EXPECT_EQ(print(findReshardPath(mesh, {24, 48}, from, to), mesh),
            "slice{x,y} dim 0; reduce_scatter{a,b} size 96 ring 72; "
            "view{a,b} dim 0; all_gather{z} dim 1 size 48 ring 24; "
            "view{a,b} dim 0");
}

TEST(ReshardManyAxes, PaddedNeighboursMoveOneByOne) {
  // Of 6 elements over 4 ranks two have 3, each of which has 2.
  Mesh mesh = makeMesh("x=2 y=2 a=2 b=2 c=2");
  Sharding from = makeSharding("[{x,y}, {a,b,c}]", mesh);
  Sharding to = makeSharding("[{}, {}]", mesh);
  EXPECT_EQ(print(findReshardPath(mesh, {6, 64}, from, to), mesh),
            "all_gather{y} dim 0 size 32 ring 16; "
            "all_gather{x} dim 0 size 48 ring 24; "
            "all_gather{a,b,c} dim 1 size 384 ring 336");
}

TEST(ReshardManyAxes, HastySearchIsNoDearerThanGatheringEverything) {
  // Eight axes that all move: more states than are searched exactly.
  Mesh mesh = makeMesh("a=2 b=2 c=2 d=2 x=2 y=2 z=2 w=2");
  llvm::SmallVector<int64_t> shape = {96, 1024, 96};
  Sharding from = makeSharding("[{z}, {a,b}, {w,y}] partial=sum{c,d}", mesh);
  Sharding to = makeSharding("[{a}, {w,b,x,c}, {}] partial=sum{y}", mesh);
  Sharding whole = Sharding::getReplicated(3);
  ReshardPath path = findReshardPath(mesh, shape, from, to);
  ASSERT_TRUE(path.found);
  EXPECT_EQ(path.moves.back().result, to);
  EXPECT_LE(
      path.getRingElementsAllRanks(),
      findReshardPath(mesh, shape, from, whole).getRingElementsAllRanks());
}

} // namespace
