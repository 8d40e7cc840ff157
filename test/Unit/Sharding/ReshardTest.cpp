//===- ReshardTest.cpp - Cheapest paths between shardings (S11, S12) ------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "ReshardOracle.h"
#include "TestMeshes.h"
#include "TestPaths.h"

#include "parplan/Sharding/Reshard.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace parplan;
using namespace parplan::test;
using testing::ElementsAre;

namespace {

struct PathCase {
  const char *mesh;
  llvm::SmallVector<int64_t> shape;
  const char *from, *to, *path;
};

void PrintTo(const PathCase &entry, std::ostream *stream) {
  *stream << entry.mesh << ": " << entry.from << " -> " << entry.to;
}

class ReshardTable : public testing::TestWithParam<PathCase> {};

TEST_P(ReshardTable, HasThisPath) {
  const PathCase &entry = GetParam();
  Mesh mesh = makeMesh(entry.mesh);
  Sharding to = makeSharding(entry.to, mesh);
  ReshardPath path =
      findReshardPath(mesh, entry.shape, makeSharding(entry.from, mesh), to);
  EXPECT_EQ(print(path, mesh), entry.path);
  if (!path.moves.empty()) {
    EXPECT_EQ(path.moves.back().result, to);
  }
}

const PathCase singleMoves[] = {
    {"x=2", {8, 8}, "[{x}, {}]", "[{x}, {}]", ""},
    {"x=2", {8, 8}, "[{}, {}]", "[{x}, {}]", "slice{x} dim 0"},
    {"x=2", {8, 8}, "[{}, {}]", "[{}, {}] partial=sum{x}", "pend{x}"},
    {"x=2", {8, 8}, "[{}, {}]", "[{}, {}] stored={x}", "slice{x}"},
    {"x=2", {8, 8}, "[{x}, {}]", "[{}, {}] stored={x}", "view{x} dim 0"},
    {"x=2", {8, 8}, "[{}, {}] stored={x}", "[{x}, {}]", "view{x} dim 0"},
    {"x=2",
     {8, 8},
     "[{x}, {}]",
     "[{}, {}]",
     "all_gather{x} dim 0 size 64 ring 32"},
    {"x=4",
     {5, 3},
     "[{}, {}] stored={x}",
     "[{}, {}]",
     "all_gather{x} size 16 ring 12"},
    {"x=4",
     {8, 8},
     "[{}, {}] partial=sum{x}",
     "[{}, {}]",
     "all_reduce{x} size 64 ring 96"},
    {"x=4",
     {8, 8},
     "[{}, {}] partial=max{x}",
     "[{}, {}]",
     "all_reduce{x} size 64 ring 96"},
    {"x=4",
     {8, 8},
     "[{}, {}] partial=sum{x}",
     "[{}, {x}]",
     "reduce_scatter{x} dim 1 size 64 ring 48"},
    {"x=4",
     {8, 5},
     "[{}, {}] partial=sum{x}",
     "[{}, {x}]",
     "reduce_scatter{x} dim 1 size 64 ring 48"},
    {"x=4",
     {5, 3},
     "[{}, {}] partial=sum{x}",
     "[{}, {}] stored={x}",
     "reduce_scatter{x} size 16 ring 12"},
    {"x=4",
     {8, 8},
     "[{x}, {}]",
     "[{}, {x}]",
     "all_to_all{x} dim 0->1 size 16 ring 12"},
    {"x=4",
     {8, 5},
     "[{x}, {}]",
     "[{}, {x}]",
     "all_to_all{x} dim 0->1 size 16 ring 12"},
    {"x=2 y=2", {8, 8}, "[{x}, {}]", "[{y}, {}]", "send{x,y} size 32 ring 32"},
    {"x=2 y=2",
     {8, 8},
     "[{x}, {y}]",
     "[{y}, {x}]",
     "send{x,y} size 16 ring 16"},
    {"x=2 y=2",
     {8, 8},
     "[{x,y}, {}]",
     "[{y,x}, {}]",
     "send{x,y} size 16 ring 16"},
};

// Several axes in one call: 1.5 S against 2 S, 0.75 S against 1.0 S.
const PathCase severalMoves[] = {
    {"x=2 y=2",
     {8, 8},
     "[{}, {}] partial=sum{x,y}",
     "[{}, {}]",
     "all_reduce{x,y} size 64 ring 96"},
    {"x=2 y=2",
     {8, 8},
     "[{x,y}, {}]",
     "[{}, {x,y}]",
     "all_to_all{x,y} dim 0->1 size 16 ring 12"},
    {"x=2 y=2",
     {8, 8},
     "[{x,y}, {}]",
     "[{}, {}]",
     "all_gather{x,y} dim 0 size 64 ring 48"},
    {"x=2 y=2",
     {8, 8},
     "[{x}, {y}]",
     "[{x,y}, {}]",
     "all_to_all{y} dim 1->0 size 16 ring 8"},
    // A major axis goes by send and gather: n/4 + n/4 against 3n/4.
    {"x=2 y=2",
     {8, 8},
     "[{x,y}, {}]",
     "[{y}, {}]",
     "send{x,y} size 16 ring 16; all_gather{x} dim 0 size 32 ring 16"},
    // HSDP: scatter first, reduce the pieces.
    {"r=3 p=2",
     {36, 36},
     "[{}, {}] partial=sum{r,p}",
     "[{}, {}] stored={p}",
     "reduce_scatter{p} size 1296 ring 648; all_reduce{r} size 648 ring 864"},
    // Fewer K heads than ranks.
    {"t=2 u=2",
     {2, 16, 2, 3},
     "[{}, {t,u}, {}, {}]",
     "[{}, {}, {t}, {}]",
     "all_gather{u} dim 1 size 96 ring 48; "
     "all_to_all{t} dim 1->2 size 96 ring 48"},
    // Shrink first, grow last.
    {"x=2 y=2",
     {8, 8},
     "[{x}, {}]",
     "[{}, {y}]",
     "slice{y} dim 1; all_gather{x} dim 0 size 32 ring 16"},
    {"x=2 y=2",
     {8, 8},
     "[{}, {}] partial=sum{x}",
     "[{y}, {}]",
     "slice{y} dim 0; all_reduce{x} size 32 ring 32"},
    // 3D activations: y and z change places.
    {"x=2 y=2 z=2",
     {16, 16},
     "[{x,y}, {z}]",
     "[{x,z}, {y}]",
     "send{y,z} size 32 ring 32"},
};

// What does not exist, or not where it would be wrong.
const PathCase limits[] = {
    {"x=2", {8}, "[{}]", "[{}] partial=max{x}", "no path"},
    {"x=2 y=2", {8}, "[{}] partial=sum{x}", "[{}] partial=max{x}", "no path"},
    {"x=2 y=2",
     {8},
     "[{}] partial=max{x,y}",
     "[{}] partial=max{y}",
     "all_reduce{x} size 8 ring 8"},
    // The kinds do not mix: reduce, then pend.
    {"x=2 y=2",
     {8},
     "[{}] partial=max{x}",
     "[{}] partial=sum{y}",
     "all_reduce{x} size 8 ring 8; pend{y}"},
    {"x=2 y=2",
     {8},
     "[{}] partial=max{x}",
     "[{}] partial=sum{x}",
     "all_reduce{x} size 8 ring 8; pend{x}"},
    // S6: no view where the pieces are not rows.
    {"x=4",
     {5, 3},
     "[{}, {}] stored={x}",
     "[{x}, {}]",
     "all_gather{x} size 16 ring 12; slice{x} dim 0"},
    // S12: no send where the axes do not divide: blocks differ.
    {"x=2 y=3",
     {7},
     "[{x,y}]",
     "[{y,x}]",
     "all_gather{y} dim 0 size 6 ring 4; all_gather{x} dim 0 size 8 ring 4; "
     "slice{y} dim 0; slice{x} dim 0"},
    {"x=2 y=2",
     {5},
     "[{x}]",
     "[{y}]",
     "all_gather{x} dim 0 size 6 ring 3; slice{y} dim 0"},
    // Scalars.
    {"x=2", {}, "[] partial=sum{x}", "[]", "all_reduce{x} size 1 ring 1"},
    {"x=2", {}, "[]", "[] partial=sum{x}", "pend{x}"},
    // Groups of one rank exchange nothing.
    {"x=1", {4}, "[{x}]", "[{}]", "all_gather{x} dim 0"},
    {"x=1", {4}, "[{}] partial=sum{x}", "[{}]", "all_reduce{x}"},
    // No elements.
    {"x=2", {0, 4}, "[{}, {x}]", "[{}, {}]", "all_gather{x} dim 1"},
};

INSTANTIATE_TEST_SUITE_P(SingleMoves, ReshardTable,
                         testing::ValuesIn(singleMoves));
INSTANTIATE_TEST_SUITE_P(SeveralMoves, ReshardTable,
                         testing::ValuesIn(severalMoves));
INSTANTIATE_TEST_SUITE_P(Limits, ReshardTable, testing::ValuesIn(limits));

//===----------------------------------------------------------------------===//
// Against the oracle
//===----------------------------------------------------------------------===//

void expectLeastCost(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                     const Sharding &from, const Sharding &to) {
  ReshardPath path = findReshardPath(mesh, shape, from, to);
  OracleCost found{path.found, path.getRingElementsAllRanks(),
                   path.getCallCount()};
  OracleCost least = findLeastCost(mesh, shape, from, to);
  EXPECT_TRUE(found == least)
      << toString(from, mesh) << " -> " << toString(to, mesh) << ": "
      << print(path, mesh) << "; least " << least.ringElementsAllRanks;
}

TEST(Reshard, S11IsTheLeastOfAllPairsOnTwoAxes) {
  for (llvm::StringRef meshText : {"x=2 y=2", "x=2 y=3"})
    for (llvm::SmallVector<int64_t> shape :
         {llvm::SmallVector<int64_t>{12, 6},
          llvm::SmallVector<int64_t>{5, 7}}) {
      Mesh mesh = makeMesh(meshText);
      auto all = getCompleteShardings(mesh, 2);
      for (const Sharding &from : all)
        for (const Sharding &to : all)
          expectLeastCost(mesh, shape, from, to);
    }
}

TEST(Reshard, S11IsTheLeastOfRandomPairs) {
  Random random(3);
  RandomShardingOptions options{/*partial=*/true, /*max=*/true,
                                /*storage=*/true};
  for (int i = 0; i < 1500; ++i) {
    Mesh mesh = makeRandomMesh(random, 3);
    int64_t rankCount = mesh.getRankCount();
    llvm::SmallVector<int64_t> shape;
    for (int64_t dim = pick(random, 1, 3); dim > 0; --dim)
      shape.push_back(pick(random, 1, 13) *
                      (i % 2 == 0 ? 1 : pick(random, 1, 3) * rankCount));
    expectLeastCost(mesh, shape,
                    makeRandomSharding(random, mesh, shape.size(), options),
                    makeRandomSharding(random, mesh, shape.size(), options));
  }
}

TEST(Reshard, S11AxesThatStayInFrontNeedNoOtherMoves) {
  // The search leaves common major axes alone; the oracle does not.
  Random random(4);
  Mesh mesh = makeMesh("x=2 y=3 z=2 w=2");
  for (int i = 0; i < 60; ++i) {
    llvm::SmallVector<int64_t> shape = {pick(random, 4, 24),
                                        pick(random, 4, 24)};
    Sharding from = makeRandomSharding(random, mesh, 2, {/*partial=*/true});
    Sharding to = makeRandomSharding(random, mesh, 2, {/*partial=*/true});
    for (Sharding *sharding : {&from, &to}) {
      for (AxisList &axes : sharding->dims)
        llvm::erase(axes, 0);
      llvm::erase(sharding->partial, 0);
      sharding->dims[i % 2].insert(sharding->dims[i % 2].begin(), 0);
    }
    expectLeastCost(mesh, shape, from, to);
  }
}

/// Elements of its new block that some rank lacks.
int64_t getMostLacking(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                       const Sharding &from, const Sharding &to) {
  int64_t most = 0;
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank) {
    int64_t wanted = 1, held = 1;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      Interval now = mesh.getInterval(shape[dim], to.dims[dim], rank);
      Interval old = mesh.getInterval(shape[dim], from.dims[dim], rank);
      wanted *= now.size();
      held *= std::max<int64_t>(0, std::min(now.stop, old.stop) -
                                       std::max(now.start, old.start));
    }
    most = std::max(most, wanted - held);
  }
  return most;
}

