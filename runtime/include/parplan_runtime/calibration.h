//===- calibration.h - What a machine does in how long --------------------===//
//
// The step of the program that `parplan calibrate` builds: each rank runs the
// runtime's own kernels and calls while all others run the same, so that what
// ranks share, cores and memory, is in the figures; and calls are made as plans
// make them, on streams of their own between kernels that wait for them. The
// first rank writes the means as JSON to the file that PARPLAN_CALIBRATION
// names. On the host only: results are read where they lie.
//
// Communicators are groups of growing size; the last one has all ranks. The
// arena has three arrays of `arrayBytes`, the host's has one.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_RUNTIME_CALIBRATION_H
#define PARPLAN_RUNTIME_CALIBRATION_H

#include "parplan_runtime/program.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace parplan {
namespace runtime {

class Calibration {
public:
  /// Of one array; a multiple of what every kernel asks for.
  static constexpr int64_t arrayBytes = int64_t(1) << 25;
  static constexpr int32_t eventCount = 2;

  explicit Calibration(Rank &rank)
      : rank(rank), compute(rank.stream(streams::compute)),
        groups(rank.program().communicators.size) {}

  void run() {
    fill();
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
    for (int64_t width : {16, 64})
      measureAttention(width);
    measureMemory();
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t bytes :
           {int64_t(1) << 10, int64_t(1) << 14, int64_t(1) << 18, largest})
        measureCollectives(rank.communicator(static_cast<int32_t>(group)),
                           bytes);
    write();
  }

private:
  static constexpr int64_t largest = int64_t(1) << 22;
  /// Of the loops over elements: three arrays that stay in the caches, as most
  /// activations do.
  static constexpr int64_t cachedElements = int64_t(1) << 19;
  static constexpr int rounds = 7;
  static constexpr double roundSeconds = 0.05;
  static constexpr double leastSeconds = 1e-6;

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
    stream.enqueue([place] {
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

  /// The middle of what as many rounds take that all ranks begin together: the
  /// system may disturb some.
  template <typename Round> double getMedian(const Round &round) {
    std::vector<double> seconds;
    for (int number = 0; number < rounds; ++number) {
      meet();
      seconds.push_back(round());
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }

  /// Seconds of one launch.
  template <typename Launch>
  double measure(Stream &stream, const Launch &launch) {
    launch();
    wait(stream);
    return getMedian([&] {
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
    });
  }

  // --- what is measured ------------------------------------------------------

  void fill() {
    float *data = array(0);
    map<1>(compute, {{0, 3 * arrayBytes}}, {{3 * arrayBytes / 4}},
           [data](int64_t index) {
             data[index] = static_cast<float>(index % 7) * 0.125f;
           });
    wait(compute);
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
      add("products",
          "\"type\": \"" + std::string(type) +
              "\", \"rows\": " + std::to_string(sizes.rows) +
              ", \"columns\": " + std::to_string(sizes.columns) +
              ", \"contracted\": " + std::to_string(sizes.contracted),
          seconds);
    }
  }

  /// Causal, of heads of one width, and its gradients.
  void measureAttention(int64_t width) {
    constexpr int64_t batch = 2, heads = 8, queries = 128;
    const int64_t row = heads * width, sample = queries * row;
    const int64_t bytes = batch * sample * 4;
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
      return rank.at<float>(number * bytes);
    };
    const Workspace workspace = {
        array(2), std::max(attentionWorkspaceBytes(shape, 4),
                           attentionGradientWorkspaceBytes(shape, 4))};
    const auto record = [&](const char *what, double seconds) {
      add("attention",
          "\"what\": \"" + std::string(what) +
              "\", \"width\": " + std::to_string(width) + ", \"scores\": " +
              std::to_string(batch * heads * queries * queries / 2),
          seconds);
    };
    const Range all = {0, 3 * arrayBytes};
    record("forward", measure(compute, [&] {
             attention(compute, {all}, place(0), place(1), place(2), nullptr,
                       nullptr, place(3), place(4), shape, workspace);
           }));
    record("gradient", measure(compute, [&] {
             attentionGradient(compute, {all}, place(0), place(1), place(2),
                               place(3), place(4), place(5), nullptr, nullptr,
                               place(6), place(7), place(8), shape,
                               {sample, row, width}, workspace);
           }));
  }

  void measureMemory() {
    float *first = array(0), *second = array(1), *third = array(2);
    const auto addElements = [&](int64_t count) {
      map<1>(compute, {{0, 3 * arrayBytes}}, {{count}},
             [first, second, third](int64_t index) {
               third[index] = first[index] + second[index];
             });
    };
    const auto addLoop = [&](const char *what, int64_t bytes, double seconds) {
      add("loops",
          "\"what\": \"" + std::string(what) +
              "\", \"bytes\": " + std::to_string(bytes),
          seconds);
    };
    const int64_t cached = 4 * cachedElements;
    addLoop("gap", 12, measure(compute, [&] { addElements(1); }));
    addLoop("add", 3 * cached,
            measure(compute, [&] { addElements(cachedElements); }));
    addLoop("copy", 2 * cached, measure(compute, [&] {
              copyBytes(compute, {{0, 3 * arrayBytes}}, first, third, cached);
            }));
    addLoop("exp", 2 * cached, measure(compute, [&] {
              map<1>(compute, {{0, 3 * arrayBytes}}, {{cachedElements}},
                     [first, third](int64_t index) {
                       third[index] = exponential(first[index]);
                     });
            }));
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

  /// About a millisecond of it, as between two calls of a plan.
  void work() {
    constexpr int loops = 6;
    float *first = array(0), *second = array(1), *third = array(2);
    for (int loop = 0; loop < loops; ++loop)
      map<1>(compute, {{0, 3 * arrayBytes}}, {{cachedElements}},
             [first, second, third](int64_t index) {
               third[index] = first[index] + second[index];
             });
  }

  /// Seconds of `turns` turns.
  template <typename Turn>
  double measureTurns(int64_t turns, const Turn &turn) {
    const double start = getTime();
    for (int64_t number = 0; number < turns; ++number)
      turn();
    wait(compute);
    return getTime() - start;
  }

  /// By how much longer a turn of work takes with a call behind it,
  /// which all groups make at once. Who shares a processor with ranks that
  /// compute is late, and all wait for the last one.
  template <typename Call>
  double measureCall(Stream &stream, int64_t bytes, const Call &call) {
    const int64_t turns =
        std::max<int64_t>(4, std::min<int64_t>(16, largest * 4 / bytes));
    // What slows the machine for a while slows both.
    const double more = getMedian([&] {
      const double without = measureTurns(turns, [&] { work(); });
      meet();
      const double with = measureTurns(turns, [&] {
        work();
        rank.record(0, compute);
        rank.wait(0, stream);
        call();
        rank.record(1, stream);
        rank.wait(1, compute);
      });
      return with - without;
    });
    return std::max(more / static_cast<double>(turns), leastSeconds);
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
      add("collectives",
          "\"kind\": \"" + std::string(kind) + "\", \"ranks\": " +
              std::to_string(size) + ", \"bytes\": " + std::to_string(bytes),
          seconds);
    };
    record("all_reduce", measureCall(stream, bytes, [&] {
             group.allReduce(stream, {both}, Reduction::Sum, type, in, out,
                             count);
           }));
    record("all_gather", measureCall(stream, bytes, [&] {
             group.allGather(stream, {both}, type, in, out, block);
           }));
    record("reduce_scatter", measureCall(stream, bytes, [&] {
             group.reduceScatter(stream, {both}, Reduction::Sum, type, in, out,
                                 block);
           }));
    record("broadcast", measureCall(stream, bytes, [&] {
             group.broadcast(stream, {both}, type, 0, in, out, count);
           }));
    record("reduce", measureCall(stream, bytes, [&] {
             group.reduce(stream, {both}, Reduction::Sum, type, 0, in, out,
                          count);
           }));
    record("all_to_all", measureCall(stream, bytes, [&] {
             group.allToAll(stream, {both}, type, in, out, block);
           }));
    // All ranks hand on at once, as stages do.
    const int next = static_cast<int>((group.rank() + 1) % size);
    const int previous = static_cast<int>((group.rank() + size - 1) % size);
    record("send", measureCall(messages, bytes, [&] {
             group.beginGroup(messages);
             group.send(messages, {both}, type, next, in, count);
             group.receive(messages, {both}, type, previous, out, count);
             group.endGroup(messages);
           }));
  }

  // --- results ---------------------------------------------------------------

  struct Figure {
    const char *list;
    std::string fields;
    double seconds;
  };
  void add(const char *list, const std::string &fields, double seconds) {
    figures.push_back({list, fields, seconds});
  }

  void write() {
    auto *sums = rank.at<double>(0);
    const auto count = static_cast<int64_t>(figures.size());
    for (int64_t number = 0; number < count; ++number)
      sums[number] = figures[number].seconds;
    if (groups > 0)
      rank.communicator(static_cast<int32_t>(groups - 1))
          .allReduce(compute, {{0, 8 * count}}, Reduction::Sum,
                     ElementType::Float64, sums, sums, count);
    wait(compute);
    const char *path = std::getenv("PARPLAN_CALIBRATION");
    if (rank.rank() != 0 || !path)
      return;
    std::FILE *file = std::fopen(path, "w");
    if (!file)
      return;
    std::fprintf(file, "{\"ranks\": %d", rank.size());
    const char *list = "";
    for (int64_t number = 0; number < count; ++number) {
      const Figure &figure = figures[number];
      const bool isNew = std::string(list) != figure.list;
      if (isNew)
        std::fprintf(file, "%s,\n \"%s\": [", number == 0 ? "" : "]",
                     figure.list);
      list = figure.list;
      std::fprintf(file, "%s{%s, \"seconds\": %.9g}", isNew ? "" : ",\n  ",
                   figure.fields.c_str(), sums[number] / rank.size());
    }
    std::fprintf(file, "]}\n");
    std::fclose(file);
  }

  Rank &rank;
  Stream &compute;
  int64_t groups;
  std::vector<Figure> figures;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_CALIBRATION_H
