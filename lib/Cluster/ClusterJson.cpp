//===- ClusterJson.cpp - Cluster values from and to JSON ------------------===//
//
// Part of parplan. No MLIR in this library.
//
// docs/schema/cluster.schema.json says the same in JSON Schema; the test of
// the presets keeps the two together.
//
//===----------------------------------------------------------------------===//

#include "ClusterFields.h"
#include "parplan/Cluster/Presets.h"

using namespace parplan;

/// In the order of `Device::productOverhead`.
constexpr const char *productOverheadKeys[] = {"product_overhead_rows",
                                               "product_overhead_columns",
                                               "product_overhead_contracted"};

namespace {

constexpr int64_t maxBytes = int64_t{1} << 60;
constexpr double minRate = 1, maxRate = 1e18;

template <typename Value>
void assign(Value &target, const std::optional<Value> &value) {
  if (value)
    target = *value;
}

std::string getName(LinkKind kind) {
  switch (kind) {
  case LinkKind::nvlink:
    return "nvlink";
  case LinkKind::pcie:
    return "pcie";
  case LinkKind::sharedMemory:
    return "shared-memory";
  }
  PARPLAN_UNREACHABLE("unknown link");
}

void readDevice(JsonReader reader, Device &device) {
  assign(device.name, reader.getString("name"));
  assign(device.computeCapability,
         reader.getInteger("compute_capability", 0, 1000));
  assign(device.multiprocessors,
         reader.getInteger("multiprocessors", 1, 1 << 20));
  assign(device.canEmit, reader.getBool("can_emit"));
  assign(device.memoryBytes, reader.getInteger("memory_bytes", 1, maxBytes));
  assign(device.memoryBytesPerSecond,
         reader.getNumber("memory_bytes_per_s", minRate, maxRate));
  if (std::optional<JsonReader> rates = reader.getObject("flops_per_s")) {
    PeakRates &peak = device.flopsPerSecond;
    assign(peak.fp64, rates->getNumber("fp64", 0, maxRate));
    assign(peak.fp32, rates->getNumber("fp32", minRate, maxRate));
    assign(peak.tf32, rates->getNumber("tf32", 0, maxRate));
    assign(peak.fp16, rates->getNumber("fp16", 0, maxRate));
    assign(peak.bf16, rates->getNumber("bf16", 0, maxRate));
    assign(peak.fp8, rates->getNumber("fp8", 0, maxRate));
    rates->finish();
  }
  assign(device.transcendentalsPerSecond,
         reader.getNumber("transcendentals_per_s", minRate, maxRate));
  assign(device.matrixEfficiency,
         reader.getNumber("matrix_efficiency", 0.001, 1));
  assign(device.memoryEfficiency,
         reader.getNumber("memory_efficiency", 0.001, 1));
  auto assignIfThere = [&](double &target, const char *key, double least,
                           double most) {
    if (!reader.isAbsent(key))
      assign(target, reader.getNumber(key, least, most));
  };
  assignIfThere(device.tileOverhead, "tile_overhead", 0, 1e6);
  assignIfThere(device.unalignedEfficiency, "unaligned_efficiency", 0.001, 1);
  for (size_t size = 0; size < device.productOverhead.size(); ++size)
    assignIfThere(device.productOverhead[size], productOverheadKeys[size], 0,
                  1e6);
  assignIfThere(device.attentionEfficiency, "attention_efficiency", 0.001, 1);
  assignIfThere(device.attentionGradientEfficiency,
                "attention_gradient_efficiency", 0.001, 1);
  assignIfThere(device.attentionScoresPerSecond, "attention_scores_per_s", 0,
                maxRate);
  assignIfThere(device.attentionGradientScoresPerSecond,
                "attention_gradient_scores_per_s", 0, maxRate);
  assign(device.kernelGapSeconds, reader.getNumber("kernel_gap_s", 0, 1));
  reader.finish();
}

void readLink(JsonReader reader, Link &link) {
  std::optional<std::string> kind =
      reader.getChoice("kind", {"nvlink", "pcie", "shared-memory"});
  for (LinkKind known :
       {LinkKind::nvlink, LinkKind::pcie, LinkKind::sharedMemory})
    if (kind && *kind == getName(known))
      link.kind = known;
  assign(link.bytesPerSecond,
         reader.getNumber("bytes_per_s", minRate, maxRate));
  if (!reader.isAbsent("bytes_per_s_by_devices"))
    assign(link.bytesPerSecondByDevices,
           reader.getNumbers("bytes_per_s_by_devices", minRate, maxRate));
  assign(link.latencySeconds, reader.getNumber("latency_s", 0, 1));
  reader.finish();
}

void readNode(JsonReader reader, Node &node) {
  if (reader.isAbsent("devices"))
    node.devices = 0;
  else
    assign(node.devices, reader.getInteger("devices", 1, 1 << 20));
  if (std::optional<JsonReader> link = reader.getObject("link"))
    readLink(*link, node.link);
  assign(node.hasAmdCpu, reader.getBool("amd_cpu"));
  assign(node.hostMemoryBytes,
         reader.getInteger("host_memory_bytes", 0, maxBytes));
  assign(node.hostMemoryBytesPerSecond,
         reader.getNumber("host_memory_bytes_per_s", minRate, maxRate));
  assign(node.deviceHostBytesPerSecond,
         reader.getNumber("device_host_bytes_per_s", minRate, maxRate));
  if (!reader.isAbsent("nvme"))
    if (std::optional<JsonReader> nvme = reader.getObject("nvme")) {
      node.nvme.emplace();
      assign(node.nvme->bytes, nvme->getInteger("bytes", 1, maxBytes));
      assign(node.nvme->readBytesPerSecond,
             nvme->getNumber("read_bytes_per_s", minRate, maxRate));
      assign(node.nvme->writeBytesPerSecond,
             nvme->getNumber("write_bytes_per_s", minRate, maxRate));
      nvme->finish();
    }
  if (!reader.isAbsent("cores"))
    assign(node.cores, reader.getInteger("cores", 0, 1 << 20));
  reader.finish();
}

/// Pairs of message sizes and values, sizes ascending.
void readCurve(JsonReader &reader, const std::string &key, double leastValue,
               std::vector<double> &sizes, std::vector<double> &values) {
  double last = 0;
  for (const std::vector<double> &pair : reader.getPairs(key)) {
    if (pair[0] <= last || pair[1] < leastValue) {
      reader.report(key, "sizes must ascend and values be in range");
      return;
    }
    last = pair[0];
    sizes.push_back(pair[0]);
    values.push_back(pair[1]);
  }
}

void readCollectives(JsonReader reader, CollectiveCurve &curve) {
  std::optional<std::string> model =
      reader.getChoice("model", {"nccl", "shared-memory"});
  if (model)
    curve.model = *model == "nccl" ? CollectiveModel::nccl
                                   : CollectiveModel::sharedMemory;
  assign(curve.factor, reader.getNumber("factor", 0.01, 100));
  assign(curve.offsetSeconds, reader.getNumber("offset_s", 0, 1));
  if (!reader.isAbsent("network_factors"))
    readCurve(reader, "network_factors", 0.01, curve.networkBytes,
              curve.networkFactors);
  if (!reader.isAbsent("interference"))
    assign(curve.interference, reader.getNumber("interference", 0, 1));
  if (!reader.isAbsent("measured"))
    for (JsonReader &entry : reader.getObjects("measured")) {
      MeasuredCollective measured;
      assign(measured.kind,
             entry.getChoice("kind",
                             {"all_reduce", "all_gather", "reduce_scatter",
                              "broadcast", "reduce", "all_to_all", "send"}));
      assign(measured.devicesPerNode,
             entry.getInteger("devices_per_node", 1, 1 << 20));
      assign(measured.nodes, entry.getInteger("nodes", 1, 1 << 20));
      readCurve(entry, "seconds_by_bytes", 0, measured.bytes, measured.seconds);
      if (measured.bytes.empty() && entry.has("seconds_by_bytes"))
        entry.report("seconds_by_bytes", "needs at least one measurement");
      entry.finish();
      curve.measured.push_back(std::move(measured));
    }
  reader.finish();
}

Network readNetwork(JsonReader reader) {
  Network network;
  assign(network.nics, reader.getInteger("nics", 1, 1 << 20));
  assign(network.bytesPerSecond,
         reader.getNumber("bytes_per_s", minRate, maxRate));
  assign(network.latencySeconds, reader.getNumber("latency_s", 0, 1));
  if (!reader.isAbsent("message_efficiency"))
    assign(network.messageEfficiency,
           reader.getNumber("message_efficiency", 0.001, 1));
  if (!reader.isAbsent("spine"))
    if (std::optional<JsonReader> spine = reader.getObject("spine")) {
      network.spine.emplace();
      assign(network.spine->nodes, spine->getInteger("nodes", 1, 1 << 20));
      assign(network.spine->share, spine->getNumber("share", 0.001, 1));
      spine->finish();
    }
  reader.finish();
  return network;
}

Json printDevice(const Device &device) {
  const PeakRates &peak = device.flopsPerSecond;
  return {{"name", device.name},
          {"compute_capability", device.computeCapability},
          {"multiprocessors", device.multiprocessors},
          {"can_emit", device.canEmit},
          {"memory_bytes", device.memoryBytes},
          {"memory_bytes_per_s", device.memoryBytesPerSecond},
          {"flops_per_s",
           {{"fp64", peak.fp64},
            {"fp32", peak.fp32},
            {"tf32", peak.tf32},
            {"fp16", peak.fp16},
            {"bf16", peak.bf16},
            {"fp8", peak.fp8}}},
          {"transcendentals_per_s", device.transcendentalsPerSecond},
          {"matrix_efficiency", device.matrixEfficiency},
          {"memory_efficiency", device.memoryEfficiency},
          {"tile_overhead", device.tileOverhead},
          {"unaligned_efficiency", device.unalignedEfficiency},
          {productOverheadKeys[0], device.productOverhead[0]},
          {productOverheadKeys[1], device.productOverhead[1]},
          {productOverheadKeys[2], device.productOverhead[2]},
          {"attention_efficiency", device.attentionEfficiency},
          {"attention_gradient_efficiency", device.attentionGradientEfficiency},
          {"attention_scores_per_s", device.attentionScoresPerSecond},
          {"attention_gradient_scores_per_s",
           device.attentionGradientScoresPerSecond},
          {"kernel_gap_s", device.kernelGapSeconds}};
}

Json printNode(const Node &node) {
  Json json;
  json["devices"] = node.devices ? Json(node.devices) : Json(nullptr);
  json["link"] = {{"kind", getName(node.link.kind)},
                  {"bytes_per_s", node.link.bytesPerSecond},
                  {"bytes_per_s_by_devices", node.link.bytesPerSecondByDevices},
                  {"latency_s", node.link.latencySeconds}};
  json["amd_cpu"] = node.hasAmdCpu;
  json["host_memory_bytes"] = node.hostMemoryBytes;
  json["host_memory_bytes_per_s"] = node.hostMemoryBytesPerSecond;
  json["device_host_bytes_per_s"] = node.deviceHostBytesPerSecond;
  json["nvme"] = nullptr;
  if (node.nvme)
    json["nvme"] = {{"bytes", node.nvme->bytes},
                    {"read_bytes_per_s", node.nvme->readBytesPerSecond},
                    {"write_bytes_per_s", node.nvme->writeBytesPerSecond}};
  json["cores"] = node.cores ? Json(node.cores) : Json(nullptr);
  return json;
}

Json toPairs(const std::vector<double> &sizes,
             const std::vector<double> &values) {
  Json pairs = Json::array();
  for (size_t i = 0; i < sizes.size(); ++i)
    pairs.push_back(Json::array({sizes[i], values[i]}));
  return pairs;
}

} // namespace

