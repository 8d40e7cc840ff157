//===- json_text.h - The little JSON that the runtime reads and writes ----===//

#ifndef PARPLAN_RUNTIME_LIB_JSON_TEXT_H
#define PARPLAN_RUNTIME_LIB_JSON_TEXT_H

#include <cstdint>
#include <string>

namespace parplan {
namespace runtime {

/// The text in quotes, escaped.
std::string jsonString(const std::string &text);
/// A number, or null when it is not finite.
std::string jsonNumber(double value);

/// Reads JSON from front to back. After the first thing that is not what was
/// asked for, everything fails.
class JsonReader {
public:
  JsonReader(const char *data, int64_t bytes) : at(data), end(data + bytes) {}

  bool good() const { return !failed; }
  /// Takes the character when it comes next.
  bool take(char character);
  /// Requires the character.
  void expect(char character) { failed |= !take(character); }
  std::string string();
  int64_t integer();
  double number();
  /// Skips one value of any kind, at most 16 levels deep.
  void skip(int depth = 0);
  /// Whether nothing but space is left.
  bool atEnd();

private:
  void space();
  void codePoint(std::string &text);

  const char *at;
  const char *end;
  bool failed = false;
};

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_JSON_TEXT_H
