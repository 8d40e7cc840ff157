//===- ProblemSource.cpp - What a search is told of a model ---------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "ProblemSource.h"

#include "SourceModel.h"
#include "VariableModel.h"

#include "parplan/Planner/SearchSpace.h"
#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace parplan;

static int64_t getTensorSize(const Mesh &mesh) {
  int64_t size = 1;
  for (const MeshAxis &axis : mesh.getAxes())
    if (axis.role == AxisRole::tensor)
      size *= axis.size;
  return size;
}

ProblemSource::ProblemSource(const StepProblems &problems,
                             const PlanRequest &request, const PlanCosts &costs,
                             const FindPlanOptions &options)
    : request(request), costs(costs), options(options),
      steps(problems, this->request, costs, background), problems(problems),
      meshes(costs), replicas(costs, meshes) {
  PARPLAN_CHECK(costs.getSharing() == 1,
                "bounds are of processors that ranks do not share");
  PARPLAN_CHECK(!request.updatesMayMove || !request.offload,
                "where updates run is open or asked for");
  refusals = steps.getRefusals().vec();
  if (getCounts().empty())
    return;
  // Steps differ in little but sizes. The whole batch says which axes are worth
  // looking at.
  SourceStep &step = *steps.get(getCounts().front());
  trains = step.units.isTraining();
  meeting = step.units.getMeeting();
  blocks = step.units.getBlockCount();
  for (int64_t count : getCounts())
    blocks = std::min(blocks, steps.get(count)->units.getBlockCount());
  for (int64_t positions = 1; positions <= request.deviceCount; ++positions) {
    bool isAsked = request.pipelineSize.value_or(positions) == positions;
    if (request.deviceCount % positions != 0 || !isAsked ||
        positions > std::max<int64_t>(1, blocks))
      continue;
    PlanRequest own = getRequestOf(positions);
    for (PlanSpace &space : getSpaces(step.units.getProblem(), own))
      if (isWanted(space)) {
        SourceSteps &ofGroups = getStepsOn(space.mesh);
        spaces.push_back({positions, std::move(space), &ofGroups});
      } else {
        leavesOut = true;
      }
  }
}

ProblemSource::~ProblemSource() { background.end(); }

SourceSteps &ProblemSource::getStepsOn(const Mesh &mesh) {
  const PlanningProblem &base =
      steps.get(getCounts().front())->units.getProblem();
  int64_t ranks = getExpertRanks(mesh);
  int64_t groups = getExpertGroups(base, request, ranks);
  if (!problems.inGroups || groups == getExpertGroups(base, request, 1))
    return steps;
  auto [found, isNew] = grouped.try_emplace(
      groups, problems.getInGroups(groups), request, costs, background);
  if (isNew)
    for (const std::string &refusal : found->second.steps.getRefusals())
      addRefusal(refusal);
  return found->second.steps;
}

/// What is forced is wanted.
bool ProblemSource::isWanted(const PlanSpace &space) const {
  bool isForced = request.tensorSize || request.grid ||
                  (request.dataSize && request.pipelineSize);
  bool isNarrow = options.mostTensorRanks == 0 || isForced ||
                  getTensorSize(space.mesh) <= options.mostTensorRanks;
  bool isPlain = space.grids.empty() || request.grid;
  return isNarrow && (isPlain || options.hasGrids);
}

void ProblemSource::addRefusal(const std::string &refusal) {
  if (!llvm::is_contained(refusals, refusal))
    refusals.push_back(refusal);
}

/// What one position is asked for.
PlanRequest ProblemSource::getRequestOf(int64_t positions) const {
  PlanRequest own = request;
  own.deviceCount = request.deviceCount / positions;
  own.pipelineSize.reset();
  own.schedule.reset();
  return own;
}

SpaceInfo ProblemSource::getInfo(int space) const {
  const Space &own = spaces[space];
  SpaceInfo info;
  info.positions = own.positions;
  info.meeting = meeting;
  bool isUsual = own.space.grids.empty();
  info.name = "pp=" + std::to_string(own.positions);
  for (const MeshAxis &axis : own.space.mesh.getAxes()) {
    isUsual &= axis.role == AxisRole::data || axis.role == AxisRole::tensor;
    info.name += " " + axis.name + "=" + std::to_string(axis.size);
  }
  if (!isUsual)
    info.name += " grid";
  int64_t node =
      request.devicesPerNode > 0 ? request.devicesPerNode : request.deviceCount;
  int64_t tensor = getTensorSize(own.space.mesh);
  info.width = !isUsual || tensor > node ? SpaceWidth::any
               : tensor > 1              ? SpaceWidth::plain
                                         : SpaceWidth::data;
  info.modes = 0;
  for (UnitMode mode : getAllowedModes(request))
    info.modes |= ModeSet(1) << static_cast<int>(mode);
  return info;
}

