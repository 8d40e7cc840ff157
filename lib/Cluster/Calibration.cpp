//===- Calibration.cpp - A cluster from measurements ----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Cluster/Calibration.h"

#include "AscendingFit.h"
#include "ProductFit.h"

#include "parplan/Cluster/Presets.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Json.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>
#include <tuple>
#include <unistd.h>

using namespace parplan;

Machine parplan::getMachine() {
  Machine machine;
  machine.cores = std::max(1u, std::thread::hardware_concurrency());
  machine.memoryBytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<int64_t>(sysconf(_SC_PAGE_SIZE));
  std::error_code error;
  std::filesystem::directory_iterator gpu("/proc/driver/nvidia/gpus", error);
  for (; !error && gpu != std::filesystem::directory_iterator();
       gpu.increment(error))
    ++machine.gpus;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) {
      size_t colon = line.find(": ");
      if (colon != std::string::npos)
        machine.processor = line.substr(colon + 2);
      break;
    }
  if (machine.processor.empty())
    machine.processor = "an unknown processor";
  return machine;
}

namespace {

class CalibrationReader {
public:
  CalibrationReader(const Json &document, const std::string &file,
                    MeasuredDevices devices, const Machine &machine,
                    DiagnosticEngine &engine)
      : machine(machine), engine(engine), errors(engine.getErrorCount()),
        isGpu(devices == MeasuredDevices::gpus),
        reader(document, file, "", codes::calibrationFailed, engine) {}

  std::optional<ClusterDescription> read() {
    ranks = reader.getInteger("ranks", 1, 1 << 20).value_or(1);
    if (isGpu)
      readDevice();
    else
      takePreset("host");
    readProducts();
    readAttention();
    readLoops();
    readCollectives();
    reader.finish();
    if (engine.getErrorCount() > errors)
      return std::nullopt;
    describe();
    return cluster;
  }

private:
  static constexpr double leastSeconds = 1e-12, mostSeconds = 1e6;
  /// Of what takes no time.
  static constexpr double fastest = 1e18;

  /// What is not measured is that of a machine with GPUs of that generation.
  void readDevice() {
    std::optional<JsonReader> object = reader.getObject("device");
    if (!object)
      return;
    auto name = object->getString("name");
    auto capability = object->getInteger("compute_capability", 10, 999);
    auto multiprocessors = object->getInteger("multiprocessors", 2, 1 << 20);
    auto bytes = object->getInteger("memory_bytes", 1, int64_t(1) << 50);
    sharing = object->getInteger("ranks_per_device", 1, ranks).value_or(1);
    object->finish();
    const char *nominal = !capability || *capability < 90 ? "dgx-a100-80g"
                          : *capability < 100             ? "dgx-h100"
                                                          : "dgx-b200";
    takePreset(nominal);
    Device &device = cluster.device;
    device.name = name.value_or("");
    device.computeCapability = capability.value_or(0);
    device.multiprocessors = multiprocessors.value_or(2);
    device.memoryBytes = bytes.value_or(1);
    cluster.node.devices = ranks;
    cluster.nodes = std::nullopt;
    cluster.network = std::nullopt;
  }

  void takePreset(const char *name) {
    const ClusterDescription *standard = findPreset(name);
    PARPLAN_CHECK(standard, "there is no preset ", name);
    cluster = *standard;
    preset = name;
  }

  double getSeconds(JsonReader &object) {
    return object.getNumber("seconds", leastSeconds, mostSeconds).value_or(1);
  }

  void readProducts() {
    std::map<std::string, std::vector<MeasuredProduct>> products;
    for (JsonReader &entry : reader.getObjects("products")) {
      auto type = entry.getChoice("type", {"fp32", "fp64", "bf16", "fp16"});
      MeasuredProduct product;
      const char *keys[] = {"rows", "columns", "contracted"};
      for (size_t size = 0; size < product.sizes.size(); ++size)
        product.sizes[size] = static_cast<double>(
            entry.getInteger(keys[size], 1, 1 << 20).value_or(1));
      product.seconds = getSeconds(entry);
      entry.finish();
      if (type)
        products[*type].push_back(product);
    }
    for (const char *type : {"fp32", "bf16"})
      if (products[type].empty() && (isGpu || type == std::string("fp32")))
        return reader.report("products",
                             std::string("holds none of type '") + type + "'");
    if (isGpu)
      setPeaks(products);
    else
      fitRates(products);
  }

  using Products = std::map<std::string, std::vector<MeasuredProduct>>;

  static double getRate(const MeasuredProduct &product,
                        const std::array<double, 3> &overhead = {}) {
    double flops = 2;
    for (size_t size = 0; size < overhead.size(); ++size)
      flops *= product.sizes[size] + overhead[size];
    return flops / product.seconds;
  }

