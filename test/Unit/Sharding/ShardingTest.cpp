//===- ShardingTest.cpp - Texts, sizes and S1, S2 of shardings ------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestMeshes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace parplan;
using namespace parplan::test;
using testing::ElementsAre;

namespace {

TEST(Sharding, PrintsItsFieldsInOrder) {
  Mesh mesh = makeMesh("x=2 y=2 z=2 p=2 q=2");
  Sharding sharding = Sharding::getReplicated(2);
  EXPECT_EQ(toString(sharding, mesh), "[{}, {}]");
  sharding.dims[0] = {0, 2};
  sharding.dims[1] = {1};
  sharding.partial = {3};
  sharding.storage = {4};
  EXPECT_EQ(toString(sharding, mesh), "[{x,z}, {y}] partial=sum{p} stored={q}");
  sharding.reduction = ReductionKind::max;
  EXPECT_EQ(toString(sharding, mesh), "[{x,z}, {y}] partial=max{p} stored={q}");
  EXPECT_EQ(toString(Sharding(), mesh), "[]");
}

TEST(Sharding, ParsesWhatItPrints) {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    Mesh mesh = makeRandomMesh(random, 3);
    Sharding sharding =
        makeRandomSharding(random, mesh, pick(random, 0, 3),
                           {/*partial=*/true, /*max=*/true, /*storage=*/true});
    std::string text = toString(sharding, mesh);
    EXPECT_EQ(parseSharding(text, mesh), sharding) << text;
  }
}

TEST(Sharding, ParserIsFreeInSpacesOnly) {
  Mesh mesh = makeMesh("x=2 y=2");
  EXPECT_EQ(parseSharding(" [ {x , y},{ } ]  partial = sum {} ", mesh),
            std::nullopt);
  EXPECT_EQ(toString(*parseSharding(" [ {x ,  y},{ } ] ", mesh), mesh),
            "[{x,y}, {}]");
  EXPECT_EQ(toString(*parseSharding("[] partial = sum {y, x}", mesh), mesh),
            "[] partial=sum{x,y}");
  for (llvm::StringRef text :
       {"", "[", "[{x}", "[{x},]", "[{w}]", "[x]", "{x}", "[{x}] y",
        "[{x}] partial=min{y}", "[{x}] partial={y}", "[{x}] stored=y",
        "[{x}] stored={}", "[{x}] stored={y} partial=sum{y}", "[{x y}]"})
    EXPECT_EQ(parseSharding(text, mesh), std::nullopt) << text.str();
}

TEST(Sharding, S1AxisOccursOnce) {
  Mesh mesh = makeMesh("x=2 y=2");
  for (llvm::StringRef text :
       {"[{x,x}, {}]", "[{x}, {x}]", "[{x}, {}] partial=sum{x}",
        "[{x}, {}] stored={x}", "[{}, {}] partial=sum{x} stored={y,x}"})
    EXPECT_EQ(verifySharding(*parseSharding(text, mesh), mesh, 2),
              "S1: axis 'x' occurs more than once")
        << text.str();
  EXPECT_EQ(verifySharding(makeSharding("[{x}, {y}]", mesh), mesh, 2),
            std::nullopt);
}

TEST(Sharding, S2AxesAreOfTheMeshAndListsOfTheDimensions) {
  Mesh mesh = makeMesh("x=2");
  Sharding sharding = Sharding::getReplicated(1);
  EXPECT_EQ(verifySharding(sharding, mesh, 2),
            "S2: 1 axis lists for 2 dimensions");
  sharding.dims[0] = {1};
  EXPECT_EQ(verifySharding(sharding, mesh, 1),
            "S2: the mesh of 1 axes has no axis 1");
}

TEST(Sharding, S3LocalShapeIsTheCeiling) {
  Mesh mesh = makeMesh("x=2 y=3");
  EXPECT_THAT(
      makeSharding("[{x}, {y}, {}]", mesh).getLocalShape(mesh, {5, 7, 3}),
      ElementsAre(3, 3, 3));
  EXPECT_THAT(makeSharding("[{y,x}]", mesh).getLocalShape(mesh, {7}),
              ElementsAre(2));
}

TEST(Sharding, S6PieceIsTheCeilingOfTheFlatBlock) {
  Mesh mesh = makeMesh("x=2 p=4");
  auto count = [&](llvm::StringRef text, llvm::ArrayRef<int64_t> shape) {
    return makeSharding(text, mesh).getLocalElementCount(mesh, shape);
  };
  EXPECT_EQ(count("[{}, {}] stored={p}", {5, 7}), 9);
  EXPECT_EQ(count("[{x}, {}] stored={p}", {5, 7}), 6);
  EXPECT_EQ(count("[{x}, {}]", {5, 7}), 21);
  EXPECT_EQ(count("[]", {}), 1);
}

TEST(Sharding, SaysWhatItIs) {
  Mesh mesh = makeMesh("x=2 y=2");
  EXPECT_TRUE(makeSharding("[{}]", mesh).isReplicated());
  EXPECT_TRUE(makeSharding("[{x}]", mesh).isSplit());
  for (llvm::StringRef text :
       {"[{x}]", "[{}] partial=sum{x}", "[{}] stored={x}"})
    EXPECT_FALSE(makeSharding(text, mesh).isReplicated()) << text.str();
}

TEST(Sharding, EqualShardingsHaveEqualHashes) {
  Mesh mesh = makeMesh("x=2 y=2");
  auto hash = [&](llvm::StringRef text) {
    return static_cast<size_t>(hash_value(makeSharding(text, mesh)));
  };
  EXPECT_EQ(hash("[{x}, {y}]"), hash("[{x},{y}]"));
  EXPECT_NE(hash("[{x}, {y}]"), hash("[{x,y}, {}]"));
  EXPECT_NE(hash("[{x}] partial=sum{y}"), hash("[{x}] partial=max{y}"));
  EXPECT_NE(hash("[{x}] partial=sum{y}"), hash("[{x}] stored={y}"));
}

} // namespace
