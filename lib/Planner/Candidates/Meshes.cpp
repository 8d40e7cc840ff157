//===- Meshes.cpp - The meshes of a request -------------------------------===//

#include "parplan/Planner/Candidates.h"
#include "parplan/Planner/SearchSpace.h"

using namespace parplan;

Mesh parplan::makeMesh(const MeshSizes &sizes) {
  std::vector<MeshAxis> axes;
  bool isCut = sizes.data % sizes.innerData == 0;
  int64_t inner = isCut ? sizes.innerData : 1;
  for (int64_t size : {sizes.data / inner, inner})
    if (size > 1)
      axes.push_back(
          {"dp" + std::to_string(axes.size()), size, AxisRole::data});
  auto addPrimes = [&](const std::string &prefix, AxisRole role,
                       llvm::ArrayRef<int64_t> groups) {
    size_t first = axes.size();
    for (int64_t size : groups) {
      llvm::SmallVector<int64_t> primes;
      for (int64_t prime = 2; size > 1; ++prime)
        for (; size % prime == 0; size /= prime)
          primes.push_back(prime);
      for (int64_t prime : llvm::reverse(primes))
        axes.push_back(
            {prefix + std::to_string(axes.size() - first), prime, role});
    }
  };
  addPrimes("cp", AxisRole::context, sizes.context);
  addPrimes("ep", AxisRole::expert, sizes.expert);
  addPrimes("tp", AxisRole::tensor, sizes.tensor);
  return Mesh(std::move(axes));
}

Mesh parplan::makeMesh(int64_t data, int64_t tensor, int64_t innerData) {
  MeshSizes sizes;
  sizes.data = data;
  sizes.innerData = innerData;
  sizes.tensor = {tensor};
  return makeMesh(sizes);
}

/// How many data-parallel ranks of one group of the others are in a node, where
/// that makes an axis of its own.
static int64_t getInnerData(const PlanningProblem &problem,
                            const PlanRequest &request, int64_t others) {
  bool spansNodes = request.devicesPerNode > 0 &&
                    request.devicesPerNode < request.deviceCount;
  if (!isTraining(problem) || !spansNodes ||
      request.devicesPerNode % others != 0)
    return 1;
  return request.devicesPerNode / others;
}

/// The least number of samples that an op of the forward pass has; the number
/// of ranks where no op has any.
static int64_t getBatchSize(const PlanningProblem &problem,
                            const PlanRequest &request) {
  int64_t size = request.deviceCount;
  for (const PlanningOp &op : problem.ops)
    if (op.role == OpRole::forward && op.batchFactor >= 0)
      size = std::min(size, op.rule.factors[op.batchFactor].size);
  return size;
}

bool parplan::hasContext(const PlanningProblem &problem) {
  return llvm::any_of(problem.ops, [](const PlanningOp &op) {
    return op.keyFactor >= 0 && op.sequenceFactor >= 0;
  });
}

/// The request for the devices of one position of a pipeline, which has a mesh
/// of its own; nullopt where they cannot be divided evenly.
static std::optional<PlanRequest> getPositionRequest(PlanRequest request) {
  int64_t positions = request.pipelineSize.value_or(1);
  if (request.deviceCount % positions != 0)
    return std::nullopt;
  request.deviceCount /= positions;
  return request;
}

std::vector<int64_t> parplan::getContextSizes(const PlanningProblem &problem,
                                              const PlanRequest &asked) {
  std::optional<PlanRequest> position = getPositionRequest(asked);
  if (!position)
    return {};
  const PlanRequest &request = *position;
  // What lies in zig-zag order goes round as many ranks.
  for (const PlanningOp &op : problem.ops)
    if (op.zigzag > 1)
      return request.contextSize.value_or(op.zigzag) == op.zigzag
                 ? std::vector<int64_t>{op.zigzag}
                 : std::vector<int64_t>{};
  if (request.contextSize)
    return {*request.contextSize};
  std::vector<int64_t> sizes = {1};
  bool isNamed =
      llvm::any_of(request.forcedAlgorithms, [](const ForcedAlgorithm &forced) {
        return forced.algorithm == Algorithm::ring ||
               forced.algorithm == Algorithm::allToAll ||
               forced.algorithm == Algorithm::gather;
      });
  bool isTooSmall =
      !request.dataSize && getBatchSize(problem, request) < request.deviceCount;
  bool isWorthwhile = hasContext(problem) && (isNamed || isTooSmall);
  for (int64_t size = 2; isWorthwhile && size <= request.deviceCount; ++size)
    if (request.deviceCount % size == 0)
      sizes.push_back(size);
  return sizes;
}

