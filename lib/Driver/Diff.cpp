//===- Diff.cpp - parplan diff --------------------------------------------===//

#include "lib/Driver/Commands.h"
#include "lib/Driver/PlanDifference.h"
#include "lib/Driver/Replay.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include <cmath>

using namespace parplan;

namespace {

std::string formatByteChange(double bytes) {
  return (bytes < 0 ? "-" : "+") + formatBytes(std::llround(std::abs(bytes)));
}

/// Roundings are no difference.
bool isChange(const Change &change) {
  return std::abs(change.get()) >
         1e-9 * std::max(std::abs(change.before), std::abs(change.after));
}

std::string printSeconds(const std::string &label, const Change &change) {
  return padText(label, 26) + padText(formatSeconds(change.before), 12) +
         padText(formatSeconds(change.after), 12) +
         formatSecondsChange(change.get()) + "\n";
}

std::string printBytes(const std::string &label, const Change &change) {
  return padText(label, 26) +
         padText(formatBytes(std::llround(change.before)), 12) +
         padText(formatBytes(std::llround(change.after)), 12) +
         formatByteChange(change.get()) + "\n";
}

std::string printDifference(const Difference &difference) {
  std::string text = "  " + padText(difference.name, 24);
  if (!difference.before.empty() || difference.after.empty())
    text += difference.before.empty() ? "nothing" : difference.before;
  if (!difference.before.empty() || difference.after.empty())
    text += " -> ";
  return text + (difference.after.empty() ? "nothing" : difference.after) +
         "\n";
}

std::string printOperators(const OperatorDifference &group) {
  std::string text = "  " +
                     padText(formatSecondsChange(group.costSeconds), 12) +
                     std::to_string(group.count) + " x " + group.name;
  if (group.op != group.name)
    text += " (" + group.op + ")";
  text += ": " + group.before;
  if (group.before != group.after)
    text += " -> " + group.after;
  std::vector<std::string> parts;
  for (const auto &[what, seconds] : group.breakdown)
    if (std::abs(seconds) > 1e-12)
      parts.push_back(what + " " + formatSecondsChange(seconds));
  if (parts.size() > 1 || (parts.size() == 1 && parts[0].rfind("compute", 0)))
    text += "; " + joinText(parts, ", ");
  return text + "\n";
}

std::string print(const PlanDifference &difference) {
  std::string text =
      padText("", 26) + padText("before", 12) + padText("after", 12) + "\n";
  text += printSeconds("step", difference.stepSeconds);
  for (const auto &[name, change] : difference.breakdown)
    if (isChange(change))
      text += printSeconds("  " + name, change);
  text += printBytes("memory", difference.peakBytes);
  text += printBytes("communication", difference.communicationBytes);

  if (difference.settings.empty() && difference.counts.empty() &&
      difference.operators.empty())
    return text + "the plans do the same\n";
  if (!difference.settings.empty() || !difference.counts.empty())
    text += "what differs\n";
  for (const Difference &entry : difference.settings)
    text += printDifference(entry);
  for (const Difference &entry : difference.counts)
    text += printDifference(entry);

  if (!difference.restSeconds)
    return text + "a plan does not say what its operators take: plan again to "
                  "see what differences cost\n";
  // A screen of them.
  constexpr size_t most = 20;
  if (!difference.operators.empty())
    text += "what operators cost more, or less\n";
  double others = 0;
  for (size_t index = 0; index < difference.operators.size(); ++index) {
    const OperatorDifference &group = difference.operators[index];
    if (index < most)
      text += printOperators(group);
    else
      others += group.costSeconds;
  }
  if (difference.operators.size() > most)
    text += "  " + padText(formatSecondsChange(others), 12) +
            std::to_string(difference.operators.size() - most) +
            " more kinds of operators\n";
  if (std::abs(*difference.restSeconds) >
      1e-9 *
          std::max(difference.stepSeconds.before, difference.stepSeconds.after))
    text += "  " + padText(formatSecondsChange(*difference.restSeconds), 12) +
            "waiting in the pipeline, transfers between tiers, messages of "
            "servers\n";
  return text;
}

Json writeJson(const Change &change) {
  return {{"before", change.before}, {"after", change.after}};
}

Json writeJson(const std::vector<Difference> &differences) {
  Json list = Json::array();
  for (const Difference &difference : differences)
    list.push_back({{"name", difference.name},
                    {"before", difference.before},
                    {"after", difference.after}});
  return list;
}

Json writeJson(const PlanDifference &difference) {
  Json breakdown = Json::object(), operators = Json::array();
  for (const auto &[name, change] : difference.breakdown)
    breakdown[name] = writeJson(change);
  for (const OperatorDifference &group : difference.operators)
    operators.push_back({{"name", group.name},
                         {"op", group.op},
                         {"count", group.count},
                         {"before", group.before},
                         {"after", group.after},
                         {"cost_s", group.costSeconds},
                         {"breakdown_s", Json(group.breakdown)}});
  Json object = {
      {"step_time_s", writeJson(difference.stepSeconds)},
      {"breakdown_s", std::move(breakdown)},
      {"peak_memory_bytes", writeJson(difference.peakBytes)},
      {"communication_bytes", writeJson(difference.communicationBytes)},
      {"settings", writeJson(difference.settings)},
      {"counts", writeJson(difference.counts)},
      {"operators", std::move(operators)}};
  if (difference.restSeconds)
    object["rest_s"] = *difference.restSeconds;
  return object;
}

} // namespace

CommandResult parplan::diffPlans(const std::string &before,
                                 const std::string &after,
                                 DiagnosticEngine &engine) {
  CommandResult result;
  std::optional<PlanFile> first = readPlan(before, engine);
  std::optional<PlanFile> second = readPlan(after, engine);
  if (!first || !second)
    return result;
  if (first->claims.modelSha256 != second->claims.modelSha256) {
    engine.error(codes::planMismatch, Location::inFile(after))
        << "the plan is of a model with SHA-256 "
        << escapeName(second->claims.modelSha256) << ", that of "
        << escapeName(before) << " of one with "
        << escapeName(first->claims.modelSha256);
    return result;
  }
  PlanDifference difference =
      findDifference(PlanField(first->document), PlanField(second->document));
  result.text = print(difference);
  result.document = {{"diff", writeJson(difference)}};
  return result;
}
