//===- ExternalFiles.h - Files that a model points to -----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_LOAD_EXTERNALFILES_H
#define PARPLAN_LIB_IMPORT_LOAD_EXTERNALFILES_H

#include <cstdint>
#include <optional>
#include <string>

namespace parplan::importer {

/// A location must be a relative path without "..", "." and empty parts.
/// Returns what is wrong with it, as in "has external data at ...", or "".
std::string checkExternalPath(const std::string &location);

/// A regular file below the folder of the model, opened without following any
/// link.
class ExternalFile {
public:
  ~ExternalFile();
  ExternalFile() = default;
  ExternalFile(const ExternalFile &) = delete;
  ExternalFile &operator=(const ExternalFile &) = delete;

  /// On failure returns the reason, else "".
  std::string open(const std::string &modelPath, const std::string &location);

  int64_t getSize() const { return size; }
  /// Reads exactly `length` bytes, or nothing.
  std::optional<std::string> read(int64_t offset, int64_t length) const;

private:
  int file = -1;
  int64_t size = 0;
};

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_LOAD_EXTERNALFILES_H
