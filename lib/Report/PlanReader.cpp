//===- PlanReader.cpp - Reading the decisions of a plan.json --------------===//

#include "lib/Report/Layouts.h"
#include "lib/Report/PlanDocument.h"
#include "lib/Report/Stages.h"

#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

using namespace parplan;

/// Who keeps the variables, and beside how many workers.
static std::optional<ServerChoice> readServers(const Json &document,
                                               const std::string &file,
                                               DiagnosticEngine &engine) {
  if (!document.contains("servers"))
    return std::nullopt;
  JsonReader top(document, file, "", codes::planMismatch, engine);
  auto object = top.getObject("servers");
  auto cluster = top.getObject("cluster");
  if (!object || !cluster)
    return std::nullopt;
  ServerChoice choice;
  int64_t ranks = cluster->getInteger("gpus", 2).value_or(2);
  const Json list = document["servers"].value("ranks", Json());
  choice.servers = list.is_array() ? static_cast<int64_t>(list.size()) : 0;
  choice.workers = ranks - choice.servers;
  Json last = Json::array();
  for (int64_t rank = choice.workers; rank < ranks; ++rank)
    last.push_back(rank);
  if (choice.servers < 1 || choice.workers < 1 || list != last) {
    engine.error(codes::planMismatch, Location::inFile(file))
        << "field 'servers.ranks': not the last ones of " << ranks
        << " devices, with a worker before them";
    return std::nullopt;
  }
  if (object->getChoice("mode", {"sync", "async"}).value_or("sync") == "async")
    choice.staleness = object->getInteger("staleness", 0).value_or(0);
  return choice;
}

namespace {

/// Reads decisions for one problem, reporting what does not fit at its path.
class AnswerReader {
public:
  AnswerReader(const Json &document, const std::string &file,
               const PlanningProblem &problem, DiagnosticEngine &engine)
      : document(document), file(file), problem(problem), engine(engine) {}

  std::optional<PlanningAnswer> read() {
    if (!readMesh())
      return std::nullopt;
    answer.servers = readServers(document, file, engine);
    // One of the workers.
    if (answer.servers && answer.servers->staleness) {
      if (mesh.getRankCount() != answer.servers->workers) {
        fail("mesh.axes") << mesh.getRankCount() << " ranks, beside which are "
                          << answer.servers->workers << " workers";
        return std::nullopt;
      }
      mesh = Mesh();
    }
    answer.mesh = mesh;
    for (const PlanningValue &value : problem.values)
      answer.rest.push_back(Sharding::getReplicated(value.shape.size()));
    answer.gathersAgain.assign(problem.values.size(), false);
    answer.inPieces.assign(problem.values.size(), false);
    answer.recomputed.assign(problem.ops.size(), false);
    answer.relayed.assign(problem.ops.size(), false);
    answer.perVisit.assign(problem.ops.size(), false);
    answer.tiers.assign(problem.values.size(), MemoryTier::device);
    if (std::optional<int> axis = findStageAxis(mesh))
      answer.pipeline =
          readPipeline(document, file, mesh.getAxis(*axis).size, engine);
    if (engine.hasErrors())
      return std::nullopt;
    readList("inputs", ValueKind::input);
    readList("parameters", ValueKind::parameter);
    readList("states", ValueKind::state);
    readOperators();
    if (engine.hasErrors())
      return std::nullopt;
    return std::move(answer);
  }

private:
  DiagnosticBuilder fail(const std::string &path) {
    DiagnosticBuilder error =
        engine.error(codes::planMismatch, Location::inFile(file));
    error << "field '" << path << "': ";
    return error;
  }

  /// The member `key` of an object, or null after reporting.
  const Json *get(const Json &object, const std::string &path,
                  const std::string &key, Json::value_t type) {
    if (object.is_object())
      if (auto it = object.find(key); it != object.end() && it->type() == type)
        return &*it;
    fail(path.empty() ? key : path + "." + key)
        << "missing, or of another type";
    return nullptr;
  }

