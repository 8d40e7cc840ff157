//===- JointSearch.cpp - What one search over all finds, and when ---------===//
//
// Plans a training step with `findPlan` alone and prints the plan, its gap and
// what the search did:
//
//   JointSearch MODEL GPUS CLUSTER GLOBAL-BATCH [SECONDS]
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/IRDumper.h"
#include "lib/Driver/ModelSteps.h"
#include "lib/Driver/Planning.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Support/Check.h"

#include "llvm/Support/raw_ostream.h"

#include <ctime>

using namespace parplan;

static double getProcessorSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

static std::string describe(const FoundPlan &found) {
  const PlanResult &result = found.result;
  std::string text;
  llvm::raw_string_ostream out(text);
  if (result.answer) {
    out << result.evaluation.stepTimeSeconds << " s, gap "
        << result.certificate.getGap() << " (" << found.boundSource << "), "
        << result.microBatches << " micro-batches";
    for (const MeshAxis &axis : result.answer->mesh.getAxes())
      out << " " << axis.name << "=" << axis.size;
    if (result.answer->pipeline)
      out << " " << printScheduleName(result.answer->pipeline->shape);
    out << ", " << llvm::count(result.answer->recomputed, true) << " of "
        << result.answer->assignments.size() << " ops made again, "
        << result.evaluation.peakBytes << " B";
  } else {
    out << "no plan";
    for (const std::string &refusal : result.refusals)
      out << "; " << refusal;
  }
  out << (result.isCutShort ? ", cut short" : "") << "; " << found.spaces
      << " meshes, " << found.evaluations << " bounds, " << found.oracleCalls
      << " calls of oracles, " << found.judgedPlans << " plans judged\n";
  return text;
}

static int plan(const CompileOptions &options, DiagnosticEngine &engine) {
  std::optional<Cluster> cluster = chooseCluster(options, engine);
  if (!cluster)
    return 1;
  FrontendOptions request;
  request.import.path = options.modelPath;
  request.import.globalBatch = options.globalBatch;
  request.training = options.training;
  request.cluster = cluster->description;
  auto context = makeContext();
  IRDumper silent("", engine);
  double start = getProcessorSeconds();
  std::optional<SimplifiedModel> model =
      simplifyModel(*context, request, silent, engine);
  if (!model)
    return 1;
  ModelSteps steps(*context, *model, request, getMicroBatchCounts(*model));
  StepProblems problems = steps.getProblems();
  for (int64_t count : problems.counts)
    problems.get(count);
  double imported = getProcessorSeconds();

  PlanRequest asked;
  asked.deviceCount = options.gpus;
  asked.memoryLimitBytes = cluster->getDevice().memoryBytes;
  asked.devicesPerNode = cluster->getDevicesPerNode();
  asked.timeBudgetSeconds = options.timeBudgetSeconds;
  setTierLimits(*cluster, asked);
  CostModel costModel(*cluster, getPrecision(options));
  ClusterCosts costs(costModel);
  FoundPlan found = findPlan(problems, asked, costs, getJointOptions(*cluster));
  llvm::outs() << describe(found);
  llvm::outs() << "import " << imported - start << " s of a processor, search "
               << getProcessorSeconds() - imported << " s\n";
  if (!found.result.answer)
    return 0;
  std::optional<PlanningProblem> problem =
      problems.get(found.result.microBatches);
  PARPLAN_CHECK(verifyAnswer(*problem, *found.result.answer).empty(),
                "the evaluator refuses the plan");
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 5 || argc > 6) {
    llvm::errs() << "JointSearch MODEL GPUS CLUSTER GLOBAL-BATCH [SECONDS]\n";
    return 2;
  }
  CompileOptions options;
  options.modelPath = argv[1];
  options.gpus = std::atoll(argv[2]);
  options.cluster = argv[3];
  options.globalBatch = std::atoll(argv[4]);
  options.timeBudgetSeconds = argc > 5 ? std::atof(argv[5]) : 60;
  options.training.emplace();
  options.training->precision = ComputePrecision::bf16;
  DiagnosticEngine engine;
  int code = plan(options, engine);
  llvm::errs() << engine.render();
  return code;
}
