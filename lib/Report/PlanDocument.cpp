//===- PlanDocument.cpp - Writing plan.json -------------------------------===//

#include "lib/Report/PlanDocument.h"

#include "lib/Report/Layouts.h"
#include "lib/Report/Operators.h"
#include "lib/Report/Stages.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"
#include "parplan/Support/Version.h"

using namespace parplan;

namespace {

Json describeValues(const PlanSummary &summary, ValueKind kind) {
  Json values = Json::array();
  for (auto [index, value] : llvm::enumerate(summary.problem.values)) {
    if (value.kind != kind)
      continue;
    Json object = {{"name", value.name}, {"shape", value.shape}};
    if (kind != ValueKind::input)
      object["tier"] = nameTier(summary.answer.getTier(index));
    addSharding(object, summary.answer.rest[index], summary.answer.mesh);
    values.push_back(std::move(object));
  }
  return values;
}

/// Per name the tier of what the optimizer keeps of a parameter.
std::map<std::string, MemoryTier> getStateTiers(const PlanSummary &summary) {
  std::map<std::string, MemoryTier> tiers;
  for (auto [index, value] : llvm::enumerate(summary.problem.values))
    if (value.kind == ValueKind::state)
      tiers[value.name] = summary.answer.getTier(index);
  return tiers;
}

/// What was forced names the optimizer's tier of parameters that have no state.
std::string nameOptimizerTier(const TrainingSummary &training) {
  for (const std::string &entry : training.offload)
    if (entry.starts_with("optimizer:"))
      return entry.substr(entry.find(':') + 1);
  return "hbm";
}

Json describeParameters(const PlanSummary &summary) {
  Json list = describeValues(summary, ValueKind::parameter);
  std::map<std::string, MemoryTier> stateTiers = getStateTiers(summary);
  const auto &training = summary.training;
  std::map<int, int> stages;
  if (training)
    stages = getZeroStages(summary.problem, summary.answer,
                           training->forcedZeroStage);
  size_t position = 0;
  for (auto [index, value] : llvm::enumerate(summary.problem.values)) {
    if (value.kind != ValueKind::parameter)
      continue;
    Json &object = list[position++];
    auto stack = summary.model.stacks.find(value.name);
    if (stack != summary.model.stacks.end())
      object["members"] = stack->second;
    object["zero_stage"] = training ? stages.at(static_cast<int>(index)) : 0;
    auto states = stateTiers.find(value.name);
    object["optimizer_tier"] = !training ? "none"
                               : states != stateTiers.end()
                                   ? nameTier(states->second)
                                   : nameOptimizerTier(*training);
    if (!training)
      continue;
    if (summary.answer.restsInPieces(index))
      object["rests_in_pieces"] = true;
    auto known = training->parameters.find(value.name);
    if (known == training->parameters.end())
      continue;
    object["trained"] = known->second.isTrained;
    object["reason"] = known->second.reason;
  }
  return list;
}

Json describeMesh(const PlanSummary &summary) {
  Mesh mesh = summary.answer.mesh;
  // Without a common step the answer is that of one of the workers.
  if (const auto &servers = summary.answer.servers;
      servers && servers->staleness && servers->workers > 1)
    mesh = Mesh({{"dp0", servers->workers, AxisRole::data}});
  std::vector<int64_t> sizes;
  for (const MeshAxis &axis : mesh.getAxes())
    sizes.push_back(axis.size);
  Json axes = Json::array();
  for (auto [index, axis] : llvm::enumerate(mesh.getAxes()))
    axes.push_back({{"name", axis.name},
                    {"role", stringifyAxisRole(axis.role).str()},
                    {"size", axis.size},
                    {"tier", getTierName(summary.cluster.getGroup(
                                 sizes, {static_cast<int>(index)}))}});
  return {{"axes", std::move(axes)}};
}

/// The ranks behind those of the mesh.
Json describeServers(const ServerChoice &servers) {
  Json ranks = Json::array();
  for (int64_t rank = servers.workers; rank < servers.getRankCount(); ++rank)
    ranks.push_back(rank);
  Json object = {{"ranks", std::move(ranks)},
                 {"mode", servers.staleness ? "async" : "sync"}};
  if (servers.staleness)
    object["staleness"] = *servers.staleness;
  return object;
}

Json describePrediction(const PlanSummary &summary) {
  const PlanEvaluation &evaluation = summary.evaluation;
  double seconds = evaluation.stepTimeSeconds;
  double flops = 0;
  for (const PlanningOp &op : summary.problem.ops)
    if (op.role != OpRole::optimizer)
      flops +=
          getFlops(op) * static_cast<double>(getRepeat(summary.problem, op));
  // Without a common step the problem is that of one of the workers.
  if (const auto &servers = summary.answer.servers;
      servers && servers->staleness)
    flops *= static_cast<double>(servers->workers);
  double peak = summary.cluster.getDevice().getMatrixPeak(summary.precision) *
                static_cast<double>(summary.cluster.deviceCount);

  Json predicted = {
      {"step_time_s", seconds},
      {"samples_per_s",
       seconds > 0 ? static_cast<double>(summary.model.batch) / seconds : 0},
      {"model_flops_utilization",
       seconds > 0 && peak > 0 ? flops / (seconds * peak) : 0},
      {"breakdown_s",
       {{"compute", evaluation.computeSeconds},
        {"tensor_communication", evaluation.tensorCommunicationSeconds},
        {"data_communication", evaluation.dataCommunicationSeconds},
        {"pipeline_bubble", evaluation.pipelineBubbleSeconds},
        {"offload", evaluation.offloadSeconds},
        {"optimizer", evaluation.optimizerSeconds}}}};
  predicted.update(toJson(summary.prediction));
  return predicted;
}

Json describeConfig(const PlanSummary &summary) {
  const auto &training = summary.training;
  int64_t microBatches = summary.microBatches;
  Json config = {
      {"global_batch", summary.model.batch},
      {"micro_batches", microBatches},
      {"micro_batch", summary.model.batch / microBatches},
      {"dimensions", Json(summary.model.dimensions)},
      {"precision", stringifyPrecision(summary.precision)},
      {"optimizer", training ? training->optimizer : std::string("none")},
      {"schedule", summary.answer.pipeline
                       ? printScheduleName(summary.answer.pipeline->shape)
                       : std::string("gpipe")}};
  if (const auto &pipeline = summary.answer.pipeline;
      pipeline && pipeline->room.isLimited())
    config["waiting_room_bytes"] = pipeline->room.positionBytes;
  if (!summary.forceEntries.empty()) {
    Json &force = config["force"] = Json::array();
    for (const std::string &entry : summary.forceEntries)
      force.push_back(sanitize(entry));
  }
  if (const auto &sequence = summary.sequence) {
    config["sequence"] = {{"zigzag", sequence->zigzag}};
    if (sequence->zigzag == 1)
      config["sequence"]["reason"] = sequence->reason;
  }
  if (!training)
    return config;
  config["loss"] = training->loss;
  config["lr_schedule"] = training->learningRateSchedule;
  if (training->clipNorm)
    config["clip_norm"] = *training->clipNorm;
  config["report_gradient_norm"] = training->reportGradientNorm;
  config["frozen"] = training->frozen;
  if (training->forcedZeroStage)
    config["zero"] = *training->forcedZeroStage;
  if (!training->offload.empty())
    config["offload"] = training->offload;
  return config;
}

} // namespace

