//===- parplan.cpp - The command line tool --------------------------------===//

#include "lib/Driver/Commands.h"
#include "lib/Driver/ProgressLine.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Files.h"
#include "parplan/Support/Version.h"
#include "tools/parplan/CommandLine.h"
#include "tools/parplan/Interrupts.h"

#include "llvm/Support/Program.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace parplan;

namespace {

/// Set before work starts; read by the handler of failed checks.
bool printsJson = false;

/// False, with errno, if not all of it could be written.
bool print(FILE *stream, const std::string &text) {
  return fwrite(text.data(), 1, text.size(), stream) == text.size() &&
         fflush(stream) == 0;
}

Json makeDocument(ExitCode exitCode) {
  return {{"format", 1},
          {"parplan", {{"version", versionText}}},
          {"exit_code", static_cast<int>(exitCode)}};
}

/// A failed check leaves no half-written output, and still one document.
void handleFailedCheck(const char *file, int line, const std::string &message) {
  std::string text = formatCheckFailure(file, line, message);
  print(stderr, text + "\n");
  OutputDirectory::discardAll();
  if (!printsJson)
    return;
  DiagnosticEngine failure;
  failure.error(codes::internalError) << text;
  Json document = makeDocument(ExitCode::internalError);
  document["diagnostics"] = failure.toJson();
  print(stdout, printJson(document));
}

/// Lets a search be watched, on standard error where somebody looks at it, and
/// ended early.
CommandResult compileWatched(const CommandLine &line,
                             DiagnosticEngine &engine) {
  CompileOptions options = line.compile;
  bool isTerminal = isatty(STDERR_FILENO) != 0;
  const char *wish = getenv("PARPLAN_PROGRESS");
  bool isWatched = isTerminal || (wish && wish != std::string("0"));
  ProgressLine progress(stderr, isTerminal);
  options.control.stop = &catchInterrupts();
  if (isWatched && !line.output.quiet)
    options.control.listener = [&](const SearchProgress &state) {
      progress.show(state);
    };
  return compile(options, line.output, engine);
}

CommandResult run(const CommandLine &line, DiagnosticEngine &engine) {
  auto getArgument = [&](size_t index) {
    return index < line.arguments.size() ? line.arguments[index] : "";
  };
  switch (line.command) {
  case Command::compile:
  case Command::plan:
    return compileWatched(line, engine);
  case Command::check:
    return checkPlan(getArgument(0), getArgument(1), line.dimensions, engine);
  case Command::explain:
    return line.whyNot ? explainWhyNot(getArgument(0), getArgument(1),
                                       *line.whyNot, engine)
                       : explainPlan(getArgument(0), getArgument(1), engine);
  case Command::diff:
    return diffPlans(getArgument(0), getArgument(1), engine);
  case Command::ops:
    return listOperators(getArgument(0), line.dimensions, engine);
  case Command::clusters:
    return listClusters(getArgument(0), engine);
  case Command::calibrate:
    return calibrate(line.calibration, engine);
  case Command::version:
    return {std::string("parplan ") + versionText + "\n", Json::object()};
  case Command::help:
    return {line.helpText, {{"help", line.helpText}}};
  }
  return {};
}

} // namespace

int main(int argc, char **argv) {
  setCheckHandler(handleFailedCheck);
  DiagnosticEngine engine;
  bool hasCudaCompiler = bool(llvm::sys::findProgramByName("nvcc"));
  CommandLine line = parseCommandLine(
      std::vector<std::string>(argv + 1, argv + argc), hasCudaCompiler, engine);
  printsJson = line.output.json;

  CommandResult result;
  if (!engine.hasErrors())
    result = run(line, engine);
  ExitCode exitCode = engine.getExitCode();
  RenderOptions render;
  render.color = line.output.color;
  if (engine.hasErrors() || !line.output.quiet)
    print(stderr, engine.render(render));
  std::string text;
  if (line.output.json) {
    Json document = makeDocument(exitCode);
    document.update(result.document);
    document["diagnostics"] = engine.toJson();
    text = printJson(document);
  } else if (!engine.hasErrors() && !line.output.quiet) {
    text = result.text;
  }
  if (!print(stdout, text)) {
    DiagnosticEngine failure;
    reportWriteError(failure, "standard output", errno);
    print(stderr, failure.render(render));
    if (exitCode == ExitCode::done)
      exitCode = failure.getExitCode();
  }
  // The system frees all at once what takes us long.
  std::_Exit(static_cast<int>(exitCode));
}
