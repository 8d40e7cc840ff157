//===- Check.cpp - parplan check ------------------------------------------===//

#include "lib/Driver/Backend.h"
#include "lib/Driver/Commands.h"
#include "lib/Driver/Frontend.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/Planning.h"
#include "lib/Driver/TrainingSpec.h"
#include "lib/Report/PlanDocument.h"
#include "parplan/Cluster/Presets.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Files.h"
#include "parplan/Support/Text.h"

#include <cmath>

using namespace parplan;

namespace {

bool areClose(double left, double right) {
  return std::abs(left - right) <=
         1e-9 * std::max(std::abs(left), std::abs(right));
}

/// What a plan says of itself without its model.
void checkConsistency(const PlanClaims &claims, const std::string &file,
                      DiagnosticEngine &engine) {
  auto fail = [&](const std::string &message) {
    engine.error(codes::planRefuted, Location::inFile(file)) << message;
  };
  if (claims.lowerBoundSeconds > claims.upperBoundSeconds)
    fail("field 'certificate.lower_bound_s' is above the upper bound");
  if (!areClose(claims.upperBoundSeconds, claims.stepTimeSeconds))
    fail("field 'certificate.upper_bound_s' is not the predicted step time");
  double gap = claims.upperBoundSeconds > 0
                   ? (claims.upperBoundSeconds - claims.lowerBoundSeconds) /
                         claims.upperBoundSeconds
                   : 0;
  if (std::abs(gap - claims.gap) > 1e-9)
    fail("field 'certificate.gap' is not (upper - lower) / upper");
  if (claims.peakBytes > claims.memoryLimitBytes)
    fail("field 'predicted.peak_memory_bytes.max' exceeds the memory of the "
         "devices");
}

/// The options that made a training step, from its plan.
std::optional<TrainingOptions> getTrainingOptions(const PlanClaims &claims,
                                                  DiagnosticEngine &engine) {
  if (!claims.training)
    return std::nullopt;
  const TrainingSummary &summary = *claims.training;
  TrainingOptions options;
  parseLoss(summary.loss, options, engine);
  options.optimizer = parseOptimizer(summary.optimizer, engine);
  options.clipNorm = summary.clipNorm;
  options.reportGradientNorm = summary.reportGradientNorm;
  options.frozen = summary.frozen;
  options.microBatches = summary.microBatches;
  switch (*parsePrecision(claims.precision)) {
  case Precision::fp32:
    break;
  case Precision::bf16:
    options.precision = ComputePrecision::bf16;
    break;
  case Precision::fp16:
    options.precision = ComputePrecision::fp16;
    break;
  }
  return options;
}

/// Replays the plan on its model.
void replay(const Json &document, const PlanClaims &claims,
            const std::string &planPath, const ImportOptions &import,
            DiagnosticEngine &engine) {
  FrontendOptions options{import, getTrainingOptions(claims, engine)};
  if (engine.hasErrors())
    return;
  auto context = makeContext();
  IRDumper dumper("", engine);
  std::optional<Frontend> frontend =
      runFrontend(*context, options, dumper, engine);
  if (!frontend)
    return;
  if (!confirmModel(claims.modelSha256, frontend->model.info->computeSha256(),
                    planPath, engine))
    return;
  std::optional<ClusterDescription> description =
      loadCluster(claims.clusterSource, engine);
  std::optional<Cluster> cluster =
      description ? makeCluster(std::move(*description), claims.gpus, engine)
                  : std::nullopt;
  const PlanningProblem &problem = frontend->graph.problem;
  std::optional<PlanningAnswer> answer =
      readAnswer(document, planPath, problem, engine);
  if (!cluster || !answer)
    return;
  for (const std::string &violation : verifyAnswer(problem, *answer))
    engine.error(codes::planRefuted, Location::inFile(planPath)) << violation;
  if (engine.hasErrors())
    return;
  CostModel model(*cluster, *parsePrecision(claims.precision));
  ClusterCosts costs(model);
  PlanEvaluation evaluation = evaluatePlan(problem, *answer, costs);
  if (!areClose(evaluation.stepTimeSeconds, claims.stepTimeSeconds))
    engine.error(codes::planRefuted, Location::inFile(planPath))
        << "the step takes " << formatSeconds(evaluation.stepTimeSeconds)
        << " by the evaluator, " << formatSeconds(claims.stepTimeSeconds)
        << " by the plan";

  // Communication, its order and memory are those of the lowered program.
  std::optional<LoweredProgram> lowered =
      lower(*frontend, *answer, costs, dumper, engine);
  if (!lowered)
    return;
  Json prediction = toJson(lowered->prediction);
  for (const char *key : {"communication", "peak_memory_bytes", "offload"})
    if (document["predicted"].value(key, Json()) != prediction[key])
      engine.error(codes::planRefuted, Location::inFile(planPath))
          << "field 'predicted." << key
          << "' is not what the lowered program does";
}

} // namespace

CommandResult
parplan::checkPlan(const std::string &planPath, const std::string &modelPath,
                   const std::map<std::string, int64_t> &dimensions,
                   DiagnosticEngine &engine) {
  CommandResult result;
  std::optional<std::string> text =
      readFile(planPath, codes::unreadablePlan, engine);
  std::optional<Json> document =
      text ? parseJson(*text, planPath, codes::badPlan, engine) : std::nullopt;
  std::optional<PlanClaims> claims =
      document ? readClaims(*document, planPath, engine) : std::nullopt;
  if (!claims)
    return result;
  checkConsistency(*claims, planPath, engine);
  if (!modelPath.empty()) {
    ImportOptions options;
    options.path = modelPath;
    options.dims.insert(claims->dimensions.begin(), claims->dimensions.end());
    for (const auto &[name, value] : dimensions)
      options.dims[name] = value;
    if (claims->training)
      options.globalBatch = claims->batch;
    replay(*document, *claims, planPath, options, engine);
  }
  if (!engine.hasErrors())
    result.text = modelPath.empty() ? "the plan is consistent with itself\n"
                                    : "the evaluator confirms the plan\n";
  result.document = {{"confirmed", !engine.hasErrors()}};
  return result;
}
