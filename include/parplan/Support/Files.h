//===- Files.h - Whole files, written whole or not at all -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_SUPPORT_FILES_H
#define PARPLAN_SUPPORT_FILES_H

#include "parplan/Support/Diagnostics.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parplan {

/// 74 where the device failed or is full, 73 where the path cannot be written.
ExitCode getWriteExitCode(int errorNumber);

/// Reports that writing `path` failed, with the code that goes with
/// `errorNumber`.
void reportWriteError(DiagnosticEngine &engine, const std::string &path,
                      int errorNumber);

/// The bytes of a regular file or pipe, at most `maxBytes`. Reports `code`
/// (and exit code 66) if it cannot be read or is larger.
std::optional<std::string> readFile(const std::string &path,
                                    const DiagnosticCode &code,
                                    DiagnosticEngine &engine,
                                    int64_t maxBytes = int64_t{1} << 30);

/// Whether `writeFileAtomically` can make a file beside `path`, before what it
/// is to hold is known. False, with diagnostics, if not.
bool canWriteFile(const std::string &path, DiagnosticEngine &engine);

/// Writes a file beside `path` and renames it: `path` has the old content or
/// the new one. False, with diagnostics, if it could not.
bool writeFileAtomically(const std::string &path, std::string_view content,
                         DiagnosticEngine &engine);

/// A directory that appears whole or not at all. Files are made in `getPath`,
/// a temporary directory beside the target; `commit` puts it in its place.
/// Without `commit` nothing is left behind, parents made on the way included.
class OutputDirectory {
public:
  /// Replacing an existing target is allowed if it is an empty directory or
  /// holds a file `marker`, the sign that it is an earlier output.
  static std::optional<OutputDirectory> create(const std::string &target,
                                               const std::string &marker,
                                               DiagnosticEngine &engine);
  OutputDirectory(OutputDirectory &&other) noexcept;
  OutputDirectory &operator=(OutputDirectory &&other) = delete;
  ~OutputDirectory() { discard(); }

  /// Where to write until `commit`, and where the files are afterwards.
  const std::string &getPath() const { return path; }
  const std::string &getTarget() const { return target; }

  bool writeFile(const std::string &name, std::string_view content,
                 DiagnosticEngine &engine);
  bool commit(DiagnosticEngine &engine);
  void discard();

  /// Removes all that is not committed. For handlers that end the process.
  static void discardAll();

private:
  OutputDirectory() = default;

  std::string target;
  std::string marker;
  std::string path;
  /// Directories made for `target`, outermost first.
  std::vector<std::string> madeParents;
  bool isPending = false;
};

} // namespace parplan

#endif // PARPLAN_SUPPORT_FILES_H
