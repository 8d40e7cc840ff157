//===- JointSearch.cpp - What one search over all finds, and when ---------===//
//
// Plans a training step with searches alone and prints the plan, its gap and
// what the search did:
//
//   JointSearch MODEL GPUS CLUSTER GLOBAL-BATCH [SECONDS] [OPTIONS]
//
//===----------------------------------------------------------------------===//

#include "benchmarks/Dimensions.h"
#include "benchmarks/UniformPlans.h"
#include "lib/Driver/Force.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/ModelSteps.h"
#include "lib/Driver/Planning.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Text.h"

#include "llvm/Support/raw_ostream.h"

#include <ctime>

using namespace parplan;

static constexpr const char *usage =
    R"(JointSearch MODEL GPUS CLUSTER GLOBAL-BATCH [SECONDS] [OPTIONS]
  --force SPEC         as of parplan
  --without DIMENSION  leaves a part of the space out; repeatable
  --updates-move       each update on the device or on the host
  --uniform            all layers alike, equally many in every stage
  --memory-limit BYTES per device, in place of the device's
  --precision P        fp32, bf16 (default) or fp16
  --json               one document on standard output
)";

namespace {

struct Options {
  CompileOptions compile;
  std::string force;
  std::vector<std::string> without;
  bool updatesMayMove = false, isUniform = false, isJson = false;
};

/// What was found, and the processor's seconds that it took.
struct Report {
  FoundPlan found;
  std::optional<PlanningProblem> problem;
  double importSeconds = 0, searchSeconds = 0;
};

} // namespace

static double getProcessorSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

static std::string print(const Report &report) {
  const FoundPlan &found = report.found;
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
      << " calls of oracles, " << found.judgedPlans << " plans judged\n"
      << "import " << report.importSeconds << " s of a processor, search "
      << report.searchSeconds << " s\n";
  return text;
}

/// What the plan is, in numbers.
static Json describePlan(const PlanningProblem &problem,
                         const PlanResult &result) {
  const PlanningAnswer &answer = *result.answer;
  Json mesh = Json::object(), algorithms = Json::object(),
       stages = Json::object();
  for (const MeshAxis &axis : answer.mesh.getAxes()) {
    std::string role = stringifyAxisRole(axis.role).str();
    mesh[role] = mesh.value(role, int64_t(1)) * axis.size;
  }
  auto count = [](Json &counts, const std::string &key) {
    counts[key] = counts.value(key, 0) + 1;
  };
  int64_t forwardOps = 0, again = 0;
  for (auto [number, op] : llvm::enumerate(problem.ops)) {
    if (op.role != OpRole::forward)
      continue;
    ++forwardOps;
    again += answer.isRecomputed(number);
    if (isProduct(op))
      count(algorithms,
            stringifyAlgorithm(
                getTensorAlgorithm(op, answer.assignments[number], answer.mesh))
                .str());
  }
  for (auto [parameter, stage] :
       getZeroStages(problem, answer, /*forced=*/std::nullopt))
    count(stages, std::to_string(stage));
  Json plan;
  plan["micro_batches"] = result.microBatches;
  plan["mesh"] = std::move(mesh);
  if (answer.pipeline)
    plan["schedule"] = printScheduleName(answer.pipeline->shape);
  plan["products"] = std::move(algorithms);
  plan["zero_stages"] = std::move(stages);
  plan["forward_ops"] = forwardOps;
  plan["recomputed_ops"] = again;
  plan["peak_bytes"] = result.evaluation.peakBytes;
  plan["bubble_seconds"] = result.evaluation.pipelineBubbleSeconds;
  return plan;
}

static Json describe(const Report &report) {
  const FoundPlan &found = report.found;
  const PlanResult &result = found.result;
  Json document;
  if (result.answer) {
    document["seconds"] = result.evaluation.stepTimeSeconds;
    document["gap"] = result.certificate.getGap();
    document["plan"] = describePlan(*report.problem, result);
  } else {
    document["seconds"] = nullptr;
    if (result.smallestBytes != std::numeric_limits<int64_t>::max())
      document["smallest_bytes"] = result.smallestBytes;
  }
  document["bound_seconds"] = result.certificate.lowerBoundSeconds;
  document["bound_source"] = found.boundSource;
  document["cut_short"] = result.isCutShort;
  document["refusals"] = result.refusals;
  document["meshes"] = found.spaces;
  document["bounds"] = found.evaluations;
  document["judged"] = found.judgedPlans;
  document["import_seconds"] = report.importSeconds;
  document["search_seconds"] = report.searchSeconds;
  return document;
}

