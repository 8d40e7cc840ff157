//===- ExportMilp.cpp - Choices of layouts for another solver -------------===//
//
// Writes the choice of layouts of a problem (--dump-ir writes problem.json) on
// one mesh as mixed-integer programs, and prints what the exact and the joint
// search find on it as JSON:
//
//   ExportMilp PROBLEM CLUSTER PREFIX DATA TENSOR [PERCENT]
//   ExportMilp PROBLEM CLUSTER SOLUTION DATA TENSOR judge
//
// Without PERCENT memory has no limit, and PREFIX.lp has the planner's minimum.
// With it the limit is that share of what the fastest plan needs. PREFIX.lp
// counts copies for as long as any op may read them: mostly its best plan fits.
// PREFIX.relaxed.lp counts no copies, so its minimum is no more than that of
// the plans that fit. The second form prints what the evaluator says of the
// choices in the file SOLUTION, one per variable. benchmarks/milp.py solves and
// compares.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "lib/Planner/Exact/MeshProblem.h"

#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/FindPlan.h"
#include "parplan/Planner/ProblemFile.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Planner/Solver.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/Diagnostics.h"
#include "parplan/Support/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>

using namespace parplan;

namespace {

class Exporting {
public:
  Exporting(const PlanningProblem &problem, const PlanRequest &request,
            const PlanCosts &costs, const std::string &prefix)
      : problem(problem), request(request), costs(costs), prefix(prefix) {}

  int run(std::optional<int64_t> percent) {
    PARPLAN_CHECK(!percent || problem.microBatches == 1,
                  "limits are for steps of one micro-batch");
    PlanResult plan = search();
    if (plan.answer && percent) {
      request.memoryLimitBytes = plan.evaluation.peakBytes * *percent / 100;
      plan = search();
    }
    std::unique_ptr<MeshProblem> mesh = makeMesh();
    // A thousand or so, whatever the model.
    scale = 1000 / std::max(plan.certificate.upperBoundSeconds, 1e-9);
    searchJointly();
    report["ops"] = problem.ops.size();
    report["scale"] = scale;
    report["limit"] = percent ? request.memoryLimitBytes : 0;
    print(*mesh, ".lp", percent.has_value(), /*countsCopies=*/true);
    if (percent)
      print(*mesh, ".relaxed.lp", /*isLimited=*/true, /*countsCopies=*/false);
    llvm::outs() << report.dump() << "\n";
    return 0;
  }

  /// Recomputes time and memory of a solution.
  int judge() {
    auto text = llvm::MemoryBuffer::getFile(prefix);
    PARPLAN_CHECK(text, "cannot read ", prefix);
    llvm::SmallVector<llvm::StringRef> words;
    llvm::SplitString((*text)->getBuffer(), words);
    std::vector<int> choices;
    for (llvm::StringRef word : words)
      choices.push_back(std::atoi(word.str().c_str()));
    std::unique_ptr<MeshProblem> mesh = makeMesh();
    int variables = mesh->getNetwork().getVariableCount();
    PARPLAN_CHECK(static_cast<int>(choices.size()) == variables, choices.size(),
                  " choices for ", variables, " variables");
    PlanningAnswer answer = mesh->getAnswer(choices);
    report["legal"] = verifyAnswer(problem, answer).empty();
    PlanEvaluation evaluation = evaluatePlan(problem, answer, costs);
    report["seconds"] = evaluation.stepTimeSeconds;
    report["bytes"] = evaluation.peakBytes;
    llvm::outs() << report.dump() << "\n";
    return 0;
  }

private:
  /// The only mesh of the request.
  std::unique_ptr<MeshProblem> makeMesh() {
    spaces = getSpaces(problem, request);
    PARPLAN_CHECK(spaces.size() == 1, "there are ", spaces.size(), " meshes");
    std::optional<std::string> refusal;
    auto assignments =
        getAllowedAssignments(problem, request, spaces.front(), refusal);
    PARPLAN_CHECK(!refusal, *refusal);
    auto mesh = std::make_unique<MeshProblem>(problem, request, spaces.front(),
                                              std::move(assignments), costs);
    PARPLAN_CHECK(!mesh->isTooRich(), "a value has too many layouts");
    return mesh;
  }