std::vector<int64_t> parplan::getExpertSizes(const PlanningProblem &problem,
                                             const PlanRequest &asked) {
  std::optional<PlanRequest> position = getPositionRequest(asked);
  if (!position)
    return {};
  const PlanRequest &request = *position;
  if (std::optional<int64_t> size =
          request.expertSize ? request.expertSize : request.expertRanks)
    return {*size};
  int64_t size = getExpertCount(problem);
  while (size > 1 && request.deviceCount % size != 0)
    --size;
  if (size == 1)
    return {1};
  return {1, size};
}

std::vector<Mesh> parplan::getMeshes(const PlanningProblem &problem,
                                     const PlanRequest &asked) {
  std::vector<Mesh> meshes;
  std::optional<PlanRequest> position = getPositionRequest(asked);
  if (!position)
    return meshes;
  const PlanRequest &request = *position;
  auto divides = [&](int64_t size) { return request.deviceCount % size == 0; };
  for (int64_t context : getContextSizes(problem, asked))
    for (int64_t expert : getExpertSizes(problem, asked))
      for (int64_t tensor = 1; tensor <= request.deviceCount; ++tensor) {
        int64_t others = context * expert * tensor;
        if (!divides(others))
          continue;
        MeshSizes sizes;
        sizes.data = request.deviceCount / others;
        sizes.innerData = getInnerData(problem, request, others);
        sizes.context = context;
        sizes.expert = expert;
        sizes.tensor = {tensor};
        if (request.grid) {
          sizes.tensor = getGroupSizes(*request.grid);
          if (request.grid->getRankCount() != tensor)
            continue;
        }
        if (request.dataSize.value_or(sizes.data) == sizes.data &&
            request.tensorSize.value_or(tensor) == tensor)
          meshes.push_back(
              addPipelineAxis(makeMesh(sizes), asked.pipelineSize.value_or(1)));
      }
  return meshes;
}

/// The kinds of grids that nodes are forced to use.
static llvm::SmallVector<GridKind> getForcedKinds(const PlanRequest &request) {
  llvm::SmallVector<GridKind> kinds;
  for (const ForcedAlgorithm &forced : request.forcedAlgorithms)
    if (forced.algorithm == Algorithm::summa2d ||
        forced.algorithm == Algorithm::gather2d)
      kinds.push_back(GridKind::grid2d);
    else if (forced.algorithm == Algorithm::tensor2_5d)
      kinds.push_back(GridKind::grid2_5d);
    else if (forced.algorithm == Algorithm::tensor3d)
      kinds.push_back(GridKind::grid3d);
  return kinds;
}

std::vector<PlanSpace> parplan::getSpaces(const PlanningProblem &problem,
                                          const PlanRequest &request) {
  std::vector<PlanSpace> spaces, withGrids;
  auto kinds = getForcedKinds(request);
  for (const Mesh &mesh : getMeshes(problem, request)) {
    PlanSpace space{mesh, {}};
    if (request.grid) {
      space.grids = {makeGrid(mesh, *request.grid)};
    } else if (!kinds.empty()) {
      llvm::copy_if(getGrids(mesh), std::back_inserter(space.grids),
                    [&](const Grid &grid) {
                      return llvm::is_contained(kinds, grid.kind);
                    });
    } else if (!request.tensorSize) {
      for (const Grid &grid : getGrids(mesh))
        withGrids.push_back({mesh, {grid}, /*hasParts=*/false});
    }
    spaces.push_back(std::move(space));
  }
  llvm::append_range(spaces, withGrids);
  return spaces;
}

Mesh parplan::addPipelineAxis(const Mesh &mesh, int64_t positions) {
  if (positions == 1)
    return mesh;
  std::vector<MeshAxis> axes = {{"pp0", positions, AxisRole::pipeline}};
  llvm::append_range(axes, mesh.getAxes());
  return Mesh(std::move(axes));
}
