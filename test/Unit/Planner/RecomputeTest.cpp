//===- RecomputeTest.cpp - Plans that recompute or offload ----------------===//

#include "TestProblems.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Solver.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int64_t noLimit = int64_t(1) << 40;

/// Blocks of a product, an elementwise op with a gradient, and a product. If
/// `casts`, products read what an op makes of their parameter once per step.
PlanningProblem makeBlocks(int64_t blocks, int64_t microBatches,
                           int64_t rows = 256, bool casts = false) {
  ProblemBuilder builder;
  builder.problem.microBatches = microBatches;
  int value = builder.addInput({rows, 16});
  struct Block {
    ProblemBuilder::Layer up, norm, down;
    int first, second;
  };
  std::vector<Block> all;
  for (int64_t number = 0; number < blocks; ++number) {
    Block block;
    block.first = builder.addParameter({16, 64});
    block.second = builder.addParameter({64, 16});
    std::array<int, 2> weights = {block.first, block.second};
    if (casts)
      for (int &weight : weights) {
        weight = builder.addElementwise({weight}, Linearity::jointly);
        builder.problem.ops.back().perMicroBatch = false;
        builder.problem.ops.back().isMadePerUpload = true;
      }
    block.up = builder.addLayer(value, weights[0]);
    builder.problem.ops.back().block = number;
    block.norm = builder.addNormLayer(block.up.result);
    builder.problem.ops.back().block = number;
    block.down = builder.addLayer(block.norm.result, weights[1]);
    builder.problem.ops.back().block = number;
    value = block.down.result;
    all.push_back(block);
  }
  int gradient = builder.addInput({rows, 16});
  std::vector<std::pair<int, int>> updates;
  for (Block &block : llvm::reverse(all)) {
    auto [ofDown, ofSecond] = block.down.addBackward(gradient);
    int ofNorm = block.norm.addBackward(ofDown).first;
    auto [ofUp, ofFirst] = block.up.addBackward(ofNorm);
    gradient = ofUp;
    updates.emplace_back(block.first, builder.addAccumulate(ofFirst));
    updates.emplace_back(block.second, builder.addAccumulate(ofSecond));
  }
  for (auto [parameter, sum] : updates)
    builder.addUpdate(parameter, sum, /*stateCount=*/2);
  return std::move(builder.problem);
}

PlanRequest makeRequest() {
  PlanRequest request;
  request.memoryLimitBytes = noLimit;
  request.hostLimitBytes = request.nvmeLimitBytes = noLimit;
  return request;
}

PlanResult solveChecked(const PlanningProblem &problem,
                        const PlanRequest &request) {
  EXPECT_EQ(verifyProblem(problem), std::nullopt);
  PlanResult result = choosePlanOf(problem, request, SimpleCosts());
  for (const std::string &refusal : result.refusals)
    ADD_FAILURE() << refusal;
  EXPECT_TRUE(result.answer);
  if (!result.answer)
    return result;
  for (const std::string &violation : verifyAnswer(problem, *result.answer))
    ADD_FAILURE() << violation;
  EXPECT_LE(result.certificate.lowerBoundSeconds,
            result.evaluation.stepTimeSeconds);
  EXPECT_NEAR(result.objectiveSeconds,
              getLayoutSeconds(problem, *result.answer, SimpleCosts()),
              1e-9 * result.objectiveSeconds);
  return result;
}

TEST(Recompute, CostsWhatItMakesAgain) {
  for (int64_t microBatches : {1, 3}) {
    PlanningProblem problem = makeBlocks(4, microBatches);
    PlanRequest request = makeRequest();
    request.recompute = RecomputeKind::none;
    PlanResult kept = solveChecked(problem, request);
    request.recompute = RecomputeKind::full;
    PlanResult full = solveChecked(problem, request);
    // The last product of a block is read by the next block, and of the last
    // one by nothing: both are not made again.
    double again = 0;
    for (size_t op = 0; op < problem.ops.size(); ++op)
      if (full.answer->isRecomputed(op) && op % 3 != 2)
        again += SimpleCosts().getOpSeconds(
            problem, problem.ops[op], full.answer->assignments[op], Mesh());
    EXPECT_NEAR(full.evaluation.stepTimeSeconds,
                kept.evaluation.stepTimeSeconds + again, 1e-9);
    EXPECT_LT(full.evaluation.peakBytes, kept.evaluation.peakBytes);
  }
}

/// Of a stack that computes blocks again to their end.
class WholeBlockCosts : public SimpleCosts {
public:
  bool recomputesWholeBlocks() const override { return true; }
};

