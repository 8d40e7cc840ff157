//===- Json.h - Reading documents with every field checked ------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SUPPORT_JSON_H
#define PARPLAN_SUPPORT_JSON_H

#include "parplan/Support/Diagnostics.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace parplan {

using Json = nlohmann::ordered_json;

/// Parses a document of at most 100 levels. Reports `code` at line and column.
std::optional<Json> parseJson(std::string_view text, const std::string &file,
                              const DiagnosticCode &code,
                              DiagnosticEngine &engine);

/// Pretty-printed, in the order of insertion, ends with a line end. Never
/// fails: bytes that are not UTF-8 are replaced.
std::string printJson(const Json &value);

/// Reads the fields of one object and reports what is wrong with them as
///   FILE: error[CODE]: field 'device.memory_bytes': -3 is not ...
/// Every `get` returns none after reporting. `finish` reports the fields that
/// nobody asked for. All problems of a document come out in one go.
class JsonReader {
public:
  /// `path` names `value` in messages: empty for the document.
  JsonReader(const Json &value, std::string file, std::string path,
             const DiagnosticCode &code, DiagnosticEngine &engine);

  bool has(const std::string &key) const;
  /// True also if the field is null.
  bool isAbsent(const std::string &key);
  bool isString(const std::string &key);

  std::optional<std::string> getString(const std::string &key);
  std::optional<std::string> getChoice(const std::string &key,
                                       const std::vector<std::string> &choices);
  std::optional<bool> getBool(const std::string &key);
  /// Limits are inclusive.
  std::optional<int64_t>
  getInteger(const std::string &key, int64_t least = 0,
             int64_t most = std::numeric_limits<int64_t>::max());
  std::optional<double>
  getNumber(const std::string &key, double least = 0,
            double most = std::numeric_limits<double>::max());
  /// A list of whole numbers, each within the limits.
  std::optional<std::vector<int64_t>>
  getIntegers(const std::string &key, int64_t least = 0,
              int64_t most = std::numeric_limits<int64_t>::max());
  /// A list of numbers, each within the limits.
  std::optional<std::vector<double>>
  getNumbers(const std::string &key, double least = 0,
             double most = std::numeric_limits<double>::max());
  std::optional<std::vector<std::string>> getStrings(const std::string &key);
  /// A list of lists of two numbers that are not negative; empty after a
  /// report.
  std::vector<std::vector<double>> getPairs(const std::string &key);
  std::optional<JsonReader> getObject(const std::string &key);
  std::vector<JsonReader> getObjects(const std::string &key);

  /// Takes note of a field that has no reader.
  void ignore(const std::string &key) { asked.insert(key); }
  /// Reports fields that were not asked for.
  void finish();

  /// Reports a fault of a field in the reader's form.
  void report(const std::string &key, const std::string &message);
  std::string getFieldPath(const std::string &key) const;

private:
  const Json *find(const std::string &key);

  const Json *value;
  std::string file;
  std::string path;
  const DiagnosticCode *code;
  DiagnosticEngine *engine;
  std::set<std::string> asked;
};

} // namespace parplan

#endif // PARPLAN_SUPPORT_JSON_H
