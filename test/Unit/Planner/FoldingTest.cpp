//===- FoldingTest.cpp - Equal blocks are decided once --------------------===//

#include "TestProblems.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Folding.h"
#include "parplan/Planner/Solver.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace parplan;
using namespace parplan::test;

namespace {

struct Shape {
  int blocks = 4;
  /// The hidden width of each block; empty: 32.
  std::vector<int64_t> hidden = {};
  bool isTied = false;
  int64_t microBatches = 1;
};

/// x -> [norm, product, norm, product, norm, sum with x] per block -> norm.
class Residual {
public:
  explicit Residual(Shape given) : shape(std::move(given)) {
    builder.problem.microBatches = shape.microBatches;
    shape.hidden.resize(shape.blocks, 32);
    current = builder.addNorm({builder.addInput({8, 16})});
    for (int64_t hidden : shape.hidden)
      addBlock(hidden);
  }

  PlanningProblem makeForward() {
    builder.markOutput(builder.addNorm({current}));
    return std::move(builder.problem);
  }

  /// With backward pass, sums over micro-batches, a norm of all gradients and
  /// updates.
  PlanningProblem makeTraining() {
    int gradient = builder.addNorm({current});
    builder.setRole(OpRole::inputGradient);
    std::map<int, int> gradients;
    for (size_t block = blocks.size(); block-- > 0;)
      gradient = addBackward(blocks[block], gradient, gradients);
    std::vector<int> squares;
    for (auto &[weight, sum] : gradients) {
      sum = builder.addAccumulate(sum);
      squares.push_back(builder.addSquareSum(sum, -1));
    }
    builder.markOutput(builder.addElementwise(squares, Linearity::jointly));
    builder.setRole(OpRole::optimizer);
    builder.problem.ops.back().perMicroBatch = false;
    for (auto [weight, sum] : gradients)
      builder.addUpdate(weight, sum);
    return std::move(builder.problem);
  }

private:
  struct Block {
    int up, down;
    std::vector<ProblemBuilder::Layer> layers;
  };

  void addBlock(int64_t hidden) {
    Block block;
    block.up = shape.isTied && !blocks.empty()
                   ? blocks.front().up
                   : builder.addParameter({16, hidden});
    block.down = builder.addParameter({hidden, 16});
    int value = current;
    for (int weight : {-1, block.up, -1, block.down, -1}) {
      block.layers.push_back(weight < 0 ? builder.addNormLayer(value)
                                        : builder.addLayer(value, weight));
      value = block.layers.back().result;
    }
    current = builder.addElementwise({current, value}, Linearity::jointly);
    blocks.push_back(std::move(block));
  }

  int addSum(int one, int other) {
    int sum = builder.addElementwise({one, other}, Linearity::jointly);
    builder.setRole(OpRole::gradientSum);
    return sum;
  }

  int addBackward(const Block &block, int gradient,
                  std::map<int, int> &gradients) {
    int own = gradient;
    for (size_t layer = block.layers.size(); layer-- > 0;) {
      auto [ofInput, ofWeight] = block.layers[layer].addBackward(own);
      own = ofInput;
      if (ofWeight < 0)
        continue;
      int weight = layer == 1 ? block.up : block.down;
      auto [it, isNew] = gradients.try_emplace(weight, ofWeight);
      if (!isNew)
        it->second = addSum(it->second, ofWeight);
    }
    return addSum(gradient, own);
  }

  Shape shape;
  ProblemBuilder builder;
  int current = 0;
  std::vector<Block> blocks;
};

Folding foldChecked(const PlanningProblem &problem,
                    const FoldingOptions &options = {}) {
  EXPECT_EQ(verifyProblem(problem), std::nullopt);
  Folding folding = foldProblem(problem, options);
  EXPECT_EQ(verifyFolding(problem, folding), std::nullopt);
  return folding;
}

std::vector<int> countBlocks(const Folding &folding) {
  std::vector<int> counts;
  for (const Folding::Run &run : folding.runs)
    counts.push_back(run.blockCount);
  return counts;
}

/// Random decisions per class, on two data by four tensor ranks.
class Drawing {
public:
  Drawing(const PlanningProblem &problem, const Folding &folding)
      : folding(folding), space{makeMesh(2, 4), {}} {
    PlanRequest request;
    request.deviceCount = 8;
    std::optional<std::string> refusal;
    allowed = getAllowedAssignments(problem, request, space, refusal);
    rests = getRestCandidates(problem, request, space, allowed);
  }

