//===- Refusals.cpp - Why a request cannot be met -------------------------===//

#include "Refusals.h"

#include "parplan/Planner/SearchSpace.h"

#include "parplan/Support/Text.h"

using namespace parplan;

std::string parplan::describeMesh(const Mesh &mesh) {
  std::string text;
  for (const MeshAxis &axis : mesh.getAxes())
    text +=
        (text.empty() ? "" : " ") + axis.name + "=" + std::to_string(axis.size);
  return text.empty() ? "one device" : text;
}

/// The largest size of at most `limit` that divides the devices.
static int64_t getNearest(int64_t limit, int64_t deviceCount) {
  int64_t size = std::min(limit, deviceCount);
  while (deviceCount % size != 0)
    --size;
  return size;
}

static std::string describeGrid(const ForcedGrid &grid) {
  std::string text = grid.kind == GridKind::grid2d     ? "tp2d="
                     : grid.kind == GridKind::grid2_5d ? "tp2.5d="
                                                       : "tp3d=";
  for (auto [index, size] : llvm::enumerate(grid.sizes))
    text += (index == 0 ? "" : "x") + std::to_string(size);
  return text;
}

static int64_t getSequenceLength(const PlanningProblem &problem) {
  int64_t length = 1;
  for (const PlanningOp &op : problem.ops)
    if (op.keyFactor >= 0 && op.sequenceFactor >= 0)
      length = std::max(length, op.rule.factors[op.sequenceFactor].size);
  return length;
}

std::optional<std::string>
parplan::findImpossibleSizes(const PlanningProblem &problem,
                             const PlanRequest &request) {
  int64_t experts = getExpertCount(problem);
  int64_t expertRanks = request.expertSize.value_or(1);
  if (expertRanks > 1 && experts == 1)
    return "ep=" + std::to_string(expertRanks) +
           ": the model has no experts; ep=1 is possible";
  if (expertRanks > experts)
    return "ep=" + std::to_string(expertRanks) + ": the model has " +
           std::to_string(experts) + " experts; ep=" +
           std::to_string(getNearest(experts, request.deviceCount)) +
           " is possible";
  int64_t contextRanks = request.contextSize.value_or(1);
  if (contextRanks > 1 && !hasContext(problem))
    return "cp=" + std::to_string(contextRanks) +
           ": the model has no attention over a sequence; cp=1 is possible";
  int64_t length = getSequenceLength(problem);
  if (contextRanks > length)
    return "cp=" + std::to_string(contextRanks) + ": the sequence has " +
           std::to_string(length) + " positions; cp=" +
           std::to_string(getNearest(length, request.deviceCount)) +
           " is possible";
  if (request.sequenceParallel.value_or(false) &&
      (request.deviceCount == 1 || request.tensorSize == 1 ||
       request.dataSize == request.deviceCount ||
       (request.grid && request.grid->getRankCount() == 1)))
    return std::string("sp=on splits sequences over tensor-parallel ranks, and "
                       "there is one; tp1d=2 and more is possible with it");
  if (getMeshes(problem, request).empty())
    return (request.grid ? describeGrid(*request.grid) : "the forced sizes") +
           " cannot be completed to " + std::to_string(request.deviceCount) +
           " devices";
  return std::nullopt;
}

/// A forced tensor kind for which no product has enough rows, columns and
/// contracted elements.
static std::optional<std::string>
findUnusedKind(const PlanningProblem &problem, const PlanRequest &request,
               const Mesh &mesh,
               llvm::ArrayRef<std::vector<FactorAssignment>> allowed) {
  int64_t ranks = request.grid ? request.grid->getRankCount()
                               : request.tensorSize.value_or(1);
  if (ranks == 1)
    return std::nullopt;
  bool hasProduct = false;
  for (auto [op, choices] : llvm::zip_equal(problem.ops, allowed)) {
    if (!isMultiplied(op) || !getProductFactors(op))
      continue;
    hasProduct = true;
    for (const FactorAssignment &choice : choices)
      if (getTensorWidth(choice, mesh) == ranks)
        return std::nullopt;
  }
  if (!request.grid)
    return hasProduct ? std::optional("tp1d=" + std::to_string(ranks) +
                                      ": every product is smaller than that; "
                                      "a smaller tp1d is nearest")
                      : std::nullopt;
  return describeGrid(*request.grid) + ": " +
         (hasProduct ? "every product is smaller than this grid"
                     : "the model has no product with a weight") +
         "; tp1d=" + std::to_string(ranks) + " or smaller grids are nearest";
}

/// sp=on for sequences that are shorter than the tensor-parallel ranks, or
/// that no op can split.
static std::optional<std::string>
findUnsplitSequence(const PlanningProblem &problem, const PlanRequest &request,
                    const Mesh &mesh,
                    llvm::ArrayRef<std::vector<FactorAssignment>> allowed) {
  if (!request.sequenceParallel.value_or(false))
    return std::nullopt;
  AxisList tensorAxes = getTensorAxes(mesh);
  if (tensorAxes.empty())
    return "sp=on splits sequences over tensor-parallel ranks, and " +
           describeMesh(mesh) + " has none";
  for (auto [op, choices] : llvm::zip_equal(problem.ops, allowed)) {
    if (op.role != OpRole::forward || op.sequenceFactor < 0 || isProduct(op))
      continue;
    // On a grid only rows that the batch has no room for.
    auto least =
        static_cast<std::ptrdiff_t>(request.grid ? 1 : tensorAxes.size());
    for (const FactorAssignment &choice : choices)
      if (llvm::count_if(choice.axes[op.sequenceFactor], [&](int axis) {
            return llvm::is_contained(tensorAxes, axis);
          }) >= least)
        return std::nullopt;
  }
  return "sp=on: no operator has a sequence that can be split over the tensor-"
         "parallel ranks of " +
         describeMesh(mesh) + "; sp=off or fewer of them are possible";
}

std::optional<std::string> parplan::findImpossibleOnMesh(
    const PlanningProblem &problem, const PlanRequest &request,
    const Mesh &mesh, llvm::ArrayRef<std::vector<FactorAssignment>> allowed) {
  for (const ForcedAlgorithm &forced : request.forcedAlgorithms)
    if (llvm::none_of(problem.ops, [&](const PlanningOp &op) {
          return matchesGlob(forced.nodeGlob, op.node);
        }))
      return "no node is called '" + forced.nodeGlob + "'";
  if (auto unsplit = findUnsplitSequence(problem, request, mesh, allowed))
    return unsplit;
  int stage = request.zeroStage.value_or(0);
  if (stage > 0 && getStorageLists(mesh).empty())
    return "zero=" + std::to_string(stage) +
           " spreads over ranks that split the batch, and there is one; zero=0 "
           "is possible";
  if (auto unspread = findUnspreadParameter(problem, stage, allowed))
    return unspread;
  return findUnusedKind(problem, request, mesh, allowed);
}
