//===- Diagnostics.cpp - What is wrong with the user's input --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/Diagnostics.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include <nlohmann/json.hpp>

using namespace parplan;

namespace {

constexpr DiagnosticCode rows[] = {
#define DIAGNOSTIC(number, identifier, exitCode, title)                        \
  {number, ExitCode::exitCode, title},
#include "parplan/Support/Diagnostics.def"
};

constexpr bool isAscending() {
  int last = 1000;
  for (const DiagnosticCode &row : rows) {
    if (row.number <= last || row.number > 9999)
      return false;
    last = row.number;
  }
  return true;
}
static_assert(isAscending(), "Diagnostics.def: rows in ascending order, no "
                             "number twice, from 1001 to 9999");

std::string_view getSeverityName(Severity severity) {
  return severity == Severity::error ? "error" : "warning";
}

std::string paint(const RenderOptions &options, const char *style,
                  std::string_view text) {
  if (!options.color)
    return std::string(text);
  return concat("\033[", style, "m", text, "\033[0m");
}

std::string prefix(const Location &location) {
  return location.empty() ? std::string() : location.print() + ": ";
}

void addLocation(nlohmann::ordered_json &object, const Location &location) {
  // `sanitize` also makes the text valid UTF-8, which JSON needs.
  if (!location.file.empty())
    object["file"] = sanitize(location.file);
  if (location.node) {
    object["node"] = *location.node;
    object["node_name"] = sanitize(location.nodeName);
    object["op"] = sanitize(location.opType);
  }
  if (location.line)
    object["line"] = *location.line;
  if (location.column)
    object["column"] = *location.column;
}

} // namespace

std::string_view parplan::getPhaseName(const DiagnosticCode &code) {
  switch (code.number / 1000) {
  case 1:
    return "options";
  case 2:
    return "import";
  case 3:
    return "simplify";
  case 4:
    return "plan";
  case 5:
    return "partition";
  case 6:
    return "emit";
  case 7:
    return "runtime";
  default:
    return "internal";
  }
}

const std::vector<DiagnosticCode> &parplan::getDiagnosticCatalogue() {
  static const std::vector<DiagnosticCode> catalogue(std::begin(rows),
                                                     std::end(rows));
  return catalogue;
}

Location Location::atNode(std::string file, int64_t node, std::string nodeName,
                          std::string opType) {
  Location location = inFile(std::move(file));
  location.node = node;
  location.nodeName = std::move(nodeName);
  location.opType = std::move(opType);
  return location;
}

Location Location::atLine(std::string file, int64_t line, int64_t column) {
  Location location = inFile(std::move(file));
  location.line = line;
  location.column = column;
  return location;
}

std::string Location::print() const {
  std::string text = sanitize(file);
  if (line)
    text += concat(":", *line);
  if (line && column)
    text += concat(":", *column);
  if (node) {
    if (!text.empty())
      text += ": ";
    text += concat("node ", *node);
    if (!nodeName.empty())
      text += concat(" ", quoteName(nodeName));
    if (!opType.empty())
      text += concat(" (", escapeName(opType), ")");
  }
  return text;
}

Diagnostic &DiagnosticEngine::add(Severity severity,
                                  const DiagnosticCode &code) {
  if (severity == Severity::error) {
    ++errorCount;
    if (!exitCode && diagnostics.size() >= limit)
      exitCode = code.exitCode;
  }
  Diagnostic made{severity, code, {}, {}, {}, {}, code.exitCode};
  if (diagnostics.size() >= limit) {
    ++droppedCount;
    overflow = std::move(made);
    return overflow;
  }
  diagnostics.push_back(std::move(made));
  return diagnostics.back();
}

DiagnosticBuilder DiagnosticEngine::error(const DiagnosticCode &code) {
  return DiagnosticBuilder(add(Severity::error, code));
}