ClusterDescription parplan::readCluster(JsonReader &reader) {
  ClusterDescription cluster;
  reader.getInteger("format", 1, 1);
  assign(cluster.name, reader.getString("name"));
  if (!reader.isAbsent("title"))
    assign(cluster.title, reader.getString("title"));
  if (std::optional<JsonReader> device = reader.getObject("device"))
    readDevice(*device, cluster.device);
  if (std::optional<JsonReader> node = reader.getObject("node"))
    readNode(*node, cluster.node);
  if (!reader.isAbsent("nodes"))
    cluster.nodes = reader.getInteger("nodes", 1, 1 << 20);
  if (!reader.isAbsent("other_nodes"))
    for (JsonReader &entry : reader.getObjects("other_nodes")) {
      NodeGroup &group = cluster.otherNodes.emplace_back();
      assign(group.nodes, entry.getInteger("nodes", 1, 1 << 20));
      if (std::optional<JsonReader> device = entry.getObject("device"))
        readDevice(*device, group.device);
      if (std::optional<JsonReader> node = entry.getObject("node"))
        readNode(*node, group.node);
      entry.finish();
    }
  if (!reader.isAbsent("network"))
    if (std::optional<JsonReader> network = reader.getObject("network"))
      cluster.network = readNetwork(*network);
  if (std::optional<JsonReader> collectives = reader.getObject("collectives"))
    readCollectives(*collectives, cluster.collectives);
  if (!reader.isAbsent("straggler_deviation"))
    assign(cluster.stragglerDeviation,
           reader.getNumber("straggler_deviation", 0, 1));
  cluster.stack = readStack(reader, "stack");
  if (!reader.isAbsent("sources"))
    assign(cluster.sources, reader.getStrings("sources"));
  reader.finish();
  return cluster;
}

