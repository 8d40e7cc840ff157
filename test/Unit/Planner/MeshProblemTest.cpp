//===- MeshProblemTest.cpp - Layouts on one mesh as a network -------------===//

#include "TrainingSteps.h"

#include "lib/Planner/Exact/MeshProblem.h"

#include "parplan/Planner/SearchSpace.h"

using namespace parplan;
using namespace parplan::test;

namespace {

/// Calls `visit` with every answer of a network that is allowed.
void forAllAnswers(const CostNetwork &network,
                   llvm::function_ref<void(const std::vector<int> &)> visit) {
  std::vector<int> choices(network.getVariableCount(), 0);
  for (size_t variable = choices.size(); variable > 0;) {
    if (network.getCost(choices) != CostNetwork::forbidden)
      visit(choices);
    for (variable = choices.size(); variable > 0; --variable) {
      int &choice = choices[variable - 1];
      if (++choice < network.getDomainSize(static_cast<int>(variable) - 1))
        break;
      choice = 0;
    }
  }
}

/// The largest sum of an op.
int64_t getMostLiveBytes(const PlanningProblem &problem,
                         const MeshProblem &mesh, bool countsCopies,
                         const std::vector<int> &choices) {
  double most = 0;
  for (size_t op = 0; op < problem.ops.size(); ++op)
    most = std::max(
        most,
        mesh.getLiveBytes(static_cast<int>(op), countsCopies).getCost(choices));
  return static_cast<int64_t>(most) + problem.fixedBytes;
}

/// Compares the peaks of all answers with the sums with and without copies.
void forAllPeaks(
    const PlanningProblem &problem, const PlanRequest &request,
    llvm::function_ref<void(int64_t with, int64_t peak, int64_t without)>
        compare) {
  PlanSpace space = getSpaces(problem, request).front();
  std::optional<std::string> refusal;
  auto assignments = getAllowedAssignments(problem, request, space, refusal);
  ASSERT_EQ(refusal, std::nullopt);
  SimpleCosts costs;
  MeshProblem mesh(problem, request, space, std::move(assignments), costs);
  int answers = 0;
  forAllAnswers(mesh.getNetwork(), [&](const std::vector<int> &choices) {
    ++answers;
    compare(getMostLiveBytes(problem, mesh, /*countsCopies=*/true, choices),
            getPeakBytes(problem, mesh.getAnswer(choices)),
            getMostLiveBytes(problem, mesh, /*countsCopies=*/false, choices));
  });
  EXPECT_GT(answers, 10);
}

} // namespace

TEST(MeshProblem, LiveBytesEncloseThePeaksOfForwardPasses) {
  PlanningProblem problem = makeMlp(/*batch=*/8, /*width=*/16, /*hidden=*/32);
  problem.fixedBytes = 640;
  forAllPeaks(problem, makeRequest(/*data=*/1, /*tensor=*/2),
              [](int64_t with, int64_t peak, int64_t without) {
                EXPECT_GE(with, peak);
                EXPECT_LE(without, peak);
              });
}

TEST(MeshProblem, LiveBytesWithoutCopiesAreNoMoreThanPeaks) {
  forAllPeaks(
      makeTrainedLayer(/*microBatches=*/1),
      makeRequest(/*data=*/2, /*tensor=*/1),
      [](int64_t, int64_t peak, int64_t without) { EXPECT_LE(without, peak); });
}
