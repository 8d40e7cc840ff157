//===- RingBalance.cpp - What each rank of a causal ring computes ---------===//
//
// Part of parplan. Runs the attention of every rank of a ring, hop by hop, one
// rank after the other, and prints the processor time of each: blocks of the
// sequence contiguous, and in zig-zag order.
//
//   RingBalance [POSITIONS [HEADS [WIDTH]]]
//
//===----------------------------------------------------------------------===//

#include "engine.h"
#include "parplan_runtime/kernels.h"
#include "thread_world.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

using namespace parplan::runtime;

namespace {

/// One rank with its block, and the block of keys that it works on.
class RingBalance {
public:
  RingBalance(int64_t ranks, int64_t positions, int64_t heads, int64_t width)
      : ranks(ranks), block(positions / ranks), heads(heads), width(width),
        hub(1), world(hub, 0) {
    AttentionShape shape = shapeOf(0, 0, 1);
    scratch = std::max(attentionWorkspaceBytes(shape),
                       attentionGradientWorkspaceBytes(shape));
    stage.arenaBytes = 8 * arrayBytes() + 8 * heads * block + scratch;
    stage.streamCount = 1;
    program.name = "ring";
    program.stages = {&stage, 1};
    rank = createRank(program, world, {});
    std::mt19937 generator(1);
    std::normal_distribution<float> distribution;
    for (int64_t i = 0; i < 4 * elements(); ++i)
      rank->at<float>(0)[i] = distribution(generator);
  }

  /// Seconds of processor time of `own` forward and backward, the least of some
  /// runs.
  double measure(int64_t own, int64_t zigzag) {
    double least = 1e30;
    for (int repeat = 0; repeat < 6; ++repeat) {
      const std::clock_t start = std::clock();
      run(own, zigzag);
      least = std::min(least, double(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return least;
  }

private:
  int64_t elements() const { return block * heads * width; }
  int64_t arrayBytes() const { return elements() * int64_t(sizeof(float)); }
  float *array(int64_t number) {
    return rank->at<float>(number * arrayBytes());
  }

  AttentionShape shapeOf(int64_t own, int64_t other, int64_t zigzag) const {
    AttentionShape shape = {};
    shape.batch = 1;
    shape.queries = shape.keys = block;
    shape.heads = shape.kvHeads = heads;
    shape.width = shape.valueWidth = width;
    for (int64_t *stride : {shape.queryStride, shape.keyStride,
                            shape.valueStride, shape.outStride}) {
      stride[0] = elements();
      stride[1] = heads * width;
      stride[2] = width;
    }
    shape.scale = 0.1;
    shape.causal = true;
    shape.accumulate = own != other;
    shape.firstQuery = own * block;
    shape.firstKey = other * block;
    shape.zigzag = zigzag;
    return shape;
  }

  void run(int64_t own, int64_t zigzag) {
    Stream &stream = rank->stream(0);
    auto *logSumExp = rank->at<float>(8 * arrayBytes());
    const Workspace workspace = {
        rank->at<char>(8 * arrayBytes() + 8 * heads * block), scratch};
    for (int64_t hop = 0; hop < ranks; ++hop)
      attention<float, float>(stream, {}, array(0), array(1), array(2), nullptr,
                              nullptr, array(4), logSumExp,
                              shapeOf(own, (own + ranks - hop) % ranks, zigzag),
                              workspace);
    for (int64_t hop = 0; hop < ranks; ++hop) {
      const AttentionShape shape =
          shapeOf(own, (own + ranks - hop) % ranks, zigzag);
      attentionGradient<float, float>(
          stream, {}, array(0), array(1), array(2), array(4), logSumExp,
          array(3), nullptr, nullptr, array(5), array(6), array(7), shape,
          {shape.outStride[0], shape.outStride[1], shape.outStride[2]},
          workspace);
    }
    rank->synchronize();
  }

  int64_t ranks, block, heads, width, scratch = 0;
  Stage stage = {};
  Program program = {};
  ThreadHub hub;
  ThreadWorld world;
  std::unique_ptr<EngineRank> rank;
};

int64_t argument(int count, char **values, int number, int64_t otherwise) {
  return number < count ? std::atoll(values[number]) : otherwise;
}

} // namespace

int main(int count, char **values) {
  const int64_t positions = argument(count, values, 1, 4096);
  const int64_t heads = argument(count, values, 2, 8);
  const int64_t width = argument(count, values, 3, 64);
  for (int64_t ranks : {2, 4, 8}) {
    RingBalance ring(ranks, positions, heads, width);
    for (int64_t zigzag : {int64_t(1), ranks}) {
      double most = 0, sum = 0;
      std::printf("%d ranks, %s:", static_cast<int>(ranks),
                  zigzag == 1 ? "contiguous" : "zig-zag");
      for (int64_t own = 0; own < ranks; ++own) {
        const double seconds = ring.measure(own, zigzag);
        most = std::max(most, seconds);
        sum += seconds;
        std::printf(" %.3f", seconds);
      }
      std::printf(" s; most over mean %.2f\n", most * double(ranks) / sum);
    }
  }
}
