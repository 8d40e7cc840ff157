//===- ServerRules.cpp - What parameter servers cannot be asked -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/ForceRules.h"

#include "lib/Driver/NearestSizes.h"
#include "parplan/Support/DiagnosticCodes.h"

using namespace parplan;

bool parplan::checkServers(int64_t servers, bool areCounted, bool haveMode,
                           int64_t gpus, DiagnosticEngine &engine) {
  if (!haveMode) {
    if (areCounted)
      engine.error(codes::impossibleForce)
              .help("add parameter-server=sync, or leave servers out")
          << "--force: servers=" << servers << " without parameter-server";
    return !areCounted;
  }
  if (servers < gpus)
    return true;
  std::vector<std::string> requests;
  if (gpus > 1)
    requests.push_back("servers=" + std::to_string(gpus - 1));
  requests.push_back("--gpus " + std::to_string(servers + 1));
  engine.error(codes::impossibleForce).help(adviseRequests(requests))
      << "--force: servers=" << servers << " leave no worker of --gpus "
      << gpus;
  return false;
}

namespace {

class WorkerRules {
public:
  WorkerRules(const ForceOptions &force, DiagnosticEngine &engine)
      : force(force), engine(engine) {}

  void check() {
    const char *whole = "a worker holds every parameter whole";
    checkSize("tp1d", force.tensorSize, whole);
    if (force.grid)
      refuse("a grid of tensor parallelism", whole,
             "dp=" + std::to_string(force.servers->workers));
    checkSize("ep", force.expertSize, whole);
    checkSize("pp", force.pipelineSize, whole);
    if (force.servers->staleness)
      checkSize("cp", force.contextSize,
                "without a common step every worker works alone",
                "parameter-server=sync");
    if (force.zeroStage.value_or(0) > 0)
      refuse("zero=" + std::to_string(*force.zeroStage),
             "servers keep the states, and workers the parameters", "zero=0");
    if (force.offload && !force.offload->isNone())
      refuse("offload", "servers and workers keep everything on the device",
             "offload=none");
  }

private:
  void checkSize(const std::string &key, std::optional<int64_t> size,
                 const std::string &reason, const std::string &other = "") {
    if (size.value_or(1) > 1)
      refuse(key + "=" + std::to_string(*size), reason,
             "dp=" + std::to_string(force.servers->workers), other);
  }

  void refuse(const std::string &what, const std::string &reason,
              const std::string &nearest, const std::string &other = "") {
    std::vector<std::string> requests = {nearest};
    if (!other.empty())
      requests.push_back(other);
    engine.error(codes::impossibleForce).help(adviseRequests(requests))
        << "--force: parameter-server and " << what << ": " << reason;
  }

  const ForceOptions &force;
  DiagnosticEngine &engine;
};

} // namespace

void parplan::checkWorkers(const ForceOptions &force,
                           DiagnosticEngine &engine) {
  WorkerRules(force, engine).check();
}

bool parplan::checkServerPrecision(const CompileOptions &options,
                                   DiagnosticEngine &engine) {
  bool scalesLoss =
      options.training && options.training->precision == ComputePrecision::fp16;
  if (!options.force.servers || !scalesLoss)
    return true;
  engine.error(codes::impossibleForce)
          .help(adviseRequests({"--precision bf16", "--precision fp32"}))
      << "--force: parameter-server and --precision fp16: the scale of the "
         "loss "
         "follows from overflows that servers see";
  return false;
}
