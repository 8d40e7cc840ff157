//===- Stages.cpp - The stages of plan.json -------------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Stages.h"

#include "parplan/Pipeline/WaitingRooms.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

using namespace parplan;

std::optional<int> parplan::findStageAxis(const Mesh &mesh) {
  for (int axis = 0; axis < mesh.getAxisCount(); ++axis)
    if (mesh.getAxis(axis).role == AxisRole::pipeline)
      return axis;
  return std::nullopt;
}

/// The ranks at a position of the pipeline; all without one.
static Json listRanks(const Mesh &mesh, std::optional<int> axis,
                      int64_t position) {
  Json ranks = Json::array();
  for (int64_t rank = 0; rank < mesh.getRankCount(); ++rank)
    if (!axis || mesh.getCoordinate(rank, *axis) == position)
      ranks.push_back(rank);
  return ranks;
}

/// First and last op of the forward pass that a stage has of its own.
static Json findNodes(const PlanSummary &summary, int stage) {
  int64_t first = -1, last = -1;
  for (auto [index, op] : llvm::enumerate(summary.problem.ops)) {
    if (!isBeforeBackward(op.role) || summary.answer.getStage(index) != stage)
      continue;
    if (first < 0)
      first = static_cast<int64_t>(index);
    last = static_cast<int64_t>(index);
  }
  return {std::max<int64_t>(first, 0), std::max<int64_t>(last, 0)};
}

/// What they are of a stage, in `micro_batch_bytes`.
static constexpr std::pair<const char *, int64_t PassBytes::*> passBytes[] = {
    {"saved", &PassBytes::saved},
    {"waiting", &PassBytes::waiting},
    {"forward", &PassBytes::forward},
    {"input_gradient", &PassBytes::inputGradient},
    {"weight_gradient", &PassBytes::weightGradient}};

static Json describePassBytes(const PassBytes &bytes) {
  Json described;
  for (auto [key, member] : passBytes)
    described[key] = bytes.*member;
  return described;
}

static PassBytes readPassBytes(JsonReader &reader) {
  PassBytes bytes;
  for (auto [key, member] : passBytes)
    bytes.*member =
        reader.getInteger(key, 0, WaitingRoom::mostBytes).value_or(0);
  return bytes;
}

Json parplan::describeStages(const PlanSummary &summary) {
  const Mesh &mesh = summary.answer.mesh;
  if (!summary.answer.pipeline) {
    int64_t lastOp = static_cast<int64_t>(summary.problem.ops.size()) - 1;
    const auto &servers = summary.answer.servers;
    Mesh workers({{"workers", servers ? servers->workers : 1, AxisRole::data}});
    return Json::array(
        {{{"index", 0},
          {"ranks", listRanks(servers ? workers : mesh, std::nullopt, 0)},
          {"chunk", 0},
          {"nodes", {0, std::max<int64_t>(lastOp, 0)}}}});
  }
  const PipelineChoice &pipeline = *summary.answer.pipeline;
  std::optional<int> axis = findStageAxis(mesh);
  Json stages = Json::array();
  for (auto [stage, times] : llvm::enumerate(pipeline.times)) {
    int64_t position = getPosition(pipeline.shape, stage);
    stages.push_back({{"index", stage},
                      {"position", position},
                      {"ranks", listRanks(mesh, axis, position)},
                      {"chunk", getChunk(pipeline.shape, stage)},
                      {"nodes", findNodes(summary, static_cast<int>(stage))},
                      {"forward_s", times.forwardSeconds},
                      {"input_gradient_s", times.inputGradientSeconds},
                      {"weight_gradient_s", times.weightGradientSeconds}});
    if (stage < pipeline.latencies.size())
      stages.back()["message_s"] = pipeline.latencies[stage];
    if (pipeline.room.isLimited())
      stages.back()["micro_batch_bytes"] =
          describePassBytes(pipeline.room.stages[stage]);
  }
  return stages;
}

std::optional<PipelineChoice> parplan::readPipeline(const Json &document,
                                                    const std::string &file,
                                                    int64_t positions,
                                                    DiagnosticEngine &engine) {
  auto fail = [&](const std::string &path) {
    DiagnosticBuilder error =
        engine.error(codes::planMismatch, Location::inFile(file));
    error << "field '" << path << "': ";
    return error;
  };
  JsonReader top(document, file, "", codes::planMismatch, engine);
  auto config = top.getObject("config");
  auto schedule =
      config ? config->getString("schedule") : std::optional<std::string>();
  auto microBatches =
      config ? config->getInteger("micro_batches", 1) : std::nullopt;
  if (!schedule || !microBatches)
    return std::nullopt;
  std::optional<ScheduleName> name = parseScheduleName(*schedule);
  if (!name) {
    fail("config.schedule") << quoteName(*schedule) << " is no schedule";
    return std::nullopt;
  }
  PipelineChoice choice;
  choice.shape = {name->kind, positions, *microBatches, name->chunks};
  if (std::optional<std::string> refusal = getRefusal(choice.shape)) {
    fail("config.schedule") << *refusal;
    return std::nullopt;
  }
  if (config->has("waiting_weight")) {
    fail("config.waiting_weight")
        << "is of an earlier version, whose schedules cannot be made again";
    return std::nullopt;
  }
  if (config->has("waiting_room_bytes")) {
    auto bytes =
        config->getIntegers("waiting_room_bytes", 0, WaitingRoom::mostBytes);
    if (!bytes)
      return std::nullopt;
    choice.room.positionBytes = std::move(*bytes);
    if (!choice.room.isLimited()) {
      fail("config.waiting_room_bytes") << "is empty";
      return std::nullopt;
    }
  }
  for (JsonReader &stage : top.getObjects("stages")) {
    auto read = [&](const char *key) {
      return stage.getNumber(key, 0).value_or(0);
    };
    double forward = read("forward_s"), input = read("input_gradient_s");
    choice.times.push_back({forward, input, read("weight_gradient_s")});
    if (stage.has("message_s"))
      choice.latencies.push_back(read("message_s"));
    if (!stage.has("micro_batch_bytes"))
      continue;
    auto bytes = stage.getObject("micro_batch_bytes");
    if (!bytes)
      return std::nullopt;
    choice.room.stages.push_back(readPassBytes(*bytes));
  }
  if (static_cast<int64_t>(choice.times.size()) !=
      choice.shape.getStageCount()) {
    fail("stages") << "has " << choice.times.size()
                   << " entries, the schedule has "
                   << choice.shape.getStageCount() << " stages";
    return std::nullopt;
  }
  if (auto refusal = getRefusal(choice.shape, choice.room)) {
    fail("config.waiting_room_bytes") << *refusal;
    return std::nullopt;
  }
  return choice;
}
