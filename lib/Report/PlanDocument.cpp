//===- PlanDocument.cpp - Writing plan.json -------------------------------===//

#include "lib/Report/PlanDocument.h"

#include "parplan/Planner/Candidates.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Evaluator.h"
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

void addCollectives(Json &list, const ReshardPath &path,
                    const PlanningValue &value, const Mesh &mesh) {
  for (const Move &move : path.moves)
    if (!move.isLocal())
      list.push_back(
          {{"kind", stringifyCollectiveKind(getCollectiveKind(move.kind))},
           {"axes", axisNames(move.axes, mesh)},
           {"bytes", move.sizeElements * value.elementBytes},
           {"count", 1}});
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

Json describeOperators(const PlanSummary &summary) {
  const PlanningProblem &problem = summary.problem;
  const PlanningAnswer &answer = summary.answer;
  const Mesh &mesh = answer.mesh;
  ReshardCache reshards(mesh);
  auto copies = getCopies(problem, answer);

  Json operators = Json::array();
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    const FactorAssignment &assignment = answer.assignments[index];
    Json factors = Json::object();
    for (auto [factor, axes] :
         llvm::zip_equal(op.rule.factors, assignment.axes))
      if (!axes.empty())
        factors[factor.name] = axisNames(axes, mesh);
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
              value, mesh);
    }
    for (auto [position, result] : llvm::enumerate(op.results)) {
      const PlanningValue &value = problem.values[result];
      outputs.push_back(describeValue(value, answer.rest[result], mesh));
      addCollectives(collectives,
                     reshards.get(value.shape,
                                  getMadeSharding(op.rule, assignment,
                                                  static_cast<int>(position)),
                                  answer.rest[result]),
                     value, mesh);
    }
    operators.push_back(
        {{"node", op.node},
         {"index", op.nodeIndex},
         {"op", op.type},
         {"stage", 0},
         {"algorithm",
          stringifyAlgorithm(getAlgorithm(op, assignment, mesh)).str()},
         {"factors", std::move(factors)},
         {"inputs", std::move(inputs)},
         {"outputs", std::move(outputs)},
         {"recompute", "keep"},
         {"flops", getFlops(op)},
         {"collectives", std::move(collectives)}});
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
    if (kind == ValueKind::parameter) {
      object["zero_stage"] = 0;
      object["tier"] = "hbm";
      object["optimizer_tier"] = "none";
    }
    values.push_back(std::move(object));
  }
  return values;
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

std::string stringifyPrecision(Precision precision) {
  switch (precision) {
  case Precision::fp32:
    return "fp32";
  case Precision::bf16:
    return "bf16";
  case Precision::fp16:
    return "fp16";
  }
  return "fp32";
}

Json describePrediction(const PlanSummary &summary) {
  const PlanEvaluation &evaluation = summary.evaluation;
  double seconds = evaluation.stepTimeSeconds;
  double flops = 0;
  for (const PlanningOp &op : summary.problem.ops)
    flops += getFlops(op);
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
        {"optimizer", 0}}}};
  predicted.update(toJson(summary.prediction));
  return predicted;
}

} // namespace

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
      {"mode", "inference"},
      {"config",
       {{"global_batch", summary.model.batch},
        {"micro_batches", 1},
        {"micro_batch", summary.model.batch},
        {"dimensions", Json(summary.model.dimensions)},
        {"precision", stringifyPrecision(summary.precision)},
        {"optimizer", "none"},
        {"schedule", "gpipe"}}},
      {"mesh", describeMesh(summary)},
      {"stages", Json::array({{{"index", 0},
                               {"ranks", std::move(ranks)},
                               {"chunk", 0},
                               {"nodes", {0, std::max<int64_t>(lastOp, 0)}}}})},
      {"inputs", describeValues(summary, ValueKind::input)},
      {"operators", describeOperators(summary)},
      {"parameters", describeValues(summary, ValueKind::parameter)},
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
