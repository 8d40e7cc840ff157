//===- PlanDocument.h - plan.json -------------------------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. docs/cli.md has the keys and units,
// docs/schema/plan.schema.json the form.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_REPORT_PLANDOCUMENT_H
#define PARPLAN_REPORT_PLANDOCUMENT_H

#include "parplan/Cluster/Cluster.h"
#include "parplan/Planner/OpSeconds.h"
#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanningAnswer.h"
#include "parplan/Simulator/Simulator.h"
#include "parplan/Support/Json.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace parplan {

struct ModelSummary {
  std::string file;
  std::string sha256;
  int64_t parameterCount = 0;
  int64_t nodeCount = 0;
  /// Samples in one step.
  int64_t batch = 1;
  /// Values of the model's symbolic dimensions.
  std::map<std::string, int64_t> dimensions;
  /// Per parameter that is a stack of initializers, their names.
  std::map<std::string, std::vector<std::string>> stacks = {};
};

/// An initializer of a model that is trained.
struct ParameterSummary {
  bool isTrained = false;
  /// Why, or why not.
  std::string reason;
};

/// A training step, by the options that made it (docs/cli.md).
struct TrainingSummary {
  std::string loss;
  std::string optimizer;
  std::string learningRateSchedule;
  std::optional<double> clipNorm;
  bool reportGradientNorm = false;
  std::vector<std::string> frozen;
  std::optional<int> forcedZeroStage;
  /// What `--force` offloads: `optimizer:cpu`, ...
  std::vector<std::string> offload;
  /// By name.
  std::map<std::string, ParameterSummary> parameters;
};

/// The order of a causal sequence that ranks may share.
struct SequenceSummary {
  /// Of so many ranks; 1: the model's.
  int64_t zigzag = 1;
  /// Why it is the model's.
  std::string reason;
};

struct SearchSummary {
  double wallSeconds = 0;
  int threads = 1;
  int64_t seed = 0;
};

/// All that a plan.json says.
struct PlanSummary {
  ModelSummary model;
  /// The preset or file that the cluster came from.
  std::string clusterSource;
  Cluster cluster;
  Precision precision = Precision::fp32;
  int64_t memoryLimitBytes = 0;
  int64_t microBatches = 1;
  /// Without it, a forward pass.
  std::optional<TrainingSummary> training;
  std::optional<SequenceSummary> sequence;
  /// What `--force` asked for.
  std::vector<std::string> forceEntries;
  const PlanningProblem &problem;
  const PlanningAnswer &answer;
  const PlanEvaluation &evaluation;
  const Certificate &certificate;
  const Prediction &prediction;
  SearchSummary search;
  /// Per operator of the problem; empty: not known.
  std::vector<OpSeconds> opSeconds = {};
};

Json toJson(const PlanSummary &summary);

/// `fp32`, `bf16` or `fp16`.
std::string stringifyPrecision(Precision precision);
std::optional<Precision> parsePrecision(std::string_view text);

/// The decisions of a plan.json, read back for `problem`: mesh, schedule and
/// times of stages, factors, stage and recomputation per operator, sharding and
/// tier per value. Reports every field that does not fit the
/// problem; nullopt then.
std::optional<PlanningAnswer> readAnswer(const Json &document,
                                         const std::string &file,
                                         const PlanningProblem &problem,
                                         DiagnosticEngine &engine);

/// The parts of a plan.json that `parplan check` compares with a replay.
struct PlanClaims {
  std::string modelFile;
  std::string modelSha256;
  /// The preset or file of the cluster.
  std::string clusterSource;
  int64_t gpus = 1;
  int64_t batch = 1;
  int64_t microBatches = 1;
  std::map<std::string, int64_t> dimensions;
  std::string precision;
  /// Without its parameters.
  std::optional<TrainingSummary> training;
  std::optional<ServerChoice> servers;
  /// What `--force` asked for.
  std::vector<std::string> forceEntries;
  /// Of the sequence, as in `SequenceSummary`.
  int64_t zigzag = 1;
  /// Of the mesh.
  int64_t expertRanks = 1;
  int64_t memoryLimitBytes = 0;
  double stepTimeSeconds = 0;
  double upperBoundSeconds = 0;
  double lowerBoundSeconds = 0;
  double gap = 0;
  int64_t peakBytes = 0;
};
std::optional<PlanClaims> readClaims(const Json &document,
                                     const std::string &file,
                                     DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_REPORT_PLANDOCUMENT_H
