//===- CommandLine.h - From arguments to options ----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TOOLS_PARPLAN_COMMANDLINE_H
#define PARPLAN_TOOLS_PARPLAN_COMMANDLINE_H

#include "lib/Driver/Options.h"
#include "parplan/Support/Diagnostics.h"

#include <string>
#include <vector>

namespace parplan {

enum class Command {
  compile,
  plan,
  check,
  explain,
  diff,
  ops,
  clusters,
  calibrate,
  version,
  help
};

/// What `parplan ARGUMENTS` asks for.
struct CommandLine {
  Command command = Command::compile;
  OutputOptions output;
  /// compile and plan.
  CompileOptions compile;
  /// check: the plan and, optionally, the model; explain: the plan and,
  /// optionally, the model; diff: two plans; ops: the model; clusters:
  /// optionally a name or file.
  std::vector<std::string> arguments;
  CalibrationOptions calibration;
  /// explain: what is asked for in place of the plan, as `--force` takes it.
  std::optional<std::string> whyNot;
  /// ops and check: values of symbolic dimensions.
  std::map<std::string, int64_t> dimensions;
  /// help: the text.
  std::string helpText;
};

/// Reads the arguments after the program's name. Reports everything that is
/// wrong with them; the result is complete only without errors, but `output` is
/// always set.
CommandLine parseCommandLine(const std::vector<std::string> &arguments,
                             bool hasCudaCompiler, DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_TOOLS_PARPLAN_COMMANDLINE_H
