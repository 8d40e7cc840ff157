//===- ShadowPrices.cpp - What more of something is worth -----------------===//

#include "lib/Driver/ShadowPrices.h"

#include "lib/Driver/Force.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/PlanModel.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Support/Text.h"

#include <algorithm>

using namespace parplan;

namespace {

constexpr double more = 1.1;

void raise(std::vector<double> &rates) {
  for (double &rate : rates)
    rate *= more;
}

/// What was measured wins over the rates of links, so it changes with them.
void shorten(ClusterDescription &cluster, bool isNetwork) {
  for (MeasuredCollective &measured : cluster.collectives.measured)
    if ((measured.nodes > 1) == isNetwork)
      for (double &seconds : measured.seconds)
        seconds /= more;
}

struct Rate {
  const char *resource;
  const char *change;
  void (*raise)(ClusterDescription &);
};
constexpr Rate rates[] = {
    {"link_bandwidth", "10 % more bandwidth in a node",
     [](ClusterDescription &cluster) {
       cluster.node.link.bytesPerSecond *= more;
       raise(cluster.node.link.bytesPerSecondByDevices);
       shorten(cluster, /*isNetwork=*/false);
     }},
    {"network_bandwidth", "10 % more bandwidth between nodes",
     [](ClusterDescription &cluster) {
       if (cluster.network)
         cluster.network->bytesPerSecond *= more;
       shorten(cluster, /*isNetwork=*/true);
     }},
    {"arithmetic", "10 % more arithmetic",
     [](ClusterDescription &cluster) {
       PeakRates &peaks = cluster.device.flopsPerSecond;
       for (double *rate : {&peaks.fp64, &peaks.fp32, &peaks.tf32, &peaks.fp16,
                            &peaks.bf16, &peaks.fp8})
         *rate *= more;
       cluster.device.transcendentalsPerSecond *= more;
     }},
    {"memory_bandwidth", "10 % more bandwidth of device memory",
     [](ClusterDescription &cluster) {
       cluster.device.memoryBytesPerSecond *= more;
     }},
    {"host_bandwidth", "10 % more bandwidth of the host and to it",
     [](ClusterDescription &cluster) {
       cluster.node.deviceHostBytesPerSecond *= more;
       cluster.node.hostMemoryBytesPerSecond *= more;
     }},
    {"nvme_bandwidth", "10 % more bandwidth of NVMe",
     [](ClusterDescription &cluster) {
       if (!cluster.node.nvme)
         return;
       cluster.node.nvme->readBytesPerSecond *= more;
       cluster.node.nvme->writeBytesPerSecond *= more;
     }},
};

double getSeconds(const PlanningProblem &problem, const PlanningAnswer &answer,
                  const Cluster &cluster, Precision precision) {
  CostModel model(cluster, precision);
  ClusterCosts costs(model);
  return evaluatePlan(problem, answer, costs).stepTimeSeconds;
}

} // namespace

std::vector<ShadowPrice> parplan::getRatePrices(const PlanningProblem &problem,
                                                const PlanningAnswer &answer,
                                                const Cluster &cluster,
                                                Precision precision) {
  double seconds = getSeconds(problem, answer, cluster, precision);
  std::vector<ShadowPrice> prices;
  for (const Rate &rate : rates) {
    Cluster better = cluster;
    rate.raise(better.description);
    double gain = seconds - getSeconds(problem, answer, better, precision);
    if (gain > 1e-6 * seconds)
      prices.push_back({rate.resource, rate.change, gain});
  }
  std::stable_sort(prices.begin(), prices.end(),
                   [](const ShadowPrice &left, const ShadowPrice &right) {
                     return left.seconds > right.seconds;
                   });
  return prices;
}

std::optional<ShadowPrice>
parplan::findMemoryPrice(Replay &replay, const PlanClaims &claims,
                         const std::string &modelPath) {
  constexpr int64_t moreBytes = int64_t(1) << 30;
  DiagnosticEngine silent;
  CompileOptions options;
  options.modelPath = modelPath;
  options.gpus = claims.gpus;
  options.cluster = claims.clusterSource;
  options.timeBudgetSeconds = 5;
  options.force = parseForce(joinText(claims.forceEntries, ","), options.gpus,
                             claims.training.has_value(), silent);
  options.training = getTrainingOptions(claims, silent);
  options.precision = getComputePrecision(claims);
  if (silent.hasErrors())
    return std::nullopt;
  FrontendOptions request = replay.request;
  request.zigzag = 1;
  request.microBatches = options.force.microBatches.value_or(0);
  IRDumper dumper("", silent);
  std::optional<SimplifiedModel> model =
      simplifyModel(*replay.context, request, dumper, silent);
  if (!model)
    return std::nullopt;
  PlanChoice choice = planWithoutProgram(
      *replay.context, std::move(*model), options, request, replay.cluster,
      claims.memoryLimitBytes + moreBytes, silent);
  double seconds =
      getSeconds(replay.frontend.graph.problem, replay.answer, replay.cluster,
                 *parsePrecision(claims.precision));
  double gain =
      choice.candidate ? seconds - choice.plan.evaluation.stepTimeSeconds : 0;
  if (gain <= 1e-6 * seconds)
    return std::nullopt;
  return ShadowPrice{"memory", "1 GiB more memory a device", gain};
}
