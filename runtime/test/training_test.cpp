//===- training_test.cpp - Training programs as their users start them ----===//

#include "array_file.h"
#include "element_convert.h"
#include "json_text.h"
#include "run_command.h"
#include "safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <dirent.h>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

namespace parplan {
namespace runtime {
namespace {

constexpr int64_t features = 4, classes = 5, samples = 10, batch = 6;

/// The model of training_program.cu, in double precision.
struct Reference {
  double weight[classes][features], bias[classes];
  std::vector<double> losses, norms;
};

class TrainingTest : public testing::Test {
protected:
  TrainingTest() {
    char path[] = "/tmp/parplan-training-test-XXXXXX";
    folder = mkdtemp(path);
    EXPECT_EQ(
        std::system(("cp " PARPLAN_TRAINING_PROGRAM " " + folder +
                     "/two; cp " PARPLAN_TRAINING_ALONE_PROGRAM " " + folder +
                     "/one; cp " PARPLAN_OTHER_TRAINING_PROGRAM " " + folder +
                     "/other; mkdir " + folder + "/data")
                        .c_str()),
        0);
    std::mt19937 generator(3);
    std::normal_distribution<float> normal;
    x.resize(samples * features);
    for (float &value : x)
      value = normal(generator);
    for (int64_t i = 0; i < samples; ++i)
      labels.push_back(i == 3 ? -100 : static_cast<int64_t>(generator() % 5));
    for (float &value : weight)
      value = normal(generator);
    // float16 holds these exactly.
    for (size_t i = 0; i < classes; ++i)
      bias[i] = static_cast<float>(i) / 8 - 0.25f;
    writeData();
    std::string file(160, 0);
    std::memcpy(&file[0], weight, 80);
    std::memcpy(&file[128], bias, 20);
    write("weights.bin", file);
    for (size_t i = 0; i < file.size(); ++i)
      file[i] = static_cast<char>(i);
    std::memcpy(&file[16], weight, 80);
    convertElements(ElementType::Float32, reinterpret_cast<char *>(bias),
                    ElementType::Float16, &file[96], classes);
    write("trained.onnx.template", file);
  }
  ~TrainingTest() override {
    EXPECT_EQ(std::system(("rm -rf " + folder).c_str()), 0);
  }

  void write(const std::string &name, const std::string &bytes) {
    std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
  }
  void writeData() {
    EXPECT_TRUE(writeArray(folder + "/data/x.npy", ElementType::Float32,
                           {samples, features}, x.data()));
    EXPECT_TRUE(writeArray(folder + "/data/labels.npy", ElementType::Int64,
                           {samples}, labels.data()));
  }
  /// "two", "one" or "other" with the data and files in the folder.
  std::string program(const std::string &name, const std::string &options) {
    return folder + "/" + name + " --data " + folder + "/data --metrics " +
           folder + "/metrics.json " + options;
  }
  std::string file(const std::string &name) { return folder + "/" + name; }
  std::string checkpoints() {
    return "--checkpoint-dir " + file("checkpoints") + " ";
  }
  void expectRun(const std::string &command) {
    const Result result = run(command);
    EXPECT_EQ(result.code, 0) << command << "\n" << result.output;
  }
  void expectFailure(const std::string &command, int code,
                     const std::string &text) {
    const Result result = run(command);
    EXPECT_EQ(result.code, code) << command << "\n" << result.output;
    EXPECT_NE(result.output.find(text), std::string::npos) << result.output;
  }

  /// The text of a member of the metrics.
  std::string metric(const std::string &name) {
    const std::string text = contents(file("metrics.json"));
    const size_t start = text.find("\"" + name + "\":");
    if (start == std::string::npos)
      return "";
    const size_t value = start + name.size() + 3;
    const size_t end =
        text.find_first_of(text[value] == '[' ? "]" : ",\n", value);
    return text.substr(value, end - value + (text[value] == '['));
  }
  std::vector<double> numbers(const std::string &name) {
    const std::string text = metric(name);
    std::vector<double> values;
    JsonReader reader(text.data(), static_cast<int64_t>(text.size()));
    reader.expect('[');
    if (!reader.take(']'))
      do
        values.push_back(reader.number());
      while (reader.take(','));
    return values;
  }