  bool readMesh() {
    const Json *object = get(document, "", "mesh", Json::value_t::object);
    const Json *axes =
        object ? get(*object, "mesh", "axes", Json::value_t::array) : nullptr;
    if (!axes)
      return false;
    std::vector<MeshAxis> list;
    for (const Json &axis : *axes) {
      JsonReader reader(axis, file,
                        "mesh.axes[" + std::to_string(list.size()) + "]",
                        codes::planMismatch, engine);
      auto name = reader.getString("name");
      auto role = reader.getString("role");
      auto size = reader.getInteger("size", 1, int64_t(1) << 20);
      auto parsed = role ? parseAxisRole(*role) : std::nullopt;
      if (role && !parsed)
        fail("mesh.axes[" + std::to_string(list.size()) + "].role")
            << quoteName(*role) << " is no role of an axis";
      if (!name || !size || !parsed)
        return false;
      list.push_back({*name, *size, *parsed});
    }
    if (auto violation = verifyMeshAxes(list)) {
      fail("mesh.axes") << *violation;
      return false;
    }
    mesh = Mesh(std::move(list));
    return true;
  }

  std::optional<AxisList> readAxes(const Json &names, const std::string &path) {
    AxisList axes;
    if (!names.is_array()) {
      fail(path) << "not a list of axes";
      return std::nullopt;
    }
    for (const Json &name : names) {
      std::optional<int> axis;
      if (const auto *text = name.get_ptr<const std::string *>())
        axis = mesh.findAxis(*text);
      if (!axis) {
        fail(path) << escapeName(name.dump()) << " is no axis of the mesh";
        return std::nullopt;
      }
      axes.push_back(*axis);
    }
    return axes;
  }

  void readSharding(const Json &object, const std::string &path, int value) {
    const Json *dims = get(object, path, "sharding", Json::value_t::array);
    if (!dims)
      return;
    Sharding sharding;
    for (const Json &names : *dims) {
      auto axes = readAxes(names, path + ".sharding");
      if (!axes)
        return;
      sharding.dims.push_back(std::move(*axes));
    }
    if (object.contains("stored"))
      if (auto axes = readAxes(object["stored"], path + ".stored"))
        sharding.storage = std::move(*axes);
    if (object.contains("partial"))
      if (auto axes = readAxes(object["partial"], path + ".partial"))
        sharding.partial = std::move(*axes);
    if (object.contains("reduction")) {
      const auto *name = object["reduction"].get_ptr<const std::string *>();
      auto kind = name ? parseReductionKind(*name) : std::nullopt;
      if (!kind) {
        fail(path + ".reduction") << "neither sum nor max";
        return;
      }
      sharding.reduction = *kind;
    }
    size_t rank = problem.values[value].shape.size();
    if (auto violation = verifySharding(sharding, mesh, rank))
      fail(path + ".sharding") << *violation;
    else
      answer.rest[value] = std::move(sharding);
  }

  void readList(const std::string &key, ValueKind kind) {
    const Json *list = get(document, "", key, Json::value_t::array);
    if (!list)
      return;
    std::vector<int> values;
    for (auto [index, value] : llvm::enumerate(problem.values))
      if (value.kind == kind)
        values.push_back(static_cast<int>(index));
    if (values.size() != list->size()) {
      fail(key) << "has " << list->size() << " entries, the model "
                << values.size();
      return;
    }
    for (auto [index, value] : llvm::enumerate(values)) {
      std::string path = key + "[" + std::to_string(index) + "]";
      readSharding((*list)[index], path, value);
      readTier((*list)[index], path, value);
      const Json &object = (*list)[index];
      answer.inPieces[value] =
          object.is_object() && object.value("rests_in_pieces", Json()) == true;
    }
  }

  /// Where a value is on the device, documents need not say so.
  void readTier(const Json &object, const std::string &path, int value) {
    if (!object.is_object() || !object.contains("tier"))
      return;
    for (MemoryTier tier :
         {MemoryTier::device, MemoryTier::host, MemoryTier::nvme})
      if (object["tier"] == nameTier(tier)) {
        answer.tiers[value] = tier;
        return;
      }
    fail(path + ".tier") << "none of hbm, cpu, nvme";
  }

  void readOperators() {
    const Json *list = get(document, "", "operators", Json::value_t::array);
    if (!list)
      return;
    if (list->size() != problem.ops.size()) {
      fail("operators") << "has " << list->size() << " entries, the model has "
                        << problem.ops.size() << " operators";
      return;
    }
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      std::string path = "operators[" + std::to_string(index) + "]";
      readOperator((*list)[index], path, op);
      readPasses((*list)[index], path, index);
    }
  }

