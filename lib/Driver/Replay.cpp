//===- Replay.cpp - A plan.json with the model it is of -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Replay.h"

#include "lib/Driver/Planning.h"
#include "lib/Driver/TrainingSpec.h"
#include "parplan/Cluster/Presets.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Files.h"

using namespace parplan;

std::optional<PlanFile> parplan::readPlan(const std::string &path,
                                          DiagnosticEngine &engine) {
  std::optional<std::string> text =
      readFile(path, codes::unreadablePlan, engine);
  std::optional<Json> document =
      text ? parseJson(*text, path, codes::badPlan, engine) : std::nullopt;
  std::optional<PlanClaims> claims =
      document ? readClaims(*document, path, engine) : std::nullopt;
  if (!claims)
    return std::nullopt;
  return PlanFile{path, std::move(*document), std::move(*claims)};
}

std::optional<TrainingOptions>
parplan::getTrainingOptions(const PlanClaims &claims,
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

std::optional<Replay>
parplan::replayPlan(const PlanFile &plan, const std::string &modelPath,
                    const std::map<std::string, int64_t> &dimensions,
                    IRDumper &dumper, DiagnosticEngine &engine) {
  const PlanClaims &claims = plan.claims;
  ImportOptions import;
  import.path = modelPath;
  import.dims.insert(claims.dimensions.begin(), claims.dimensions.end());
  for (const auto &[name, value] : dimensions)
    import.dims[name] = value;
  if (claims.training)
    import.globalBatch = claims.batch;
  FrontendOptions options{std::move(import),
                          getTrainingOptions(claims, engine)};
  options.zigzag = claims.zigzag;
  if (engine.hasErrors())
    return std::nullopt;
  auto context = makeContext();
  std::optional<Frontend> frontend =
      runFrontend(*context, options, dumper, engine);
  if (!frontend ||
      !confirmModel(claims.modelSha256, frontend->model.info->computeSha256(),
                    plan.path, engine) ||
      !confirmOrder(*frontend, plan.path, engine))
    return std::nullopt;
  std::optional<ClusterDescription> description =
      loadCluster(claims.clusterSource, engine);
  std::optional<Cluster> cluster =
      description ? makeCluster(std::move(*description), claims.gpus, engine)
                  : std::nullopt;
  const PlanningProblem &problem = frontend->graph.problem;
  std::optional<PlanningAnswer> answer =
      readAnswer(plan.document, plan.path, problem, engine);
  if (!cluster || !answer)
    return std::nullopt;
  for (const std::string &violation : verifyAnswer(problem, *answer))
    engine.error(codes::planRefuted, Location::inFile(plan.path)) << violation;
  if (engine.hasErrors())
    return std::nullopt;
  return Replay{std::move(context), std::move(*frontend), std::move(*cluster),
                std::move(*answer), std::move(options)};
}
