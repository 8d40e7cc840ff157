//===- json_text.cpp - The little JSON that the runtime reads and writes --===//

#include "json_text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace parplan {
namespace runtime {

std::string jsonString(const std::string &text) {
  std::string quoted = "\"";
  for (const char c : text) {
    char buffer[8];
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(buffer, sizeof buffer, "\\u%04x", c);
      quoted += buffer;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string jsonNumber(double value) {
  if (!std::isfinite(value))
    return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

void JsonReader::space() {
  while (at != end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
    ++at;
}

bool JsonReader::take(char character) {
  space();
  if (failed || at == end || *at != character)
    return false;
  ++at;
  return true;
}

/// \uXXXX, in UTF-8. Pairs of surrogates do not occur in what is read here;
/// each half becomes three bytes.
void JsonReader::codePoint(std::string &text) {
  unsigned code = 0;
  for (int i = 0; i < 4; ++i) {
    const char *const digits = "0123456789abcdef";
    const char *digit =
        at == end || !*at ? nullptr : std::strchr(digits, *at | 0x20);
    if (!digit) {
      failed = true;
      return;
    }
    code = code * 16 + static_cast<unsigned>(digit - digits);
    ++at;
  }
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

std::string JsonReader::string() {
  std::string text;
  expect('"');
  while (!failed && at != end && *at != '"') {
    if (*at != '\\') {
      text += *at++;
      continue;
    }
    if (++at == end)
      break;
    const char escaped = *at++;
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *known = escaped ? std::strchr(from, escaped) : nullptr;
    if (escaped == 'u')
      codePoint(text);
    else if (known)
      text += to[known - from];
    else
      failed = true;
  }
  expect('"');
  return text;
}

int64_t JsonReader::integer() {
  space();
  const bool negative = at != end && *at == '-';
  if (negative)
    ++at;
  int64_t value = 0;
  failed |= at == end || *at < '0' || *at > '9';
  for (; !failed && at != end && *at >= '0' && *at <= '9'; ++at) {
    failed = value > (int64_t(1) << 58);
    value = value * 10 + (*at - '0');
  }
  return negative ? -value : value;
}

double JsonReader::number() {
  space();
  char text[40] = "";
  size_t length = 0;
  while (at != end && length + 1 < sizeof text && *at &&
         std::strchr("+-0123456789.eE", *at))
    text[length++] = *at++;
  char *stop = nullptr;
  const double value = std::strtod(text, &stop);
  failed |= length == 0 || *stop != 0;
  return value;
}

void JsonReader::skip(int depth) {
  if (depth > 16)
    failed = true;
  space();
  if (failed || at == end) {
    failed = true;
  } else if (*at == '"') {
    string();
  } else if (*at == '{' || *at == '[') {
    const bool object = *at == '{';
    const char close = *at++ == '{' ? '}' : ']';
    if (take(close))
      return;
    do {
      if (object) {
        string();
        expect(':');
      }
      skip(depth + 1);
    } while (good() && take(','));
    expect(close);
  } else {
    const char *const from = at;
    while (at != end && *at &&
           std::strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", *at))
      ++at;
    failed |= at == from;
  }
}

bool JsonReader::atEnd() {
  space();
  return at == end;
}

} // namespace runtime
} // namespace parplan
