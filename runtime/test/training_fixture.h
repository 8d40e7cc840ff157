//===- training_fixture.h - A folder with a training program --------------===//

#ifndef PARPLAN_RUNTIME_TEST_TRAINING_FIXTURE_H
#define PARPLAN_RUNTIME_TEST_TRAINING_FIXTURE_H

#include "array_file.h"
#include "element_convert.h"
#include "json_text.h"
#include "run_command.h"
#include "safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

namespace parplan {
namespace runtime {

constexpr int64_t features = 4, classes = 5, samples = 10, batch = 6;

/// The model of training_program.cu, in double precision.
struct Reference {
  double weight[classes][features], bias[classes];
  double state[2][features + 1][classes] = {};
  std::vector<double> losses, norms;
};

/// Of W, then (as a last row) of the bias.
struct Gradients {
  double values[features + 1][classes] = {};
  double loss = 0, count = 0, squares = 0;
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
                     "/other; cp " PARPLAN_PIPELINE_PROGRAM " " + folder +
                     "/pair; cp " PARPLAN_WIDE_PIPELINE_PROGRAM " " + folder +
                     "/four; cp " PARPLAN_OFFLOAD_PROGRAM " " + folder +
                     "/tiers; cp " PARPLAN_SERVER_PROGRAM " " + folder +
                     "/servers; cp " PARPLAN_ASYNCHRONOUS_SERVER_PROGRAM " " +
                     folder + "/free; mkdir " + folder + "/data")
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

  /// A scaled run on inputs that overflow at first: all ranks skip the same
  /// steps, and the others are those of the reference.
  void expectSkipsSteps(const std::string &name) {
    for (float &value : x)
      value *= 8;
    writeData();
    expectRun("PARPLAN_TEST_SCALED=1 " + program(name, "--steps 8"));
    const int64_t skipped = std::stoll(metric("skipped_steps"));
    EXPECT_GT(skipped, 0);
    EXPECT_LT(skipped, 8);
    const std::vector<double> losses = numbers("loss");
    const Reference model = train(8, skipped);
    ASSERT_EQ(losses.size(), 8u);
    for (size_t i = 0; i < 8; ++i)
      EXPECT_NEAR(losses[i], model.losses[i], 1e-5 * model.losses[i]);
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
  /// "two", "one", "other", "pair", "four", "tiers", "servers" or "free" with
  /// the data and files in the folder.
  std::string program(const std::string &name, const std::string &options) {
    return folder + "/" + name + " --data " + folder + "/data --metrics " +
           folder + "/metrics.json " + options;
  }
  std::string file(const std::string &name) { return folder + "/" + name; }
  /// What an interrupted run saves is bitwise what another one does.
  void expectResumesBitwise(const std::string &name) {
    const std::string folder = " --checkpoint-dir " + file("bitwise");
    expectRun(program(name, "--steps 9 --save " + file("whole.safetensors")));
    expectRun(program(name, "--steps 4" + folder));
    expectRun(program(name, "--steps 9 --save " + file("parts.safetensors") +
                                folder));
    EXPECT_EQ(metric("first_step"), "4");
    EXPECT_EQ(contents(file("whole.safetensors")),
              contents(file("parts.safetensors")));
  }
  /// Heap use is the same after the second step and after many.
  void expectSteadyHeap(const std::string &name) {
    for (const char *form : {"", "--communicator local "}) {
      const Result result =
          run("PARPLAN_TEST_HEAP=1 " +
              program(name, std::string(form) + "--steps 200 --timeout 60"));
      EXPECT_EQ(result.code, 0);
      const size_t second = result.output.find("heap", 4);
      const size_t last = result.output.rfind("heap");
      ASSERT_NE(second, std::string::npos) << result.output;
      const long long start = std::atoll(&result.output[second + 5]);
      const long long end = std::atoll(&result.output[last + 5]);
      EXPECT_LE(end - start, 65536) << result.output;
    }
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

  bool metricsHold(const std::string &text) {
    return contents(file("metrics.json")).find(text) != std::string::npos;
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

  Reference start() const {
    Reference model;
    for (int64_t j = 0; j < classes; ++j) {
      model.bias[j] = bias[j];
      for (int64_t i = 0; i < features; ++i)
        model.weight[j][i] = weight[j * features + i];
    }
    return model;
  }
  /// Of the rows of a step that `takes` takes: gradients of the mean loss.
  template <typename Takes>
  Gradients gradientsOf(const Reference &model, int64_t step, Takes takes) {
    Gradients sums;
    for (int64_t row = 0; row < batch; ++row) {
      const int64_t sample = (step * batch + row) % samples;
      if (labels[sample] == -100 || !takes(row))
        continue;
      double logits[classes], sum = 0;
      for (int64_t j = 0; j < classes; ++j) {
        logits[j] = model.bias[j];
        for (int64_t i = 0; i < features; ++i)
          logits[j] += x[sample * features + i] * model.weight[j][i];
        sum += std::exp(logits[j]);
      }
      ++sums.count;
      sums.loss += std::log(sum) - logits[labels[sample]];
      for (int64_t j = 0; j < classes; ++j)
        for (int64_t i = 0; i <= features; ++i)
          sums.values[i][j] +=
              (i < features ? x[sample * features + i] : 1.0) *
              (std::exp(logits[j]) / sum - (j == labels[sample]));
    }
    const double count = std::max(sums.count, 1.0);
    sums.loss /= count;
    for (auto &row : sums.values)
      for (double &value : row) {
        value /= count;
        sums.squares += value * value;
      }
    return sums;
  }
  /// The update by the gradients of step `step`, the `taken`th one.
  static void update(Reference &model, const Gradients &gradients, int64_t step,
                     double taken) {
    const double progress = step < 2 ? 0 : std::min((step - 2) / 8.0, 1.0);
    const double rate =
        step < 2 ? 0.05 * (step + 1) / 2
                 : 0.05 * (0.1 + 0.45 * (1 + std::cos(M_PI * progress)));
    for (int64_t i = 0; i <= features; ++i)
      for (int64_t j = 0; j < classes; ++j) {
        const double g = gradients.values[i][j];
        double &p = i < features ? model.weight[j][i] : model.bias[j];
        double &m = model.state[0][i][j], &v = model.state[1][i][j];
        p -= rate * 0.1 * p;
        m = 0.9 * m + 0.1 * g;
        v = 0.99 * v + 0.01 * g * g;
        p -= rate / (1 - std::pow(0.9, taken)) * m /
             (std::sqrt(v) / std::sqrt(1 - std::pow(0.99, taken)) + 1e-8);
      }
  }
  /// The first `skipped` steps change nothing.
  Reference train(int64_t steps, int64_t skipped = 0) {
    Reference model = start();
    for (int64_t step = 0; step < steps; ++step) {
      const Gradients gradients =
          gradientsOf(model, step, [](int64_t) { return true; });
      model.losses.push_back(gradients.loss);
      model.norms.push_back(std::sqrt(gradients.squares));
      if (step >= skipped)
        update(model, gradients, step, static_cast<double>(step + 1 - skipped));
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

  std::string folder;
  std::vector<float> x;
  std::vector<int64_t> labels;
  float weight[classes * features], bias[classes];
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_TEST_TRAINING_FIXTURE_H
