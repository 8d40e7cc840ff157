//===- variables_test.cpp - What training changes, in all its places ------===//

#include "blocks.h"
#include "checkpoint.h"
#include "thread_world.h"
#include "variables.h"

#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace parplan {
namespace runtime {
namespace {

constexpr Axis mesh[] = {{"a", 2}, {"b", 2}};
constexpr int32_t axisA[] = {0}, axisB[] = {1}, axesBoth[] = {0, 1};

// A matrix of 5 x 7: the first two rows in the file's order, the others as
// columns; the one split by "a" and stored over "b", the other split by both.
constexpr Dimension upper[] = {{2, {}, 7}, {7, axisA, 1}};
constexpr Dimension lower[] = {{7, axesBoth, 1}, {2, {}, 7}};
constexpr int64_t matrixShape[] = {5, 7};
constexpr SavedTensor matrix[] = {{"m", 1, matrixShape, 0, 140}};

/// Runs `work(rank, world)` on four ranks.
template <typename Work>
void onFourRanks(const Program &program, const Work &work) {
  ThreadHub hub(4);
  RankOptions options;
  options.nvmeFolder = testing::TempDir();
  std::vector<std::thread> ranks;
  for (int number = 0; number < 4; ++number)
    ranks.emplace_back([&, number] {
      ThreadWorld world(hub, number);
      const std::unique_ptr<EngineRank> rank =
          createRank(program, world, options);
      work(*rank, world);
      world.barrier();
    });
  for (std::thread &rank : ranks)
    rank.join();
}

class VariablesTest : public testing::Test {
protected:
  VariablesTest() {
    parameters[0].storageAxes = axisB;
    for (Parameter &parameter : parameters) {
      parameter.state = parameter.trained = true;
      parameter.slot = "exp_avg";
    }
    training.saved = matrix;
    program.name = "variables";
    program.mesh = mesh;
    stage.parameters = parameters;
    stage.arenaBytes = 128;
    stage.streamCount = 1;
    program.stages = {&stage, 1};
    program.training = &training;
  }
  /// Spreads the variable over four ranks and collects it again.
  void expectCollectsWhatItRestores() {
    std::vector<float> values(35);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i + 1);
    std::vector<char> collected;
    onFourRanks(program, [&](EngineRank &rank, World &world) {
      const std::vector<Variable> variables = listVariables(program);
      ASSERT_EQ(variables.size(), 1u);
      EXPECT_EQ(variables[0].key(), "exp_avg/m");
      restoreVariable(rank, variables[0],
                      reinterpret_cast<const char *>(values.data()));
      const std::vector<char> all =
          collectVariable(rank, world, variables[0], "/nowhere");
      if (world.rank() == 0)
        collected = all;
      for (int tier = 0; tier < memoryTiers; ++tier)
        peaks[tier][world.rank()] =
            rank.peakBytes(static_cast<MemoryTier>(tier));
    });
    ASSERT_EQ(collected.size(), 140u);
    float got[35];
    std::memcpy(got, collected.data(), sizeof got);
    for (size_t i = 0; i < 35; ++i) // The third row is in no view.
      EXPECT_EQ(got[i], i / 7 == 2 ? 0.0f : values[i]) << i;
  }

  Parameter parameters[2] = {{"m", ElementType::Float32, 0, 0, 0, upper, 0},
                             {"m", ElementType::Float32, 0, 0, 21, lower, 64}};
  Training training = {};
  Stage stage = {};
  Program program = {};
  int64_t peaks[memoryTiers][4] = {};
};

TEST_F(VariablesTest, InPiecesOfTheirBlocks) {
  expectCollectsWhatItRestores();
  for (int64_t peak : peaks[0])
    EXPECT_EQ(peak, 64 + 16); // two columns of two
}

TEST_F(VariablesTest, InPiecesOfABucket) {
  // Blocks of 8 elements each in a bucket of 17, of which the ranks along "b"
  // have 9 and 8: the first block lies in the first piece, the other in both.
  const Dimension columns[] = {{7, axisA, 1}, {2, {}, 7}};
  parameters[1].dimensions = columns;
  parameters[1].arenaOffset = 0;
  parameters[1].storageAxes = axisB;
  parameters[0].bucketElements = parameters[1].bucketElements = 17;
  parameters[1].bucketOffset = 8;
  expectCollectsWhatItRestores();
  for (int64_t peak : peaks[0])
    EXPECT_EQ(peak, 9 * 4);
}

TEST_F(VariablesTest, InEqualPiecesOverAllAxesTogether) {
  // Of 5 elements over four ranks: not 3 and 2, and these in halves.
  const int32_t both[] = {0, 1};
  const Dimension row[] = {{5, {}, 1}};
  Parameter parameter = parameters[0];
  parameter.dimensions = row;
  parameter.storageAxes = both;
  parameter.bucketElements = 0;
  const int64_t first[] = {0, 2, 4, 0}, count[] = {2, 2, 1, 0};
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t b = 0; b < 2; ++b) {
      const KeptPart part = keptPart(program, parameter, {a, b}, 5);
      EXPECT_EQ(part.first, first[2 * a + b]);
      EXPECT_EQ(part.count, count[2 * a + b]);
      EXPECT_EQ(part.pieceElements, 2);
    }
}

