//===- CompletionRefusals.cpp - Stages and tiers that cannot be -----------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Completion.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Text.h"

using namespace parplan;

/// Why values cannot rest on a tier.
static std::optional<std::string> findMissingTier(const PlanRequest &request,
                                                  const OffloadChoice &choice) {
  auto refuse = [&](const std::string &what,
                    MemoryTier tier) -> std::optional<std::string> {
    bool isNvme = tier == MemoryTier::nvme;
    bool hasTier =
        tier == MemoryTier::device ||
        (request.hostLimitBytes > 0 && (!isNvme || request.nvmeLimitBytes > 0));
    if (hasTier)
      return std::nullopt;
    std::string name = isNvme ? "nvme" : "cpu";
    std::string nearest = isNvme && request.hostLimitBytes > 0
                              ? "offload=" + what + ":cpu"
                              : "offload=none";
    return "offload=" + what + ":" + name + ": the cluster has no " +
           (isNvme ? "NVMe" : "host memory") + "; " + nearest + " is possible";
  };
  if (auto refusal = refuse("optimizer", choice.optimizer))
    return refusal;
  if (auto refusal = refuse("parameters", choice.parameters))
    return refusal;
  return refuse("activations",
                choice.activations ? MemoryTier::host : MemoryTier::device);
}

std::optional<std::string>
parplan::findImpossibleCompletion(const PlanningProblem &problem,
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
  return findMissingTier(request, offload);
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
