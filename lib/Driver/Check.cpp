//===- Check.cpp - parplan check ------------------------------------------===//

#include "lib/Driver/Backend.h"
#include "lib/Driver/Commands.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/Replay.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/OpSeconds.h"
#include "parplan/Support/DiagnosticCodes.h"
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

/// What the operators of a plan are said to take, where they say it.
void checkOperators(const PlanFile &plan, const Replay &replay,
                    const PlanCosts &costs, DiagnosticEngine &engine) {
  std::vector<OpSeconds> seconds =
      getOpSeconds(replay.frontend.graph.problem, replay.answer, costs);
  for (auto [index, op] : llvm::enumerate(plan.document["operators"])) {
    Json breakdown = op.value("breakdown_s", Json());
    if (!breakdown.is_object())
      continue;
    double said = 0;
    for (const auto &[what, part] : breakdown.items())
      said += part.is_number() ? part.get<double>() : 0;
    if (areClose(said, seconds[index].getTotal()))
      continue;
    engine.error(codes::planRefuted, Location::inFile(plan.path))
        << "field 'operators[" << index
        << "].breakdown_s': " << formatSeconds(said) << ", by the evaluator "
        << formatSeconds(seconds[index].getTotal());
    return;
  }
}

/// Replays the plan on its model.
void checkReplay(const PlanFile &plan, const std::string &modelPath,
                 const std::map<std::string, int64_t> &dimensions,
                 DiagnosticEngine &engine) {
  IRDumper dumper("", engine);
  std::optional<Replay> replay =
      replayPlan(plan, modelPath, dimensions, dumper, engine);
  if (!replay)
    return;
  const PlanClaims &claims = plan.claims;
  CostModel model(replay->cluster, *parsePrecision(claims.precision));
  ClusterCosts costs(model);
  PlanEvaluation evaluation =
      evaluatePlan(replay->frontend.graph.problem, replay->answer, costs);
  if (!areClose(evaluation.stepTimeSeconds, claims.stepTimeSeconds))
    engine.error(codes::planRefuted, Location::inFile(plan.path))
        << "the step takes " << formatSeconds(evaluation.stepTimeSeconds)
        << " by the evaluator, " << formatSeconds(claims.stepTimeSeconds)
        << " by the plan";

  checkOperators(plan, *replay, costs, engine);

  // Communication, its order and memory are those of the lowered program.
  std::optional<LoweredProgram> lowered =
      lower(replay->frontend, replay->answer, costs, dumper, engine);
  if (!lowered)
    return;
  Json prediction = toJson(lowered->prediction);
  for (const char *key :
       {"communication", "peak_memory_bytes", "host_peak_memory_bytes",
        "nvme_peak_bytes", "offload"})
    if (plan.document["predicted"].value(key, Json()) !=
        prediction.value(key, Json()))
      engine.error(codes::planRefuted, Location::inFile(plan.path))
          << "field 'predicted." << key
          << "' is not what the lowered program does";
}

} // namespace

CommandResult
parplan::checkPlan(const std::string &planPath, const std::string &modelPath,
                   const std::map<std::string, int64_t> &dimensions,
                   DiagnosticEngine &engine) {
  CommandResult result;
  std::optional<PlanFile> plan = readPlan(planPath, engine);
  if (!plan)
    return result;
  checkConsistency(plan->claims, planPath, engine);
  if (!modelPath.empty())
    checkReplay(*plan, modelPath, dimensions, engine);
  if (!engine.hasErrors())
    result.text = modelPath.empty() ? "the plan is consistent with itself\n"
                                    : "the evaluator confirms the plan\n";
  result.document = {{"confirmed", !engine.hasErrors()}};
  return result;
}