  PlanResult search() {
    auto start = std::chrono::steady_clock::now();
    PlanResult plan = solve(problem, request, costs);
    std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - start;
    report["search_seconds"] = spent.count();
    report["found"] = plan.answer.has_value();
    report["exact"] = plan.certificate.exact;
    report["seconds"] = plan.certificate.upperBoundSeconds;
    report["bound"] = plan.certificate.lowerBoundSeconds;
    return plan;
  }

  /// What a joint search finds, which may also make values again.
  void searchJointly() {
    StepProblems steps;
    steps.counts = {problem.microBatches};
    steps.get = [&](int64_t) { return std::optional(problem); };
    PlanRequest asked = request;
    asked.pipelineSize = 1;
    PlanFinder finder(steps, asked, costs);
    SpaceSearchOptions options;
    options.gap = 0;
    options.memoryLimitBytes = static_cast<double>(request.memoryLimitBytes);
    PlanResult plan = finder.find(options).result;
    report["joint_found"] = plan.answer.has_value();
    report["joint_seconds"] = plan.certificate.upperBoundSeconds;
    report["joint_bound"] = plan.certificate.lowerBoundSeconds;
  }

  /// The memory of every op that some choice could exceed.
  std::vector<milp::Limit> getLimits(const MeshProblem &mesh,
                                     bool countsCopies) const {
    std::vector<milp::Limit> limits;
    auto most =
        static_cast<double>(request.memoryLimitBytes - problem.fixedBytes);
    for (size_t op = 0; op < problem.ops.size(); ++op) {
      CostNetwork bytes = mesh.getLiveBytes(static_cast<int>(op), countsCopies);
      double sum = 0;
      for (int variable = 0; variable < bytes.getVariableCount(); ++variable)
        sum += *llvm::max_element(bytes.getCosts(variable));
      bytes.forEachPair([&](int, int, const std::vector<double> &table) {
        sum += *llvm::max_element(table);
      });
      if (sum > most)
        limits.push_back({std::move(bytes), most});
    }
    return limits;
  }

  void print(const MeshProblem &mesh, const char *suffix, bool isLimited,
             bool countsCopies) {
    std::error_code error;
    llvm::raw_fd_ostream out(prefix + suffix, error);
    PARPLAN_CHECK(!error, "cannot write ", prefix, suffix);
    std::vector<milp::Limit> limits;
    if (isLimited)
      limits = getLimits(mesh, countsCopies);
    milp::ProgramSize size =
        milp::printProgram(mesh.getNetwork(), limits, scale, out);
    report["choices"] = size.choices;
    report["entries"] = size.entries;
    report["limits"] = size.limits;
    report["variables"] = mesh.getNetwork().getVariableCount();
  }

  const PlanningProblem &problem;
  PlanRequest request;
  const PlanCosts &costs;
  std::string prefix;
  double scale = 1;
  std::vector<PlanSpace> spaces;
  nlohmann::ordered_json report;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 6 || argc > 7) {
    llvm::errs() << "ExportMilp PROBLEM CLUSTER PREFIX DATA TENSOR "
                    "[PERCENT|judge]\n";
    return 2;
  }
  auto text = llvm::MemoryBuffer::getFile(argv[1]);
  if (!text) {
    llvm::errs() << "cannot read " << argv[1] << "\n";
    return 1;
  }
  std::string fault;
  std::optional<PlanningProblem> problem =
      readProblem((*text)->getBuffer(), fault);
  if (!problem) {
    llvm::errs() << argv[1] << ": " << fault << "\n";
    return 1;
  }
  PlanRequest request;
  request.dataSize = std::atoll(argv[4]);
  request.tensorSize = std::atoll(argv[5]);
  request.deviceCount = *request.dataSize * *request.tensorSize;
  request.memoryLimitBytes = int64_t(1) << 50;
  DiagnosticEngine engine;
  std::unique_ptr<PlanCosts> costs =
      loadCosts(argv[2], request.deviceCount, engine);
  if (!costs) {
    llvm::errs() << engine.render();
    return 1;
  }
  Exporting exporting(*problem, request, *costs, argv[3]);
  if (argc > 6 && llvm::StringRef(argv[6]) == "judge")
    return exporting.judge();
  std::optional<int64_t> percent;
  if (argc > 6)
    percent = std::atoll(argv[6]);
  return exporting.run(percent);
}
