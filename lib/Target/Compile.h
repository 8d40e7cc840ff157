//===- Compile.h - Running the compiler on an emitted program ---*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_TARGET_COMPILE_H
#define PARPLAN_LIB_TARGET_COMPILE_H

#include "parplan/Support/Diagnostics.h"

#include <optional>
#include <string>
#include <vector>

namespace parplan {

enum class CompileTarget { host, cuda };

/// How to compile a program, as the build of the runtime wrote it down:
/// COMPILER ARGUMENTS.. SOURCE -o PROGRAM LINK..
struct CompileCommands {
  std::string compiler;
  std::vector<std::string> arguments;
  std::vector<std::string> link;
  /// GPU architectures that the runtime was tested for: "80", ..
  std::vector<std::string> architectures;
};

/// Reads parplan_runtime.json. Reports a file that is missing or malformed and
/// a target that the runtime was not built for (E6105, exit code 78).
std::optional<CompileCommands>
readCompileCommands(const std::string &runtimeFile, CompileTarget target,
                    DiagnosticEngine &engine);

/// Compiles and links `source` to the executable `program`. Runs the compiler
/// directly, without a shell: paths may hold any character. Reports a compiler
/// that cannot be started (E6106) and one that fails (E6107), with the first
/// lines of what it says.
bool compileProgram(const CompileCommands &commands, const std::string &source,
                    const std::string &program, DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_LIB_TARGET_COMPILE_H
