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
#include "parplan/Support/Check.h"
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

ComputePrecision parplan::getComputePrecision(const PlanClaims &claims) {
  switch (*parsePrecision(claims.precision)) {
  case Precision::fp32:
    return ComputePrecision::fp32;
  case Precision::bf16:
    return ComputePrecision::bf16;
  case Precision::fp16:
    return ComputePrecision::fp16;
  }
  PARPLAN_UNREACHABLE("unknown precision");
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
  options.precision = getComputePrecision(claims);
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
  if (claims.training || claims.microBatches > 1)
    import.globalBatch = claims.batch;
  FrontendOptions options{std::move(import), getTrainingOptions(claims, engine),
                          claims.microBatches, getComputePrecision(claims)};
  options.zigzag = claims.zigzag;
  options.expertGroups = claims.expertRanks;
  setWorkers(options, claims.servers);
  options.cluster = loadCluster(claims.clusterSource, engine);
  if (engine.hasErrors())
    return std::nullopt;
  auto context = makeContext();
  std::optional<SimplifiedModel> model =
      simplifyModel(*context, options, dumper, engine);
  if (!model)
    return std::nullopt;
  std::optional<Frontend> frontend =
      finishFrontend(model->clone(), options, dumper, engine);
  if (!frontend ||
      !confirmModel(claims.modelSha256, frontend->model.info->computeSha256(),
                    plan.path, engine) ||
      !confirmOrder(*frontend, plan.path, engine))
    return std::nullopt;
  std::optional<Cluster> cluster =
      makeCluster(*options.cluster, claims.gpus, engine);
  const PlanningProblem &problem = frontend->graph.problem;
  std::optional<PlanningAnswer> answer =
      readAnswer(plan.document, plan.path, problem, engine);
  if (!cluster || !answer)
    return std::nullopt;
  int64_t ranks = answer->servers ? answer->servers->getRankCount()
                                  : answer->mesh.getRankCount();
  if (ranks != claims.gpus) {
    engine.error(codes::planMismatch, Location::inFile(plan.path))
        << "field 'cluster.gpus': " << claims.gpus << ", the mesh is of "
        << ranks << " devices";
    return std::nullopt;
  }
  for (const std::string &violation : verifyAnswer(problem, *answer))
    engine.error(codes::planRefuted, Location::inFile(plan.path)) << violation;
  if (engine.hasErrors())
    return std::nullopt;
  return Replay{std::move(context),  std::move(*model),  std::move(*frontend),
                std::move(*cluster), std::move(*answer), std::move(options)};
}