TEST(Recompute, GoesToTheEndOfBlocksWhereTheStackDoes) {
  PlanningProblem problem = makeBlocks(4, /*microBatches=*/3);
  PlanRequest request = makeRequest();
  request.recompute = RecomputeKind::full;
  PlanResult full = solveChecked(problem, request);
  double rest = 0;
  for (size_t op = 2; op < 12; op += 3)
    rest += SimpleCosts().getOpSeconds(problem, problem.ops[op],
                                       full.answer->assignments[op], Mesh());
  EXPECT_NEAR(
      evaluatePlan(problem, *full.answer, WholeBlockCosts()).stepTimeSeconds,
      full.evaluation.stepTimeSeconds + rest, 1e-9);
  request.recompute = RecomputeKind::none;
  PlanResult kept = solveChecked(problem, request);
  EXPECT_EQ(
      evaluatePlan(problem, *kept.answer, WholeBlockCosts()).stepTimeSeconds,
      kept.evaluation.stepTimeSeconds);
}

TEST(Recompute, AgreesWithProgramOrderWhereNothingIs) {
  for (int64_t microBatches : {1, 3}) {
    PlanningProblem problem = makeBlocks(3, microBatches);
    PlanResult result = solveChecked(problem, makeRequest());
    PlanningAnswer same = *result.answer;
    same.recomputed.assign(problem.ops.size(), false);
    EXPECT_EQ(getPeakBytes(problem, same),
              getPeakBytes(problem, *result.answer));
    PlanEvaluation evaluation = evaluatePlan(problem, same, SimpleCosts());
    EXPECT_NEAR(evaluation.stepTimeSeconds, result.evaluation.stepTimeSeconds,
                1e-9);
    EXPECT_EQ(evaluation.gradientBytes, result.evaluation.gradientBytes);
    EXPECT_EQ(evaluation.activationBytes, result.evaluation.activationBytes);
  }
}

TEST(Recompute, SelectsWhatIsCheap) {
  PlanningProblem problem = makeBlocks(4, 2);
  PlanRequest request = makeRequest();
  request.recompute = RecomputeKind::selective;
  PlanResult result = solveChecked(problem, request);
  for (size_t op = 0; op < 12; ++op)
    EXPECT_EQ(result.answer->isRecomputed(op), op % 3 == 1) << op;
}

TEST(Recompute, IsTakenWhereNothingElseFits) {
  PlanningProblem problem = makeBlocks(8, 1);
  PlanRequest request = makeRequest();
  request.hostLimitBytes = 0;
  PlanResult free = solveChecked(problem, request);
  request.recompute = RecomputeKind::full;
  PlanResult full = solveChecked(problem, request);
  request.recompute.reset();
  request.memoryLimitBytes =
      (free.evaluation.peakBytes + full.evaluation.peakBytes) / 2;
  PlanResult found = solveChecked(problem, request);
  ASSERT_TRUE(found.answer);
  EXPECT_LE(found.evaluation.peakBytes, request.memoryLimitBytes);
  EXPECT_FALSE(found.answer->recomputed.empty());
  EXPECT_FALSE(found.certificate.exact);
  EXPECT_LE(found.evaluation.stepTimeSeconds, full.evaluation.stepTimeSeconds);
}

TEST(Offload, MovesGradientsDownAndParametersUp) {
  PlanningProblem problem = makeBlocks(2, 2);
  PlanRequest request = makeRequest();
  PlanResult kept = solveChecked(problem, request);
  request.offload = OffloadChoice{MemoryTier::host, MemoryTier::device, false};
  PlanResult result = solveChecked(problem, request);
  int64_t parameters = 4 * 16 * 64 * 4;
  EXPECT_EQ(result.evaluation.offload,
            (OffloadBytes{parameters, parameters, 0, 0}));
  EXPECT_EQ(result.evaluation.hostBytes, 3 * parameters);
  EXPECT_EQ(result.evaluation.optimizerBytes, 0);
  EXPECT_EQ(result.evaluation.optimizerSeconds, 0);
  EXPECT_GT(result.evaluation.offloadSeconds, 0);
  EXPECT_LE(result.evaluation.peakBytes,
            kept.evaluation.peakBytes - 2 * parameters);
  request.offload->optimizer = MemoryTier::nvme;
  result = solveChecked(problem, request);
  EXPECT_EQ(result.evaluation.nvmeBytes, 3 * parameters);
  EXPECT_EQ(result.evaluation.offload.nvmeWritten, 3 * parameters);
}