TEST(Reshard, MeetsTheInformationBoundAsOftenAsKnown) {
  struct {
    const char *mesh;
    int64_t size;
    int meeting, pairs;
    double worst;
  } cases[] = {{"x=2 y=2", 8, 72, 92, 2.0},
               {"x=2 y=3", 12, 62, 92, 3.0},
               {"x=2 y=2 z=2", 8, 1128, 2208, 3.0}};
  for (const auto &entry : cases) {
    Mesh mesh = makeMesh(entry.mesh);
    llvm::SmallVector<int64_t> shape = {entry.size, entry.size};
    int meeting = 0, pairs = 0;
    double worst = 0;
    auto all = getCompleteShardings(mesh, 2);
    for (const Sharding &from : all)
      for (const Sharding &to : all) {
        int64_t lacking = getMostLacking(mesh, shape, from, to);
        int64_t ring =
            findReshardPath(mesh, shape, from, to).getRingElementsAllRanks() /
            mesh.getRankCount();
        if (lacking == 0) {
          EXPECT_EQ(ring, 0);
          continue;
        }
        ++pairs;
        meeting += ring <= lacking;
        worst = std::max(worst, static_cast<double>(ring) / lacking);
      }
    EXPECT_EQ(meeting, entry.meeting);
    EXPECT_EQ(pairs, entry.pairs);
    EXPECT_EQ(worst, entry.worst);
  }
}

