//===- ForceRules.cpp - What --force cannot ask together ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/ForceRules.h"

#include "lib/Driver/NearestSizes.h"
#include "parplan/Support/CheckedMath.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include "llvm/ADT/STLExtras.h"

using namespace parplan;

/// Requests of the kind of `forced` for `total` devices, or for a divisor of
/// them.
static std::vector<std::string> getRequestsNear(const ForcedSizes &forced,
                                                int64_t total, bool divides) {
  std::vector<std::string> requests;
  auto add = [&](std::vector<int64_t> sizes) {
    if (sizes != forced.sizes)
      requests.push_back(ForcedSizes{forced.key, std::move(sizes)}.print());
  };
  if (forced.sizes.size() == 1) {
    if (!divides)
      add({total});
    else
      for (int64_t size : getNearestDivisors(forced.sizes.front(), total))
        add({size});
  } else if (std::vector<int64_t> grid =
                 getNearestGrid(forced.sizes, total, divides);
             !grid.empty()) {
    add(std::move(grid));
  } else if (total > 1) {
    requests.push_back("tp1d=" + std::to_string(total));
  }
  return requests;
}

static void addGpusNear(std::optional<int64_t> product, int64_t gpus,
                        std::vector<std::string> &requests) {
  if (!product || *product > maxDevices)
    return;
  int64_t multiple = getNearestMultiple(*product, gpus);
  if (multiple != gpus && multiple <= maxDevices)
    requests.push_back("--gpus " + std::to_string(multiple));
}

bool parplan::checkSizes(const ForcedSizes &forced, int64_t gpus,
                         DiagnosticEngine &engine) {
  std::optional<int64_t> total = checkedProduct(forced.sizes);
  if (total && *total <= gpus && gpus % *total == 0)
    return true;
  std::vector<std::string> requests =
      getRequestsNear(forced, gpus, /*divides=*/true);
  addGpusNear(total, gpus, requests);
  bool isGrid = forced.sizes.size() > 1;
  engine.error(codes::impossibleForce)
          .help(
              std::string(isGrid ? "the product of the sizes" : "a size") +
              " must divide the number of devices: " + adviseRequests(requests))
      << "--force: " << forced.print() << " does not fit --gpus " << gpus;
  return false;
}

void parplan::checkProduct(const std::vector<ForcedSizes> &given, int64_t gpus,
                           DiagnosticEngine &engine) {
  std::optional<int64_t> product = 1;
  std::vector<std::string> printed, tensorKinds;
  bool hasData = false;
  for (const ForcedSizes &forced : given) {
    printed.push_back(forced.print());
    if (forced.isTensorKind())
      tensorKinds.push_back(forced.print());
    hasData |= forced.key == "dp";
    if (product)
      product = checkedMultiply(*product, forced.getProduct());
  }
  if (tensorKinds.size() > 1) {
    engine.error(codes::impossibleForce)
            .help("keep one of them; single operators can differ from it, as "
                  "node:\"GLOB\":summa2d")
        << "--force: " << joinText(tensorKinds, ", ")
        << " are several kinds of tensor parallelism for the same ranks";
    return;
  }
  // What is not given of the other kinds is 1 then.
  bool isComplete = hasData && !tensorKinds.empty();
  if (product && gpus % *product == 0 && (!isComplete || *product == gpus))
    return;

  std::vector<std::string> requests;
  for (const ForcedSizes &forced : given) {
    std::optional<int64_t> others =
        product ? checkedDivide(*product, forced.getProduct()) : std::nullopt;
    if (others && gpus % *others == 0)
      llvm::append_range(requests,
                         getRequestsNear(forced, gpus / *others, !isComplete));
  }
  if (isComplete && product && *product <= maxDevices)
    requests.push_back("--gpus " + std::to_string(*product));
  else
    addGpusNear(product, gpus, requests);
  DiagnosticBuilder error = engine.error(codes::impossibleForce);
  error << "--force: " << joinText(printed, ", ");
  if (product)
    error << " make " << *product << " devices";
  else
    error << " make too many devices";
  error << ", --gpus asks for " << gpus;
  error
      .help("sizes multiply to --gpus; leave one out to let the planner choose "
            "it")
      .help(adviseRequests(requests));
}

/// The sizes of all axes that are given but those of data and tensors.
static int64_t getOtherSize(const ForceOptions &force) {
  return force.contextSize.value_or(1) * force.expertSize.value_or(1) *
         force.pipelineSize.value_or(1);
}

/// The smallest size above one that divides `available`, itself above one.
static int64_t getSmallestSize(int64_t available) {
  int64_t size = 2;
  while (size < available && available % size != 0)
    ++size;
  return size;
}

static std::optional<int64_t> getTensorSize(const ForceOptions &force) {
  if (!force.grid)
    return force.tensorSize;
  int64_t size = 1;
  for (int64_t part : force.grid->sizes)
    size *= part;
  return size;
}