static std::optional<Report> search(const Options &options,
                                    DiagnosticEngine &engine) {
  CompileOptions compile = options.compile;
  compile.force =
      parseForce(options.force, compile.gpus, /*isTraining=*/true, engine);
  std::optional<Cluster> cluster = chooseCluster(compile, engine);
  if (!cluster || engine.hasErrors())
    return std::nullopt;
  FindPlanOptions scope = getJointOptions(*cluster);
  for (const std::string &dimension : options.without)
    if (!leaveOut(dimension, compile.force, scope)) {
      engine.error(codes::badOptionValue)
              .help("dimensions are " + joinText(getDimensionNames(), ", "))
          << "--without " << quoteName(dimension) << ": unknown dimension";
      return std::nullopt;
    }
  FrontendOptions request;
  request.import.path = compile.modelPath;
  request.import.globalBatch = compile.globalBatch;
  request.training = compile.training;
  request.cluster = cluster->description;
  auto context = makeContext();
  IRDumper silent("", engine);
  double start = getProcessorSeconds();
  std::optional<SimplifiedModel> model =
      simplifyModel(*context, request, silent, engine);
  if (!model)
    return std::nullopt;
  std::vector<int64_t> counts = getMicroBatchCounts(*model);
  if (compile.force.microBatches)
    counts = {*compile.force.microBatches};
  ModelSteps steps(*model, request, counts);
  StepProblems problems = steps.getProblems();
  for (int64_t count : problems.counts)
    problems.get(count);
  Report report;
  double imported = getProcessorSeconds();
  report.importSeconds = imported - start;

  PlanRequest asked = getRequest(
      compile, *cluster,
      compile.memoryLimitBytes.value_or(cluster->getDevice().memoryBytes));
  asked.timeBudgetSeconds = compile.timeBudgetSeconds;
  asked.updatesMayMove = options.updatesMayMove;
  CostModel costModel(*cluster, getPrecision(compile));
  ClusterCosts costs(costModel);
  report.found = options.isUniform
                     ? findUniformPlan(problems, asked, costs, scope)
                     : findPlan(problems, asked, costs, scope);
  report.searchSeconds = getProcessorSeconds() - imported;
  const PlanResult &result = report.found.result;
  if (!result.answer)
    return report;
  report.problem = *problems.get(result.microBatches)->get();
  PARPLAN_CHECK(verifyAnswer(*report.problem, *result.answer).empty(),
                "the evaluator refuses the plan");
  return report;
}

static std::optional<ComputePrecision> parsePrecision(llvm::StringRef text) {
  if (text == "fp32")
    return ComputePrecision::fp32;
  if (text == "bf16")
    return ComputePrecision::bf16;
  if (text == "fp16")
    return ComputePrecision::fp16;
  return std::nullopt;
}

/// Nullopt: not what `usage` says.
static std::optional<Options> parse(llvm::ArrayRef<const char *> arguments) {
  Options options;
  options.compile.training.emplace();
  options.compile.training->precision = ComputePrecision::bf16;
  std::vector<const char *> given;
  for (size_t index = 0; index < arguments.size(); ++index) {
    llvm::StringRef name = arguments[index];
    if (!name.starts_with("--")) {
      given.push_back(arguments[index]);
      continue;
    }
    if (name == "--json" || name == "--uniform" || name == "--updates-move") {
      options.isJson |= name == "--json";
      options.isUniform |= name == "--uniform";
      options.updatesMayMove |= name == "--updates-move";
      continue;
    }
    if (++index == arguments.size())
      return std::nullopt;
    llvm::StringRef value = arguments[index];
    if (name == "--force") {
      options.force = value.str();
    } else if (name == "--without") {
      options.without.push_back(value.str());
    } else if (name == "--memory-limit") {
      options.compile.memoryLimitBytes = parseInteger(value.str());
    } else if (auto precision = parsePrecision(value);
               precision && name == "--precision") {
      options.compile.training->precision = *precision;
    } else {
      return std::nullopt;
    }
  }
  if (given.size() < 4 || given.size() > 5)
    return std::nullopt;
  options.compile.modelPath = given[0];
  options.compile.gpus = std::atoll(given[1]);
  options.compile.cluster = given[2];
  options.compile.globalBatch = std::atoll(given[3]);
  options.compile.timeBudgetSeconds =
      given.size() > 4 ? std::atof(given[4]) : 60;
  return options;
}

int main(int argc, char **argv) {
  std::optional<Options> options =
      parse(llvm::ArrayRef<const char *>(argv + 1, argc - 1));
  if (!options) {
    llvm::errs() << usage;
    return 2;
  }
  DiagnosticEngine engine;
  std::optional<Report> report = search(*options, engine);
  llvm::errs() << engine.render();
  if (!report)
    return 1;
  llvm::outs() << (options->isJson ? printJson(describe(*report))
                                   : print(*report));
  return 0;
}