  /// The first `skipped` steps change nothing.
  Reference train(int64_t steps, int64_t skipped = 0) {
    Reference model;
    double state[2][features + 1][classes] = {};
    for (int64_t j = 0; j < classes; ++j) {
      model.bias[j] = bias[j];
      for (int64_t i = 0; i < features; ++i)
        model.weight[j][i] = weight[j * features + i];
    }
    for (int64_t step = 0; step < steps; ++step) {
      double gradient[features + 1][classes] = {}, loss = 0, count = 0;
      for (int64_t row = 0; row < batch; ++row) {
        const int64_t sample = (step * batch + row) % samples;
        double logits[classes], sum = 0;
        for (int64_t j = 0; j < classes; ++j) {
          logits[j] = model.bias[j];
          for (int64_t i = 0; i < features; ++i)
            logits[j] += x[sample * features + i] * model.weight[j][i];
          sum += std::exp(logits[j]);
        }
        if (labels[sample] == -100)
          continue;
        ++count;
        loss += std::log(sum) - logits[labels[sample]];
        for (int64_t j = 0; j < classes; ++j)
          for (int64_t i = 0; i <= features; ++i)
            gradient[i][j] +=
                (i < features ? x[sample * features + i] : 1.0) *
                (std::exp(logits[j]) / sum - (j == labels[sample]));
      }
      model.losses.push_back(loss / count);
      const double progress = step < 2 ? 0 : std::min((step - 2) / 8.0, 1.0);
      const double rate =
          step < 2 ? 0.05 * (step + 1) / 2
                   : 0.05 * (0.1 + 0.45 * (1 + std::cos(M_PI * progress)));
      const double taken = static_cast<double>(step + 1 - skipped);
      double squares = 0;
      for (int64_t i = 0; i <= features; ++i)
        for (int64_t j = 0; j < classes; ++j) {
          const double g = gradient[i][j] / count;
          squares += g * g;
          if (step < skipped)
            continue;
          double &p = i < features ? model.weight[j][i] : model.bias[j];
          double &m = state[0][i][j], &v = state[1][i][j];
          p -= rate * 0.1 * p;
          m = 0.9 * m + 0.1 * g;
          v = 0.99 * v + 0.01 * g * g;
          p -= rate / (1 - std::pow(0.9, taken)) * m /
               (std::sqrt(v) / std::sqrt(1 - std::pow(0.99, taken)) + 1e-8);
        }
      model.norms.push_back(std::sqrt(squares));
    }
    return model;
  }
  void expectMetrics(const Reference &model, size_t firstStep = 0) {
    const std::vector<double> losses = numbers("loss"),
                              norms = numbers("gradient_norm");
    ASSERT_EQ(losses.size(), model.losses.size() - firstStep);
    ASSERT_EQ(norms.size(), losses.size());
    for (size_t i = 0; i < losses.size(); ++i) {
      EXPECT_NEAR(losses[i], model.losses[firstStep + i], 2e-6);
      EXPECT_NEAR(norms[i], model.norms[firstStep + i], 2e-6);
    }
  }
  void expectSaved(const Reference &model) {
    const std::string bytes = contents(file("saved.safetensors"));
    std::vector<StoredTensor> tensors;
    std::string reason;
    ASSERT_TRUE(readTensors(bytes.data(), static_cast<int64_t>(bytes.size()),
                            tensors, reason))
        << reason;
    ASSERT_EQ(tensors.size(), 4u);
    const char *names[] = {"ids", "fc.weight", "scale \"s\"", "fc.bias"};
    const char *types[] = {"I64", "F32", "F32", "F16"};
    const std::vector<int64_t> shapes[] = {{3}, {5, 4}, {}, {5}};
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(tensors[i].name, names[i]);
      EXPECT_EQ(tensors[i].type, types[i]);
      EXPECT_EQ(tensors[i].shape, shapes[i]);
    }
    EXPECT_EQ(tensors[0].offset % 8, 0);
    const std::string original = contents(file("trained.onnx.template"));
    EXPECT_EQ(bytes.substr(tensors[0].offset, 24), original.substr(112, 24));
    EXPECT_EQ(bytes.substr(tensors[2].offset, 4), original.substr(136, 4));
    expectWeights(model, bytes, tensors[1].offset, tensors[3].offset);
  }
  void expectWeights(const Reference &model, const std::string &bytes,
                     int64_t weightOffset, int64_t biasOffset) {
    float got[classes * features], halves[classes];
    std::memcpy(got, bytes.data() + weightOffset, sizeof got);
    convertElements(ElementType::Float16, bytes.data() + biasOffset,
                    ElementType::Float32, reinterpret_cast<char *>(halves),
                    classes);
    for (int64_t j = 0; j < classes; ++j) {
      EXPECT_NEAR(halves[j], model.bias[j], 5e-4);
      for (int64_t i = 0; i < features; ++i)
        EXPECT_NEAR(got[j * features + i], model.weight[j][i], 2e-6);
    }
  }
  std::vector<std::string> checkpointNames() {
    std::vector<std::string> names;
    DIR *directory = opendir(file("checkpoints").c_str());
    if (!directory)
      return names;
    while (const dirent *entry = readdir(directory))
      if (entry->d_name[0] != '.')
        names.push_back(entry->d_name);
    closedir(directory);
    std::sort(names.begin(), names.end());
    return names;
  }
  void damage(const std::string &name, size_t position) {
    std::string bytes = contents(file(name));
    ASSERT_LT(position, bytes.size());
    bytes[position] = static_cast<char>(bytes[position] ^ 4);
    write(name, bytes);
  }