TEST_F(VariablesTest, InAWholeBucket) {
  const Dimension columns[] = {{7, axisA, 1}, {2, {}, 7}};
  parameters[1].dimensions = columns;
  parameters[1].arenaOffset = 0;
  parameters[0].storageAxes = {};
  parameters[0].bucketElements = parameters[1].bucketElements = 16;
  parameters[1].bucketOffset = 8;
  expectCollectsWhatItRestores();
  for (int64_t peak : peaks[0])
    EXPECT_EQ(peak, 16 * 4);
}

TEST_F(VariablesTest, InTheHostsMemoryAndOnNvme) {
  stage.hostArenaBytes = 64;
  stage.nvmeArenaBytes = 128;
  parameters[0].tier = MemoryTier::Host;
  parameters[1].tier = MemoryTier::Nvme;
  expectCollectsWhatItRestores();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(peaks[0][rank], 0);
    EXPECT_EQ(peaks[1][rank], 16);
    EXPECT_EQ(peaks[2][rank], 64 + 16);
  }
}

constexpr int64_t rowShape[] = {7};
constexpr SavedTensor rows[] = {
    {"r4", 1, rowShape, 0, 28, "m", 4},   {"r0", 1, rowShape, 28, 28, "m", 0},
    {"r1", 1, rowShape, 56, 28, "m", 1},  {"r3", 1, rowShape, 84, 28, "m", 3},
    {"r2", 1, rowShape, 112, 28, "m", 2},
};

TEST_F(VariablesTest, OfAStackHaveItsInitializers) {
  training.saved = rows;
  const std::vector<Variable> variables = listVariables(program);
  ASSERT_EQ(variables.size(), 1u);
  EXPECT_EQ(variables[0].views.size(), 2u);
  EXPECT_EQ(variables[0].elements, 35);
  EXPECT_EQ(variables[0].partElements(), 7);
  ASSERT_EQ(variables[0].initializers.size(), 5u);
  for (size_t i = 0; i < 5; ++i)
    EXPECT_EQ(variables[0].key(i), "exp_avg/r" + std::to_string(i));
}

// --- pipelines
// ---------------------------------------------------------------------

// Two stages of two ranks. Both have the matrix; the second also a vector,
// which it splits.
constexpr Dimension tied[] = {{5, {}, 7}, {7, {}, 1}};
constexpr Dimension vectorSplit[] = {{6, axisB, 1}};
constexpr Parameter trained(const char *name, Table<Dimension> dimensions,
                            int64_t bytes, int64_t arena) {
  Parameter parameter = {name, ElementType::Float32, 0,    bytes,
                         0,    dimensions,           arena};
  parameter.trained = true;
  return parameter;
}
constexpr Parameter firstParameters[] = {trained("m", tied, 140, 0)};
constexpr Parameter secondParameters[] = {trained("v", vectorSplit, 24, 0),
                                          trained("m", tied, 140, 64)};
constexpr Dimension outputSplit[] = {{4, axisB}};
constexpr Dimension outputWhole[] = {{2, {}}};
constexpr Tensor firstOutputs[] = {
    {"both", ElementType::Float32, outputWhole, 0}};
constexpr Tensor secondOutputs[] = {
    {"both", ElementType::Float32, outputWhole, 0},
    {"last", ElementType::Float32, outputSplit, 64}};
constexpr Stage stages[] = {
    {firstParameters, {}, firstOutputs, 140, 0, 0, 1, 0, nullptr},
    {secondParameters, {}, secondOutputs, 204, 0, 0, 1, 0, nullptr}};
constexpr int64_t vectorShape[] = {6};
constexpr SavedTensor both[] = {{"m", 1, matrixShape, 0, 140},
                                {"v", 1, vectorShape, 140, 24}};

class StagesTest : public testing::Test {
protected:
  StagesTest() {
    training.saved = both;
    program.name = "stages";
    program.mesh = mesh;
    program.stages = stages;
    program.training = &training;
    program.pipelineAxis = 0;
  }
  Training training = {};
  Program program = {};
};

