//===- PlanFuzzer.cpp - Any text as a plan --------------------------------===//
//
// Part of parplan.
//
// The plans are of the problem in problem.json, a step of a small perceptron.
//
//===----------------------------------------------------------------------===//

#include "JsonMutations.h"

#include "lib/Report/PlanDocument.h"
#include "parplan/Cluster/Presets.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/ProblemFile.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "parplan/Support/Files.h"

#include <cmath>

using namespace parplan;

static PlanningProblem readTestProblem() {
  DiagnosticEngine diagnostics;
  std::string fault;
  auto text = readFile(PARPLAN_TEST_PROBLEM, codes::badPlan, diagnostics);
  PARPLAN_CHECK(text.has_value());
  auto problem = readProblem(*text, fault);
  PARPLAN_CHECK(problem.has_value());
  return std::move(*problem);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const PlanningProblem problem = readTestProblem();
  DiagnosticEngine diagnostics;
  std::string_view text(reinterpret_cast<const char *>(data), size);
  auto document = parseJson(text, "plan.json", codes::badPlan, diagnostics);
  PARPLAN_CHECK(document.has_value() != diagnostics.hasErrors());
  if (!document)
    return 0;
  DiagnosticEngine claimed;
  PARPLAN_CHECK(readClaims(*document, "plan.json", claimed).has_value() !=
                claimed.hasErrors());
  auto answer = readAnswer(*document, "plan.json", problem, diagnostics);
  PARPLAN_CHECK(answer.has_value() != diagnostics.hasErrors());
  if (!answer || !verifyAnswer(problem, *answer).empty())
    return 0;
  // A legal plan has a time and a size on any cluster that is large enough.
  int64_t ranks = answer->servers ? answer->servers->getRankCount()
                                  : answer->mesh.getRankCount();
  auto cluster = makeCluster(*findPreset("host"), ranks, diagnostics);
  if (!cluster)
    return 0;
  CostModel model(*cluster, Precision::fp32);
  double seconds =
      evaluatePlan(problem, *answer, ClusterCosts(model)).stepTimeSeconds;
  PARPLAN_CHECK(std::isfinite(seconds) && seconds >= 0);
  PARPLAN_CHECK(getPeakBytes(problem, *answer) > 0);
  return 0;
}
