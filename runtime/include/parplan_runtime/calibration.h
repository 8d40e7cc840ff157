//===- calibration.h - What a machine does in how long --------------------===//
//
// The step of the program that `parplan calibrate` builds: each rank runs the
// runtime's own kernels and calls while all others run the same, so that what
// ranks share, cores and memory, is in the figures; and calls are made as plans
// make them, on streams of their own between kernels that wait for them. All
// figures are measured in turn, several times over: what slows the machine for
// some seconds disturbs a few rounds of each, not all rounds of a few. The
// first rank writes their medians, the means over all ranks, as JSON to the
// file that PARPLAN_CALIBRATION names.
//
// Communicators are groups of growing size; the last one has all ranks. The
// arena has three arrays of `arrayBytes`, the host's has one. Loops run over
// arrays that stay in the caches of a processor, as most activations do, and
// over such that do not fit into those of a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_CALIBRATION_H
#define PARPLAN_RUNTIME_CALIBRATION_H

#include "parplan_runtime/calibration_figures.h"
#include "parplan_runtime/calibration_kernels.h"
#include "parplan_runtime/program.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

namespace parplan {
namespace runtime {

class Calibration {
public:
  static constexpr bool isGpu = calibratesGpus;
  /// Of one array; a multiple of what every kernel asks for.
  static constexpr int64_t arrayBytes = int64_t(1) << (isGpu ? 28 : 25);
  static constexpr int32_t eventCount = 2;

  explicit Calibration(Rank &rank)
      : rank(rank), compute(rank.stream(streams::compute)),
        groups(rank.program().communicators.size) {}

  void run() {
    for (int round = 0; round < roundCount; ++round) {
      rounds.begin();
      measureAll();
      rounds.end();
    }
    write();
  }

private:
  /// Of a message.
  static constexpr int64_t largest = isGpu ? arrayBytes : int64_t(1) << 22;
  /// Of each of the three arrays of a loop.
  static constexpr int64_t loopElements =
      isGpu ? arrayBytes / 4 : int64_t(1) << 19;
  /// Of each element, so that a GPU does not wait for its memory.
  static constexpr int exponentials = isGpu ? 32 : 1;
  static constexpr int roundCount = 9;
  static constexpr double roundSeconds = 0.05;
  /// Of work: ranks that share a processor end apart, so few would seem to
  /// take less.
  static constexpr int turns = 16;

  static double getTime() {
    return std::chrono::duration<double>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  float *array(int64_t number) const {
    return rank.at<float>(number * arrayBytes);
  }

  // --- waiting ---------------------------------------------------------------

  /// Until everything on the stream has run.
  void wait(Stream &stream) {
    struct Gate {
      std::mutex mutex;
      std::condition_variable changed;
      bool isOpen = false;
    } gate;
    Gate *place = &gate;
    stream.enqueueOnHost([place] {
      std::lock_guard<std::mutex> lock(place->mutex);
      place->isOpen = true;
      place->changed.notify_one();
    });
    std::unique_lock<std::mutex> lock(gate.mutex);
    gate.changed.wait(lock, [&] { return gate.isOpen; });
  }

  /// All ranks.
  void meet() {
    if (groups > 0)
      rank.communicator(static_cast<int32_t>(groups - 1))
          .allReduce(compute, {{0, 4}}, Reduction::Sum, ElementType::Float32,
                     array(0), array(0), 1);
    wait(compute);
  }

  /// Seconds of one launch. All ranks begin together.
  template <typename Launch>
  double measure(Stream &stream, const Launch &launch) {
    launch();
    wait(stream);
    meet();
    const double start = getTime();
    int64_t launches = 0;
    for (int64_t batch = 1; getTime() - start < roundSeconds;
         batch = std::min<int64_t>(2 * batch, 256)) {
      for (int64_t number = 0; number < batch; ++number)
        launch();
      wait(stream);
      launches += batch;
    }
    return (getTime() - start) / static_cast<double>(launches);
  }

  // --- what is measured ------------------------------------------------------

  /// One round of each figure, always in the same order.
  void measureAll() {
    fill();
    if (isGpu)
      measureLargeProducts();
    else
      measureSmallProducts();
    for (int64_t width : {isGpu ? 64 : 16, isGpu ? 128 : 64})
      measureAttention(width);
    measureMemory();
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t bytes : {largest >> 12, largest >> 8, largest >> 4, largest})
        measureCollectives(rank.communicator(static_cast<int32_t>(group)),
                           bytes);
  }