std::vector<ScheduleShape> ProblemSource::getShapes(int space) const {
  int64_t positions = spaces[space].positions;
  std::vector<ScheduleShape> shapes;
  auto add = [&](ScheduleKind kind, int64_t chunks) {
    shapes.push_back({kind, positions, 1, chunks});
  };
  if (request.schedule && positions > 1) {
    int64_t required = getRequiredChunks(request.schedule->kind);
    add(request.schedule->kind,
        required > 0 ? required : request.schedule->chunks);
    return shapes;
  }
  if (!trains) {
    add(ScheduleKind::forwardOnly, 1);
    for (int64_t chunks = 2; positions > 1 && chunks <= 4; ++chunks)
      add(ScheduleKind::forwardOnly, chunks);
    return shapes;
  }
  add(ScheduleKind::oneForwardOneBackward, 1);
  if (positions == 1)
    return shapes;
  add(ScheduleKind::oneForwardOneBackwardEager, 1);
  for (int64_t chunks = 2; chunks <= options.mostChunks; ++chunks)
    if (chunks * positions <= blocks)
      add(ScheduleKind::interleaved, chunks);
  for (ScheduleKind kind :
       {ScheduleKind::zbH1, ScheduleKind::zbH2, ScheduleKind::zbV,
        ScheduleKind::vHalf, ScheduleKind::vMin})
    add(kind, getRequiredChunks(kind));
  llvm::erase_if(shapes, [&](const ScheduleShape &shape) {
    return llvm::is_contained(options.leftOut, shape.kind);
  });
  return shapes;
}

double ProblemSource::getLeastMessageSeconds(int space, int64_t count) {
  const Space &own = spaces[space];
  SourceStep *step = own.steps->get(count);
  if (!step || own.positions == 1)
    return 0;
  int64_t bytes =
      step->units.getLeastMessageBytes(request.deviceCount / own.positions);
  if (bytes == 0)
    return 0;
  return costs.getCollectiveSeconds(
      CollectiveKind::send, addPipelineAxis(own.space.mesh, own.positions), {0},
      bytes);
}

/// Every rank has samples of a micro-batch.
bool ProblemSource::isPossible(const Space &space, SourceStep &step) const {
  int64_t data = 1;
  for (const MeshAxis &axis : space.space.mesh.getAxes())
    if (axis.role == AxisRole::data)
      data *= axis.size;
  return request.dataSize || !trains || data <= step.batch;
}

/// All devices of a position together spend what the ops take at least in
/// parts, and hold what one would hold. With one group of experts tokens have
/// the fewest rows.
SpaceSource::LeastModel ProblemSource::getLeastOfAll(int space, int64_t count) {
  const Space &own = spaces[space];
  SourceStep *step = steps.get(count);
  LeastModel least;
  if (!step || !isPossible(own, *step))
    return least;
  least.units = step->runs;
  least.fixedBytes = step->fixedBytes;
  auto devices = static_cast<double>(request.deviceCount / own.positions);
  for (LeastUnit &unit : least.units)
    for (LeastUnit::Mode &mode : unit.modes)
      mode.cost *= 1 / devices;
  return least;
}

/// What the ops can do on the mesh, or what all devices must, whichever is
/// more.
SpaceSource::LeastModel ProblemSource::getLeast(int space, int64_t count) {
  LeastModel least = getLeastOfAll(space, count);
  if (least.units.empty())
    return least;
  SourceModel *model = begin(space, count);
  if (!model)
    return {};
  std::shared_ptr<UnitOracles> oracles = model->getOracles();
  background.claim(oracles.get());
  if (oracles->getRefusal())
    return {};
  std::vector<CostVector> costs = oracles->getLeastOpCosts();
  asked.try_emplace({space, count}, std::move(oracles));
  // With other groups of experts the model may be cut into other units.
  if (costs.size() != least.units.size())
    return least;
  for (auto [unit, cost] : llvm::zip_equal(least.units, costs))
    for (LeastUnit::Mode &mode : unit.modes)
      for (auto component : {&CostVector::forward, &CostVector::inputGradient,
                             &CostVector::weightGradient, &CostVector::meeting,
                             &CostVector::ends, &CostVector::permanentBytes})
        mode.cost.*component = std::max(mode.cost.*component, cost.*component);
  return least;
}

