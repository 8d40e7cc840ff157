//===- training_parts_test.cpp - Parts of the training loop, one by one ---===//

#include "array_file.h"
#include "dataset.h"
#include "element_convert.h"
#include "json_text.h"
#include "safetensors.h"
#include "schedule.h"
#include "thread_world.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace parplan {
namespace runtime {
namespace {

// --- schedules
// ---------------------------------------------------------------------

TEST(ScheduleTest, RatesFollowTheirKind) {
  Training training = {};
  training.learningRate = 0.5;
  for (int64_t step : {0, 7, 1000})
    EXPECT_EQ(learningRateAt(training, step), 0.5);
  training.schedule.warmup = 4;
  EXPECT_EQ(learningRateAt(training, 0), 0.125);
  EXPECT_EQ(learningRateAt(training, 3), 0.5);
  EXPECT_EQ(learningRateAt(training, 4), 0.5);

  training.schedule = {LearningRateKind::Linear, 2, 12, 0.2};
  EXPECT_EQ(learningRateAt(training, 0), 0.25);
  EXPECT_EQ(learningRateAt(training, 2), 0.5);
  EXPECT_DOUBLE_EQ(learningRateAt(training, 7), 0.3);
  EXPECT_DOUBLE_EQ(learningRateAt(training, 12), 0.1);
  EXPECT_DOUBLE_EQ(learningRateAt(training, 99), 0.1);

  training.schedule = {LearningRateKind::Cosine, 0, 8, 0.0};
  EXPECT_EQ(learningRateAt(training, 0), 0.5);
  EXPECT_DOUBLE_EQ(learningRateAt(training, 4), 0.25);
  EXPECT_DOUBLE_EQ(learningRateAt(training, 2),
                   0.25 * (1 + std::sqrt(2.0) / 2));
  EXPECT_NEAR(learningRateAt(training, 8), 0, 1e-16);
}

TEST(ScheduleTest, CorrectsTheBiasByStepsTaken) {
  Training training = {};
  training.learningRate = 1e-3;
  training.optimizer.beta1 = 0.9;
  training.optimizer.beta2 = 0.999;
  TrainingState state = initialState(training);
  StepScalars scalars = scalarsOf(training, state);
  EXPECT_EQ(scalars.learningRate, 1e-3);
  EXPECT_FLOAT_EQ(scalars.stepSize, 1e-2f);
  EXPECT_FLOAT_EQ(scalars.biasCorrection2Sqrt, 0.0316227766f);
  finishStep(state, 8, /*overflow=*/true);
  EXPECT_EQ(scalarsOf(training, state).stepSize, scalars.stepSize);
  finishStep(state, 8, /*overflow=*/false);
  EXPECT_FLOAT_EQ(scalarsOf(training, state).stepSize, 1e-3f / 0.19f);
  EXPECT_EQ(state.step, 2);
  EXPECT_EQ(state.taken, 1);
  EXPECT_EQ(state.samples, 16);
}

TEST(ScheduleTest, ScalesTheLossAsGradScalerDoes) {
  Training training = {};
  training.initialLossScale = 65536;
  TrainingState state = initialState(training);
  EXPECT_EQ(scalarsOf(training, state).inverseLossScale, 1.0f / 65536);
  for (int i = 0; i < 1999; ++i)
    finishStep(state, 1, false);
  EXPECT_EQ(state.lossScale, 65536);
  finishStep(state, 1, false);
  EXPECT_EQ(state.lossScale, 131072);
  for (int i = 0; i < 1000; ++i)
    finishStep(state, 1, false);
  finishStep(state, 1, true);
  EXPECT_EQ(state.lossScale, 65536);
  for (int i = 0; i < 1999; ++i)
    finishStep(state, 1, false);
  EXPECT_EQ(state.lossScale, 65536);
}

TEST(ScheduleTest, ScalarsKeepThePrecisionOfTheirInputs) {
  const Tensor inputs[] = {
      {"data", ElementType::Float32, {}, 24},
      {"rate", ElementType::Float64, {}, 0, TensorRole::LearningRate},
      {"size", ElementType::Float32, {}, 8, TensorRole::StepSize},
      {"scale", ElementType::Float16, {}, 16, TensorRole::LossScale}};
  Stage stage = {};
  stage.inputs = inputs;
  stage.arenaBytes = 28;
  stage.streamCount = 1;
  Program program = {};
  program.name = "scalars";
  program.stages = {&stage, 1};
  ThreadHub hub(1);
  ThreadWorld world(hub, 0);
  const std::unique_ptr<EngineRank> rank = createRank(program, world, {});
  std::memset(rank->at<char>(0), 0x55, 28);
  const StepScalars scalars = {1.0 / 3, 1.0 / 3, 0, 1024, 0};
  uploadScalars(*rank, scalars);
  EXPECT_EQ(*rank->at<double>(0), 1.0 / 3);
  EXPECT_EQ(*rank->at<float>(8), 1.0f / 3);
  EXPECT_EQ(*rank->at<uint16_t>(16), 0x6400);
  EXPECT_EQ(*rank->at<uint8_t>(18), 0x55);
  EXPECT_EQ(*rank->at<uint8_t>(24), 0x55);
}

// --- formats
// -----------------------------------------------------------------------

TEST(ElementConvertTest, Float16RoundsToTheNearest) {
  for (int bits = 0; bits < 65536; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    double wide;
    uint16_t back;
    ASSERT_TRUE(convertElements(
        ElementType::Float16, reinterpret_cast<const char *>(&half),
        ElementType::Float64, reinterpret_cast<char *>(&wide), 1));
    convertElements(ElementType::Float64, reinterpret_cast<char *>(&wide),
                    ElementType::Float16, reinterpret_cast<char *>(&back), 1);
    if (std::isnan(wide))
      EXPECT_EQ(back & 0x7e00, 0x7e00);
    else
      EXPECT_EQ(back, half);
  }
  const auto half = [](double value) {
    uint16_t bits;
    convertElements(ElementType::Float64, reinterpret_cast<char *>(&value),
                    ElementType::Float16, reinterpret_cast<char *>(&bits), 1);
    return bits;
  };
  EXPECT_EQ(half(1.0), 0x3c00);
  EXPECT_EQ(half(1.0 + 1.0 / 2048), 0x3c00); // ties to even
  EXPECT_EQ(half(1.0 + 3.0 / 2048), 0x3c02);
  EXPECT_EQ(half(2047.9), 0x6800); // carries into the exponent
  EXPECT_EQ(half(65519), 0x7bff);
  EXPECT_EQ(half(65520), 0x7c00);
  EXPECT_EQ(half(-1e-8), 0x8000);
  EXPECT_EQ(half(std::ldexp(1, -24)), 1);
}

TEST(ElementConvertTest, Bfloat16RoundsToTheNearest) {
  const auto narrow = [](float value) {
    uint16_t bits;
    convertElements(ElementType::Float32, reinterpret_cast<char *>(&value),
                    ElementType::BFloat16, reinterpret_cast<char *>(&bits), 1);
    return bits;
  };
  EXPECT_EQ(narrow(1.0f), 0x3f80);
  EXPECT_EQ(narrow(1.0f + 1.0f / 256), 0x3f80);
  EXPECT_EQ(narrow(1.0f + 3.0f / 256), 0x3f82);
  EXPECT_EQ(narrow(3.4e38f), 0x7f80);
  EXPECT_EQ(narrow(NAN) & 0x7fc0, 0x7fc0);
  const float values[] = {1, 2, NAN};
  EXPECT_EQ(findNotFinite(ElementType::Float32,
                          reinterpret_cast<const char *>(values), 3),
            2);
}

TEST(ArrayFileTest, NamesOfAModelAreNamesOfFilesInOneFolder) {
  const std::string longName(1000, 'x');
  EXPECT_EQ(arrayFileNames({"a/b", "a_b", "..", "", longName, longName + "y"}),
            (std::vector<std::string>{"a_b.npy", "a_b_2.npy", "_...npy",
                                      "_.npy", longName.substr(0, 200) + ".npy",
                                      longName.substr(0, 200) + "_2.npy"}));
}

/// NumPy has no bfloat16, so its bits come as unsigned integers; a TensorProto
/// says which of both they are.
TEST(ArrayFileTest, UnsignedIntegersAreBfloat16OnlyInNumpysFiles) {
  char path[] = "/tmp/parplan-array-test-XXXXXX";
  const std::string folder = mkdtemp(path);
  std::string header =
      "{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream(folder + "/x.npy", std::ios::binary)
      << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header
      << std::string("\x80\x3f\x00\x40", 4);
  std::ofstream(folder + "/x.pb", std::ios::binary)
      << std::string("\x08\x02\x10\x04\x4a\x04\x80\x3f\x00\x40", 10);
  for (const char *name : {"/x.npy", "/x.pb"}) {
    auto array = openArray(folder + name, "x");
    EXPECT_TRUE(array->holds(ElementType::UInt16));
    EXPECT_EQ(array->holds(ElementType::BFloat16), array->isNumpy);
    EXPECT_EQ(array->isNumpy, std::string(name) == "/x.npy");
    unlink((folder + name).c_str());
  }
  rmdir(folder.c_str());
}

TEST(SafetensorsTest, ReadsWhatItWrites) {
  std::vector<StoredTensor> tensors = {{"b\"\\\n\x01", "F16", {3}, 2, 6, 0},
                                       {"a", "I64", {2, 1}, 8, 16, 0},
                                       {"h\xc3\xa9", "F32", {}, 4, 4, 0},
                                       {"none", "F32", {0, 2}, 4, 0, 0}};
  std::string file = layOutTensors(tensors, "{\"x\":\"y\"}");
  EXPECT_EQ(file.size() % 8, 0u);
  const int64_t header = static_cast<int64_t>(file.size());
  file.resize(file.size() + 26);
  std::vector<StoredTensor> read;
  std::string reason;
  ASSERT_TRUE(
      readTensors(file.data(), static_cast<int64_t>(file.size()), read, reason))
      << reason;
  ASSERT_EQ(read.size(), 4u);
  const int64_t offsets[] = {0, 16, 20, 20};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(read[i].name, tensors[i].name);
    EXPECT_EQ(read[i].type, tensors[i].type);
    EXPECT_EQ(read[i].shape, tensors[i].shape);
    EXPECT_EQ(read[i].offset, header + offsets[i]);
    EXPECT_EQ(read[i].bytes, tensors[i].bytes);
  }
  EXPECT_EQ(read[0].name, "a");
  // Every shorter file is refused.
  for (int64_t bytes = 0; bytes < static_cast<int64_t>(file.size()); ++bytes) {
    read.clear();
    EXPECT_FALSE(readTensors(file.data(), bytes, read, reason)) << bytes;
  }
}

TEST(JsonTest, RefusesWhatIsNoJson) {
  for (const char *text :
       {"", "{", "[1", "\"x", "{\"a\"}", "{\"a\":}", "[1,]", "{1:2}",
        "[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]", "\"\\u12\"", "\"\\q\""}) {
    JsonReader reader(text, static_cast<int64_t>(std::strlen(text)));
    reader.skip();
    EXPECT_FALSE(reader.good() && reader.atEnd()) << text;
  }
  const std::string good = " {\"a\\u00e9\" : [1.5e3, true, {}, []], \"b\":-7} ";
  JsonReader reader(good.data(), static_cast<int64_t>(good.size()));
  reader.skip();
  EXPECT_TRUE(reader.good() && reader.atEnd());
}

// --- tokens
// ------------------------------------------------------------------------

// Two axes: rows over "a", positions over "b"; both leave padding.
constexpr Axis tokenMesh[] = {{"a", 2}, {"b", 2}};
constexpr int32_t axisA[] = {0}, axisB[] = {1}, axesBoth[] = {0, 1};
constexpr Dimension tokenShape[] = {{2, {}}, {3, axisA}, {5, axisB}};
constexpr Tensor tokenInputs[] = {
    {"ids", ElementType::Int32, tokenShape, 0, TensorRole::Data, true},
    {"labels", ElementType::Int64, tokenShape, 64, TensorRole::Labels, true,
     100}};

class TokensTest : public testing::Test {
protected:
  TokensTest() {
    char path[] = "/tmp/parplan-tokens-test-XXXXXX";
    options.dataFolder = mkdtemp(path);
    options.tokenBytes = 2;
    options.sequenceLength = 5;
    program.name = "tokens";
    program.mesh = tokenMesh;
    stage.inputs = tokenInputs;
    stage.arenaBytes = 64 + 96 * 2;
    stage.streamCount = 1;
    program.stages = {&stage, 1};
    for (uint16_t i = 0; i < 45; ++i) // seven samples and a rest
      tokens.push_back(i);
    writeTokens();
  }
  ~TokensTest() override {
    unlink((options.dataFolder + "/tokens.bin").c_str());
    rmdir(options.dataFolder.c_str());
  }
  void writeBytes(const std::string &bytes) {
    std::ofstream(options.dataFolder + "/tokens.bin", std::ios::binary)
        << bytes;
  }
  void writeTokens() {
    writeBytes(std::string(reinterpret_cast<const char *>(tokens.data()),
                           tokens.size() * 2));
  }

