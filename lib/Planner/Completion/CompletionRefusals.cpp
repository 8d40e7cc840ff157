//===- CompletionRefusals.cpp - Stages and tiers that cannot be -----------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Completion.h"

#include "lib/Planner/Candidates/Refusals.h"
#include "lib/Planner/Evaluation/Offload.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

using namespace parplan;

static std::optional<std::string>
findImpossibleCompletion(const PlanningProblem &problem,
                         const PlanRequest &request) {
  bool trains = isTraining(problem);
  int64_t positions = request.pipelineSize.value_or(1);
  if (positions < 1 || request.deviceCount % positions != 0)
    return concat("pp=", positions, " does not divide ", request.deviceCount,
                  " devices");
  if (positions > 1 || request.schedule)
    for (const ScheduleShape &shape : getShapes(problem, request, positions))
      if (request.schedule)
        if (auto refusal = getRefusal(shape))
          return refusal;
  if (!trains &&
      request.recompute.value_or(RecomputeKind::none) != RecomputeKind::none)
    return std::string("nothing is recomputed without a backward pass; "
                       "recompute=none is possible");
  OffloadChoice offload = request.offload.value_or(OffloadChoice());
  if (!trains && offload.optimizer != MemoryTier::device)
    return std::string("offload=optimizer: a forward pass has no optimizer; "
                       "offload=none is possible");
  if (!trains && offload.activations)
    return std::string("offload=activations: nothing waits for a backward "
                       "pass; offload=none is possible");
  return std::nullopt;
}

std::optional<std::string>
parplan::findImpossible(const PlanningProblem &problem,
                        const PlanRequest &request) {
  if (auto refusal = findImpossibleCompletion(problem, request))
    return refusal;
  PlanRequest ofPosition = request;
  ofPosition.deviceCount /= request.pipelineSize.value_or(1);
  ofPosition.pipelineSize.reset();
  return findImpossibleSizes(problem, ofPosition);
}

std::optional<std::string>
parplan::findSmallTier(const PlanRequest &request,
                       const PlanEvaluation &evaluation) {
  auto describe = [](const char *tier, int64_t bytes, int64_t limit) {
    return std::string("a rank needs ") + formatBytes(bytes) + " of " + tier +
           ", and has " + formatBytes(limit);
  };
  if (evaluation.hostBytes > request.hostLimitBytes)
    return describe("host memory", evaluation.hostBytes,
                    request.hostLimitBytes) +
           (request.nvmeLimitBytes > request.hostLimitBytes
                ? "; the tier nvme is nearest"
                : "; offload=none is nearest");
  if (evaluation.nvmeBytes > request.nvmeLimitBytes)
    return describe("NVMe", evaluation.nvmeBytes, request.nvmeLimitBytes) +
           "; offload=none is nearest";
  return std::nullopt;
}

int64_t parplan::getLeastBytes(const PlanningProblem &problem,
                               const PlanRequest &request) {
  bool mayWait = mayOffload(problem, request);
  OffloadChoice offload = request.offload.value_or(
      OffloadChoice{MemoryTier::host, MemoryTier::host, true});
  // Of a parameter that is replaced elsewhere passes may read a copy alone.
  std::vector<bool> isMoved(problem.values.size(), false);
  for (const PlanningOp &op : problem.ops)
    for (int result : op.results)
      if (int variable = problem.values[result].updates; variable >= 0)
        isMoved[variable] = updatesParameter(problem, op) &&
                            offload.optimizer != MemoryTier::device;
  int64_t sum = 0, largest = 0;
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    bool isParameter = value.kind == ValueKind::parameter;
    bool isState = value.kind == ValueKind::state;
    if (!isParameter && !isState && value.kind != ValueKind::input)
      continue;
    int64_t bytes = value.getWholeBytes();
    if (value.kind == ValueKind::input && value.batchDimension >= 0)
      bytes *= problem.microBatches;
    bool isElsewhere =
        mayWait && (isMoved[index] ||
                    (isState && offload.optimizer != MemoryTier::device) ||
                    (isParameter && offload.parameters != MemoryTier::device));
    if (!isElsewhere)
      sum += bytes;
    else if (isParameter)
      largest = std::max(largest, bytes);
  }
  // All of it lies somewhere, and once is enough.
  return problem.fixedBytes + (sum + largest) / request.deviceCount;
}
