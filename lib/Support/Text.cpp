//===- Text.cpp - Escaping, matching and printing of names ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/Text.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/CheckedMath.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

using namespace parplan;

namespace {

char lower(char character) {
  return character >= 'A' && character <= 'Z' ? char(character + 32)
                                              : character;
}

} // namespace

bool parplan::matchesGlob(std::string_view pattern, std::string_view name) {
  // On a mismatch only the last star needs to take one character more.
  size_t at = 0, in = 0;
  size_t afterStar = std::string_view::npos, retry = 0;
  while (in < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      afterStar = ++at;
      retry = in;
      continue;
    }
    bool escaped = at + 1 < pattern.size() && pattern[at] == '\\';
    if (at < pattern.size() &&
        (escaped ? pattern[at + 1] == name[in]
                 : pattern[at] == '?' || pattern[at] == name[in])) {
      at += escaped ? 2 : 1;
      ++in;
      continue;
    }
    if (afterStar == std::string_view::npos)
      return false;
    at = afterStar;
    in = ++retry;
  }
  while (at < pattern.size() && pattern[at] == '*')
    ++at;
  return at == pattern.size();
}

size_t parplan::editDistance(std::string_view left, std::string_view right) {
  std::vector<size_t> before(right.size() + 1), last(right.size() + 1),
      current(right.size() + 1);
  for (size_t j = 0; j <= right.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= left.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= right.size(); ++j) {
      bool equal = lower(left[i - 1]) == lower(right[j - 1]);
      current[j] = std::min(
          {last[j] + 1, current[j - 1] + 1, last[j - 1] + (equal ? 0 : 1)});
      if (i > 1 && j > 1 && lower(left[i - 1]) == lower(right[j - 2]) &&
          lower(left[i - 2]) == lower(right[j - 1]))
        current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, current);
  }
  return last[right.size()];
}

std::vector<std::string>
parplan::findNearest(std::string_view name,
                     const std::vector<std::string> &candidates, size_t limit) {
  // The table of a distance is quadratic: absurd names have no neighbours.
  if (name.empty() || name.size() > 256)
    return {};
  std::vector<std::pair<size_t, size_t>> found;
  size_t allowed = std::max<size_t>(1, name.size() / 3);
  for (size_t index = 0; index < candidates.size(); ++index) {
    const std::string &candidate = candidates[index];
    if (candidate.size() > name.size() + allowed ||
        name.size() > candidate.size() + allowed)
      continue;
    size_t distance = editDistance(name, candidate);
    if (distance <= allowed)
      found.emplace_back(distance, index);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> nearest;
  for (size_t i = 0; i < std::min(limit, found.size()); ++i)
    nearest.push_back(candidates[found[i].second]);
  return nearest;
}

std::string parplan::suggest(std::string_view name,
                             const std::vector<std::string> &candidates) {
  std::vector<std::string> nearest = findNearest(name, candidates);
  if (nearest.empty())
    return {};
  std::string text = "did you mean ";
  for (size_t i = 0; i < nearest.size(); ++i) {
    if (i)
      text += i + 1 == nearest.size() ? " or " : ", ";
    text += quoteName(nearest[i]);
  }
  return text + "?";
}

std::optional<int64_t> parplan::parseInteger(std::string_view text) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<double> parplan::parseNumber(std::string_view text) {
  double value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() ||
      end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<int64_t> parplan::parseByteSize(std::string_view text) {
  int64_t unit = 1;
  if (!text.empty()) {
    static constexpr std::string_view suffixes = "kmgt";
    size_t power = suffixes.find(lower(text.back()));
    if (power != std::string_view::npos) {
      unit = int64_t{1} << (10 * (power + 1));
      text.remove_suffix(1);
    }
  }
  std::string_view fraction;
  size_t point = text.find('.');
  if (point != std::string_view::npos) {
    fraction = text.substr(point + 1);
    text = text.substr(0, point);
    if (fraction.empty() || fraction.size() > 15)
      return std::nullopt;
  }
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || !std::all_of(text.begin(), text.end(), isDigit) ||
      !std::all_of(fraction.begin(), fraction.end(), isDigit))
    return std::nullopt;
  std::optional<int64_t> whole = parseInteger(text);
  if (!whole)
    return std::nullopt;
  std::optional<int64_t> bytes = checkedMultiply(*whole, unit);
  if (!bytes || fraction.empty())
    return bytes;
  __int128 numerator = *parseInteger(fraction), denominator = 1;
  for (size_t i = 0; i < fraction.size(); ++i)
    denominator *= 10;
  return checkedAdd(*bytes,
                    static_cast<int64_t>(numerator * unit / denominator));
}

std::string parplan::printByteSize(int64_t bytes) {
  static constexpr char suffixes[] = "TGMK";
  for (int i = 0; bytes > 0 && i < 4; ++i) {
    int64_t unit = int64_t{1} << (10 * (4 - i));
    if (bytes % unit == 0)
      return concat(bytes / unit, suffixes[i]);
  }
  return std::to_string(bytes);
}

std::string parplan::formatNumber(double number) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof text, number);
  return std::string(text, end.ptr);
}

std::string parplan::formatBytes(int64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (std::abs(value) >= 1024 && unit < 5) {
    value /= 1024;
    ++unit;
  }
  char text[48];
  std::snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", value,
                units[unit]);
  return text;
}

std::string parplan::formatSeconds(double seconds) {
  static const char *const units[] = {"s", "ms", "us", "ns"};
  int unit = 0;
  while (std::abs(seconds) < 1 && seconds != 0 && unit < 3) {
    seconds *= 1000;
    ++unit;
  }
  char text[48];
  std::snprintf(text, sizeof text, "%.2f %s", seconds, units[unit]);
  return text;
}

std::string parplan::formatSecondsChange(double seconds) {
  return (seconds < 0 ? "-" : "+") + formatSeconds(std::abs(seconds));
}

std::string parplan::padText(std::string text, size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

std::vector<std::string_view> parplan::splitText(std::string_view text,
                                                 char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return parts;
    text.remove_prefix(end + 1);
  }
}

std::string parplan::joinText(const std::vector<std::string> &parts,
                              std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i)
      text += separator;
    text += parts[i];
  }
  return text;
}

std::string_view parplan::trimText(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  size_t first = text.find_first_not_of(space);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}
