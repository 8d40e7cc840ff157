//===- metrics.cpp - The metrics document ---------------------------------===//

#include "metrics.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace parplan {
namespace runtime {

RankReport reportOf(EngineRank &rank, const World &world,
                    const std::string &order) {
  RankReport report;
  for (int tier = 0; tier < memoryTiers; ++tier)
    report.peakBytes[tier] = rank.peakBytes(static_cast<MemoryTier>(tier));
  for (int kind = 0; kind < transferKinds; ++kind)
    report.transferred[kind] =
        rank.transferred(static_cast<TransferKind>(kind));
  for (int kind = 0; kind < callKinds; ++kind)
    report.communication[kind] = rank.callCount(static_cast<CallKind>(kind));
  report.gathered = world.gathered;
  report.broadcasted = world.broadcasted;
  report.heard = world.heard;
  std::strncpy(report.order, order.c_str(), sizeof report.order - 1);
  return report;
}

namespace {

std::string countText(const char *name, const CallCount &count) {
  return std::string("\"") + name +
         "\":{\"calls\":" + std::to_string(count.calls) +
         ",\"bytes\":" + std::to_string(count.bytes) + "}";
}

/// null when it is not finite: JSON has no such numbers.
std::string numberText(double value) {
  if (!std::isfinite(value))
    return "null";
  char number[32];
  std::snprintf(number, sizeof number, "%.9g", value);
  return number;
}

template <typename Number>
std::string listText(const std::vector<Number> &numbers) {
  std::string text = "[";
  for (Number number : numbers)
    text += (text.size() > 1 ? "," : "") + numberText(number);
  return text + "]";
}

/// "[" + the text of each report, separated + "]".
template <typename Text>
std::string perRank(const Metrics &metrics, Text text) {
  std::string list = "[";
  for (const RankReport &report : metrics.reports)
    list += (list.size() > 1 ? "," : "") + text(report);
  return list + "]";
}

/// "[" + rows of `width` numbers, the last one of what is left + "]".
template <typename Number>
std::string rowsText(const std::vector<Number> &numbers, size_t width) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i % width != 0 ? ","
             : i == 0       ? "["
                            : ",[") +
            std::to_string(numbers[i]) +
            (i % width + 1 == width || i + 1 == numbers.size() ? "]" : "");
  return text + "]";
}

std::string document(const Metrics &metrics) {
  std::string text =
      "{\"format\":1, \"ranks\":" + std::to_string(metrics.ranks) +
      ", \"steps\":" + std::to_string(metrics.stepSeconds.size()) +
      ", \"mode\":\"" + (metrics.training ? "train" : "inference") + "\",\n";
  if (!metrics.failure.empty()) {
    text += " \"failure\":\"";
    for (char c : metrics.failure) {
      if (c == '"' || c == '\\')
        text += '\\';
      text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    text += "\",\n";
  }
  if (metrics.training) {
    double seconds = 0;
    for (double step : metrics.stepSeconds)
      seconds += step;
    const double samples = static_cast<double>(metrics.samplesPerStep) *
                           static_cast<double>(metrics.stepSeconds.size());
    text += " \"first_step\":" + std::to_string(metrics.firstStep) +
            ", \"skipped_steps\":" + std::to_string(metrics.skippedSteps) +
            ", \"samples_per_second\":" +
            numberText(seconds > 0 ? samples / seconds : 0.0) + ",\n";
  }
  const ApplicationLog &log = metrics.applications;
  if (log.workers > 0)
    text +=
        " \"parameter_server\":{\"workers\":" + std::to_string(log.workers) +
        ",\"order\":" + rowsText(log.order, static_cast<size_t>(log.workers)) +
        ",\"seen\":" + rowsText(log.seen, static_cast<size_t>(log.workers)) +
        "},\n";
  text += " \"loss\":" + listText(metrics.losses) +
          ",\n \"gradient_norm\":" + listText(metrics.gradientNorms) +
          ",\n \"step_time_s\":" + listText(metrics.stepSeconds);
  const char *const peaks[memoryTiers] = {
      "peak_memory_bytes", "host_peak_memory_bytes", "nvme_peak_bytes"};
  for (int tier = 0; tier < memoryTiers; ++tier)
    text += std::string(tier ? ", \"" : ",\n \"") + peaks[tier] +
            "\":{\"per_rank\":" +
            perRank(metrics,
                    [tier](const RankReport &report) {
                      return std::to_string(report.peakBytes[tier]);
                    }) +
            "}";
  text += ",\n";
  text += " \"communication\":{\"per_rank\":" +
          perRank(metrics,
                  [](const RankReport &report) {
                    std::string entries = "{";
                    for (int kind = 0; kind < callKinds; ++kind)
                      if (report.communication[kind].calls > 0)
                        entries +=
                            (entries.size() > 1 ? "," : "") +
                            countText(callName(static_cast<CallKind>(kind)),
                                      report.communication[kind]);
                    return entries + "}";
                  }) +
          ",\n  \"order_sha256\":" +
          perRank(metrics,
                  [](const RankReport &report) {
                    return "\"" + std::string(report.order) + "\"";
                  }) +
          "},\n";
  text += " \"service\":{\"per_rank\":" +
          perRank(metrics,
                  [](const RankReport &report) {
                    std::string entries =
                        "{" + countText("gather", report.gathered);
                    if (report.broadcasted.calls > 0)
                      entries +=
                          "," + countText("broadcast", report.broadcasted);
                    if (report.heard.calls > 0)
                      entries += "," + countText("note", report.heard);
                    return entries + "}";
                  }) +
          "},\n";
  text += " \"offload\":{\"per_rank\":" +
          perRank(metrics,
                  [](const RankReport &report) {
                    std::string entries = "{";
                    for (int kind = 0; kind < transferKinds; ++kind)
                      entries +=
                          std::string(kind ? ",\"" : "\"") +
                          transferName(static_cast<TransferKind>(kind)) +
                          "\":" + std::to_string(report.transferred[kind]);
                    return entries + "}";
                  }) +
          "}}\n";
  return text;
}

} // namespace

bool writeMetrics(const std::string &path, const Metrics &metrics) {
  const std::string text = document(metrics);
  const std::string temporary = path + ".partial";
  std::FILE *file = std::fopen(temporary.c_str(), "wb");
  if (!file)
    return false;
  bool good = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  good &= std::fclose(file) == 0;
  good = good && std::rename(temporary.c_str(), path.c_str()) == 0;
  if (!good)
    unlink(temporary.c_str());
  return good;
}

} // namespace runtime
} // namespace parplan
