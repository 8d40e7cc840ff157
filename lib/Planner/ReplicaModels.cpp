//===- ReplicaModels.cpp - What one of several replicas costs -------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "ReplicaModels.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace parplan;

namespace {

/// How much of what a replica costs counts.
struct ReplicaShares {
  double ofPasses = 1, ofSteps = 1;

  template <typename Vector> Vector scale(Vector vector) const {
    vector.forward *= ofPasses;
    vector.inputGradient *= ofPasses;
    vector.weightGradient *= ofPasses;
    vector.savedBytes *= ofPasses;
    vector.meeting *= ofSteps;
    vector.ends *= ofSteps;
    vector.permanentBytes *= ofSteps;
    return vector;
  }
};

class ReplicaOracle : public BlockOracle {
public:
  ReplicaOracle(BlockOracle &oracle, const ReplicaShares &shares)
      : oracle(oracle), shares(shares) {}

  int getInCount() const override { return oracle.getInCount(); }
  int getOutCount() const override { return oracle.getOutCount(); }
  int getModeCount() const override { return oracle.getModeCount(); }

  BoundaryMatrix minimise(const Weights &weights, ModeSet modes) override {
    return oracle.minimise(shares.scale(weights), modes);
  }
  Least getLeast(const Weights &weights, ModeSet modes) override {
    Least least = oracle.getLeast(shares.scale(weights), modes);
    least.cost = shares.scale(least.cost);
    return least;
  }
  std::optional<BlockPlan> getPlan(const Weights & /*weights*/,
                                   ModeSet /*modes*/, int /*in*/,
                                   int /*out*/) override {
    return std::nullopt;
  }

private:
  BlockOracle &oracle;
  ReplicaShares shares;
};

class ReplicaModel : public SpaceModel {
public:
  ReplicaModel(std::shared_ptr<UnitOracles> given, const ReplicaShares &shares,
               double fixedBytes)
      : oracles(std::move(given)), units(oracles->getUnits()),
        fixedBytes(fixedBytes) {
    for (SearchUnit &unit : units) {
      std::unique_ptr<ReplicaOracle> &oracle = shared[unit.oracle];
      if (!oracle)
        oracle = std::make_unique<ReplicaOracle>(*unit.oracle, shares);
      unit.oracle = oracle.get();
    }
  }

  std::vector<SearchUnit> getUnits() override { return units; }
  double getFixedBytes() const override { return fixedBytes; }
  double getLatency(int /*instance*/, int /*state*/) const override {
    return 0;
  }
  JudgedPlan judge(const std::vector<BlockPlan> & /*plans*/,
                   const StageChoice & /*stages*/,
                   double /*limitBytes*/) override {
    PARPLAN_UNREACHABLE("a replica alone is no plan");
  }

private:
  std::shared_ptr<UnitOracles> oracles;
  std::map<BlockOracle *, std::unique_ptr<ReplicaOracle>> shared;
  std::vector<SearchUnit> units;
  double fixedBytes;
};

} // namespace

bool ReplicaModels::isPossible(const Mesh &mesh) {
  return llvm::all_of(mesh.getAxes(), [](const MeshAxis &axis) {
    return axis.role == AxisRole::data || axis.role == AxisRole::tensor;
  });
}

/// The tensor axes alone, with the choices that the space has on them.
static PlanSpace getReplicaSpace(const PlanningProblem &problem,
                                 const PlanSpace &space) {
  std::vector<MeshAxis> axes;
  std::vector<int> numbers(space.mesh.getAxisCount(), -1);
  for (int axis : getTensorAxes(space.mesh)) {
    numbers[axis] = static_cast<int>(axes.size());
    axes.push_back(space.mesh.getAxis(axis));
  }
  PlanSpace replica = space;
  replica.mesh = Mesh(std::move(axes));
  replica.counts = getMeshAxes(problem, space).counts;
  for (Grid &grid : replica.grids)
    for (AxisList &group : grid.groups)
      for (int &axis : group)
        axis = numbers[axis];
  return replica;
}

std::shared_ptr<UnitOracles>
ReplicaModels::getOracles(const SourceStep &step, const PlanRequest &request,
                          PlanSpace space, bool isOfKnown) {
  for (const Replica &known : replicas)
    if (known.step == &step && known.space.mesh == space.mesh &&
        known.space.grids == space.grids && known.space.counts == space.counts)
      return known.oracles;
  if (isOfKnown)
    return nullptr;
  PlanRequest own = request;
  own.deviceCount = space.mesh.getRankCount();
  auto oracles =
      std::make_shared<UnitOracles>(step.units, own, space, costs,
                                    UnitScope::samples, meshes.get(space.mesh));
  if (oracles->getRefusal())
    oracles = nullptr;
  replicas.push_back({&step, std::move(space), oracles});
  return oracles;
}

std::unique_ptr<SpaceModel> ReplicaModels::make(const SourceStep &step,
                                                const SourceStep &ofReplica,
                                                const PlanRequest &request,
                                                const PlanSpace &space,
                                                bool isOfKnown) {
  PARPLAN_CHECK(isPossible(space.mesh), "a replica has tensor axes alone");
  auto oracles = getOracles(ofReplica, request,
                            getReplicaSpace(step.problem, space), isOfKnown);
  if (!oracles)
    return nullptr;
  auto replicas =
      static_cast<double>(space.mesh.getWidth(getDataAxes(space.mesh)));
  auto batches = static_cast<double>(step.problem.microBatches);
  auto batchesOfReplica = static_cast<double>(ofReplica.problem.microBatches);
  return std::make_unique<ReplicaModel>(
      std::move(oracles),
      ReplicaShares{batchesOfReplica / (batches * replicas), 1 / replicas},
      static_cast<double>(step.problem.fixedBytes));
}
