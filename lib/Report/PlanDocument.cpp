//===- PlanDocument.cpp - Writing plan.json -------------------------------===//

#include "lib/Report/PlanDocument.h"

#include "parplan/Planner/Candidates.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Solver.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/Version.h"

using namespace parplan;

namespace {

Json axisNames(llvm::ArrayRef<int> axes, const Mesh &mesh) {
  Json names = Json::array();
  for (int axis : axes)
    names.push_back(mesh.getAxis(axis).name);
  return names;
}

/// `[["dp0"], []]`: the axes of every dimension.
Json dimensionAxes(const Sharding &sharding, const Mesh &mesh) {
  Json dims = Json::array();
  for (const AxisList &axes : sharding.dims)
    dims.push_back(axisNames(axes, mesh));
  return dims;
}

void addSharding(Json &object, const Sharding &sharding, const Mesh &mesh) {
  object["sharding"] = dimensionAxes(sharding, mesh);
  if (sharding.isPartial()) {
    object["partial"] = axisNames(sharding.partial, mesh);
    object["reduction"] =
        sharding.reduction == ReductionKind::sum ? "sum" : "max";
  }
  if (sharding.isStored())
    object["stored"] = axisNames(sharding.storage, mesh);
}

Json describeValue(const PlanningValue &value, const Sharding &sharding,
                   const Mesh &mesh) {
  Json object = {{"shape", value.shape}};
  addSharding(object, sharding, mesh);
  return object;
}

/// The communication of a path that is walked `repeat` times per step.
void addCollectives(Json &list, const ReshardPath &path,
                    const PlanningValue &value, const Mesh &mesh,
                    int64_t repeat) {
  for (const Move &move : path.moves)
    if (!move.isLocal())
      list.push_back(
          {{"kind", stringifyCollectiveKind(getCollectiveKind(move.kind))},
           {"axes", axisNames(move.axes, mesh)},
           {"bytes", move.sizeElements * value.elementBytes},
           {"count", repeat}});
}

double getFlops(const PlanningOp &op) {
  double flops = 0;
  for (const WorkTerm &term : op.work.flops) {
    double product = term.coefficient;
    for (int factor : term.factors)
      product *= static_cast<double>(op.rule.factors[factor].size);
    flops += product;
  }
  return flops;
}

/// Per op the one that decides for it: itself, or the leader of its group.
std::vector<size_t> findLeaders(const PlanningProblem &problem) {
  std::map<int64_t, size_t> leaderOf;
  for (auto [index, op] : llvm::enumerate(problem.ops))
    if (op.group >= 0 && op.isLeader)
      leaderOf[op.group] = index;
  std::vector<size_t> leaders;
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    auto leader = leaderOf.find(op.group);
    leaders.push_back(leader == leaderOf.end() ? index : leader->second);
  }
  return leaders;
}

/// The decision for one op, as `readAnswer` reads it back.
void addAssignment(Json &object, const PlanningOp &op,
                   const FactorAssignment &assignment, const Mesh &mesh) {
  Json factors = Json::object();
  for (auto [factor, axes] : llvm::zip_equal(op.rule.factors, assignment.axes))
    if (!axes.empty())
      factors[factor.name] = axisNames(axes, mesh);
  object["factors"] = std::move(factors);
  if (!assignment.pending.empty()) {
    object["pending"] = axisNames(assignment.pending, mesh);
    object["pending_operand"] = assignment.pendingOperand;
  }
  if (!assignment.storage.empty())
    object["stored"] = axisNames(assignment.storage, mesh);
}

