//===- Process.h - Running other programs -----------------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_TARGET_PROCESS_H
#define PARPLAN_LIB_TARGET_PROCESS_H

#include <string>
#include <vector>

namespace parplan {

struct ProcessResult {
  /// Of posix_spawn; nothing ran unless 0.
  int startError = 0;
  /// As waitpid gives it.
  int status = 0;
  std::string output;

  bool hasSucceeded() const { return startError == 0 && status == 0; }
};

/// Runs a program, without a shell and without input, and collects what it
/// prints on both streams. `variables` are added to the environment, as
/// NAME=VALUE.
ProcessResult runProcess(const std::vector<std::string> &arguments,
                         const std::vector<std::string> &variables = {});

} // namespace parplan

#endif // PARPLAN_LIB_TARGET_PROCESS_H
