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

/// How much of the seconds of a replica counts; its bytes do not: what has no
/// samples needs most of them, and is not looked at.
struct ReplicaShares {
  double ofPasses = 1, ofSteps = 1;
  /// Less so many seconds, per entry of `getUnits`. Empty: none.
  std::vector<CostVector> lacks = {};

  template <typename Vector> Vector scale(Vector vector) const {
    vector.forward *= ofPasses;
    vector.inputGradient *= ofPasses;
    vector.weightGradient *= ofPasses;
    vector.meeting *= ofSteps;
    vector.ends *= ofSteps;
    vector.permanentBytes = vector.savedBytes = vector.waitingBytes = 0;
    return vector;
  }
};

class ReplicaOracle : public BlockOracle {
public:
  ReplicaOracle(BlockOracle &oracle, const ReplicaShares &shares,
                const CostVector &lack)
      : oracle(oracle), shares(shares), lack(lack) {}

  int getInCount() const override { return oracle.getInCount(); }
  int getOutCount() const override { return oracle.getOutCount(); }
  int getModeCount() const override { return oracle.getModeCount(); }

  BoundaryMatrix minimise(const Weights &weights, ModeSet modes) override {
    BoundaryMatrix matrix = oracle.minimise(shares.scale(weights), modes);
    for (double &cost : matrix.costs)
      cost = reduce(cost, weights);
    return matrix;
  }
  /// There is but a bound.
  Least getLeast(const Weights &weights, ModeSet modes) override {
    return {getLeastValue(weights, modes), {}};
  }
  double getLeastValue(const Weights &weights, ModeSet modes) override {
    return reduce(oracle.getLeastValue(shares.scale(weights), modes), weights);
  }
  double getKnownValue(const Weights &weights, ModeSet modes) const override {
    return reduce(oracle.getKnownValue(shares.scale(weights), modes), weights);
  }
  std::optional<BlockPlan> getPlan(const Weights & /*weights*/,
                                   ModeSet /*modes*/, int /*in*/,
                                   int /*out*/) override {
    return std::nullopt;
  }

private:
  double reduce(double cost, const Weights &weights) const {
    return std::max(0.0, cost - weights.get(lack));
  }

  BlockOracle &oracle;
  const ReplicaShares &shares;
  CostVector lack;
};

class ReplicaModel : public SpaceModel {
public:
  ReplicaModel(std::shared_ptr<UnitOracles> given, ReplicaShares givenShares)
      : oracles(std::move(given)), shares(std::move(givenShares)),
        units(oracles->getUnits(UnitScope::samples)) {
    PARPLAN_CHECK(shares.lacks.empty() || shares.lacks.size() == units.size(),
                  "replicas of one model have the same units");
    for (auto [number, unit] : llvm::enumerate(units)) {
      std::unique_ptr<ReplicaOracle> &oracle = shared[unit.oracle];
      if (!oracle)
        oracle = std::make_unique<ReplicaOracle>(
            *unit.oracle, shares,
            shares.lacks.empty() ? CostVector() : shares.lacks[number]);
      unit.oracle = oracle.get();
    }
  }

  std::vector<SearchUnit> getUnits() override { return units; }
  double getFixedBytes() const override { return 0; }
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
  ReplicaShares shares;
  std::map<BlockOracle *, std::unique_ptr<ReplicaOracle>> shared;
  std::vector<SearchUnit> units;
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

static bool isSame(const PlanSpace &one, const PlanSpace &other) {
  return one.mesh == other.mesh && one.grids == other.grids &&
         one.counts == other.counts;
}

ReplicaModels::Replica &ReplicaModels::get(const SourceStep &step,
                                           const PlanRequest &request,
                                           PlanSpace space) {
  for (Replica &known : replicas)
    if (known.step == &step && isSame(known.space, space))
      return known;
  PlanRequest own = request;
  own.deviceCount = space.mesh.getRankCount();
  Replica &made = replicas.emplace_back(Replica{&step, std::move(space)});
  made.oracles = std::make_shared<UnitOracles>(
      step.units, own, made.space, costs, meshes.get(made.space.mesh));
  return made;
}

/// The one with the fewest more samples. Null: none is known.
const ReplicaModels::Replica *
ReplicaModels::findLarger(const Replica &replica,
                          bool Replica::*isKnown) const {
  const Replica *found = nullptr;
  int64_t batches = replica.step->microBatches;
  for (const Replica &known : replicas)
    if (known.*isKnown && isSame(known.space, replica.space) &&
        batches % known.step->microBatches == 0 &&
        (!found || known.step->microBatches > found->step->microBatches))
      found = &known;
  return found;
}

std::shared_ptr<UnitOracles>
ReplicaModels::getOracles(const SourceStep &step, const SourceStep &ofReplica,
                          const PlanRequest &request, const PlanSpace &space) {
  return get(ofReplica, request, getReplicaSpace(step.units.getSample(), space))
      .oracles;
}

std::pair<std::shared_ptr<UnitOracles>, bool>
ReplicaModels::begin(const SourceStep &step, const SourceStep &ofReplica,
                     const PlanRequest &request, const PlanSpace &space,
                     bool isOfKnown) {
  Replica &own =
      get(ofReplica, request, getReplicaSpace(step.units.getSample(), space));
  bool isAsked = !isOfKnown || !findLarger(own, &Replica::isBegun);
  own.isBegun |= isAsked;
  return {own.oracles, isAsked};
}

std::unique_ptr<SpaceModel> ReplicaModels::make(const SourceStep &step,
                                                const SourceStep &ofReplica,
                                                const PlanRequest &request,
                                                const PlanSpace &space,
                                                bool isOfKnown) {
  PARPLAN_CHECK(isPossible(space.mesh), "a replica has tensor axes alone");
  if (step.units.getUnitCount() != ofReplica.units.getUnitCount())
    return nullptr;
  Replica &own =
      get(ofReplica, request, getReplicaSpace(step.units.getSample(), space));
  const Replica *replica = isOfKnown ? findLarger(own, &Replica::isMade) : &own;
  if (replica &&
      replica->step->units.getUnitCount() != ofReplica.units.getUnitCount())
    return nullptr;
  if (!replica || own.oracles->getRefusal())
    return nullptr;
  own.isMade |= !isOfKnown;
  own.isBegun |= !isOfKnown;
  auto replicas =
      static_cast<double>(space.mesh.getWidth(getDataAxes(space.mesh)));
  ReplicaShares shares{1, 1 / replicas};
  if (replica != &own) {
    PartBound parts =
        boundParts(replica->oracles->getChoices(), own.oracles->getChoices());
    if (parts.share == 0)
      return nullptr;
    shares.ofPasses = parts.share *
                      static_cast<double>(replica->step->microBatches) /
                      static_cast<double>(ofReplica.microBatches);
    shares.lacks = own.oracles->sumByUnits(parts.lackSeconds);
    // What is made again is a second pass of its ops.
    for (CostVector &lack : shares.lacks)
      lack.inputGradient += lack.forward;
  }
  return std::make_unique<ReplicaModel>(replica->oracles, std::move(shares));
}
