//===- Prediction.cpp - Predictions as documents --------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Simulator/Simulator.h"
#include "parplan/Support/Json.h"

#include <algorithm>

using namespace parplan;

int64_t Prediction::getPeakBytes() const {
  int64_t peak = 0;
  for (const RankPrediction &rank : ranks)
    peak = std::max(peak, rank.peakBytes);
  return peak;
}

/// The least that the arena of a tier could be, and what it is above that, as
/// a share of the least; of the rank with the highest peak.
static void addBound(const RankPrediction &highest, MemoryTier tier,
                     int64_t peakBytes, nlohmann::ordered_json &peaks) {
  // What is predicted is what is touched, which may be less than the arena.
  int64_t bound =
      std::min(highest.lowerBounds[static_cast<size_t>(tier)], peakBytes);
  if (bound <= 0)
    return;
  peaks["lower_bound"] = bound;
  peaks["gap"] =
      static_cast<double>(peakBytes - bound) / static_cast<double>(bound);
}

/// The peaks of a tier, if it is used.
static void addTier(const Prediction &prediction, MemoryTier tier,
                    int64_t RankPrediction::*bytes, const char *key,
                    nlohmann::ordered_json &document) {
  Json peaks = Json::array();
  const RankPrediction *highest = nullptr;
  for (int64_t index = 0; index < prediction.rankCount; ++index) {
    const RankPrediction &rank = prediction.getRank(index);
    peaks.push_back(rank.*bytes);
    if (!highest || rank.*bytes > highest->*bytes)
      highest = &rank;
  }
  if (!highest || highest->*bytes == 0)
    return;
  document[key] = {{"max", highest->*bytes}, {"per_rank", std::move(peaks)}};
  addBound(*highest, tier, highest->*bytes, document[key]);
}

nlohmann::ordered_json parplan::toJson(const Prediction &prediction) {
  Json peaks = Json::array(), counts = Json::array(), digests = Json::array(),
       offload = Json::array();
  for (int64_t index = 0; index < prediction.rankCount; ++index) {
    const RankPrediction &rank = prediction.getRank(index);
    peaks.push_back(rank.peakBytes);
    Json kinds = Json::object();
    for (const auto &[kind, count] : rank.communication)
      kinds[std::string(stringifyCollectiveKind(kind))] = {
          {"calls", count.calls}, {"bytes", count.bytes}};
    counts.push_back(std::move(kinds));
    digests.push_back(rank.orderDigest);
    offload.push_back({{"host_to_device_bytes", rank.offload.hostToDeviceBytes},
                       {"device_to_host_bytes", rank.offload.deviceToHostBytes},
                       {"nvme_read_bytes", rank.offload.nvmeReadBytes},
                       {"nvme_write_bytes", rank.offload.nvmeWriteBytes}});
  }
  // The parts are those of the rank with the highest peak.
  auto highest = std::max_element(
      prediction.ranks.begin(), prediction.ranks.end(),
      [](const RankPrediction &left, const RankPrediction &right) {
        return left.peakBytes < right.peakBytes;
      });
  MemoryByUse memory;
  if (highest != prediction.ranks.end())
    memory = highest->memory;
  nlohmann::ordered_json document = {
      {"peak_memory_bytes",
       {{"max", prediction.getPeakBytes()},
        {"per_rank", std::move(peaks)},
        {"by_kind",
         {{"parameters", memory.parameters},
          {"gradients", memory.gradients},
          {"optimizer", memory.optimizer},
          {"activations", memory.activations},
          {"workspace", memory.workspace}}}}},
      {"communication",
       {{"per_rank", std::move(counts)}, {"order_sha256", std::move(digests)}}},
      {"offload", {{"per_rank", std::move(offload)}}}};
  if (highest != prediction.ranks.end())
    addBound(*highest, MemoryTier::device, highest->peakBytes,
             document["peak_memory_bytes"]);
  addTier(prediction, MemoryTier::host, &RankPrediction::hostPeakBytes,
          "host_peak_memory_bytes", document);
  addTier(prediction, MemoryTier::nvme, &RankPrediction::nvmePeakBytes,
          "nvme_peak_bytes", document);
  return document;
}
