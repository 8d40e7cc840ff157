//===- MeshTest.cpp - Ranks, groups and nested blocks ---------------------===//
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
using testing::HasSubstr;

namespace {

TEST(Mesh, LastAxisVariesFastest) {
  Mesh mesh = makeMesh("x=2 y=3");
  EXPECT_EQ(mesh.getRankCount(), 6);
  EXPECT_EQ(mesh.getCoordinate(4, 0), 1);
  EXPECT_EQ(mesh.getCoordinate(4, 1), 1);
}

TEST(Mesh, IndexIsMajorToMinor) {
  Mesh mesh = makeMesh("x=2 y=3");
  EXPECT_EQ(mesh.getIndex(5, makeAxes("x,y", mesh)), 5);
  EXPECT_EQ(mesh.getIndex(4, makeAxes("y,x", mesh)), 3);
  EXPECT_EQ(mesh.getIndex(4, {}), 0);
}

TEST(Mesh, GroupIsOrderedByIndex) {
  Mesh mesh = makeMesh("x=2 y=3");
  EXPECT_THAT(mesh.getGroup(4, makeAxes("x", mesh)), ElementsAre(1, 4));
  EXPECT_THAT(mesh.getGroup(4, makeAxes("y", mesh)), ElementsAre(3, 4, 5));
  EXPECT_THAT(mesh.getGroup(4, makeAxes("y,x", mesh)),
              ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(mesh.getGroup(4, {}), ElementsAre(4));
}

TEST(Mesh, S3BlocksAreNestedCeilings) {
  Mesh mesh = makeMesh("x=2 y=2");
  AxisList both = makeAxes("x,y", mesh);
  EXPECT_EQ(mesh.getInterval(5, both, 0), (Interval{0, 2}));
  EXPECT_EQ(mesh.getInterval(5, both, 1), (Interval{2, 3}));
  EXPECT_EQ(mesh.getInterval(5, both, 2), (Interval{3, 5}));
  EXPECT_EQ(mesh.getInterval(5, both, 3).size(), 0);
}

TEST(Mesh, S3MinorAxisAloneCutsTheBlockOfTheMajorOne) {
  Mesh mesh = makeMesh("x=2 y=3");
  for (int64_t size = 1; size < 20; ++size)
    for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
      Interval outer = mesh.getInterval(size, makeAxes("x", mesh), rank);
      int64_t stop = outer.start;
      for (int64_t member : mesh.getGroup(rank, makeAxes("y", mesh))) {
        Interval inner = mesh.getInterval(size, makeAxes("x,y", mesh), member);
        EXPECT_EQ(inner.start, stop);
        stop = inner.stop;
      }
      EXPECT_EQ(stop, outer.stop);
    }
}

TEST(Mesh, S3NestedAndFlatCeilingsHaveTheSameSize) {
  for (int64_t size = 0; size < 200; ++size)
    for (int64_t outer = 1; outer < 9; ++outer)
      for (int64_t inner = 1; inner < 9; ++inner)
        EXPECT_EQ(ceilDivide(ceilDivide(size, outer), inner),
                  ceilDivide(size, outer * inner));
}

TEST(Mesh, ServersStandBesideTheWorkers) {
  Mesh mesh({{"dp", 2, AxisRole::data},
             {"cp", 2, AxisRole::context},
             {"ps", 3, AxisRole::server}});
  EXPECT_EQ(mesh.getRankCount(), 7);
  EXPECT_EQ(mesh.getWorkerCount(), 4);
  EXPECT_FALSE(mesh.isServer(3));
  EXPECT_TRUE(mesh.isServer(4));
  EXPECT_EQ(mesh.getCoordinate(3, 0), 1);
  EXPECT_EQ(mesh.getCoordinate(3, 2), 0);
  EXPECT_EQ(mesh.getCoordinate(6, 0), 0);
  EXPECT_EQ(mesh.getCoordinate(6, 2), 2);
}

TEST(Mesh, GroupsAreOfWorkersOfServersOrOfAll) {
  Mesh mesh({{"dp", 2, AxisRole::data},
             {"cp", 2, AxisRole::context},
             {"ps", 3, AxisRole::server}});
  EXPECT_THAT(mesh.getGroup(1, {0, 1}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(mesh.getGroup(5, {0, 1}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(mesh.getGroup(5, {2}), ElementsAre(4, 5, 6));
  EXPECT_THAT(mesh.getGroup(1, {2}), ElementsAre(4, 5, 6));
  for (int64_t rank = 0; rank < 7; ++rank) {
    EXPECT_THAT(mesh.getGroup(rank, {0, 1, 2}),
                ElementsAre(0, 1, 2, 3, 4, 5, 6));
    EXPECT_EQ(mesh.getIndex(rank, {0, 1, 2}), rank);
  }
  EXPECT_EQ(mesh.getWidth({0, 1}), 4);
  EXPECT_EQ(mesh.getWidth({2}), 3);
  EXPECT_EQ(mesh.getWidth({0, 1, 2}), 7);
}

TEST(Mesh, ServersComeLast) {
  std::vector<MeshAxis> axes = {{"ps", 1, AxisRole::server},
                                {"dp", 2, AxisRole::data}};
  EXPECT_THAT(verifyMeshAxes(axes).value_or(""),
              HasSubstr("of servers is not the last one"));
}

TEST(Mesh, RolesHaveNames) {
  for (AxisRole role :
       {AxisRole::data, AxisRole::tensor, AxisRole::sequence, AxisRole::context,
        AxisRole::expert, AxisRole::pipeline, AxisRole::server})
    EXPECT_EQ(parseAxisRole(stringifyAxisRole(role)), role);
  EXPECT_EQ(parseAxisRole("rows"), std::nullopt);
}

TEST(Mesh, RefusesWhatIsNoMesh) {
  auto getFault = [](std::vector<MeshAxis> axes) {
    return verifyMeshAxes(axes).value_or("legal");
  };
  EXPECT_EQ(getFault({}), "legal");
  EXPECT_EQ(getFault({{"x", 1}, {"y", 7}}), "legal");
  EXPECT_THAT(getFault({{"", 2}}), HasSubstr("axis 0 of the mesh has no name"));
  EXPECT_THAT(getFault({{"x", 2}, {"x", 3}}), HasSubstr("named 'x'"));
  EXPECT_THAT(getFault({{"x", 0}}), HasSubstr("'x' has size 0"));
  EXPECT_THAT(getFault({{"x", int64_t(1) << 31}, {"y", 2}}),
              HasSubstr("more than 2147483647 ranks"));
  std::vector<MeshAxis> many;
  for (int axis = 0; axis < 33; ++axis)
    many.push_back({"a" + std::to_string(axis), 1});
  EXPECT_THAT(getFault(many), HasSubstr("at most 32 axes, not 33"));
}

} // namespace
