//===- CommandWords.h - The words of the command line -----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TOOLS_PARPLAN_COMMANDWORDS_H
#define PARPLAN_TOOLS_PARPLAN_COMMANDWORDS_H

#include "parplan/Support/Diagnostics.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace parplan {

/// The words of the command line, not yet checked.
struct Words {
  std::vector<std::string> positionals;
  std::optional<std::string> gpus, cluster, target, loss, optimizer, schedule,
      globalBatch, precision, clipNorm, seed, memoryLimit, timeBudget, plan,
      output, emit, dumpIr, color, whyNot;
  std::vector<std::string> dimensions, forces, freezes;
  bool train = false, reportGradientNorm = false;
  bool json = false, quiet = false, verbose = false;
};

/// Declare the options of all commands, of those that import a model, and of
/// those that plan one.
void addOutputOptions(CLI::App &app, Words &words);
void addDimensionOption(CLI::App &app, Words &words);
void addCompileOptions(CLI::App &app, Words &words);

/// Fills the words in; reports what is not understood. False after `--help`.
bool parseWords(CLI::App &app, std::vector<std::string> arguments,
                DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_TOOLS_PARPLAN_COMMANDWORDS_H