nlohmann::ordered_json parplan::toJson(const ClusterDescription &description) {
  const CollectiveCurve &curve = description.collectives;
  Json measured = Json::array();
  for (const MeasuredCollective &entry : curve.measured)
    measured.push_back(
        {{"kind", entry.kind},
         {"devices_per_node", entry.devicesPerNode},
         {"nodes", entry.nodes},
         {"seconds_by_bytes", toPairs(entry.bytes, entry.seconds)}});
  Json json;
  json["format"] = 1;
  json["name"] = description.name;
  json["title"] = description.title;
  json["device"] = printDevice(description.device);
  json["node"] = printNode(description.node);
  json["nodes"] = description.nodes ? Json(*description.nodes) : Json(nullptr);
  json["other_nodes"] = Json::array();
  for (const NodeGroup &group : description.otherNodes)
    json["other_nodes"].push_back({{"nodes", group.nodes},
                                   {"device", printDevice(group.device)},
                                   {"node", printNode(group.node)}});
  json["network"] = nullptr;
  if (const std::optional<Network> &network = description.network) {
    json["network"] = {{"nics", network->nics},
                       {"bytes_per_s", network->bytesPerSecond},
                       {"latency_s", network->latencySeconds},
                       {"message_efficiency", network->messageEfficiency},
                       {"spine", nullptr}};
    if (network->spine)
      json["network"]["spine"] = {{"nodes", network->spine->nodes},
                                  {"share", network->spine->share}};
  }
  json["collectives"] = {
      {"model",
       curve.model == CollectiveModel::nccl ? "nccl" : "shared-memory"},
      {"factor", curve.factor},
      {"offset_s", curve.offsetSeconds},
      {"network_factors", toPairs(curve.networkBytes, curve.networkFactors)},
      {"interference", curve.interference},
      {"measured", std::move(measured)}};
  json["straggler_deviation"] = description.stragglerDeviation;
  json["stack"] = toJson(description.stack);
  json["sources"] = description.sources;
  return json;
}
