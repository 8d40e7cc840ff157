//===- Diagnostics.h - What is wrong with the user's input ------*- C++ -*-===//
//
// Part of parplan.
//
// A phase reports everything it finds to one DiagnosticEngine and then asks
// `hasErrors`. The text form of one diagnostic is
//
//   model.onnx: node 412 '/h.3/mlp/MatMul' (MatMul): error[E2107]: message
//   note: message
//   help: message
//
// The codes are in DiagnosticCodes.h, which only sources include, so that a
// new row rebuilds little.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SUPPORT_DIAGNOSTICS_H
#define PARPLAN_SUPPORT_DIAGNOSTICS_H

#include "parplan/Support/Check.h"
#include "parplan/Support/ExitCode.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parplan {

/// A row of the catalogue.
struct DiagnosticCode {
  /// 2107 for E2107; the thousands are the phase.
  int number;
  ExitCode exitCode;
  const char *title;

  std::string getName() const { return "E" + std::to_string(number); }
};

/// "options", "import", ...: the phase of a code.
std::string_view getPhaseName(const DiagnosticCode &code);

/// All rows, in ascending order of their numbers.
const std::vector<DiagnosticCode> &getDiagnosticCatalogue();

enum class Severity { error, warning };

/// Where something is; every part may be absent. Names are as in the file:
/// rendering escapes them.
struct Location {
  std::string file;
  /// Index of an ONNX node, with its name and operator.
  std::optional<int64_t> node = std::nullopt;
  std::string nodeName = {};
  std::string opType = {};
  /// Line and column of a text file, from 1.
  std::optional<int64_t> line = std::nullopt;
  std::optional<int64_t> column = std::nullopt;

  static Location inFile(std::string file) { return {std::move(file)}; }
  static Location atNode(std::string file, int64_t node, std::string nodeName,
                         std::string opType);
  static Location atLine(std::string file, int64_t line, int64_t column);

  bool empty() const { return file.empty() && !node; }
  /// `model.onnx: node 412 '/h.3' (MatMul)`, `a.json:3:7`; empty if unknown.
  std::string print() const;
};

struct DiagnosticNote {
  std::string message;
  Location location;
};

struct Diagnostic {
  Severity severity;
  DiagnosticCode code;
  Location location;
  std::string message;
  std::vector<DiagnosticNote> notes;
  std::vector<std::string> helps;
  ExitCode exitCode;
};

/// Fills in one diagnostic of an engine. Use it in the statement that made it.
class DiagnosticBuilder {
public:
  explicit DiagnosticBuilder(Diagnostic &diagnostic)
      : diagnostic(&diagnostic) {}

  DiagnosticBuilder &at(Location location) {
    diagnostic->location = std::move(location);
    return *this;
  }
  /// Appends text, a character or a number to the message. Names from files
  /// go through `quoteName` of Text.h.
  template <typename Part> DiagnosticBuilder &operator<<(const Part &part) {
    detail::appendMessage(diagnostic->message, part);
    return *this;
  }
  DiagnosticBuilder &note(std::string message, Location location = {}) {
    diagnostic->notes.push_back({std::move(message), std::move(location)});
    return *this;
  }
  /// Says what to do about it. An empty message adds nothing.
  DiagnosticBuilder &help(std::string message) {
    if (!message.empty())
      diagnostic->helps.push_back(std::move(message));
    return *this;
  }
  /// Instead of the exit code of the catalogue.
  DiagnosticBuilder &exitWith(ExitCode exitCode) {
    diagnostic->exitCode = exitCode;
    return *this;
  }

private:
  Diagnostic *diagnostic;
};

struct RenderOptions {
  bool color = false;
  /// Stands where a diagnostic has no location.
  std::string program = "parplan";
};

/// Collects the diagnostics of a phase, in the order of reporting. Not safe
/// for use by several threads: each collects its own, then `append`.
class DiagnosticEngine {
public:
  /// At most `limit` diagnostics are kept; the rest is counted.
  explicit DiagnosticEngine(size_t limit = 200) : limit(limit) {}

  DiagnosticBuilder error(const DiagnosticCode &code);
  DiagnosticBuilder warning(const DiagnosticCode &code);
  /// `error(code).at(location)`.
  DiagnosticBuilder error(const DiagnosticCode &code, Location location);

  bool hasErrors() const { return errorCount != 0; }
  size_t getErrorCount() const { return errorCount; }
  /// Diagnostics beyond the limit.
  size_t getDroppedCount() const { return droppedCount; }
  const std::deque<Diagnostic> &getDiagnostics() const { return diagnostics; }

  /// `done` without errors; else 70 if any error is internal, else the exit
  /// code of the first error.
  ExitCode getExitCode() const;

  /// Moves the diagnostics of `other` behind the own ones.
  void append(DiagnosticEngine &&other);
  void clear();

  /// Text form: one line per diagnostic, note and help.
  std::string render(const RenderOptions &options = {}) const;
  /// An array of objects, as in docs/schema/diagnostics.schema.json.
  nlohmann::ordered_json toJson() const;

private:
  Diagnostic &add(Severity severity, const DiagnosticCode &code);

  std::deque<Diagnostic> diagnostics;
  /// Takes what is beyond the limit.
  Diagnostic overflow{};
  std::optional<ExitCode> exitCode;
  size_t limit;
  size_t errorCount = 0;
  size_t droppedCount = 0;
};

std::string renderDiagnostic(const Diagnostic &diagnostic,
                             const RenderOptions &options = {});
nlohmann::ordered_json toJson(const Diagnostic &diagnostic);

} // namespace parplan

#endif // PARPLAN_SUPPORT_DIAGNOSTICS_H