/// Calls in parts take no less; of ops that is looked at.
double ProblemSource::getLeastShare(int space, int64_t fewer, int64_t count) {
  auto whole = asked.find({space, fewer}), parts = asked.find({space, count});
  if (whole == asked.end() || parts == asked.end())
    return 0;
  return parplan::getLeastShare(whole->second->getChoices(),
                                parts->second->getChoices());
}

double ProblemSource::getUnspreadBytes(int space, int64_t count) {
  const Space &own = spaces[space];
  SourceStep *step = steps.get(count);
  int64_t experts = getExpertRanks(own.space.mesh);
  return step ? step->variableBytes /
                    static_cast<double>(own.positions * experts *
                                        getTensorSize(own.space.mesh))
              : 0;
}

double ProblemSource::getKeptBytes(int space, int64_t count) {
  SourceStep *step = steps.get(count);
  if (!step)
    return 0;
  // A position has its share of the model, of so many micro-batches at once.
  auto inFlight = static_cast<double>(std::min(count, spaces[space].positions));
  return (step->variableBytes + inFlight * step->activationBytes) /
         static_cast<double>(request.deviceCount);
}

/// The fewest micro-batches with which half of the memory holds what is kept
/// and pipelines are filled most of the time; else as many as every replica has
/// samples for. 0: it has too few.
int64_t ProblemSource::getSeedCount(int space, int64_t replicas,
                                    double memoryLimitBytes) {
  constexpr int64_t filled = 4;
  int64_t positions = spaces[space].positions, most = 0;
  for (int64_t count : getCounts()) {
    SourceStep *step = steps.get(count);
    if (!step || step->batch % replicas != 0 || count < positions)
      continue;
    most = count;
    bool isFilled = positions == 1 || count >= filled * positions;
    if (isFilled && 2 * getKeptBytes(space, count) <= memoryLimitBytes)
      break;
  }
  return most;
}

/// Data, tensor and pipeline axes alone, tensor axes within a node. First those
/// with about as many ranks for a replica as have its variables in half of
/// their memory.
std::vector<SpaceSource::Seed>
ProblemSource::getSeeds(double memoryLimitBytes) {
  using Key = std::pair<double, int64_t>;
  std::vector<std::pair<Key, Seed>> seeds;
  int64_t node =
      request.devicesPerNode > 0 ? request.devicesPerNode : request.deviceCount;
  for (int space = 0; space < getSpaceCount(); ++space) {
    const Space &own = spaces[space];
    int64_t tensor = getTensorSize(own.space.mesh);
    std::vector<ScheduleShape> shapes = getShapes(space);
    if (getInfo(space).width == SpaceWidth::any || node % tensor != 0 ||
        shapes.empty())
      continue;
    Seed seed{space, shapes.front(), 0};
    seed.shape.microBatches = getSeedCount(
        space, request.deviceCount / own.positions / tensor, memoryLimitBytes);
    if (seed.shape.microBatches == 0)
      continue;
    double needed = 2 * steps.get(seed.shape.microBatches)->variableBytes /
                    memoryLimitBytes;
    auto ranks = static_cast<double>(tensor * own.positions);
    seed.distance = std::abs(std::log2(ranks / std::max(1.0, needed)));
    seeds.push_back({{seed.distance, -tensor}, seed});
  }
  llvm::stable_sort(seeds, [](const auto &one, const auto &other) {
    return one.first < other.first;
  });
  std::vector<Seed> ordered;
  for (const auto &[key, seed] : seeds)
    ordered.push_back(seed);
  return ordered;
}

/// Of the usual kinds those with up to twice or half as many positions and
/// tensor ranks: with as many samples in a replica's micro-batch, then with as
/// many micro-batches.
std::vector<SpaceSource::Place> ProblemSource::getNeighbours(Place place) {
  auto isNear = [](int64_t one, int64_t other) {
    return one <= 2 * other && other <= 2 * one;
  };
  const Space &own = spaces[place.space];
  int64_t tensor = getTensorSize(own.space.mesh);
  std::vector<Place> neighbours, asMany;
  for (int other = 0; other < getSpaceCount(); ++other) {
    const Space &candidate = spaces[other];
    int64_t itsTensor = getTensorSize(candidate.space.mesh);
    if (other == place.space || getInfo(other).width == SpaceWidth::any ||
        !isNear(candidate.positions, own.positions) ||
        !isNear(itsTensor, tensor))
      continue;
    // The fewer ranks a replica has, the more replicas share the samples.
    int64_t samples = place.microBatches * candidate.positions * itsTensor;
    int64_t ranks = own.positions * tensor, count = samples / ranks;
    bool isAnother = count != place.microBatches;
    if (samples % ranks == 0 && isAnother &&
        llvm::is_contained(getCounts(), count))
      neighbours.push_back({other, count});
    asMany.push_back({other, place.microBatches});
  }
  llvm::append_range(neighbours, asMany);
  return neighbours;
}

