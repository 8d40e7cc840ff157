//===- test_rank.h - A rank for tests of kernels --------------------------===//

#ifndef PARPLAN_RUNTIME_TEST_TEST_RANK_H
#define PARPLAN_RUNTIME_TEST_TEST_RANK_H

#include "engine.h"
#include "parplan_runtime/program.h"
#include "thread_world.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace parplan {
namespace runtime {

/// One rank with one stream and an arena that is handed out front to back.
/// Works for every device: data goes in and out through upload and download.
class KernelTest : public testing::Test {
protected:
  static constexpr int64_t arenaBytes = 64 << 20;

  KernelTest() : hub(1), world(hub, 0) {
    program.name = "test";
    stage.arenaBytes = arenaBytes;
    stage.streamCount = 1;
    program.stages = {&stage, 1};
    rank = createRank(program, world, {});
  }

  Stream &stream() { return rank->stream(0); }

  template <typename Element> Element *reserve(int64_t count) {
    const int64_t offset = used;
    const int64_t bytes = count * static_cast<int64_t>(sizeof(Element));
    used = (used + bytes + 255) / 256 * 256;
    EXPECT_LE(used, arenaBytes);
    return rank->at<Element>(offset);
  }
  int64_t offsetOf(const void *pointer) {
    return static_cast<const char *>(pointer) - rank->at<char>(0);
  }
  template <typename Element> Element *place(const std::vector<Element> &data) {
    auto *pointer = reserve<Element>(static_cast<int64_t>(data.size()));
    rank->upload(offsetOf(pointer), data.data(),
                 static_cast<int64_t>(data.size() * sizeof(Element)));
    return pointer;
  }
  /// Waits for the stream and reads back.
  template <typename Element>
  std::vector<Element> read(const Element *pointer, int64_t count) {
    rank->synchronize();
    std::vector<Element> data(static_cast<size_t>(count));
    rank->download(offsetOf(pointer), data.data(),
                   count * static_cast<int64_t>(sizeof(Element)));
    return data;
  }

  std::vector<float> randomFloats(int64_t count) {
    std::normal_distribution<float> distribution;
    std::vector<float> values(static_cast<size_t>(count));
    for (float &value : values)
      value = distribution(generator);
    return values;
  }
  /// Small integers, whose sums are exact.
  template <typename Element>
  std::vector<Element> randomIntegers(int64_t count, int low, int high) {
    std::uniform_int_distribution<int> distribution(low, high);
    std::vector<Element> values(static_cast<size_t>(count));
    for (Element &value : values)
      value = static_cast<Element>(distribution(generator));
    return values;
  }

  Stage stage = {};
  Program program = {};
  ThreadHub hub;
  ThreadWorld world;
  std::unique_ptr<EngineRank> rank;
  std::mt19937 generator{7};

private:
  int64_t used = 0;
};

/// The largest difference, relative to the largest expected value.
inline double relativeError(const std::vector<float> &got,
                            const std::vector<double> &expected) {
  double error = 0, largest = 1e-30;
  for (size_t i = 0; i < got.size(); ++i) {
    error = std::max(error, std::abs(got[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
    if (!(std::abs(got[i] - expected[i]) >= 0))
      return 1e30;
  }
  return got.size() == expected.size() ? error / largest : 1e30;
}

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_TEST_TEST_RANK_H
