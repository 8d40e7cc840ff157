//===- batches_test.cpp - Inputs and outputs of several micro-batches -----===//

#include "blocks.h"
#include "thread_world.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

namespace parplan {
namespace runtime {
namespace {

// Two micro-batches of three samples of two numbers.
constexpr Dimension rows[] = {{2, {}}, {3, {}}, {2, {}}};
// The same with the samples in the second dimension of the model's.
constexpr Dimension columns[] = {{2, {}}, {2, {}}, {3, {}}};
constexpr Tensor inputs[] = {
    {"x", ElementType::Float32, rows, 0, TensorRole::Data, true}};
constexpr Tensor outputs[] = {
    {"rows", ElementType::Float32, rows, 64, TensorRole::Data, true},
    {"columns", ElementType::Float32, columns, 64, TensorRole::Data, true, 0,
     OutputRole::Output, MemoryTier::Device, 1}};
constexpr Axis mesh[] = {{"all", 1}};
constexpr Stage stages[] = {{{}, inputs, outputs, 128, 0, 0, 1, 0, nullptr}};

class BatchesTest : public testing::Test {
protected:
  BatchesTest() : hub(1), world(hub, 0) {
    program.name = "batches";
    program.mesh = mesh;
    program.stages = stages;
    rank = createRank(program, world, RankOptions());
  }
  std::vector<float> collect(size_t index) {
    const std::vector<char> bytes =
        collectOutput(*rank, world, outputsOf(program)[index]);
    std::vector<float> values(bytes.size() / 4);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  Program program = {};
  ThreadHub hub;
  ThreadWorld world;
  std::unique_ptr<EngineRank> rank;
};

TEST_F(BatchesTest, FilesHaveTheBatchOfTheStepInOneDimension) {
  EXPECT_EQ(modelShape(inputs[0]), (std::vector<int64_t>{6, 2}));
  EXPECT_EQ(modelShape(outputs[0]), (std::vector<int64_t>{6, 2}));
  EXPECT_EQ(modelShape(outputs[1]), (std::vector<int64_t>{2, 6}));
}

TEST_F(BatchesTest, SamplesOfAMicroBatchFollowEachOtherInBothOrders) {
  float samples[12];
  std::iota(samples, samples + 12, 0.0f);
  Array array;
  array.data = reinterpret_cast<const char *>(samples);
  loadInput(*rank, inputs[0], array);
  EXPECT_EQ(std::memcmp(rank->at<float>(0), samples, sizeof samples), 0);
  // Element (i, j) of the six rows is at i + 6 j.
  array.columnMajor = true;
  loadInput(*rank, inputs[0], array);
  const float rowMajor[] = {0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11};
  EXPECT_EQ(std::memcmp(rank->at<float>(0), rowMajor, sizeof rowMajor), 0);
}

TEST_F(BatchesTest, PartsOfOutputsAreJoinedAlongTheBatch) {
  std::iota(rank->at<float>(64), rank->at<float>(64) + 12, 0.0f);
  EXPECT_EQ(collect(0),
            (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(collect(1),
            (std::vector<float>{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
}

} // namespace
} // namespace runtime
} // namespace parplan
