//===- PublishedRuns.cpp - Predicts published training steps --------------===//
//
// Part of parplan.
//
// calibrate.py talks to it in lines of JSON. The first line is the list of
// runs; every other one asks for all of them:
//
//   {"clusters": {NAME: DOCUMENT, ...}, "optimizer_bytes": 50, "without": []}
//
// and is answered by {"step": [...], "forward": [...], "backward": [...], ...}.
// A line {"collectives": [[CLUSTER, KIND, RANKS, PER_NODE, BYTES], ...],
// "clusters": {...}} is answered by {"seconds": [...]}.
//
//===----------------------------------------------------------------------===//

#include "TransformerStep.h"

#include "parplan/Cluster/Presets.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Json.h"

#include <cstdio>
#include <iostream>
#include <map>

using namespace parplan;
using namespace parplan::published;

namespace {

struct NamedRun {
  std::string cluster;
  int64_t gpus = 1;
  Run run;
};

[[noreturn]] void fail(const DiagnosticEngine &engine) {
  std::fputs(engine.render().c_str(), stderr);
  std::exit(1);
}

Json parse(const std::string &line) {
  DiagnosticEngine engine;
  std::optional<Json> document =
      parseJson(line, "request", codes::badClusterSyntax, engine);
  if (!document)
    fail(engine);
  return *document;
}

NamedRun readRun(const Json &json) {
  NamedRun named;
  Run &run = named.run;
  named.cluster = json["cluster"].get<std::string>();
  auto read = [&](const char *key, int64_t &target) {
    target = json[key].get<int64_t>();
  };
  read("gpus", named.gpus);
  read("layers", run.layers);
  read("hidden", run.hidden);
  read("heads", run.heads);
  read("ffn", run.ffn);
  read("vocabulary", run.vocabulary);
  read("length", run.length);
  read("tensor", run.tensor);
  read("positions", run.positions);
  read("replicas", run.replicas);
  read("chunks", run.chunks);
  read("micro_batch", run.microBatch);
  read("micro_batches", run.microBatches);
  read("zero_stage", run.zeroStage);
  read("gradient_bytes", run.gradientBytes);
  run.splitsSequence = json["splits_sequence"].get<bool>();
  run.isLayer = json["is_layer"].get<bool>();
  run.accumulationBytes = json["accumulation_bytes"].get<double>();
  run.lossBytes = json["loss_bytes"].get<double>();
  auto recompute = json["recompute"].get<std::string>();
  run.recompute = recompute == "full"        ? Recompute::full
                  : recompute == "selective" ? Recompute::selective
                                             : Recompute::none;
  run.precision = json["precision"].get<std::string>() == "bf16"
                      ? Precision::bf16
                      : Precision::fp16;
  return named;
}

/// Models by cluster, number of devices and precision, of one request.
class Models {
public:
  explicit Models(const Json &documents) : documents(documents) {}

  const CostModel &get(const std::string &name, int64_t gpus,
                       Precision precision) {
    std::unique_ptr<CostModel> &model = models[{name, gpus, precision}];
    if (!model) {
      DiagnosticEngine engine;
      std::optional<ClusterDescription> description =
          parseCluster(printJson(documents[name]), name, engine);
      std::optional<Cluster> cluster;
      if (description)
        cluster = makeCluster(std::move(*description), gpus, engine);
      if (!cluster)
        fail(engine);
      model = std::make_unique<CostModel>(std::move(*cluster), precision);
    }
    return *model;
  }

private:
  const Json &documents;
  std::map<std::tuple<std::string, int64_t, Precision>,
           std::unique_ptr<CostModel>>
      models;
};

Json predictRuns(const std::vector<NamedRun> &runs, const Json &request) {
  Models models(request["clusters"]);
  Omissions without;
  for (const Json &term : request["without"])
    without.insert(term.get<std::string>());
  bool simulates = request.value("simulate", false);
  auto optimizerBytes = request["optimizer_bytes"].get<double>();
  Json answer;
  for (const NamedRun &named : runs) {
    const CostModel &costs =
        models.get(named.cluster, named.gpus, named.run.precision);
    Prediction got =
        predict(named.run, costs, optimizerBytes, without, simulates);
    answer["simulated"].push_back(got.simulated);
    answer["step"].push_back(got.step);
    answer["forward"].push_back(got.layerForward);
    answer["backward"].push_back(got.layerBackward);
    answer["data"].push_back(got.data);
    answer["messages"].push_back(got.messages);
    answer["bubble"].push_back(got.bubble);
    answer["optimizer"].push_back(got.optimizer);
  }
  return answer;
}

Json priceCollectives(const Json &request) {
  Models models(request["clusters"]);
  Json answer;
  for (const Json &entry : request["collectives"]) {
    auto ranks = entry[2].get<int64_t>();
    auto perNode = std::min(entry[3].get<int64_t>(), ranks);
    RankGroup group{ranks, perNode, (ranks + perNode - 1) / perNode};
    const CostModel &costs =
        models.get(entry[0].get<std::string>(), ranks, Precision::bf16);
    answer["seconds"].push_back(costs.getCollectiveSeconds(
        *parseCollectiveKind(entry[1].get<std::string>()), group,
        entry[4].get<int64_t>()));
  }
  return answer;
}

} // namespace

int main() {
  std::string line;
  if (!std::getline(std::cin, line))
    return 1;
  std::vector<NamedRun> runs;
  for (const Json &run : parse(line))
    runs.push_back(readRun(run));
  while (std::getline(std::cin, line)) {
    Json request = parse(line);
    Json answer = request.contains("collectives") ? priceCollectives(request)
                                                  : predictRuns(runs, request);
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}