  /// The stage of an op, and whether its results are made again.
  void readPasses(const Json &object, const std::string &path, size_t index) {
    if (!object.is_object())
      return;
    answer.recomputed[index] = object.value("recompute", Json()) == "recompute";
    answer.perVisit[index] = object.value("per_visit", Json()) == true;
    answer.relayed[index] = object.value("relayed", Json()) == true;
    if (!answer.pipeline)
      return;
    JsonReader reader(object, file, path, codes::planMismatch, engine);
    int64_t last = answer.pipeline->shape.getStageCount() - 1;
    // -1: in every stage that reads it.
    bool isEverywhere = object.value("stage", Json()) == -1;
    answer.stages.push_back(static_cast<int>(
        isEverywhere ? -1 : reader.getInteger("stage", 0, last).value_or(0)));
  }

  void readOperator(const Json &object, const std::string &path,
                    const PlanningOp &op) {
    const Json *node = get(object, path, "node", Json::value_t::string);
    const Json *factors = get(object, path, "factors", Json::value_t::object);
    const Json *outputs = get(object, path, "outputs", Json::value_t::array);
    FactorAssignment assignment = FactorAssignment::getReplicated(op.rule);
    if (!node || !factors || !outputs)
      return answer.assignments.push_back(std::move(assignment));
    if (node->get_ref<const std::string &>() != op.node)
      fail(path + ".node") << quoteName(node->get_ref<const std::string &>())
                           << " is " << quoteName(op.node) << " in the model";
    for (const auto &[name, names] : factors->items()) {
      auto factor = op.rule.findFactor(name);
      auto axes = readAxes(names, path + ".factors." + escapeName(name));
      if (!factor)
        fail(path + ".factors")
            << quoteName(name) << " is no factor of " << op.type;
      else if (axes)
        assignment.axes[*factor] = std::move(*axes);
    }
    if (object.contains("stored"))
      if (auto axes = readAxes(object["stored"], path + ".stored"))
        assignment.storage = std::move(*axes);
    if (object.contains("pending")) {
      if (auto axes = readAxes(object["pending"], path + ".pending"))
        assignment.pending = std::move(*axes);
      JsonReader reader(object, file, path, codes::planMismatch, engine);
      assignment.pendingOperand = static_cast<int>(
          reader.getInteger("pending_operand", 0, 1 << 20).value_or(0));
    }
    if (object.contains("panels"))
      readPanels(object["panels"], path + ".panels", op, assignment.panels);
    answer.assignments.push_back(std::move(assignment));
    if (outputs->size() != op.results.size()) {
      fail(path + ".outputs")
          << "has " << outputs->size() << " entries, not " << op.results.size();
      return;
    }
    for (auto [position, result] : llvm::enumerate(op.results)) {
      const Json &output = (*outputs)[position];
      readSharding(output, path + ".outputs[" + std::to_string(position) + "]",
                   result);
      readTier(output, path + ".outputs[" + std::to_string(position) + "]",
               result);
      answer.gathersAgain[result] =
          output.is_object() && output.value("gathered_again", Json()) == true;
    }
  }

  /// `{"k": ["tp0", "tp1"]}`
  void readPanels(const Json &object, const std::string &path,
                  const PlanningOp &op, PanelLoop &panels) {
    if (!object.is_object() || object.size() != 1) {
      fail(path) << "not one factor with its axes";
      return;
    }
    std::string name = object.items().begin().key();
    auto factor = op.rule.findFactor(name);
    auto axes = readAxes(object[name], path + "." + escapeName(name));
    if (!factor)
      fail(path) << quoteName(name) << " is no factor of " << op.type;
    if (!factor || !axes)
      return;
    llvm::sort(*axes);
    panels = {*factor, std::move(*axes)};
  }

  const Json &document;
  const std::string &file;
  const PlanningProblem &problem;
  DiagnosticEngine &engine;
  Mesh mesh;
  PlanningAnswer answer;
};

} // namespace

std::optional<PlanningAnswer>
parplan::readAnswer(const Json &document, const std::string &file,
                    const PlanningProblem &problem, DiagnosticEngine &engine) {
  return AnswerReader(document, file, problem, engine).read();
}