  /// Of a GPU: the rates of large products, which tiles then divide.
  void setPeaks(Products &products) {
    Device &device = cluster.device;
    auto getPeak = [&](const char *type) {
      double peak = 0;
      for (const MeasuredProduct &product : products[type])
        peak = std::max(peak, getRate(product));
      return peak;
    };
    device.matrixEfficiency = 1;
    device.flopsPerSecond = {};
    device.flopsPerSecond.fp64 = getPeak("fp64");
    device.flopsPerSecond.fp32 = getPeak("fp32");
    device.flopsPerSecond.fp16 = getPeak("fp16");
    device.flopsPerSecond.bf16 = getPeak("bf16");
    device.unalignedEfficiency = 1;
    for (const MeasuredProduct &product : products["bf16"])
      if (std::fmod(product.sizes[1], 8) != 0)
        device.unalignedEfficiency =
            std::clamp(getRate(product) / getPeak("bf16"), 0.001, 1.0);
  }

  /// Of a processor: the peak is the best rate of all sizes, and thin products
  /// have less of it.
  void fitRates(Products &products) {
    Device &device = cluster.device;
    ProductFit fit = fitProducts(products["fp32"]);
    double peak = fit.flopsPerSecond;
    for (const MeasuredProduct &product : products["fp32"])
      peak = std::max(peak, getRate(product));
    device.matrixEfficiency = fit.flopsPerSecond / peak;
    device.productOverhead = fit.overhead;
    device.flopsPerSecond = {};
    device.flopsPerSecond.fp32 = device.flopsPerSecond.tf32 = peak;
    // Of the other types one size was measured: the last but one of fp32.
    auto getPeak = [&](const char *type) {
      const std::vector<MeasuredProduct> &own = products[type];
      return own.empty()
                 ? 0
                 : getRate(own.back(), fit.overhead) / device.matrixEfficiency;
    };
    device.flopsPerSecond.fp64 = getPeak("fp64");
    device.flopsPerSecond.bf16 = getPeak("bf16");
    device.flopsPerSecond.fp16 = getPeak("fp16");
  }

  struct MeasuredAttention {
    double seconds, scores, flops;
  };

  void readAttention() {
    std::map<std::string, std::vector<MeasuredAttention>> points;
    for (JsonReader &entry : reader.getObjects("attention")) {
      auto what = entry.getChoice("what", {"forward", "gradient"});
      auto width = static_cast<double>(
          entry.getInteger("width", 1, 1 << 20).value_or(1));
      auto scores = static_cast<double>(
          entry.getInteger("scores", 1, int64_t(1) << 40).value_or(1));
      double seconds = getSeconds(entry);
      entry.finish();
      // As in the work of both ops.
      if (what)
        points[*what].push_back(
            {seconds, scores,
             scores * (what == "forward" ? 4 * width + 4 : 10 * width + 6)});
    }
    Device &device = cluster.device;
    auto read = [&](const std::string &what, double &efficiency,
                    double &scoresPerSecond) {
      const std::vector<MeasuredAttention> &own = points[what];
      if (own.size() != 2 || own[0].flops >= own[1].flops)
        return reader.report("attention", "lacks '" + what +
                                              "' of two widths, the smaller "
                                              "one first");
      if (isGpu)
        efficiency = getFusedEfficiency(own);
      else
        tellScoresFromProducts(own, efficiency, scoresPerSecond);
    };
    read("forward", device.attentionEfficiency,
         device.attentionScoresPerSecond);
    read("gradient", device.attentionGradientEfficiency,
         device.attentionGradientScoresPerSecond);
  }

  /// Of one kernel of a GPU, on average over both widths.
  double getFusedEfficiency(const std::vector<MeasuredAttention> &measured) {
    double seconds = 0, flops = 0;
    for (const MeasuredAttention &one : measured) {
      seconds += one.seconds;
      flops += one.flops;
    }
    return std::clamp(flops / seconds / cluster.device.flopsPerSecond.bf16,
                      0.001, 1.0);
  }

  /// Of a processor, seconds are those of products and those of scores: heads
  /// of two widths tell them apart.
  void tellScoresFromProducts(const std::vector<MeasuredAttention> &measured,
                              double &efficiency,
                              double &scoresPerSecond) const {
    double peak = cluster.device.flopsPerSecond.fp32;
    double rate =
        (measured[1].flops - measured[0].flops) /
        std::max(measured[1].seconds - measured[0].seconds, leastSeconds);
    efficiency = std::clamp(rate / peak, 0.001, 1.0);
    double rest = measured[0].seconds - measured[0].flops / (efficiency * peak);
    scoresPerSecond = rest > 0 ? measured[0].scores / rest : fastest;
  }