  void fill() {
    map<1>(compute, {{0, 3 * arrayBytes}}, {{3 * arrayBytes / 4}},
           detail::FillKernel{array(0)});
    wait(compute);
  }
  /// Both operands.
  template <typename Element> void scatter() {
    map<1>(compute, {{0, 2 * arrayBytes}},
           {{2 * arrayBytes / int64_t(sizeof(Element))}},
           detail::ScatterKernel<Element>{rank.at<Element>(0)});
    wait(compute);
  }

  void measureSmallProducts() {
    measureProducts<float>("fp32", {{1024, 64, 64},
                                    {1024, 16, 64},
                                    {1024, 64, 16},
                                    {16, 256, 1024},
                                    {64, 256, 256},
                                    {128, 768, 768},
                                    {256, 256, 256},
                                    {512, 512, 512},
                                    {1024, 1024, 1024}});
    measureProducts<double>("fp64", {{512, 512, 512}});
    measureProducts<BFloat16>("bf16", {{512, 512, 512}});
    measureProducts<Float16>("fp16", {{512, 512, 512}});
  }
  /// The last one has rows that begin anywhere.
  void measureLargeProducts() {
    scatter<double>();
    measureProducts<double>("fp64", {{4096, 4096, 4096}});
    scatter<float>();
    measureProducts<float>("fp32", {{4096, 4096, 4096}});
    scatter<Float16>();
    measureProducts<Float16>("fp16", {{8192, 8192, 8192}});
    scatter<BFloat16>();
    measureProducts<BFloat16>(
        "bf16", {{8192, 8192, 8192}, {4096, 4096, 4096}, {8192, 8191, 4096}});
  }

  struct Sizes {
    int64_t rows, columns, contracted;
  };
  template <typename Element>
  void measureProducts(const char *type, const std::vector<Sizes> &products) {
    auto *lhs = rank.at<Element>(0), *rhs = rank.at<Element>(arrayBytes),
         *out = rank.at<Element>(2 * arrayBytes);
    for (const Sizes &sizes : products) {
      const MatmulShape shape = {sizes.rows,
                                 sizes.columns,
                                 sizes.contracted,
                                 sizes.contracted,
                                 1,
                                 sizes.columns,
                                 1,
                                 sizes.columns,
                                 1};
      const double seconds = measure(compute, [&] {
        matmul(compute, {{0, 3 * arrayBytes}}, lhs, rhs, out, shape);
      });
      rounds.add("products",
                 "\"type\": \"" + std::string(type) +
                     "\", \"rows\": " + std::to_string(sizes.rows) +
                     ", \"columns\": " + std::to_string(sizes.columns) +
                     ", \"contracted\": " + std::to_string(sizes.contracted),
                 seconds);
    }
  }