TEST(Reshard, ValuesOfOtherSizesMoveAlike) {
  // Ranks divide both: one search serves them.
  Mesh mesh = makeMesh("x=2 y=2 z=2");
  Sharding from = makeSharding("[{x}, {y}, {}] partial=sum{z}", mesh);
  Sharding to = makeSharding("[{z}, {}, {y}]", mesh);
  EXPECT_EQ(print(findReshardPath(mesh, {8, 16, 8}, from, to), mesh),
            "reduce_scatter{z} dim 0 size 256 ring 128; "
            "all_to_all{y} dim 1->2 size 128 ring 64; "
            "send{x,z} size 128 ring 128; "
            "all_gather{x} dim 0 size 256 ring 128");
  EXPECT_EQ(print(findReshardPath(mesh, {24, 16, 80}, from, to), mesh),
            "reduce_scatter{z} dim 0 size 7680 ring 3840; "
            "all_to_all{y} dim 1->2 size 3840 ring 1920; "
            "send{x,z} size 3840 ring 3840; "
            "all_gather{x} dim 0 size 7680 ring 3840");
}

TEST(ReshardCache, RemembersPathsByShapeAndShardings) {
  Mesh mesh = makeMesh("x=2 y=2");
  ReshardCache cache(mesh);
  EXPECT_EQ(cache.getMesh(), mesh);
  Sharding from = makeSharding("[{x}, {}]", mesh);
  Sharding to = makeSharding("[{}, {x}]", mesh);
  const ReshardPath &path = cache.get({8, 8}, from, to);
  EXPECT_EQ(print(path, mesh), "all_to_all{x} dim 0->1 size 32 ring 16");
  const ReshardPath &other = cache.get({8, 5}, from, to);
  EXPECT_EQ(print(other, mesh), "all_to_all{x} dim 0->1 size 24 ring 12");
  EXPECT_EQ(&cache.get({8, 8}, from, to), &path);
  EXPECT_NE(&cache.get({8, 8}, to, from), &path);
}

TEST(SendSources, RanksKeepTheirBlocksWhereTheyCan) {
  Mesh mesh = makeMesh("x=2 y=2");
  Sharding from = makeSharding("[{x}, {y}]", mesh);
  ReshardPath path =
      findReshardPath(mesh, {8, 8}, from, makeSharding("[{y}, {x}]", mesh));
  EXPECT_THAT(getSendSources(mesh, from, path.moves[0]),
              ElementsAre(0, 2, 1, 3));
}

TEST(SendSources, EveryReplicaSendsOnce) {
  Mesh mesh = makeMesh("x=2 y=2");
  Sharding from = makeSharding("[{x}]", mesh);
  ReshardPath path =
      findReshardPath(mesh, {8}, from, makeSharding("[{y}]", mesh));
  // Rank 1 takes the block of rank 2 or 3, whichever rank 3 leaves.
  EXPECT_THAT(getSendSources(mesh, from, path.moves[0]),
              ElementsAre(0, 2, 1, 3));
}

} // namespace
