//===- Escape.cpp - Making text from files fit to print -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/Text.h"

#include <cstdio>

using namespace parplan;

namespace {

struct CodePoint {
  uint32_t value;
  /// Bytes taken; 0 if the text does not go on with well-formed UTF-8.
  size_t size;
};

CodePoint decode(std::string_view text) {
  auto byte = [&](size_t index) -> uint32_t {
    return index < text.size() ? static_cast<uint8_t>(text[index]) : 0;
  };
  auto isTail = [&](size_t index) { return (byte(index) & 0xC0) == 0x80; };
  uint32_t first = byte(0);
  if (first < 0x80)
    return {first, 1};
  size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || size > text.size())
    return {0, 0};
  uint32_t value = first & (0xFF >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if (!isTail(i))
      return {0, 0};
    value = value << 6 | (byte(i) & 0x3F);
  }
  static constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < least[size] || value > 0x10FFFF ||
      (value >= 0xD800 && value <= 0xDFFF))
    return {0, 0};
  return {value, size};
}

/// Controls, line separators, and what reorders or hides its neighbours.
bool isTreacherous(uint32_t value) {
  return value < 0x20 || (value >= 0x7F && value < 0xA0) || value == 0xAD ||
         value == 0x61C || (value >= 0x200B && value <= 0x200F) ||
         (value >= 0x2028 && value <= 0x202E) ||
         (value >= 0x2060 && value <= 0x206F) || value == 0xFEFF ||
         (value >= 0xE0000 && value <= 0xE007F);
}

void appendEscape(std::string &out, uint32_t value) {
  char text[16];
  if (value == '\n')
    out += "\\n";
  else if (value == '\t')
    out += "\\t";
  else if (value == '\r')
    out += "\\r";
  else {
    std::snprintf(text, sizeof text, value < 0x100 ? "\\x%02x" : "\\u{%x}",
                  value);
    out += text;
  }
}

/// Every source character becomes itself or one escape.
std::string escape(std::string_view text, bool isName) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    CodePoint point = decode(text);
    if (point.size == 0) {
      appendEscape(out, static_cast<uint8_t>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    if (isTreacherous(point.value)) {
      appendEscape(out, point.value);
    } else {
      if (isName && (point.value == '\\' || point.value == '\''))
        out += '\\';
      out += text.substr(0, point.size);
    }
    text.remove_prefix(point.size);
  }
  return out;
}

/// Moves a cut back to the start of a character.
size_t floorToCharacter(std::string_view text, size_t position) {
  size_t steps = 0;
  while (position > 0 && position < text.size() && steps < 3 &&
         (static_cast<uint8_t>(text[position]) & 0xC0) == 0x80) {
    --position;
    ++steps;
  }
  return position;
}

} // namespace

std::string parplan::sanitize(std::string_view text) {
  return escape(text, /*isName=*/false);
}

std::string parplan::escapeName(std::string_view name, size_t limit) {
  if (name.size() <= limit)
    return escape(name, /*isName=*/true);
  // The beginning tells the scope, the end the op; both are kept.
  size_t head = floorToCharacter(name, limit / 2);
  size_t tail = floorToCharacter(name, name.size() - limit / 2);
  return escape(name.substr(0, head), /*isName=*/true) + "..." +
         escape(name.substr(tail), /*isName=*/true);
}

std::string parplan::quoteName(std::string_view name) {
  return "'" + escapeName(name) + "'";
}

std::string parplan::cStringLiteral(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<uint8_t>(text[i]);
    bool trigraph = byte == '?' && i > 0 && text[i - 1] == '?';
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[i];
    } else if (byte < 0x20 || byte >= 0x7F || trigraph) {
      // Three octal digits end an escape whatever follows.
      char digits[8];
      std::snprintf(digits, sizeof digits, "\\%03o", byte);
      out += digits;
    } else {
      out += text[i];
    }
  }
  return out + "\"";
}

bool parplan::isUtf8(std::string_view text) {
  while (!text.empty()) {
    CodePoint point = decode(text);
    if (point.size == 0)
      return false;
    text.remove_prefix(point.size);
  }
  return true;
}