  FoldedAnswer draw() {
    FoldedAnswer answer;
    answer.mesh = space.mesh;
    answer.assignments.resize(folding.ops.size());
    for (const Folding::DecisionClass &decision : folding.decisions) {
      int leader = folding.ops[decision.leader].representative;
      size_t choice = random() % allowed[leader].size();
      for (int member : decision.members)
        answer.assignments[member] =
            allowed[folding.ops[member].representative][choice];
    }
    for (const Folding::ValueClass &ofValue : folding.values) {
      const auto &candidates = rests[ofValue.representative];
      answer.rest.push_back(candidates[random() % candidates.size()]);
    }
    return answer;
  }

private:
  const Folding &folding;
  PlanSpace space;
  std::vector<std::vector<FactorAssignment>> allowed;
  std::vector<std::vector<Sharding>> rests;
  std::mt19937 random{7};
};

/// Random plans of classes cost the same as what they expand to.
void expectEqualCosts(const PlanningProblem &problem, const Folding &folding) {
  Drawing drawing(problem, folding);
  SimpleCosts costs;
  int legal = 0;
  for (int round = 0; round < 60 && legal < 20; ++round) {
    FoldedAnswer folded = drawing.draw();
    PlanningAnswer whole = expandAnswer(folding, folded);
    if (!verifyAnswer(problem, whole).empty())
      continue;
    ++legal;
    double seconds = getLayoutSeconds(problem, whole, costs);
    EXPECT_NEAR(getFoldedSeconds(problem, folding, folded, costs), seconds,
                1e-9 * seconds);
    EXPECT_NEAR(evaluatePlan(problem, whole, costs).stepTimeSeconds, seconds,
                1e-9 * seconds);
    std::optional<FoldedAnswer> again = foldAnswer(folding, whole);
    ASSERT_TRUE(again);
    EXPECT_EQ(expandAnswer(folding, *again).rest, whole.rest);
  }
  EXPECT_GT(legal, 0);
}

TEST(Folding, CountsEqualBlocks) {
  PlanningProblem problem = Residual({.blocks = 5}).makeForward();
  Folding folding = foldChecked(problem);
  EXPECT_EQ(countBlocks(folding), (std::vector<int>{5}));
  // The six ops of a block, and those before and behind.
  EXPECT_EQ(folding.ops.size(), 8u);
  EXPECT_EQ(folding.blockOfOp.front(), -1);
  EXPECT_EQ(folding.blockOfOp.back(), -1);
  EXPECT_EQ(folding.blocks[0].ops, (std::vector<int>{1, 2, 3, 4, 5, 6}));
  expectEqualCosts(problem, folding);
}

TEST(Folding, ReadsAResidualStreamFromBlockToBlock) {
  PlanningProblem problem = Residual({.blocks = 5}).makeForward();
  Folding folding = foldChecked(problem);
  int stream = folding.classOfValue[problem.ops[6].results[0]];
  EXPECT_EQ(folding.values[stream].count, 5);
  std::map<size_t, int64_t> countOfUses;
  for (const Folding::Reading &reading : folding.readings)
    if (reading.valueClass == stream)
      countOfUses[reading.uses.size()] += reading.count;
  // Four times by the norm and the sum of the next block, once by the last op.
  EXPECT_EQ(countOfUses, (std::map<size_t, int64_t>{{1, 1}, {2, 4}}));
}

TEST(Folding, KeepsBlocksOfOtherShapesApart) {
  Shape shape{.blocks = 7, .hidden = {32, 32, 32, 48, 32, 32, 32}};
  PlanningProblem problem = Residual(shape).makeForward();
  Folding folding = foldChecked(problem);
  EXPECT_EQ(countBlocks(folding), (std::vector<int>{3, 3}));
  expectEqualCosts(problem, folding);
}

TEST(Folding, CountsTiedWeightsOnce) {
  PlanningProblem problem =
      Residual({.blocks = 5, .isTied = true}).makeForward();
  Folding folding = foldChecked(problem);
  EXPECT_EQ(countBlocks(folding), (std::vector<int>{5}));
  const PlanningOp &up = problem.ops[folding.blocks[0].ops[1]];
  const PlanningOp &down = problem.ops[folding.blocks[0].ops[3]];
  EXPECT_EQ(folding.values[folding.classOfValue[up.operands[1]]].count, 1);
  EXPECT_EQ(folding.values[folding.classOfValue[down.operands[1]]].count, 5);
  expectEqualCosts(problem, folding);
}

TEST(Folding, PutsGradientsAndUpdatesIntoBlocks) {
  for (bool isTied : {false, true})
    for (int64_t microBatches : {1, 4}) {
      auto make = [&](int blocks) {
        return Residual({.blocks = blocks,
                         .isTied = isTied,
                         .microBatches = microBatches})
            .makeTraining();
      };
      PlanningProblem problem = make(6);
      Folding folding = foldChecked(problem);
      EXPECT_EQ(countBlocks(folding), (std::vector<int>{6}));
      expectEqualCosts(problem, folding);
      // Depth adds nothing.
      EXPECT_EQ(folding.ops.size(), foldChecked(make(12)).ops.size());
    }
}

TEST(Folding, TakesEqualBranchesForNoBlocks) {
  ProblemBuilder builder;
  int x = builder.addInput({8, 16});
  std::vector<int> branches;
  for (int branch = 0; branch < 4; ++branch)
    branches.push_back(builder.addContraction(
        x, "mk", builder.addParameter({16, 16}), "kn", "mn"));
  builder.markOutput(builder.addElementwise(branches));
  Folding folding = foldChecked(builder.problem, {.leastBlockOps = 1});
  EXPECT_TRUE(folding.runs.empty());
  EXPECT_EQ(folding.ops.size(), builder.problem.ops.size());
}

TEST(Folding, JoinsShortBlocks) {
  ProblemBuilder builder;
  int x = builder.addNorm({builder.addInput({8, 16})});
  for (int layer = 0; layer < 8; ++layer)
    x = builder.addContraction(x, "mk", builder.addParameter({16, 16}), "kn",
                               "mn");
  builder.markOutput(x);
  Folding folding = foldChecked(builder.problem, {.leastBlockOps = 2});
  ASSERT_EQ(folding.runs.size(), 1u);
  EXPECT_EQ(folding.blocks[0].ops.size(), 2u);
  expectEqualCosts(builder.problem, folding);
}

TEST(Folding, KeepsWhatWasForcedByNameApart) {
  PlanningProblem problem = Residual({.blocks = 6}).makeForward();
  FoldingOptions options;
  options.labels.assign(problem.ops.size(), 0);
  options.labels[1 + 2 * 6 + 1] = 1; // a product of the third block
  Folding folding = foldChecked(problem, options);
  EXPECT_EQ(countBlocks(folding), (std::vector<int>{2, 3}));
}

TEST(Folding, NoticesAFalseClass) {
  PlanningProblem problem = Residual({.blocks = 4}).makeTraining();
  Folding folding = foldChecked(problem);
  Folding wrong = folding;
  std::swap(wrong.classOfOp[1], wrong.classOfOp[2]);
  EXPECT_NE(verifyFolding(problem, wrong), std::nullopt);
  wrong = folding;
  ++wrong.readings.front().count;
  EXPECT_NE(verifyFolding(problem, wrong), std::nullopt);
  wrong = folding;
  wrong.decisions.front().leader = -1;
  EXPECT_NE(verifyFolding(problem, wrong), std::nullopt);
}

} // namespace