  Options options;
  Stage stage = {};
  Program program = {};
  std::vector<uint16_t> tokens;
};

TEST_F(TokensTest, EveryRankReadsItsBlock) {
  for (int number = 0; number < 4; ++number) {
    ThreadHub hub(4);
    ThreadWorld world(hub, number);
    const std::unique_ptr<EngineRank> rank = createRank(program, world, {});
    Dataset data(program, options);
    data.checkLabels();
    EXPECT_EQ(data.samples(), 7);
    EXPECT_EQ(data.batch(), 6);
    data.attach(*rank);
    std::memset(rank->at<char>(0), 0x55, 256);
    data.load(6);
    const int a = number / 2, b = number % 2;
    for (int m = 0; m < 2; ++m)
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j) {
          const bool exists = a * 2 + i < 3 && b * 3 + j < 5;
          const int sample = (6 + m * 3 + a * 2 + i) % 7;
          const int token = sample * 6 + b * 3 + j;
          const int at = (m * 2 + i) * 3 + j;
          EXPECT_EQ(rank->at<int32_t>(0)[at], exists ? token : 0);
          EXPECT_EQ(rank->at<int64_t>(64)[at], exists ? token + 1 : 0);
        }
    EXPECT_EQ(rank->peakBytes(), 64 + 96);
  }
}

TEST_F(TokensTest, RefusesWhatDoesNotFit) {
  tokens[13] = 100;
  writeTokens();
  EXPECT_EXIT(Dataset(program, options).checkLabels(),
              testing::ExitedWithCode(65),
              "token 1 of sample 2 is 100, but the model has 100 classes");
  options.sequenceLength = 4;
  EXPECT_EXIT(Dataset(program, options), testing::ExitedWithCode(64),
              "--sequence-length 4, but the program was built for 5");
  options.sequenceLength = 0;
  tokens.resize(5);
  writeTokens();
  EXPECT_EXIT(Dataset(program, options), testing::ExitedWithCode(65),
              "too short: it holds 5 tokens, a sample is 6");
  writeBytes("odd");
  EXPECT_EXIT(Dataset(program, options), testing::ExitedWithCode(65),
              "tokens.bin' ends within a token");
  options.dataFolder += "/nowhere";
  EXPECT_EXIT(Dataset(program, options), testing::ExitedWithCode(66),
              "cannot open");
  options.dataFolder.resize(options.dataFolder.size() - 8);
}

} // namespace
} // namespace runtime
} // namespace parplan
