//===- Names.cpp - Schedules and passes as text ---------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Pipeline/Schedule.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

#include <algorithm>
#include <sstream>

using namespace parplan;

namespace {

std::string_view getName(ScheduleKind kind) {
  switch (kind) {
  case ScheduleKind::gpipe:
    return "gpipe";
  case ScheduleKind::oneForwardOneBackward:
    return "1f1b";
  case ScheduleKind::oneForwardOneBackwardEager:
    return "1f1b-eager";
  case ScheduleKind::interleaved:
    return "interleaved";
  case ScheduleKind::zbH1:
    return "zb-h1";
  case ScheduleKind::zbH2:
    return "zb-h2";
  case ScheduleKind::zbV:
    return "zb-v";
  case ScheduleKind::vHalf:
    return "v-half";
  case ScheduleKind::vMin:
    return "v-min";
  case ScheduleKind::forwardOnly:
    return "forward-only";
  }
  PARPLAN_UNREACHABLE("kind of schedule ", static_cast<int>(kind));
}

std::string_view getName(PassKind kind) {
  switch (kind) {
  case PassKind::forward:
    return "F";
  case PassKind::backward:
    return "B";
  case PassKind::inputGradient:
    return "BI";
  case PassKind::weightGradient:
    return "BW";
  }
  PARPLAN_UNREACHABLE("kind of pass ", static_cast<int>(kind));
}

} // namespace

std::string parplan::printScheduleName(ScheduleKind kind, int64_t chunks) {
  bool saysChunks = kind == ScheduleKind::interleaved ||
                    (kind == ScheduleKind::forwardOnly && chunks > 1);
  return saysChunks ? concat(getName(kind), ':', chunks)
                    : std::string(getName(kind));
}

std::optional<ScheduleName> parplan::parseScheduleName(std::string_view name) {
  size_t colon = name.find(':');
  for (ScheduleKind kind : getScheduleKinds()) {
    if (name.substr(0, colon) != getName(kind))
      continue;
    int64_t required = getRequiredChunks(kind);
    if (colon == std::string_view::npos) {
      if (required == 0)
        return std::nullopt;
      return ScheduleName{kind, required < 0 ? 1 : required};
    }
    std::optional<int64_t> chunks = parseInteger(name.substr(colon + 1));
    if (!chunks || *chunks < 1 || required > 0)
      return std::nullopt;
    return ScheduleName{kind, *chunks};
  }
  return std::nullopt;
}

std::vector<std::string> parplan::getScheduleNames() {
  std::vector<std::string> names;
  for (ScheduleKind kind : getScheduleKinds())
    names.push_back(
        printScheduleName(kind, kind == ScheduleKind::interleaved ? 2 : 1));
  return names;
}

std::string parplan::printPass(const ScheduleShape &shape, const Pass &pass) {
  std::string text = concat(getName(pass.kind), pass.microBatch);
  return shape.chunks > 1 ? concat(text, '.', pass.chunk) : text;
}

static std::optional<Pass> parsePass(const ScheduleShape &shape,
                                     std::string_view text) {
  size_t digits = text.find_first_of("0123456789");
  if (digits == std::string_view::npos)
    return std::nullopt;
  constexpr PassKind kinds[] = {PassKind::forward, PassKind::backward,
                                PassKind::inputGradient,
                                PassKind::weightGradient};
  const auto *kind =
      std::find_if(std::begin(kinds), std::end(kinds), [&](PassKind other) {
        return getName(other) == text.substr(0, digits);
      });
  size_t point = text.find('.');
  std::optional<int64_t> batch = parseInteger(text.substr(
      digits, point == std::string_view::npos ? std::string_view::npos
                                              : point - digits));
  std::optional<int64_t> chunk = point == std::string_view::npos
                                     ? 0
                                     : parseInteger(text.substr(point + 1));
  if (kind == std::end(kinds) || !batch || *batch < 0 ||
      *batch >= shape.microBatches || !chunk || *chunk < 0 ||
      *chunk >= shape.chunks)
    return std::nullopt;
  return Pass{*kind, *batch, *chunk};
}

std::optional<PipelineSchedule>
parplan::parseSchedule(const ScheduleShape &shape,
                       const std::vector<std::string> &positions) {
  PipelineSchedule schedule{shape, {}};
  for (const std::string &position : positions) {
    std::vector<Pass> &passes = schedule.passes.emplace_back();
    std::istringstream words(position);
    for (std::string word; words >> word;) {
      std::optional<Pass> pass = parsePass(shape, word);
      if (!pass)
        return std::nullopt;
      passes.push_back(*pass);
    }
  }
  return schedule;
}

std::string parplan::printSchedule(const PipelineSchedule &schedule) {
  std::string text;
  for (size_t position = 0; position != schedule.passes.size(); ++position) {
    text += concat(position, ':');
    for (const Pass &pass : schedule.passes[position])
      text += ' ' + printPass(schedule.shape, pass);
    text += '\n';
  }
  return text;
}