std::string parplan::stringifyPrecision(Precision precision) {
  switch (precision) {
  case Precision::fp32:
    return "fp32";
  case Precision::bf16:
    return "bf16";
  case Precision::fp16:
    return "fp16";
  }
  PARPLAN_UNREACHABLE("unknown precision ", static_cast<int>(precision));
}

std::optional<Precision> parplan::parsePrecision(std::string_view text) {
  for (Precision precision :
       {Precision::fp32, Precision::bf16, Precision::fp16})
    if (text == stringifyPrecision(precision))
      return precision;
  return std::nullopt;
}

Json parplan::toJson(const PlanSummary &summary) {
  const Cluster &cluster = summary.cluster;
  const Certificate &certificate = summary.certificate;
  Json document = {{"format", 1},
                   {"parplan", {{"version", versionText}}},
                   {"model",
                    {{"file", summary.model.file},
                     {"sha256", summary.model.sha256},
                     {"parameters", summary.model.parameterCount},
                     {"nodes", summary.model.nodeCount}}},
                   {"cluster",
                    {{"name", cluster.description.name},
                     {"source", summary.clusterSource},
                     {"gpus", cluster.deviceCount},
                     {"nodes", cluster.getNodeCount()},
                     {"device", cluster.getDevice().name},
                     {"memory_bytes", summary.memoryLimitBytes}}},
                   {"mode", summary.training ? "train" : "inference"},
                   {"config", describeConfig(summary)},
                   {"mesh", describeMesh(summary)},
                   {"stages", describeStages(summary)},
                   {"inputs", describeValues(summary, ValueKind::input)},
                   {"operators", describeOperators(summary)},
                   {"parameters", describeParameters(summary)},
                   {"states", describeValues(summary, ValueKind::state)},
                   {"predicted", describePrediction(summary)},
                   {"certificate",
                    {{"upper_bound_s", certificate.upperBoundSeconds},
                     {"lower_bound_s", certificate.lowerBoundSeconds},
                     {"gap", certificate.getGap()},
                     {"exact", certificate.exact},
                     {"explored", certificate.explored},
                     {"pruned", certificate.pruned}}},
                   {"search",
                    {{"wall_s", summary.search.wallSeconds},
                     {"threads", summary.search.threads},
                     {"seed", summary.search.seed}}}};
  if (summary.answer.servers)
    document["servers"] = describeServers(*summary.answer.servers);
  return document;
}