TEST_F(StagesTest, TiedParametersAreTakenFromTheFirstStage) {
  float matrixValues[35], vectorValues[6];
  for (int i = 0; i < 35; ++i)
    matrixValues[i] = static_cast<float>(i);
  for (int i = 0; i < 6; ++i)
    vectorValues[i] = static_cast<float>(100 + i);
  const std::vector<Variable> variables = listVariables(program);
  ASSERT_EQ(variables.size(), 2u);
  EXPECT_EQ(variables[0].views.size(), 1u);
  std::vector<char> collected[2];
  onFourRanks(program, [&](EngineRank &rank, World &world) {
    restoreVariable(rank, variables[0],
                    reinterpret_cast<const char *>(matrixValues));
    restoreVariable(rank, variables[1],
                    reinterpret_cast<const char *>(vectorValues));
    EXPECT_EQ(rank.peakBytes(), world.rank() < 2 ? 140 : 204);
    const bool second = world.rank() >= 2;
    EXPECT_EQ(*rank.at<float>((second ? 64 : 0) + 4), 1.0f);
    if (second)
      *rank.at<float>(64 + 4) = -1.0f; // Not the copy that is collected.
    for (int i = 0; i < 2; ++i) {
      std::vector<char> all =
          collectVariable(rank, world, variables[i], "/nowhere");
      if (world.rank() == 0)
        collected[i] = std::move(all);
    }
  });
  ASSERT_EQ(collected[0].size(), sizeof matrixValues);
  ASSERT_EQ(collected[1].size(), sizeof vectorValues);
  EXPECT_EQ(std::memcmp(collected[0].data(), matrixValues, 140), 0);
  EXPECT_EQ(std::memcmp(collected[1].data(), vectorValues, 24), 0);
}

TEST_F(StagesTest, OutputsComeFromTheirStages) {
  const std::vector<PlacedOutput> outputs = outputsOf(program);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].stage, 0);
  EXPECT_EQ(outputs[1].stage, 1);
  std::vector<char> collected[2];
  onFourRanks(program, [&](EngineRank &rank, World &world) {
    for (int i = 0; i < 2; ++i) {
      *rank.at<float>(i * 4) = static_cast<float>(10 * world.rank() + i);
      *rank.at<float>(64 + i * 4) = static_cast<float>(10 * world.rank() + i);
    }
    for (int i = 0; i < 2; ++i) {
      std::vector<char> all = collectOutput(rank, world, outputs[i]);
      if (world.rank() == 0)
        collected[i] = std::move(all);
    }
  });
  const float first[] = {0, 1}, last[] = {20, 21, 30, 31};
  ASSERT_EQ(collected[0].size(), sizeof first);
  ASSERT_EQ(collected[1].size(), sizeof last);
  EXPECT_EQ(std::memcmp(collected[0].data(), first, sizeof first), 0);
  EXPECT_EQ(std::memcmp(collected[1].data(), last, sizeof last), 0);
}

/// Three initializers of one float each, as a stack.
class StackTest : public testing::Test {
protected:
  StackTest() {
    stack.slot = nullptr;
    stack.type = ElementType::Float32;
    stack.elements = 3;
    for (const SavedTensor &member : members)
      stack.initializers.push_back(&member);
  }

  SavedTensor members[3] = {
      {"e.0", 1, {}, 0, 4}, {"e.1", 1, {}, 4, 4}, {"e.2", 1, {}, 8, 4}};
  Variable stack = {};
  const float file[4] = {0, 10, 20, 30};
  std::vector<char> copy;

  std::vector<float> find(const std::map<std::string, int64_t> &offsets) {
    float found[3];
    std::memcpy(found,
                findElements(stack, reinterpret_cast<const char *>(file),
                             offsets, copy),
                sizeof found);
    return {found, found + 3};
  }
};

TEST_F(StackTest, IsReadInPlaceWhereItsInitializersLieSideBySide) {
  EXPECT_EQ(
      find({{"parameter/e.0", 4}, {"parameter/e.1", 8}, {"parameter/e.2", 12}}),
      (std::vector<float>{10, 20, 30}));
  EXPECT_TRUE(copy.empty());
}

TEST_F(StackTest, IsPutTogetherFromFilesInAnotherOrder) {
  EXPECT_EQ(
      find({{"parameter/e.0", 12}, {"parameter/e.1", 4}, {"parameter/e.2", 8}}),
      (std::vector<float>{30, 10, 20}));
  EXPECT_EQ(copy.size(), 12u);
}

} // namespace
} // namespace runtime
} // namespace parplan
