//===- Commands.h - What parplan can be asked to do -------------*- C++ -*-===//
//
// Part of parplan. Every command reports to the engine, fills a JSON document
// for `--json`, and returns the text for people.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_COMMANDS_H
#define PARPLAN_DRIVER_COMMANDS_H

#include "lib/Driver/Options.h"
#include "parplan/Support/Diagnostics.h"
#include "parplan/Support/Json.h"

#include <map>
#include <string>

namespace parplan {

/// What a command prints on success: one or the other.
struct CommandResult {
  std::string text;
  Json document = Json::object();
};

/// Plans a model and, unless told to stop earlier, emits and builds its
/// program. The output directory appears whole or not at all.
CommandResult compile(const CompileOptions &options,
                      const OutputOptions &output, DiagnosticEngine &engine);

/// Lists the operators of a model and how each is supported.
CommandResult listOperators(const std::string &modelPath,
                            const std::map<std::string, int64_t> &dimensions,
                            DiagnosticEngine &engine);

/// Lists the cluster presets, or prints the one of a name or file as JSON.
CommandResult listClusters(const std::string &nameOrFile,
                           DiagnosticEngine &engine);

/// Builds and runs a program that measures what ranks of this machine do, and
/// writes the cluster file.
CommandResult calibrate(const CalibrationOptions &options,
                        DiagnosticEngine &engine);

/// Checks that a plan is consistent with itself and, given the model, that the
/// evaluator confirms its legality, time and memory.
CommandResult checkPlan(const std::string &planPath,
                        const std::string &modelPath,
                        const std::map<std::string, int64_t> &dimensions,
                        DiagnosticEngine &engine);

/// Says in words what a plan does and costs, what binds it, and which
/// parameters it trains. Without `modelPath` the model is where the plan says,
/// if at all.
CommandResult explainPlan(const std::string &planPath,
                          const std::string &modelPath,
                          DiagnosticEngine &engine);

/// Says what differs between two plans of a model, and what that costs.
CommandResult diffPlans(const std::string &before, const std::string &after,
                        DiagnosticEngine &engine);

/// Says what `spec`, as `--force` takes it, would cost in place of what the
/// plan does, or why it is impossible. Without `modelPath` the model is where
/// the plan says.
CommandResult explainWhyNot(const std::string &planPath,
                            const std::string &modelPath,
                            const std::string &spec, DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_DRIVER_COMMANDS_H