  std::string folder;
  std::vector<float> x;
  std::vector<int64_t> labels;
  float weight[classes * features], bias[classes];
};

// --- training and saving
// -----------------------------------------------------------

TEST_F(TrainingTest, TrainsAsTheFormulasSay) {
  const Reference model = train(12);
  for (const auto &form : {std::make_pair("two", ""),
                           std::make_pair("two", "--communicator local "),
                           std::make_pair("one", "")}) {
    unlink(file("saved.safetensors").c_str());
    expectRun(program(form.first, form.second +
                                      std::string("--steps 12 --save ") +
                                      file("saved.safetensors")));
    expectMetrics(model);
    expectSaved(model);
    EXPECT_EQ(metric("mode"), "\"train\"");
    EXPECT_EQ(metric("steps"), "12");
    EXPECT_NE(contents(file("metrics.json")).find("[1188"), std::string::npos);
  }
}

TEST_F(TrainingTest, SavesTheModelWithNothingElseChanged) {
  expectRun(program("two", "--steps 3 --save " + file("saved.onnx")));
  const std::string bytes = contents(file("saved.onnx"));
  std::string rest = bytes, original = contents(file("trained.onnx.template"));
  ASSERT_EQ(bytes.size(), 160u);
  expectWeights(train(3), bytes, 16, 96);
  for (size_t i = 16; i < 106; ++i)
    rest[i] = original[i] = 0;
  EXPECT_EQ(rest, original);
}

TEST_F(TrainingTest, GoesOnceThroughTheDataByDefault) {
  expectRun(program("one", ""));
  EXPECT_EQ(metric("steps"), "2");
}

TEST_F(TrainingTest, ReadsColumnMajorArrays) {
  std::vector<float> turned(x.size());
  for (int64_t i = 0; i < samples; ++i)
    for (int64_t j = 0; j < features; ++j)
      turned[j * samples + i] = x[i * features + j];
  EXPECT_TRUE(writeArray(file("data/x.npy"), ElementType::Float32,
                         {samples, features}, turned.data()));
  std::string bytes = contents(file("data/x.npy"));
  bytes.replace(bytes.find("False"), 6, "True, ");
  write("data/x.npy", bytes);
  expectRun(program("two", "--steps 4"));
  expectMetrics(train(4));
}

TEST_F(TrainingTest, ScalesTheLossAndSkipsOverflows) {
  // Gradients of this size do not fit 65504 with the first scales.
  for (float &value : x)
    value *= 8;
  writeData();
  expectRun("PARPLAN_TEST_SCALED=1 " + program("two", "--steps 8"));
  const std::vector<double> got = numbers("loss");
  const int64_t skipped = std::stoll(metric("skipped_steps"));
  EXPECT_GT(skipped, 0);
  EXPECT_LT(skipped, 8);
  // While steps are skipped, parameters and states stay what they are.
  const Reference model = train(8, skipped);
  ASSERT_EQ(got.size(), 8u);
  for (size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(got[i], model.losses[i], 1e-5 * model.losses[i]);
  EXPECT_EQ(metric("steps"), "8");
}

TEST_F(TrainingTest, NothingIsAllocatedDuringSteps) {
  for (const char *form : {"", "--communicator local "}) {
    const Result result =
        run("PARPLAN_TEST_HEAP=1 " +
            program("two", std::string(form) + "--steps 400 --timeout 60"));
    EXPECT_EQ(result.code, 0);
    const size_t second = result.output.find("heap", 4);
    const size_t last = result.output.rfind("heap");
    ASSERT_NE(second, std::string::npos) << result.output;
    const long long start = std::atoll(&result.output[second + 5]);
    const long long end = std::atoll(&result.output[last + 5]);
    EXPECT_LE(end - start, 65536) << result.output;
  }
}

TEST_F(TrainingTest, ShowsProgress) {
  const Result result = run("PARPLAN_PROGRESS=1 PARPLAN_TEST_DELAY=200 " +
                            program("two", "--steps 6"));
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.output.find("\rstep 0/6"), std::string::npos);
  EXPECT_NE(result.output.find("samples/s  0:00:0"), std::string::npos);
  EXPECT_NE(result.output.find("\rstep 6/6  loss"), std::string::npos);
  EXPECT_EQ(result.output.back(), '\n');
}

// --- bad input
// --------------------------------------------------------------------

TEST_F(TrainingTest, RefusesOptions) {
  const std::string plain = file("two");
  expectFailure(plain, 66, "no data; give --data DIR");
  expectFailure(program("two", "--input x=y"), 2, "--input is for forward");
  expectFailure(program("two", "--output-dir y"), 2, "is for forward passes");
  expectFailure(program("two", "--steps 0"), 64, "--steps takes a positive");
  expectFailure(program("two", "--steps"), 2, "--steps takes a value");
  expectFailure(program("two", "--save x.bin"), 64, ".onnx or .safetensors");
  expectFailure(program("two", "--save /nowhere/x.onnx"), 73, "cannot write");
  expectFailure(program("two", "--checkpoint-every 2"), 2, "--checkpoint-dir");
  expectFailure(program("two", "--checkpoint-every 0"), 64, "positive number");
  expectFailure(program("two", "--resume auto"), 2, "needs --checkpoint-dir");
  expectFailure(program("two", "--checkpoint-dir /proc/x"), 73, "cannot write");
  expectFailure(program("two", "--tokens uint8"), 64, "uint16 or uint32");
  expectFailure(program("two", "--sequence-length 4"), 2, "needs --tokens");
  expectFailure(program("two", "--tokens uint16 --sequence-length 4"), 64,
                "--tokens is for programs with one input of token ids");
}

TEST_F(TrainingTest, SavesLargeModelsAsWeightsOnly) {
  expectFailure("PARPLAN_TEST_LARGE=1 " +
                    program("two", "--steps 3 --save " + file("saved.onnx")),
                64,
                "the model is too large for an ONNX file; save as "
                ".safetensors");
  EXPECT_NE(access(file("saved.onnx").c_str(), F_OK), 0);
  expectRun("PARPLAN_TEST_LARGE=1 " +
            program("two", "--steps 3 --save " + file("saved.safetensors")));
  expectSaved(train(3));
}

TEST_F(TrainingTest, RefusesData) {
  labels[7] = 5;
  writeData();
  expectFailure(program("two", ""), 65,
                "'labels': sample 7 has label 5; labels are -100 (ignored) or "
                "0 to 4");
  labels[7] = -1;
  writeData();
  expectFailure(program("two", ""), 65, "sample 7 has label -1");
  writeArray(file("data/labels.npy"), ElementType::Int32, {samples},
             labels.data());
  expectFailure(program("two", ""), 65,
                "input 'labels' is int64[] in each sample, but");
  writeArray(file("data/labels.npy"), ElementType::Int64, {samples - 1},
             labels.data());
  expectFailure(program("two", ""), 65, "holds 9 samples, but");
  writeArray(file("data/labels.npy"), ElementType::Int64, {samples, 1},
             labels.data());
  expectFailure(program("two", ""), 65, "int64[10, 1]");
  unlink(file("data/labels.npy").c_str());
  expectFailure(program("two", ""), 66, "input 'labels': cannot open");
  writeData();
  labels[7] = 0;
  writeData();
  const std::string bytes = contents(file("data/x.npy"));
  write("data/x.npy", bytes.substr(0, bytes.size() - 1));
  expectFailure(program("two", ""), 65, "shorter than its shape says");
  writeArray(file("data/x.npy"), ElementType::Float32, {0, features}, x.data());
  writeArray(file("data/labels.npy"), ElementType::Int64, {0}, labels.data());
  expectFailure(program("two", ""), 65, "holds no samples");
  EXPECT_NE(contents(file("metrics.json")).find("\"failure\":"),
            std::string::npos);
}

TEST_F(TrainingTest, StopsAtALossThatIsNoNumber) {
  x[8 * features] = NAN;
  writeData();
  write("saved.onnx", "earlier");
  expectFailure(program("two", "--steps 9 --save " + file("saved.onnx")), 65,
                "the loss of step 2 is NaN");
  EXPECT_EQ(contents(file("saved.onnx")), "earlier");
  EXPECT_NE(access(file("saved.onnx.partial").c_str(), F_OK), 0);
  const std::string text = contents(file("metrics.json"));
  EXPECT_NE(text.find(",null]"), std::string::npos) << text;
  EXPECT_NE(text.find("the loss of step 2 is NaN"), std::string::npos) << text;
}

// --- checkpoints
// -------------------------------------------------------------------

class CheckpointTest : public TrainingTest {
protected:
  CheckpointTest() {
    expectRun(program("two", "--steps 12 --save " + file("whole.safetensors")));
    wholeLosses = numbers("loss");
  }
  /// Ends the run that the folder's checkpoints are of.
  void expectResumes(size_t step, const std::string &options = "") {
    expectRun(program("two", "--steps 12 " + checkpoints() + options +
                                 " --save " + file("saved.safetensors")));
    EXPECT_EQ(metric("first_step"), std::to_string(step));
    EXPECT_EQ(numbers("loss"), std::vector<double>(wholeLosses.begin() + step,
                                                   wholeLosses.end()));
    EXPECT_EQ(contents(file("saved.safetensors")),
              contents(file("whole.safetensors")));
  }
  std::vector<double> wholeLosses;
};

TEST_F(CheckpointTest, AResumedRunIsTheUninterruptedOne) {
  expectRun(program("two", "--steps 7 --checkpoint-every 3 " + checkpoints()));
  EXPECT_EQ(checkpointNames(),
            (std::vector<std::string>{"step-00000006", "step-00000007"}));
  expectResumes(7);
  EXPECT_EQ(checkpointNames(),
            (std::vector<std::string>{"step-00000007", "step-00000012"}));
  // Nothing is left to do; then from a given one; then anew.
  expectResumes(12);
  expectResumes(7, "--resume " + file("checkpoints/step-00000007"));
  expectResumes(0, "--resume none");
}

TEST_F(CheckpointTest, NoPlanIsPartOfIt) {
  expectRun(program("two", "--steps 5 " + checkpoints()));
  expectRun(program("one", "--steps 8 " + checkpoints()));
  const Reference model = train(12);
  Reference until8 = model;
  until8.losses.resize(8);
  until8.norms.resize(8);
  expectMetrics(until8, 5);
  expectRun(program("two", "--steps 12 " + checkpoints() + "--save " +
                               file("saved.safetensors")));
  expectMetrics(model, 8);
  expectSaved(model);
}

TEST_F(CheckpointTest, AKillAtAnyMomentLeavesAWholeOne) {
  for (const char *point :
       {"folder", "half", "state", "manifest", "published", "pruned"}) {
    const bool published = std::strcmp(point, "published") == 0 ||
                           std::strcmp(point, "pruned") == 0;
    EXPECT_EQ(std::system(("rm -rf " + file("checkpoints")).c_str()), 0);
    expectFailure(
        "PARPLAN_TEST_KILL=" + std::string(point) + ":9 " +
            program("two", "--steps 12 --checkpoint-every 3 " + checkpoints()),
        190, "ended by signal 9");
    expectResumes(published ? 9 : 6);
    for (const std::string &name : checkpointNames())
      EXPECT_EQ(name.size(), 13u) << name;
  }
}

TEST_F(CheckpointTest, PassesOverWhatIsDamaged) {
  for (const char *name : {"state.safetensors", "manifest.json"}) {
    EXPECT_EQ(std::system(("rm -rf " + file("checkpoints")).c_str()), 0);
    expectRun(
        program("two", "--steps 8 --checkpoint-every 4 " + checkpoints()));
    for (size_t position : {0, 30, 200}) {
      damage(std::string("checkpoints/step-00000008/") + name, position);
      const Result result = run(program(
          "two", "--steps 8 --resume " + file("checkpoints/step-00000008")));
      EXPECT_EQ(result.code, 65) << result.output;
      EXPECT_NE(result.output.find("is not whole"), std::string::npos);
      damage(std::string("checkpoints/step-00000008/") + name, position);
    }
    damage(std::string("checkpoints/step-00000008/") + name, 100);
    expectResumes(4);
    EXPECT_EQ(checkpointNames(),
              (std::vector<std::string>{"step-00000004", "step-00000012"}));
  }
  damage("checkpoints/step-00000004/manifest.json", 5);
  damage("checkpoints/step-00000012/state.safetensors", 5);
  expectFailure(program("two", "--steps 12 " + checkpoints()), 65,
                "no checkpoint in");
}

TEST_F(CheckpointTest, AFullDiskLeavesWhatWasThere) {
  expectRun(program("two", "--steps 2 " + checkpoints()));
  const std::string before =
      contents(file("checkpoints/step-00000002/state.safetensors"));
  // Half a kibibyte for each file.
  expectFailure("ulimit -f 1; " + file("two") +
                    " --communicator local --data " + file("data") +
                    " --steps 4 " + checkpoints(),
                74, "cannot write");
  EXPECT_EQ(checkpointNames().front(), "step-00000002");
  EXPECT_EQ(contents(file("checkpoints/step-00000002/state.safetensors")),
            before);
  expectResumes(2);
}

TEST_F(CheckpointTest, WritesNoneThatIsNotFinite) {
  expectRun(program("two", "--steps 2 " + checkpoints()));
  for (const auto &form : {std::make_pair("state", "exp_avg_sq/fc.bias"),
                           std::make_pair("bias", "parameter/fc.bias")}) {
    const std::string poisoned =
        "PARPLAN_TEST_NAN=" + std::string(form.first) + " ";
    expectFailure(poisoned + program("two", "--steps 3 " + checkpoints()), 65,
                  "element 1 of '" + std::string(form.second) +
                      "' is not finite after step 3; no checkpoint is written");
    EXPECT_EQ(checkpointNames(), std::vector<std::string>{"step-00000002"});
  }
  expectResumes(2);
}

TEST_F(CheckpointTest, RefusesThoseOfOtherModels) {
  expectRun(program("two", "--steps 2 " + checkpoints()));
  expectFailure(program("other", "--steps 4 " + checkpoints()), 78,
                "is of another model: its SHA-256 is aa");
  expectFailure(program("two", "--resume " + file("nowhere")), 66,
                "cannot open the checkpoint");
  EXPECT_EQ(std::system(("mkdir " + file("empty")).c_str()), 0);
  expectFailure(program("two", "--resume " + file("empty")), 65,
                "is not whole: manifest.json: No such file");
}

TEST_F(CheckpointTest, SavesWhenItIsPreempted) {
  for (const char *form : {"", "--communicator local "}) {
    EXPECT_EQ(std::system(("rm -rf " + file("checkpoints")).c_str()), 0);
    const Result result =
        run("PARPLAN_TEST_DELAY=300 timeout -s TERM 2 " +
            program("two", "--steps 12 " + checkpoints() + form + "--save " +
                               file("never.onnx")) +
            "; echo code $?");
    // `timeout` says 124 for a program that it ended.
    const size_t done = numbers("loss").size();
    EXPECT_NE(result.output.find("code 124"), std::string::npos);
    EXPECT_GT(done, 0u);
    EXPECT_LT(done, 12u);
    EXPECT_EQ(checkpointNames().size(), 1u);
    EXPECT_NE(access(file("never.onnx").c_str(), F_OK), 0);
    expectResumes(done);
  }
  const Result result =
      run("PARPLAN_TEST_DELAY=300 timeout --preserve-status -s TERM 2 " +
          program("two", "--steps 12 --resume none " + checkpoints()));
  EXPECT_EQ(result.code, 193) << result.output;
}

} // namespace
} // namespace runtime
} // namespace parplan