  /// Causal, of heads of one width, and its gradients.
  void measureAttention(int64_t width) {
    // GPUs compute it in 16 bits.
    using Element = std::conditional_t<isGpu, BFloat16, float>;
    constexpr int64_t batch = isGpu ? 4 : 2, heads = isGpu ? 16 : 8,
                      queries = isGpu ? 2048 : 128, size = sizeof(Element);
    const int64_t row = heads * width, sample = queries * row;
    const int64_t bytes = batch * sample * size;
    AttentionShape shape = {};
    shape.batch = batch;
    shape.queries = shape.keys = queries;
    shape.heads = shape.kvHeads = heads;
    shape.width = shape.valueWidth = width;
    for (auto *stride : {shape.queryStride, shape.keyStride, shape.valueStride,
                         shape.outStride}) {
      stride[0] = sample;
      stride[1] = row;
      stride[2] = width;
    }
    shape.causal = true;
    // Operands, result, statistics, gradients.
    const auto place = [&](int64_t number) {
      return rank.at<Element>(number * bytes);
    };
    auto *statistics = rank.at<float>(4 * bytes);
    const Workspace workspace = {
        array(2), std::max(attentionWorkspaceBytes(shape, size),
                           attentionGradientWorkspaceBytes(shape, size))};
    const auto record = [&](const char *what, double seconds) {
      rounds.add("attention",
                 "\"what\": \"" + std::string(what) + "\", \"width\": " +
                     std::to_string(width) + ", \"scores\": " +
                     std::to_string(batch * heads * queries * queries / 2),
                 seconds);
    };
    const Range all = {0, 3 * arrayBytes};
    record("forward", measure(compute, [&] {
             attention(compute, {all}, place(0), place(1), place(2), nullptr,
                       nullptr, place(3), statistics, shape, workspace);
           }));
    record("gradient", measure(compute, [&] {
             attentionGradient(compute, {all}, place(0), place(1), place(2),
                               place(3), statistics, place(5), nullptr, nullptr,
                               place(6), place(7), place(8), shape,
                               {sample, row, width}, workspace);
           }));
  }

  void measureMemory() {
    float *first = array(0), *second = array(1), *third = array(2);
    const auto addElements = [&](int64_t count) {
      map<1>(compute, {{0, 3 * arrayBytes}}, {{count}},
             detail::AddKernel{first, second, third});
    };
    const auto addLoop = [&](const char *what, int64_t bytes, double seconds) {
      rounds.add("loops",
                 "\"what\": \"" + std::string(what) +
                     "\", \"bytes\": " + std::to_string(bytes),
                 seconds);
    };
    const int64_t bytes = 4 * loopElements;
    fill();
    addLoop("gap", 12, measure(compute, [&] { addElements(1); }));
    addLoop("add", 3 * bytes,
            measure(compute, [&] { addElements(loopElements); }));
    addLoop("copy", 2 * bytes, measure(compute, [&] {
              copyBytes(compute, {{0, 3 * arrayBytes}}, first, third, bytes);
            }));
    addLoop("exp", 2 * bytes * exponentials, measure(compute, [&] {
              map<1>(compute, {{0, 3 * arrayBytes}}, {{loopElements}},
                     detail::ExponentialKernel<exponentials>{first, third});
            }));
    // Of the host: that of its own ranks, or half of the arena there.
    if (isGpu)
      addLoop("memory", arrayBytes, measureHostCopy(arrayBytes / 2));
    else
      addLoop(
          "memory", 2 * arrayBytes, measure(compute, [&] {
            copyBytes(compute, {{0, 3 * arrayBytes}}, first, third, arrayBytes);
          }));
    Stream &down = rank.stream(streams::download);
    addLoop("download", arrayBytes, measure(down, [&] {
              transfer(down, {0, arrayBytes, MemoryTier::Device},
                       {0, arrayBytes, MemoryTier::Host});
            }));
  }

  double measureHostCopy(int64_t bytes) {
    auto *memory = rank.hostAt<char>(0);
    meet();
    const double start = getTime();
    std::memcpy(memory + bytes, memory, static_cast<size_t>(bytes));
    return getTime() - start;
  }

  /// About a millisecond of it, as between two calls of a plan.
  void work() {
    constexpr int loops = isGpu ? 4 : 6;
    for (int loop = 0; loop < loops; ++loop)
      map<1>(compute, {{0, 3 * arrayBytes}}, {{loopElements}},
             detail::AddKernel{array(0), array(1), array(2)});
  }