TEST(Offload, MovesPiecesOfWhatReplicasUpdateInPieces) {
  PlanningProblem problem = makeBlocks(2, 2);
  PlanRequest request = makeRequest();
  request.deviceCount = 2;
  request.dataSize = 2;
  request.tensorSize = 1;
  request.offload = OffloadChoice{MemoryTier::host, MemoryTier::device, false};
  for (int stage : {1, 2}) {
    request.zeroStage = stage;
    PlanResult result = solveChecked(problem, request);
    int64_t pieces = 4 * 16 * 64 * 4 / 2;
    EXPECT_EQ(result.evaluation.offload, (OffloadBytes{pieces, pieces, 0, 0}));
    EXPECT_EQ(result.evaluation.hostBytes, 3 * pieces);
    // That parameters rest in them is a decision of its own.
    PlanningAnswer answer = *result.answer;
    EXPECT_EQ(llvm::count(answer.inPieces, true), 4);
    answer.inPieces.clear();
    EXPECT_TRUE(verifyAnswer(problem, answer).empty());
    PlanEvaluation whole = evaluatePlan(problem, answer, SimpleCosts());
    EXPECT_EQ(whole.hostBytes, 4 * pieces);
    EXPECT_GT(whole.offload.hostToDevice, pieces);
  }
}

TEST(Offload, LeavesNothingInPiecesThatIsUpdatedOnTheDevice) {
  PlanningProblem problem = makeBlocks(2, 2);
  PlanRequest request = makeRequest();
  request.deviceCount = 2;
  request.dataSize = 2;
  request.tensorSize = 1;
  request.zeroStage = 1;
  PlanResult result = solveChecked(problem, request);
  PlanningAnswer answer = *result.answer;
  EXPECT_TRUE(answer.inPieces.empty());
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    if (value.kind != ValueKind::parameter)
      continue;
    answer.inPieces.assign(problem.values.size(), false);
    answer.inPieces[index] = true;
    std::vector<std::string> problems = verifyAnswer(problem, answer);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_NE(problems[0].find("(P16)"), std::string::npos);
  }
}

TEST(Offload, StreamsParametersForEveryPass) {
  PlanningProblem problem = makeBlocks(4, 3);
  PlanRequest request = makeRequest();
  request.offload = OffloadChoice{MemoryTier::device, MemoryTier::host, false};
  PlanResult result = solveChecked(problem, request);
  int64_t parameters = 8 * 16 * 64 * 4;
  // Up for 3 forward and 3 backward passes and the update, down after it.
  EXPECT_EQ(result.evaluation.offload,
            (OffloadBytes{7 * parameters, parameters, 0, 0}));
  EXPECT_EQ(result.evaluation.parameterBytes, 0);
}

TEST(Offload, MakesAgainWithEveryUploadWhatIsReadOfIt) {
  PlanningProblem problem =
      makeBlocks(4, /*microBatches=*/3, /*rows=*/256, /*casts=*/true);
  PlanRequest request = makeRequest();
  request.offload = OffloadChoice{MemoryTier::device, MemoryTier::host, false};
  PlanResult again = solveChecked(problem, request);
  int64_t parameters = 8 * 16 * 64 * 4;
  EXPECT_EQ(again.evaluation.offload,
            (OffloadBytes{7 * parameters, parameters, 0, 0}));
  // Kept for the step, it is made once and lives as long.
  for (PlanningOp &op : problem.ops)
    op.isMadePerUpload = false;
  PlanResult once = solveChecked(problem, request);
  EXPECT_EQ(once.evaluation.offload,
            (OffloadBytes{parameters, parameters, 0, 0}));
  EXPECT_GT(again.evaluation.computeSeconds, once.evaluation.computeSeconds);
  EXPECT_LT(again.evaluation.peakBytes, once.evaluation.peakBytes);
}

TEST(Offload, LetsActivationsWaitOnTheHost) {
  PlanningProblem problem = makeBlocks(4, 2);
  PlanRequest request = makeRequest();
  PlanResult kept = solveChecked(problem, request);
  request.offload = OffloadChoice{MemoryTier::device, MemoryTier::device, true};
  PlanResult result = solveChecked(problem, request);
  EXPECT_LT(result.evaluation.peakBytes, kept.evaluation.peakBytes);
  EXPECT_GT(result.evaluation.offload.hostToDevice, 0);
  EXPECT_EQ(result.evaluation.offload.hostToDevice,
            result.evaluation.offload.deviceToHost);
  EXPECT_GT(result.evaluation.hostBytes, 0);
}

TEST(Offload, NeedsATier) {
  PlanningProblem problem = makeBlocks(1, 1);
  PlanRequest request = makeRequest();
  request.offload = OffloadChoice{MemoryTier::nvme, MemoryTier::device, false};
  request.nvmeLimitBytes = 0;
  PlanResult result = choosePlanOf(problem, request, SimpleCosts());
  EXPECT_FALSE(result.answer);
  ASSERT_EQ(result.refusals.size(), 1u);
  EXPECT_NE(result.refusals[0].find("of NVMe, and has 0 B"), std::string::npos)
      << result.refusals[0];
  request.nvmeLimitBytes = 64;
  result = choosePlanOf(problem, request, SimpleCosts());
  EXPECT_FALSE(result.answer);
  ASSERT_EQ(result.refusals.size(), 1u);
  EXPECT_NE(result.refusals[0].find("offload=none is nearest"),
            std::string::npos);
}

} // namespace