Json describeOperators(const PlanSummary &summary) {
  const PlanningProblem &problem = summary.problem;
  const PlanningAnswer &answer = summary.answer;
  const Mesh &mesh = answer.mesh;
  ReshardCache reshards(mesh);
  auto copies = getCopies(problem, answer);
  std::vector<size_t> leaders = findLeaders(problem);

  Json operators = Json::array();
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    const FactorAssignment &assignment = answer.assignments[index];
    size_t leader = leaders[index];
    Json inputs = Json::array(), outputs = Json::array(),
         collectives = Json::array();
    for (auto [position, operand] : llvm::enumerate(op.operands)) {
      const PlanningValue &value = problem.values[operand];
      Sharding use =
          getUseSharding(op.rule, assignment, static_cast<int>(position));
      inputs.push_back(describeValue(value, use, mesh));
      // A copy belongs to the first operand that reads it.
      bool repeated = llvm::is_contained(
          llvm::ArrayRef(op.operands).take_front(position), operand);
      for (const ValueCopy &copy : copies[operand])
        if (!repeated && copy.firstUse == static_cast<int>(index) &&
            value.kind != ValueKind::constant)
          addCollectives(
              collectives,
              reshards.get(value.shape, answer.rest[operand], copy.layout),
              value, mesh, copy.repeat);
    }
    for (auto [position, result] : llvm::enumerate(op.results)) {
      const PlanningValue &value = problem.values[result];
      outputs.push_back(describeValue(value, answer.rest[result], mesh));
      addCollectives(collectives,
                     reshards.get(value.shape,
                                  getMadeSharding(op.rule, assignment,
                                                  static_cast<int>(position)),
                                  answer.rest[result]),
                     value, mesh, getResultRepeat(problem, op));
    }
    // The gradients of a product follow its algorithm.
    Algorithm algorithm =
        getAlgorithm(problem.ops[leader], answer.assignments[leader], mesh);
    Json object = {
        {"node", op.node}, {"index", op.nodeIndex},
        {"op", op.type},   {"role", stringifyOpRole(op.role).str()},
        {"stage", 0},      {"algorithm", stringifyAlgorithm(algorithm).str()}};
    addAssignment(object, op, assignment, mesh);
    object.update({{"inputs", std::move(inputs)},
                   {"outputs", std::move(outputs)},
                   {"recompute", "keep"},
                   {"flops", getFlops(op)},
                   {"repeat", getRepeat(problem, op)},
                   {"collectives", std::move(collectives)}});
    operators.push_back(std::move(object));
  }
  return operators;
}

Json describeValues(const PlanSummary &summary, ValueKind kind) {
  Json values = Json::array();
  for (auto [value, rest] :
       llvm::zip_equal(summary.problem.values, summary.answer.rest)) {
    if (value.kind != kind)
      continue;
    Json object = {{"name", value.name}, {"shape", value.shape}};
    addSharding(object, rest, summary.answer.mesh);
    values.push_back(std::move(object));
  }
  return values;
}

Json describeParameters(const PlanSummary &summary) {
  Json list = describeValues(summary, ValueKind::parameter);
  size_t position = 0;
  for (auto [index, value] : llvm::enumerate(summary.problem.values)) {
    if (value.kind != ValueKind::parameter)
      continue;
    Json &object = list[position++];
    const auto &training = summary.training;
    object["zero_stage"] =
        training
            ? getZeroStage(summary.problem, summary.answer,
                           static_cast<int>(index), training->forcedZeroStage)
            : 0;
    object["tier"] = "hbm";
    object["optimizer_tier"] = training ? "hbm" : "none";
    if (!training)
      continue;
    auto known = training->parameters.find(value.name);
    if (known == training->parameters.end())
      continue;
    object["trained"] = known->second.isTrained;
    object["reason"] = known->second.reason;
  }
  return list;
}

Json describeMesh(const PlanSummary &summary) {
  const Mesh &mesh = summary.answer.mesh;
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

Json describePrediction(const PlanSummary &summary) {
  const PlanEvaluation &evaluation = summary.evaluation;
  double seconds = evaluation.stepTimeSeconds;
  double flops = 0;
  for (const PlanningOp &op : summary.problem.ops)
    if (op.role != OpRole::optimizer)
      flops +=
          getFlops(op) * static_cast<double>(getRepeat(summary.problem, op));
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
        {"pipeline_bubble", 0},
        {"offload", 0},
        {"optimizer", evaluation.optimizerSeconds}}}};
  predicted.update(toJson(summary.prediction));
  return predicted;
}

Json describeConfig(const PlanSummary &summary) {
  const auto &training = summary.training;
  int64_t microBatches = training ? training->microBatches : 1;
  Json config = {
      {"global_batch", summary.model.batch},
      {"micro_batches", microBatches},
      {"micro_batch", summary.model.batch / microBatches},
      {"dimensions", Json(summary.model.dimensions)},
      {"precision", stringifyPrecision(summary.precision)},
      {"optimizer", training ? training->optimizer : std::string("none")},
      {"schedule", "gpipe"}};
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
  Json ranks = Json::array();
  for (int64_t rank = 0; rank < cluster.deviceCount; ++rank)
    ranks.push_back(rank);
  int64_t lastOp = static_cast<int64_t>(summary.problem.ops.size()) - 1;
  const Certificate &certificate = summary.certificate;
  return {
      {"format", 1},
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
      {"stages", Json::array({{{"index", 0},
                               {"ranks", std::move(ranks)},
                               {"chunk", 0},
                               {"nodes", {0, std::max<int64_t>(lastOp, 0)}}}})},
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
}