  void readLoops() {
    std::map<std::string, std::pair<double, double>> loops;
    const std::vector<std::string> names = {"gap", "add",    "copy",
                                            "exp", "memory", "download"};
    for (JsonReader &loop : reader.getObjects("loops")) {
      auto name = loop.getChoice("what", names);
      auto bytes = static_cast<double>(
          loop.getInteger("bytes", 1, int64_t(1) << 40).value_or(1));
      double seconds = getSeconds(loop);
      loop.finish();
      if (name)
        loops[*name] = {bytes, seconds};
    }
    for (const std::string &name : names)
      if (!loops.contains(name))
        return reader.report("loops", "lacks '" + name + "'");
    auto [gapBytes, gap] = loops["gap"];
    auto getRate = [&](const std::string &name) {
      auto [bytes, seconds] = loops[name];
      return bytes / std::max(seconds - gap, seconds / 100);
    };
    Device &device = cluster.device;
    device.kernelGapSeconds = std::min(gap, 1.0);
    // Of loops whose arrays stay in the caches of a processor.
    device.memoryBytesPerSecond = std::max(getRate("copy"), getRate("add"));
    device.memoryEfficiency =
        std::max(0.001, getRate("add") / device.memoryBytesPerSecond);
    // A number is read and written for each.
    device.transcendentalsPerSecond = getRate("exp") / 8;
    Node &node = cluster.node;
    node.hostMemoryBytesPerSecond =
        static_cast<double>(ranks) * getRate("memory");
    node.deviceHostBytesPerSecond = getRate("download");
    node.hostMemoryBytes = machine.memoryBytes;
    node.cores = machine.cores;
    // Ranks of a processor share its memory.
    if (!isGpu)
      device.memoryBytes =
          std::max<int64_t>(1, machine.memoryBytes / ranks / 4 * 3);
  }

  void readCollectives() {
    std::map<std::tuple<int64_t, std::string>, std::map<double, double>> found;
    if (!reader.isAbsent("collectives"))
      for (JsonReader &call : reader.getObjects("collectives")) {
        auto kind = call.getChoice("kind", {"all_reduce", "all_gather",
                                            "reduce_scatter", "broadcast",
                                            "reduce", "all_to_all", "send"});
        int64_t size = call.getInteger("ranks", 2, ranks).value_or(2);
        auto bytes = static_cast<double>(
            call.getInteger("bytes", 1, int64_t(1) << 40).value_or(1));
        double seconds = getSeconds(call);
        call.finish();
        if (kind)
          found[{size, *kind}][bytes] = seconds;
      }
    std::vector<MeasuredCollective> &measured = cluster.collectives.measured;
    measured.clear();
    for (const auto &[group, curve] : found) {
      MeasuredCollective entry;
      entry.devicesPerNode = std::get<0>(group);
      entry.kind = std::get<1>(group);
      for (auto [bytes, seconds] : curve) {
        entry.bytes.push_back(bytes);
        entry.seconds.push_back(seconds);
      }
      // Larger messages take no less.
      makeAscending(entry.seconds);
      measured.push_back(std::move(entry));
    }
    setLink();
  }

  /// For groups that were not measured: the formula of the ring, or of the bus
  /// that ranks of a processor share, goes through the largest all-reduce of
  /// all ranks; its latency is that of the smallest message.
  void setLink() {
    auto find = [&](const std::string &kind) -> const MeasuredCollective * {
      for (const MeasuredCollective &one : cluster.collectives.measured)
        if (one.kind == kind && one.devicesPerNode == ranks)
          return &one;
      return nullptr;
    };
    const MeasuredCollective *allReduce = find("all_reduce"),
                             *send = find("send");
    if (!allReduce || !send)
      return;
    Link &link = cluster.node.link;
    link.latencySeconds = std::min(1.0, send->seconds.front());
    double bytes = allReduce->bytes.back(), seconds = allReduce->seconds.back();
    auto size = static_cast<double>(ranks);
    double allBytes = 2 * (size - 1) * bytes;
    link.bytesPerSecond = (isGpu ? allBytes / size : allBytes) / seconds;
  }

  void describe() {
    std::ostringstream source;
    auto name = [](int64_t count, const char *one) {
      return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
    };
    if (isGpu) {
      cluster.name = "calibrated-gpus";
      cluster.title = std::to_string(ranks) + " x " + cluster.device.name;
      source << "parplan calibrate: "
             << name(ranks, sharing > 1 ? "rank" : "GPU")
             << ", all measured at the same time";
      if (sharing > 1) {
        cluster.title += ", " + std::to_string(sharing) + " ranks on each GPU";
        source << ", " << sharing << " on each GPU";
      }
      cluster.sources = {source.str(),
                         std::string("NVMe, and links that were not "
                                     "measured: of ") +
                             preset};
      return;
    }
    cluster.name = "calibrated-host";
    cluster.title = name(ranks, "rank") + " on " + name(machine.cores, "core") +
                    " of " + machine.processor;
    source << "parplan calibrate: " << ranks
           << (ranks == 1 ? " rank on " : " ranks share ")
           << name(machine.cores, "core")
           << "; all measured at the same time, and with another number of "
              "ranks the figures of each are others";
    cluster.sources = {source.str(), "NVMe: nominal, not measured"};
  }

  const Machine &machine;
  DiagnosticEngine &engine;
  size_t errors;
  bool isGpu;
  JsonReader reader;
  int64_t ranks = 1, sharing = 1;
  /// Of what is not measured.
  std::string preset;
  ClusterDescription cluster;
};

} // namespace

std::optional<ClusterDescription>
parplan::readCalibration(std::string_view text, const std::string &file,
                         MeasuredDevices devices, const Machine &machine,
                         DiagnosticEngine &engine) {
  std::optional<Json> document =
      parseJson(text, file, codes::calibrationFailed, engine);
  if (!document)
    return std::nullopt;
  return CalibrationReader(*document, file, devices, machine, engine).read();
}
