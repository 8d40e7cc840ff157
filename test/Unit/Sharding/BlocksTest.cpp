//===- BlocksTest.cpp - What ranks hold, byte for byte --------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestMeshes.h"

#include "parplan/Sharding/Blocks.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstring>
#include <numeric>

using namespace parplan;
using namespace parplan::test;
using testing::ElementsAre;

namespace {

/// A tensor of one-byte elements 1, 2, 3, ...
Bytes count(const TensorLayout &tensor) {
  Bytes global(tensor.getByteCount());
  std::iota(global.begin(), global.end(), 1);
  return global;
}

std::vector<Bytes> shardAll(const Mesh &mesh, const TensorLayout &tensor,
                            const Sharding &sharding, const Bytes &global) {
  std::vector<Bytes> blocks;
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
    blocks.push_back(shardTensor(mesh, tensor, sharding, rank, global));
  return blocks;
}

TEST(Blocks, S3FiveElementsOverTwoByTwo) {
  Mesh mesh = makeMesh("x=2 y=2");
  TensorLayout tensor{{5}, 1};
  EXPECT_THAT(
      shardAll(mesh, tensor, makeSharding("[{x,y}]", mesh), count(tensor)),
      ElementsAre(Bytes{1, 2}, Bytes{3, 0}, Bytes{4, 5}, Bytes{0, 0}));
}

TEST(Blocks, S4BlocksOfARankArePaddedInEveryDimension) {
  Mesh mesh = makeMesh("x=2 y=2");
  TensorLayout tensor{{3, 3}, 1};
  EXPECT_THAT(
      shardAll(mesh, tensor, makeSharding("[{x}, {y}]", mesh), count(tensor)),
      ElementsAre(Bytes{1, 2, 4, 5}, Bytes{3, 0, 6, 0}, Bytes{7, 8, 0, 0},
                  Bytes{9, 0, 0, 0}));
}

TEST(Blocks, S6StorageCutsTheFlatBlock) {
  Mesh mesh = makeMesh("p=4");
  TensorLayout tensor{{3, 3}, 1};
  EXPECT_THAT(shardAll(mesh, tensor, makeSharding("[{}, {}] stored={p}", mesh),
                       count(tensor)),
              ElementsAre(Bytes{1, 2, 3}, Bytes{4, 5, 6}, Bytes{7, 8, 9},
                          Bytes{0, 0, 0}));
}

TEST(Blocks, S6StorageOfRowsIsASplitOfDimensionZero) {
  Mesh mesh = makeMesh("x=2 p=2");
  TensorLayout tensor{{8, 3}, 2};
  EXPECT_EQ(
      shardAll(mesh, tensor, makeSharding("[{x}, {}] stored={p}", mesh),
               count(tensor)),
      shardAll(mesh, tensor, makeSharding("[{x,p}, {}]", mesh), count(tensor)));
}

TEST(Blocks, ElementsMayHaveSeveralBytes) {
  Mesh mesh = makeMesh("x=2");
  TensorLayout tensor{{2, 3}, 2};
  EXPECT_THAT(
      shardAll(mesh, tensor, makeSharding("[{}, {x}]", mesh), count(tensor)),
      ElementsAre(Bytes{1, 2, 3, 4, 7, 8, 9, 10},
                  Bytes{5, 6, 0, 0, 11, 12, 0, 0}));
}

TEST(Blocks, ScalarsAndEmptyTensors) {
  Mesh mesh = makeMesh("x=2");
  TensorLayout scalar{{}, 4}, empty{{0, 3}, 4};
  EXPECT_EQ(shardTensor(mesh, scalar, Sharding(), 1, Bytes{1, 2, 3, 4}),
            (Bytes{1, 2, 3, 4}));
  EXPECT_TRUE(
      shardTensor(mesh, empty, makeSharding("[{}, {x}]", mesh), 1, {}).empty());
  Bytes global;
  EXPECT_EQ(unshardTensor(mesh, empty, makeSharding("[{x}, {}]", mesh),
                          std::vector<Bytes>(2), global),
            std::nullopt);
}

TEST(Blocks, SlicesJoinToTheWhole) {
  TensorLayout tensor{{2, 7}, 1};
  Bytes block = count(tensor);
  std::vector<Bytes> pieces;
  for (int64_t index = 0; index < 6; ++index)
    pieces.push_back(sliceBlock(block, tensor, 1, {2, 3}, index));
  EXPECT_EQ(pieces[1], (Bytes{3, 4, 10, 11}));
  EXPECT_EQ(pieces[2], (Bytes{0, 0, 0, 0}));
  EXPECT_EQ(pieces[3], (Bytes{5, 6, 12, 13}));
  EXPECT_EQ(joinBlocks(pieces, tensor, 1, {2, 3}), block);
}

TEST(Unshard, IsTheInverseOfShard) {
  Random random(6);
  for (int i = 0; i < 500; ++i) {
    Mesh mesh = makeRandomMesh(random, 3);
    TensorLayout tensor{{}, pick(random, 1, 3)};
    for (int64_t dim = pick(random, 0, 3); dim > 0; --dim)
      tensor.shape.push_back(pick(random, 1, 7));
    Sharding sharding = makeRandomSharding(
        random, mesh, tensor.shape.size(),
        {/*partial=*/false, /*max=*/false, /*storage=*/true});
    Bytes global = count(tensor), joined;
    auto fault =
        unshardTensor(mesh, tensor, sharding,
                      shardAll(mesh, tensor, sharding, global), joined);
    EXPECT_EQ(fault, std::nullopt) << toString(sharding, mesh);
    EXPECT_EQ(joined, global) << toString(sharding, mesh);
  }
}

TEST(Unshard, S5SeesReplicasThatDiffer) {
  Mesh mesh = makeMesh("x=2 y=2");
  TensorLayout tensor{{4}, 1};
  Sharding sharding = makeSharding("[{x}]", mesh);
  auto blocks = shardAll(mesh, tensor, sharding, count(tensor));
  blocks[3][1] = 9;
  Bytes global;
  EXPECT_EQ(unshardTensor(mesh, tensor, sharding, blocks, global),
            "S5: element 1 of the block of rank 3 differs from a replica; its "
            "global index is 3");
  EXPECT_EQ(unshardTensor(mesh, tensor, sharding, blocks, global,
                          {/*replicas=*/false}),
            std::nullopt);
  EXPECT_EQ(global, count(tensor));
}

TEST(Unshard, S4SeesPaddingThatIsNotZero) {
  Mesh mesh = makeMesh("x=2");
  TensorLayout tensor{{3}, 2};
  Sharding sharding = makeSharding("[{x}]", mesh);
  auto blocks = shardAll(mesh, tensor, sharding, count(tensor));
  Bytes global;
  blocks[1][3] = 0x80; // A negative zero is a zero.
  EXPECT_EQ(unshardTensor(mesh, tensor, sharding, blocks, global),
            std::nullopt);
  blocks[1][2] = 1;
  EXPECT_EQ(unshardTensor(mesh, tensor, sharding, blocks, global),
            "S4: element 1 of the block of rank 1 is padding and not zero");
  EXPECT_EQ(unshardTensor(mesh, tensor, sharding, blocks, global,
                          {/*replicas=*/true, /*padding=*/false}),
            std::nullopt);
}

TEST(Unshard, S4SeesStoredPaddingThatIsNotZero) {
  Mesh mesh = makeMesh("x=2");
  TensorLayout tensor{{3}, 1};
  Sharding sharding = makeSharding("[{}] stored={x}", mesh);
  auto blocks = shardAll(mesh, tensor, sharding, count(tensor));
  blocks[1][1] = 1;
  Bytes global;
  EXPECT_EQ(
      unshardTensor(mesh, tensor, sharding, blocks, global),
      "S4: element 1 of the stored piece of rank 1 is padding and not zero");
}

//===----------------------------------------------------------------------===//
// Reshards on simulated ranks
//===----------------------------------------------------------------------===//

using Element = int64_t;
using Elements = std::vector<Element>;

Bytes toBytes(const Elements &elements) {
  Bytes bytes(elements.size() * sizeof(Element));
  if (!bytes.empty())
    std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

Elements toElements(const Bytes &bytes) {
  Elements elements(bytes.size() / sizeof(Element));
  if (!bytes.empty())
    std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

void combine(ReductionKind kind, Bytes &into, const Bytes &other) {
  Elements left = toElements(into), right = toElements(other);
  ASSERT_EQ(left.size(), right.size());
  for (size_t i = 0; i < left.size(); ++i)
    left[i] = kind == ReductionKind::sum ? left[i] + right[i]
                                         : std::max(left[i], right[i]);
  into = toBytes(left);
}

/// The blocks of a tensor. Pending values are arbitrary summands, so that a
/// forgotten reduction cannot pass; of a maximum, each rank but one is below.
std::vector<Bytes> scatter(Random &random, const Mesh &mesh,
                           const TensorLayout &tensor, const Sharding &sharding,
                           const Elements &global) {
  int64_t width = mesh.getWidth(sharding.partial);
  std::vector<Elements> terms(width, Elements(global.size()));
  for (size_t i = 0; i < global.size(); ++i) {
    int64_t last = pick(random, 0, width - 1);
    terms[last][i] = global[i];
    for (int64_t term = 0; term < width; ++term) {
      if (term == last)
        continue;
      Element noise = pick(random, 0, 9);
      terms[term][i] =
          sharding.reduction == ReductionKind::sum ? noise : global[i] - noise;
      if (sharding.reduction == ReductionKind::sum)
        terms[last][i] -= noise;
    }
  }
  std::vector<Bytes> blocks;
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
    blocks.push_back(
        shardTensor(mesh, tensor, sharding, rank,
                    toBytes(terms[mesh.getIndex(rank, sharding.partial)])));
  return blocks;
}

std::vector<Bytes> execute(const Mesh &mesh, const TensorLayout &tensor,
                           Sharding sharding, const ReshardPath &path,
                           std::vector<Bytes> blocks) {
  for (const Move &move : path.moves) {
    ReductionKind kind = sharding.reduction;
    blocks = moveBlocks(
        mesh, tensor, sharding, move, blocks,
        [&](Bytes &into, const Bytes &other) { combine(kind, into, other); });
    sharding = move.result;
    for (const Bytes &block : blocks)
      EXPECT_EQ(static_cast<int64_t>(block.size()),
                sharding.getLocalElementCount(mesh, tensor.shape) *
                    tensor.elementBytes)
          << toString(move, mesh);
  }
  return blocks;
}

/// Every rank has what it is to have after a reshard; false where there is no
/// path, or nothing to do.
bool movesToItsBlocks(Random &random, const Mesh &mesh,
                      const TensorLayout &tensor, const Sharding &from,
                      Sharding to) {
  ReshardPath path = findReshardPath(mesh, tensor.shape, from, to);
  if (!path.found)
    return false;
  Elements global(tensor.getElementCount());
  for (Element &element : global)
    element = pick(random, 1, 1000);
  auto blocks = execute(mesh, tensor, from, path,
                        scatter(random, mesh, tensor, from, global));
  std::string what = toString(from, mesh) + " -> " + toString(to, mesh);
  if (to.isPartial()) {
    // Compare what the pending value reduces to.
    Sharding complete = to;
    complete.partial.clear();
    complete.reduction = ReductionKind::sum;
    blocks = execute(mesh, tensor, to,
                     findReshardPath(mesh, tensor.shape, to, complete), blocks);
    to = complete;
  }
  EXPECT_EQ(blocks, shardAll(mesh, tensor, to, toBytes(global))) << what;
  Bytes joined;
  EXPECT_EQ(unshardTensor(mesh, tensor, to, blocks, joined), std::nullopt)
      << what;
  EXPECT_EQ(joined, toBytes(global)) << what;
  return !path.moves.empty();
}

constexpr RandomShardingOptions anySharding{/*partial=*/true, /*max=*/true,
                                            /*storage=*/true};

TEST(MoveBlocks, EveryReshardEqualsShardingTheWholeTensor) {
  Random random(7);
  int executed = 0;
  for (int i = 0; i < 4000; ++i) {
    Mesh mesh = makeRandomMesh(random, 3);
    TensorLayout tensor{{}, sizeof(Element)};
    for (int64_t dim = pick(random, 0, 3); dim > 0; --dim)
      tensor.shape.push_back(pick(random, 1, 8));
    Sharding from =
        makeRandomSharding(random, mesh, tensor.shape.size(), anySharding);
    Sharding to =
        makeRandomSharding(random, mesh, tensor.shape.size(), anySharding);
    executed += movesToItsBlocks(random, mesh, tensor, from, to);
  }
  EXPECT_GT(executed, 2500);
}

TEST(MoveBlocks, AxesThatMoveAsOneEqualShardingTheWholeTensor) {
  Random random(8);
  Mesh whole = makeMesh("x=4 y=6 z=2");
  Mesh cut = makeMesh("x0=2 x1=2 y0=2 y1=3 z0=1 z1=2");
  int executed = 0;
  for (int i = 0; i < 400; ++i) {
    TensorLayout tensor{{}, sizeof(Element)};
    for (int64_t dim = pick(random, 1, 2); dim > 0; --dim)
      tensor.shape.push_back(i % 2 == 0 ? 48 : pick(random, 1, 60));
    Sharding from =
        makeRandomSharding(random, whole, tensor.shape.size(), anySharding);
    Sharding to =
        makeRandomSharding(random, whole, tensor.shape.size(), anySharding);
    executed +=
        movesToItsBlocks(random, cut, tensor, cutAxes(from), cutAxes(to));
  }
  EXPECT_GT(executed, 200);
}

TEST(MoveBlocks, S9PendOnAllRanksWouldCountATermTwice) {
  Mesh mesh = makeMesh("x=2");
  TensorLayout tensor{{2}, sizeof(Element)};
  Sharding whole = makeSharding("[{}]", mesh);
  Sharding pending = makeSharding("[{}] partial=sum{x}", mesh);
  auto blocks = shardAll(mesh, tensor, whole, toBytes({3, 4}));
  auto back = findReshardPath(mesh, tensor.shape, pending, whole);
  auto pended =
      execute(mesh, tensor, whole,
              findReshardPath(mesh, tensor.shape, whole, pending), blocks);
  EXPECT_EQ(execute(mesh, tensor, pending, back, pended), blocks);
  EXPECT_EQ(toElements(execute(mesh, tensor, pending, back, blocks)[0]),
            (Elements{6, 8}));
}

} // namespace