/// What made a training step, from the configuration of its plan.
static TrainingSummary readTraining(JsonReader &config, const Json &object) {
  TrainingSummary training;
  training.loss = config.getString("loss").value_or("");
  training.optimizer = config.getString("optimizer").value_or("");
  training.learningRateSchedule = config.getString("lr_schedule").value_or("");
  if (object.contains("clip_norm"))
    training.clipNorm = config.getNumber("clip_norm");
  if (object.contains("zero"))
    if (auto stage = config.getInteger("zero", 0, 3))
      training.forcedZeroStage = static_cast<int>(*stage);
  if (object.contains("offload"))
    training.offload =
        config.getStrings("offload").value_or(std::vector<std::string>());
  training.reportGradientNorm =
      config.getBool("report_gradient_norm").value_or(false);
  for (const std::string &glob :
       config.getStrings("frozen").value_or(std::vector<std::string>()))
    training.frozen.push_back(glob);
  return training;
}

/// The ranks of the expert axes. What is wrong with the mesh says who reads the
/// rest of the plan.
static int64_t readExpertRanks(const Json &document) {
  constexpr int64_t most = int64_t(1) << 20;
  auto find = [](const Json &object, const char *key) -> const Json * {
    auto found = object.is_object() ? object.find(key) : object.end();
    return found != object.end() ? &*found : nullptr;
  };
  const Json *mesh = find(document, "mesh");
  const Json *axes = mesh ? find(*mesh, "axes") : nullptr;
  int64_t ranks = 1;
  if (!axes || !axes->is_array())
    return ranks;
  for (const Json &axis : *axes) {
    const Json *role = find(axis, "role"), *size = find(axis, "size");
    if (role && *role == stringifyAxisRole(AxisRole::expert).str() && size &&
        size->is_number_unsigned() && *size >= 1 && *size <= most)
      ranks = std::min(ranks * size->get<int64_t>(), most);
  }
  return ranks;
}

std::optional<PlanClaims> parplan::readClaims(const Json &document,
                                              const std::string &file,
                                              DiagnosticEngine &engine) {
  JsonReader top(document, file, "", codes::badPlan, engine);
  auto format = top.getInteger("format", 1, 1);
  auto model = top.getObject("model");
  auto cluster = top.getObject("cluster");
  auto config = top.getObject("config");
  auto predicted = top.getObject("predicted");
  auto certificate = top.getObject("certificate");
  if (!format || !model || !cluster || !config || !predicted || !certificate)
    return std::nullopt;
  auto peak = predicted->getObject("peak_memory_bytes");
  PlanClaims claims;
  claims.modelFile = model->getString("file").value_or("");
  claims.modelSha256 = model->getString("sha256").value_or("");
  claims.clusterSource = cluster->getString("source").value_or("");
  claims.gpus = cluster->getInteger("gpus", 1).value_or(1);
  claims.memoryLimitBytes = cluster->getInteger("memory_bytes").value_or(0);
  claims.batch = config->getInteger("global_batch", 1).value_or(1);
  claims.microBatches = config->getInteger("micro_batches", 1).value_or(1);
  if (auto dimensions = config->getObject("dimensions"))
    for (const auto &[name, value] : document["config"]["dimensions"].items())
      claims.dimensions[name] = dimensions->getInteger(name, 1).value_or(1);
  claims.precision =
      config->getChoice("precision", {"fp32", "bf16", "fp16"}).value_or("fp32");
  if (top.getString("mode").value_or("") == "train")
    claims.training = readTraining(*config, document["config"]);
  claims.servers = readServers(document, file, engine);
  if (document["config"].contains("force"))
    claims.forceEntries =
        config->getStrings("force").value_or(std::vector<std::string>());
  if (document["config"].contains("sequence"))
    if (auto sequence = config->getObject("sequence"))
      claims.zigzag = sequence->getInteger("zigzag", 1).value_or(1);
  claims.expertRanks = readExpertRanks(document);
  claims.stepTimeSeconds = predicted->getNumber("step_time_s").value_or(0);
  claims.upperBoundSeconds =
      certificate->getNumber("upper_bound_s").value_or(0);
  claims.lowerBoundSeconds =
      certificate->getNumber("lower_bound_s").value_or(0);
  claims.gap = certificate->getNumber("gap", 0, 1).value_or(0);
  if (peak)
    claims.peakBytes = peak->getInteger("max").value_or(0);
  if (engine.hasErrors())
    return std::nullopt;
  return claims;
}