DiagnosticBuilder DiagnosticEngine::error(const DiagnosticCode &code,
                                          Location location) {
  DiagnosticBuilder builder = error(code);
  builder.at(std::move(location));
  return builder;
}

DiagnosticBuilder DiagnosticEngine::warning(const DiagnosticCode &code) {
  return DiagnosticBuilder(add(Severity::warning, code));
}

ExitCode DiagnosticEngine::getExitCode() const {
  ExitCode first = exitCode.value_or(ExitCode::done);
  bool found = false;
  for (const Diagnostic &diagnostic : diagnostics) {
    if (diagnostic.severity != Severity::error)
      continue;
    if (diagnostic.exitCode == ExitCode::internalError)
      return ExitCode::internalError;
    if (!found)
      first = diagnostic.exitCode;
    found = true;
  }
  return first;
}

void DiagnosticEngine::append(DiagnosticEngine &&other) {
  for (Diagnostic &diagnostic : other.diagnostics) {
    Diagnostic &made = add(diagnostic.severity, diagnostic.code);
    made = std::move(diagnostic);
  }
  size_t keptErrors = 0;
  for (const Diagnostic &diagnostic : other.diagnostics)
    keptErrors += diagnostic.severity == Severity::error;
  errorCount += other.errorCount - keptErrors;
  droppedCount += other.droppedCount;
  if (!exitCode)
    exitCode = other.exitCode;
  other.clear();
}

void DiagnosticEngine::clear() {
  diagnostics.clear();
  exitCode.reset();
  errorCount = 0;
  droppedCount = 0;
}

std::string parplan::renderDiagnostic(const Diagnostic &diagnostic,
                                      const RenderOptions &options) {
  bool isError = diagnostic.severity == Severity::error;
  std::string text = diagnostic.location.empty() ? options.program
                                                 : diagnostic.location.print();
  text += ": ";
  text += paint(options, isError ? "1;31" : "1;35",
                concat(getSeverityName(diagnostic.severity), "[",
                       diagnostic.code.getName(), "]"));
  text += concat(": ", sanitize(diagnostic.message), "\n");
  for (const DiagnosticNote &note : diagnostic.notes)
    text += concat(prefix(note.location), paint(options, "1;36", "note"), ": ",
                   sanitize(note.message), "\n");
  for (const std::string &help : diagnostic.helps)
    text += concat(paint(options, "1;32", "help"), ": ", sanitize(help), "\n");
  return text;
}

std::string DiagnosticEngine::render(const RenderOptions &options) const {
  std::string text;
  for (const Diagnostic &diagnostic : diagnostics)
    text += renderDiagnostic(diagnostic, options);
  if (droppedCount)
    text += concat(options.program, ": ", droppedCount,
                   " further diagnostics are not shown\n");
  return text;
}

nlohmann::ordered_json parplan::toJson(const Diagnostic &diagnostic) {
  nlohmann::ordered_json object;
  object["severity"] = getSeverityName(diagnostic.severity);
  object["code"] = diagnostic.code.getName();
  object["phase"] = getPhaseName(diagnostic.code);
  object["title"] = diagnostic.code.title;
  addLocation(object, diagnostic.location);
  object["message"] = sanitize(diagnostic.message);
  object["notes"] = nlohmann::ordered_json::array();
  for (const DiagnosticNote &note : diagnostic.notes) {
    nlohmann::ordered_json entry;
    addLocation(entry, note.location);
    entry["message"] = sanitize(note.message);
    object["notes"].push_back(std::move(entry));
  }
  object["helps"] = nlohmann::ordered_json::array();
  for (const std::string &help : diagnostic.helps)
    object["helps"].push_back(sanitize(help));
  object["exit_code"] = static_cast<int>(diagnostic.exitCode);
  return object;
}

nlohmann::ordered_json DiagnosticEngine::toJson() const {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const Diagnostic &diagnostic : diagnostics)
    array.push_back(parplan::toJson(diagnostic));
  return array;
}