  /// Seconds of a turn.
  template <typename Turn> double measureTurn(const Turn &turn) {
    meet();
    const double start = getTime();
    for (int number = 0; number < turns; ++number)
      turn();
    wait(compute);
    return (getTime() - start) / turns;
  }

  /// Of work with a call behind it, which all groups make at once. Who shares a
  /// processor with ranks that compute is late, and all wait for the last one.
  template <typename Call>
  double measureCall(Stream &stream, const Call &call) {
    return measureTurn([&] {
      work();
      rank.record(0, compute);
      rank.wait(0, stream);
      call();
      rank.record(1, stream);
      rank.wait(1, compute);
    });
  }

  /// `bytes` as they are counted (communicator.h).
  void measureCollectives(Communicator &group, int64_t bytes) {
    const auto type = ElementType::Float32;
    const int64_t size = group.size(), count = bytes / 4, block = count / size;
    const void *in = array(0);
    void *out = array(1);
    const Range both = {0, 2 * arrayBytes};
    Stream &stream = rank.stream(streams::communication);
    Stream &messages = rank.stream(streams::pointToPoint);
    const auto record = [&](const char *kind, double seconds) {
      rounds.addCall("collectives",
                     "\"kind\": \"" + std::string(kind) +
                         "\", \"ranks\": " + std::to_string(size) +
                         ", \"bytes\": " + std::to_string(bytes),
                     seconds);
    };
    rounds.addWork(measureTurn([&] { work(); }));
    record("all_reduce", measureCall(stream, [&] {
             group.allReduce(stream, {both}, Reduction::Sum, type, in, out,
                             count);
           }));
    record("all_gather", measureCall(stream, [&] {
             group.allGather(stream, {both}, type, in, out, block);
           }));
    record("reduce_scatter", measureCall(stream, [&] {
             group.reduceScatter(stream, {both}, Reduction::Sum, type, in, out,
                                 block);
           }));
    record("broadcast", measureCall(stream, [&] {
             group.broadcast(stream, {both}, type, 0, in, out, count);
           }));
    record("reduce", measureCall(stream, [&] {
             group.reduce(stream, {both}, Reduction::Sum, type, 0, in, out,
                          count);
           }));
    record("all_to_all", measureCall(stream, [&] {
             group.allToAll(stream, {both}, type, in, out, block);
           }));
    // All ranks hand on at once, as stages do.
    const int next = static_cast<int>((group.rank() + 1) % size);
    const int previous = static_cast<int>((group.rank() + size - 1) % size);
    record("send", measureCall(messages, [&] {
             group.beginGroup(messages);
             group.send(messages, {both}, type, next, in, count);
             group.receive(messages, {both}, type, previous, out, count);
             group.endGroup(messages);
           }));
  }

  // --- results ---------------------------------------------------------------

  void write() {
    auto *sums = rank.hostAt<double>(0);
    const std::vector<CalibrationFigure> &figures = rounds.getFigures();
    const auto count = static_cast<int64_t>(figures.size());
    for (int64_t number = 0; number < count; ++number)
      sums[number] = getMedian(figures[number].seconds);
    if (groups > 0) {
      const Range host = {0, 8 * count, MemoryTier::Host};
      const Range device = {0, 8 * count, MemoryTier::Device};
      transfer(compute, host, device);
      rank.communicator(static_cast<int32_t>(groups - 1))
          .allReduce(compute, {device}, Reduction::Sum, ElementType::Float64,
                     array(0), array(0), count);
      transfer(compute, device, host);
      wait(compute);
    }
    const char *path = std::getenv("PARPLAN_CALIBRATION");
    if (rank.rank() != 0 || !path)
      return;
    std::FILE *file = std::fopen(path, "w");
    if (!file)
      return;
    printFigures(file, rank.size(), 3 * arrayBytes, figures, sums);
    std::fclose(file);
  }

  Rank &rank;
  Stream &compute;
  int64_t groups;
  CalibrationRounds rounds;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_CALIBRATION_H
