//===- Costs.cpp - Clusters at random -------------------------------------===//

#include "Instance.h"

#include "test/Unit/Planner/TestProblems.h"

#include "parplan/Cluster/Presets.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Support/Check.h"

using namespace parplan;
using namespace parplan::small;

namespace {

struct OwnedModel {
  CostModel ownModel;
};

/// The costs of a cluster, with the cluster.
class OwnedCosts : private OwnedModel, public ClusterCosts {
public:
  OwnedCosts(Cluster cluster, Precision precision)
      : OwnedModel{CostModel(std::move(cluster), precision)},
        ClusterCosts(ownModel) {}
};

} // namespace

/// A quarter of a rate to four times as much.
static void scale(Random &random, double &rate) {
  rate *= static_cast<double>(random.pick({1, 2, 4, 8, 16})) / 4;
}

void small::drawCosts(Random &random, Instance &instance) {
  PlanRequest &request = instance.request;
  if (random.pickBelow(3) == 0) {
    instance.costs = std::make_shared<test::SimpleCosts>();
    return;
  }
  const std::vector<ClusterDescription> &presets = getPresets();
  ClusterDescription description =
      presets[random.pickBelow(static_cast<int64_t>(presets.size()))];
  scale(random, description.node.link.bytesPerSecond);
  scale(random, description.node.link.latencySeconds);
  scale(random, description.device.memoryBytesPerSecond);
  scale(random, description.node.deviceHostBytesPerSecond);
  bool mayHaveNodes = description.network && request.deviceCount > 1;
  if (mayHaveNodes && random.flip()) {
    // Nodes of two and more; the last one may be partly used.
    int64_t perNode = 1 + random.pickBelow(request.deviceCount - 1);
    description.node.devices = perNode;
    scale(random, description.network->bytesPerSecond);
    instance.features.emplace_back("several nodes");
    if (random.flip()) {
      NodeGroup other{request.deviceCount, description.device,
                      description.node};
      scale(random, other.device.flopsPerSecond.fp32);
      scale(random, other.device.memoryBytesPerSecond);
      scale(random, other.node.link.bytesPerSecond);
      description.nodes = 1;
      description.otherNodes = {other};
      instance.features.emplace_back("nodes that differ");
    }
  }
  DiagnosticEngine engine;
  std::optional<Cluster> cluster =
      makeCluster(std::move(description), request.deviceCount, engine);
  PARPLAN_CHECK(cluster, "no cluster of ", request.deviceCount, " devices");
  request.devicesPerNode = cluster->getDevicesPerNode();
  instance.costs = std::make_shared<OwnedCosts>(*cluster, Precision::fp32);
}