/// ZeRO spreads all that is trained over ranks that split samples. Those of
/// expert parallelism alone would not do: each has experts of its own.
static void checkZero(const ForceOptions &force, int64_t gpus,
                      DiagnosticEngine &engine) {
  if (force.zeroStage.value_or(0) == 0)
    return;
  int64_t others = getTensorSize(force).value_or(1) * getOtherSize(force);
  if (force.dataSize.value_or(gpus / others) > 1 ||
      force.contextSize.value_or(1) > 1)
    return;
  engine.error(codes::impossibleForce)
          .help(gpus > 1 ? "give dp=2 or cp=2 or more, or zero=0"
                         : "use --gpus 2 or more, or zero=0")
      << "--force: zero=" << *force.zeroStage
      << " needs data or context parallelism, and there is one replica";
}

/// Sequence parallelism spreads what tensor ranks would hold alike between two
/// products. On a grid they hold nothing alike.
static void checkSequenceParallel(const ForceOptions &force, int64_t gpus,
                                  DiagnosticEngine &engine) {
  if (!force.sequenceParallel.value_or(false))
    return;
  int64_t others = force.dataSize.value_or(1) * getOtherSize(force);
  int64_t ranks = getTensorSize(force).value_or(gpus / others);
  if (ranks > 1)
    return;
  std::vector<std::string> requests;
  int64_t available = gpus / getOtherSize(force);
  int64_t size = getSmallestSize(available);
  if (available > 1)
    requests.push_back("tp1d=" + std::to_string(size) + ",sp=on" +
                       (force.dataSize
                            ? ",dp=" + std::to_string(available / size)
                            : std::string()));
  else
    requests.push_back("--gpus " + std::to_string(2 * gpus));
  requests.push_back("sp=off");
  engine.error(codes::impossibleForce).help(adviseRequests(requests))
      << "--force: sp=on needs tensor parallelism, and one rank holds every "
         "tensor";
}

/// A schedule orders the stages of a pipeline, of which there must be enough.
static void checkSchedule(const ForceOptions &force, int64_t gpus,
                          DiagnosticEngine &engine) {
  if (!force.schedule)
    return;
  auto [kind, chunks] = *force.schedule;
  std::string name = "schedule=" + printScheduleName(kind, chunks);
  int64_t positions = force.pipelineSize.value_or(1);
  if (positions > 1) {
    ScheduleShape shape{kind, positions,
                        force.microBatches.value_or(2 * positions), chunks};
    if (std::optional<std::string> refusal = getRefusal(shape))
      engine.error(codes::impossibleForce)
          << "--force: " << name << ": " << *refusal;
    return;
  }
  // One stage runs as if by them.
  if (kind == ScheduleKind::gpipe ||
      (kind == ScheduleKind::forwardOnly && chunks == 1))
    return;
  int64_t available =
      gpus / (force.dataSize.value_or(1) * getTensorSize(force).value_or(1) *
              force.contextSize.value_or(1) * force.expertSize.value_or(1));
  engine.error(codes::impossibleForce)
          .help(adviseRequests(
              {available > 1
                   ? "pp=" + std::to_string(getSmallestSize(available)) + "," +
                         name
                   : "--gpus " + std::to_string(2 * gpus) + " with pp=2",
               hasBackward(kind) ? "schedule=gpipe" : "schedule=forward-only"}))
      << "--force: " << name << " needs a pipeline, and "
      << (force.pipelineSize ? "pp=1 has one stage" : "pp is not given");
}

void parplan::checkCombinations(const ForceOptions &force, int64_t gpus,
                                DiagnosticEngine &engine) {
  if (force.servers)
    checkWorkers(force, engine);
  checkZero(force, gpus, engine);
  checkSequenceParallel(force, gpus, engine);
  checkSchedule(force, gpus, engine);
}

bool parplan::checkForceOnCluster(const ForceOptions &force,
                                  const Cluster &cluster,
                                  DiagnosticEngine &engine) {
  if (!force.offload)
    return true;
  const ClusterDescription &description = cluster.description;
  size_t before = engine.getErrorCount();
  auto check = [&](const std::string &what, MemoryTier tier) {
    bool hasHost = description.node.hostMemoryBytes > 0;
    bool isThere = tier == MemoryTier::device ||
                   (tier == MemoryTier::host && hasHost) ||
                   (tier == MemoryTier::nvme && description.node.nvme);
    if (isThere)
      return;
    std::vector<std::string> requests;
    if (tier == MemoryTier::nvme && hasHost)
      requests.push_back("offload=" + what + ":cpu");
    requests.push_back("offload=none");
    engine.error(codes::impossibleForce).help(adviseRequests(requests))
        << "--force: offload=" << what
        << (tier == MemoryTier::nvme ? ":nvme" : ":cpu") << ": the cluster "
        << quoteName(description.name) << " has no "
        << (tier == MemoryTier::nvme ? "NVMe" : "host memory")
        << " for its devices";
  };
  check("optimizer", force.offload->optimizer);
  check("parameters", force.offload->parameters);
  check("activations",
        force.offload->activations ? MemoryTier::host : MemoryTier::device);
  return engine.getErrorCount() == before;
}