SourceModel *ProblemSource::begin(int space, int64_t count) {
  const Space &own = spaces[space];
  SourceStep *step = own.steps->get(count);
  if (!step || !isPossible(own, *step))
    return nullptr;
  std::unique_ptr<SourceModel> &model = begun[{space, count}];
  if (!model)
    model = std::make_unique<SourceModel>(*step, own.positions, own.space,
                                          getRequestOf(own.positions), costs,
                                          meshes);
  return model.get();
}

/// What may be done before it is asked for, and for whom; null: nothing.
std::pair<const void *, std::function<void()>>
ProblemSource::getWork(int space, int64_t count, Next next) {
  std::shared_ptr<UnitOracles> oracles;
  UnitScope scope = UnitScope::all;
  bool isWhole = next != Next::least;
  if (next == Next::least || next == Next::variables || next == Next::model) {
    if (next == Next::variables)
      scope = UnitScope::variables;
    if (SourceModel *model = begin(space, count))
      oracles = model->getOracles();
  } else if (SourceStep *replica = getReplicaStep(space, count)) {
    const Space &own = spaces[space];
    scope = UnitScope::samples;
    std::tie(oracles, isWhole) = replicas.begin(
        *steps.get(count), *replica, getRequestOf(own.positions), own.space,
        /*isOfKnown=*/next == Next::perhapsRelaxed);
  }
  if (!oracles)
    return {nullptr, nullptr};
  const void *subject = oracles.get();
  return {subject, [oracles = std::move(oracles), isWhole, scope, next] {
            if (isWhole)
              oracles->prepare(scope);
            else if (!oracles->getRefusal() && next == Next::least)
              oracles->getLeastOpCosts();
          }};
}

bool ProblemSource::prepare(int space, int64_t count, Next next) {
  if (!background.wantsMore())
    return false;
  if (auto [subject, work] = getWork(space, count, next); subject)
    background.add(subject, std::move(work));
  return true;
}

void ProblemSource::prepareLater(int space, int64_t count, Next next) {
  if (!background.hasThreads())
    return;
  if (auto [subject, work] = getWork(space, count, next); subject)
    background.addLater(subject, std::move(work));
}

std::unique_ptr<SpaceModel> ProblemSource::make(int space, int64_t count) {
  SourceModel *model = begin(space, count);
  if (!model)
    return nullptr;
  std::shared_ptr<UnitOracles> oracles = model->getOracles();
  background.claim(oracles.get());
  if (std::optional<std::string> refusal = oracles->getRefusal()) {
    addRefusal(*refusal);
    return nullptr;
  }
  asked.try_emplace({space, count}, std::move(oracles));
  return std::move(begun[{space, count}]);
}

std::unique_ptr<SpaceModel> ProblemSource::makeOfVariables(int space,
                                                           int64_t count) {
  SourceModel *model = begin(space, count);
  // One sample is no dimension: activations would count as variables.
  if (!model || steps.get(count)->batch == 1)
    return nullptr;
  background.claim(model->getOracles().get());
  if (model->getOracles()->getRefusal())
    return nullptr;
  return std::make_unique<VariableModel>(model->getOracles());
}

/// One with the samples of a replica in each micro-batch. Null: there is none.
SourceStep *ProblemSource::getReplicaStep(int space, int64_t count) {
  const Space &own = spaces[space];
  const Mesh &mesh = own.space.mesh;
  SourceStep *step = steps.get(count);
  if (!step || !isPossible(own, *step) || step->batch == 1 ||
      !ReplicaModels::isPossible(mesh))
    return nullptr;
  // Where replicas have not equally many samples, none of them is a step.
  int64_t wanted = count * mesh.getWidth(getDataAxes(mesh));
  return steps.getPart(wanted);
}

std::unique_ptr<SpaceModel> ProblemSource::makeRelaxed(int space, int64_t count,
                                                       bool isOfKnown) {
  const Space &own = spaces[space];
  SourceStep *replica = getReplicaStep(space, count);
  if (!replica)
    return nullptr;
  const SourceStep &step = *steps.get(count);
  PlanRequest asked = getRequestOf(own.positions);
  background.claim(replicas.getOracles(step, *replica, asked, own.space).get());
  return replicas.make(step, *replica, asked, own.space, isOfKnown);
}
