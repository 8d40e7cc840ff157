//===- WhyNot.cpp - parplan explain --why-not -----------------------------===//
//
// Plans the model of a plan again, as another --force asks, and compares both
// by the evaluator.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Commands.h"
#include "lib/Driver/Force.h"
#include "lib/Driver/ForceRules.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/PlanModel.h"
#include "lib/Driver/Replay.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

using namespace parplan;

namespace {

/// True when all errors say that what is asked for cannot be: that is an
/// answer, not a fault.
bool isAnswer(const DiagnosticEngine &engine) {
  return llvm::all_of(engine.getDiagnostics(), [](const Diagnostic &entry) {
    return entry.severity != Severity::error ||
           entry.code.number == codes::impossibleForce.number ||
           entry.code.number == codes::badMicroBatches.number ||
           entry.code.number == codes::noPlanFits.number ||
           entry.code.number == codes::noPlanPossible.number;
  });
}

struct Line {
  std::string_view name;
  double PlanEvaluation::*seconds;
};
constexpr Line lines[] = {
    {"compute", &PlanEvaluation::computeSeconds},
    {"tensor_communication", &PlanEvaluation::tensorCommunicationSeconds},
    {"data_communication", &PlanEvaluation::dataCommunicationSeconds},
    {"pipeline_bubble", &PlanEvaluation::pipelineBubbleSeconds},
    {"offload", &PlanEvaluation::offloadSeconds},
    {"optimizer", &PlanEvaluation::optimizerSeconds},
};

Json describe(const PlanChoice &choice) {
  const PlanEvaluation &evaluation = choice.plan.evaluation;
  Json axes = Json::array();
  for (const MeshAxis &axis : choice.plan.answer->mesh.getAxes())
    axes.push_back({{"name", axis.name},
                    {"role", stringifyAxisRole(axis.role).str()},
                    {"size", axis.size}});
  Json breakdown = Json::object();
  for (const Line &line : lines)
    breakdown[std::string(line.name)] = evaluation.*line.seconds;
  return {{"mesh", {{"axes", std::move(axes)}}},
          {"micro_batches", choice.candidate->microBatches},
          {"step_time_s", evaluation.stepTimeSeconds},
          {"breakdown_s", std::move(breakdown)},
          {"peak_memory_bytes", evaluation.peakBytes}};
}

std::string compare(const std::string &spec, const PlanEvaluation &plan,
                    int64_t microBatches, const PlanChoice &choice) {
  const PlanEvaluation &other = choice.plan.evaluation;
  double change = other.stepTimeSeconds - plan.stepTimeSeconds;
  std::string text = "with " + escapeName(spec) + " a step takes " +
                     formatSeconds(other.stepTimeSeconds) + ", the plan's " +
                     formatSeconds(plan.stepTimeSeconds) + ": ";
  text += change == 0
              ? std::string("the same")
              : formatSecondsChange(change) +
                    (change < 0 ? ", so the plan was not free to choose" : "");
  text += "\n";
  for (const Line &line : lines) {
    double before = plan.*line.seconds, after = other.*line.seconds;
    if (before == after)
      continue;
    std::string label = "  " + std::string(line.name);
    label.resize(26, ' ');
    text += label + formatSecondsChange(after - before) + " (" +
            formatSeconds(before) + " to " + formatSeconds(after) + ")\n";
  }
  if (int64_t count = choice.candidate->microBatches; count != microBatches)
    text += "  micro-batches           " + std::to_string(count) +
            ", the plan's " + std::to_string(microBatches) + "\n";
  text += "  estimated peak memory   " + formatBytes(other.peakBytes) +
          " a rank, the plan's " + formatBytes(plan.peakBytes) + "\n";
  return text;
}

/// What was forced of a plan's micro-batches holds for others, too; 0: nothing.
int64_t getForcedMicroBatches(const PlanClaims &claims) {
  constexpr std::string_view key = "micro-batches=";
  for (const std::string &entry : claims.forceEntries)
    if (entry.starts_with(key))
      return claims.microBatches;
  return 0;
}

/// The model for a plan with so many micro-batches for the workers of a
/// request: those without a common step have samples of their own.
std::optional<SimplifiedModel> getModelFor(Replay &replay,
                                           const FrontendOptions &request,
                                           IRDumper &dumper,
                                           DiagnosticEngine &reasons) {
  if (request.workers == replay.request.workers &&
      request.microBatches == replay.request.microBatches)
    return std::move(replay.model);
  return simplifyModel(*replay.context, request, dumper, reasons);
}

} // namespace

CommandResult parplan::explainWhyNot(const std::string &planPath,
                                     const std::string &modelPath,
                                     const std::string &spec,
                                     DiagnosticEngine &engine) {
  CommandResult result;
  std::optional<PlanFile> file = readPlan(planPath, engine);
  if (!file)
    return result;
  const PlanClaims &claims = file->claims;
  CompileOptions options;
  options.modelPath = modelPath.empty() ? claims.modelFile : modelPath;
  options.gpus = claims.gpus;
  options.cluster = claims.clusterSource;
  DiagnosticEngine reasons;
  options.force =
      parseForce(spec, options.gpus, claims.training.has_value(), reasons);
  options.training = getTrainingOptions(claims, engine);
  options.precision = getComputePrecision(claims);

  std::optional<PlanEvaluation> plan;
  PlanChoice other;
  if (!reasons.hasErrors() && !engine.hasErrors()) {
    IRDumper dumper("", engine);
    std::optional<Replay> replay =
        replayPlan(*file, options.modelPath, {}, dumper, engine);
    if (!replay)
      return result;
    CostModel model(replay->cluster, *parsePrecision(claims.precision));
    ClusterCosts costs(model);
    const PlanningProblem &problem = replay->frontend.graph.problem;
    plan = evaluatePlan(problem, replay->answer, costs);
    if (checkForceOnCluster(options.force, replay->cluster, reasons) &&
        checkServerPrecision(options, reasons)) {
      // In whatever order of the sequence.
      FrontendOptions request = replay->request;
      request.zigzag = 1;
      request.microBatches =
          options.force.microBatches.value_or(getForcedMicroBatches(claims));
      setWorkers(request, options.force.servers);
      if (auto simplified = getModelFor(*replay, request, dumper, reasons))
        other = planWithoutProgram(*replay->context, std::move(*simplified),
                                   options, request, replay->cluster,
                                   claims.memoryLimitBytes, reasons);
    }
  }
  if (!isAnswer(reasons)) {
    engine.append(std::move(reasons));
    return result;
  }
  Json answer = {{"force", sanitize(spec)},
                 {"possible", other.candidate.has_value()}};
  if (other.candidate) {
    result.text = compare(spec, *plan, claims.microBatches, other);
    answer["planned_step_time_s"] = plan->stepTimeSeconds;
    answer["alternative"] = describe(other);
  } else {
    result.text =
        "with " + escapeName(spec) + " there is no plan\n" + reasons.render();
    answer["reasons"] = reasons.toJson();
  }
  result.document = {{"why_not", std::move(answer)}};
  return result;
}
