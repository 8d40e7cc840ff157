//===- TrainingTest.cpp - Plans of training steps -------------------------===//

#include "TrainingSteps.h"

#include "parplan/Planner/SearchSpace.h"

#include <map>
#include <random>

using namespace parplan;
using namespace parplan::test;

namespace {

/// Calls per step of every collective, moves of results and copies.
std::map<MoveKind, int64_t> countCollectives(const PlanningProblem &problem,
                                             const PlanningAnswer &answer) {
  std::map<MoveKind, int64_t> calls;
  auto add = [&](int value, const Sharding &from, const Sharding &to,
                 int64_t repeat) {
    for (const Move &move :
         findReshardPath(answer.mesh, problem.values[value].shape, from, to)
             .moves)
      if (!move.isLocal())
        calls[move.kind] += repeat;
  };
  for (auto [index, op] : llvm::enumerate(problem.ops))
    for (auto [position, result] : llvm::enumerate(op.results))
      add(result,
          getMadeSharding(op.rule, answer.assignments[index],
                          static_cast<int>(position)),
          answer.rest[result], getResultRepeat(problem, op));
  auto copies = getCopies(problem, answer);
  for (size_t value = 0; value < problem.values.size(); ++value)
    for (const ValueCopy &copy : copies[value])
      add(static_cast<int>(value), answer.rest[value], copy.layout,
          copy.repeat);
  return calls;
}

using Calls = std::map<MoveKind, int64_t>;

TEST(Training, ReducesAGradientOncePerStep) {
  PlanningProblem problem = makeTrainedLayer(/*microBatches=*/4);
  PlanResult result = solveChecked(problem, makeRequest(2, 1, 0));
  EXPECT_EQ(countCollectives(problem, *result.answer),
            (Calls{{MoveKind::allReduce, 1}}));
}

TEST(Training, StoresUpdatesOnlyInStageOne) {
  PlanningProblem problem = makeTrainedLayer(/*microBatches=*/4);
  PlanResult result = solveChecked(problem, makeRequest(2, 1, 1));
  EXPECT_EQ(countCollectives(problem, *result.answer),
            (Calls{{MoveKind::reduceScatter, 1}, {MoveKind::allGather, 1}}));
  EXPECT_FALSE(result.answer->rest[1].isStored());
  EXPECT_EQ(getZeroStages(problem, *result.answer, std::nullopt).at(1), 1);
  EXPECT_EQ(result.evaluation.optimizerBytes, 16 * 16 * 4 / 2);
}

TEST(Training, AddsUpWholeGradientsInStageOne) {
  auto getGradientBytes = [](int64_t microBatches, int stage) {
    PlanningProblem problem = makeTrainedLayer(microBatches);
    PlanResult plan = solveChecked(problem, makeRequest(4, 1, stage));
    return getMemoryPeak(problem, *plan.answer).gradientBytes;
  };
  // What a micro-batch makes, and the sum: whole where it is reduced once per
  // step, in quarters where every micro-batch is.
  int64_t whole = 16 * 16 * 4;
  EXPECT_EQ(getGradientBytes(4, /*stage=*/1), 2 * whole);
  EXPECT_EQ(getGradientBytes(4, /*stage=*/2), 2 * whole / 4);
}

TEST(Training, ScattersGradientsOfEveryMicroBatchInStageTwo) {
  PlanningProblem problem = makeTrainedLayer(/*microBatches=*/4);
  PlanResult result = solveChecked(problem, makeRequest(2, 1, 2));
  EXPECT_EQ(countCollectives(problem, *result.answer),
            (Calls{{MoveKind::reduceScatter, 4}, {MoveKind::allGather, 1}}));
  EXPECT_EQ(getZeroStages(problem, *result.answer, std::nullopt).at(1), 2);
}

/// Two layers with one weight, whose gradients are summed.
PlanningProblem makeTiedLayers() {
  ProblemBuilder builder;
  int weight = builder.addParameter({16, 16});
  auto first = builder.addLayer(builder.addInput({8, 16}), weight);
  auto second = builder.addLayer(first.result, weight);
  auto [ofResult, ofSecond] = second.addBackward(builder.addInput({8, 16}));
  int ofFirst = first.addBackward(ofResult).second;
  int sum = builder.addElementwise({ofSecond, ofFirst}, Linearity::jointly);
  builder.setRole(OpRole::gradientSum);
  builder.addUpdate(weight, builder.addAccumulate(sum));
  return std::move(builder.problem);
}

/// Communication takes no time beside computation.
class FastLinks : public SimpleCosts {
public:
  using SimpleCosts::getCollectiveSeconds;
  double getCollectiveSeconds(CollectiveKind, const Mesh &, llvm::ArrayRef<int>,
                              int64_t) const override {
    return 1e-6;
  }
};

TEST(Training, ReducesTheSumOfTiedGradientsInStageTwo) {
  PlanningProblem problem = makeTiedLayers();
  PlanResult result = solveChecked(problem, makeRequest(2, 1, 2));
  EXPECT_EQ(countCollectives(problem, *result.answer),
            (Calls{{MoveKind::reduceScatter, 1}, {MoveKind::allGather, 1}}));
}

TEST(Training, SumsPiecesOfTiedGradientsWhereLinksAreFast) {
  PlanningProblem problem = makeTiedLayers();
  PlanResult result = solve(problem, makeRequest(2, 1, 2), FastLinks());
  ASSERT_TRUE(result.answer);
  EXPECT_EQ(countCollectives(problem, *result.answer),
            (Calls{{MoveKind::reduceScatter, 2}, {MoveKind::allGather, 1}}));
}

TEST(Training, GathersParametersForBothPassesInStageThree) {
  PlanningProblem problem = makeTrainedLayer(/*microBatches=*/4);
  PlanResult result = solveChecked(problem, makeRequest(2, 1, 3));
  EXPECT_EQ(countCollectives(problem, *result.answer),
            (Calls{{MoveKind::reduceScatter, 4}, {MoveKind::allGather, 8}}));
  EXPECT_EQ(getZeroStages(problem, *result.answer, std::nullopt).at(1), 3);
  EXPECT_EQ(result.evaluation.parameterBytes, 16 * 16 * 4 / 2);
}

TEST(Training, CastsStoredParametersBeforeTheyAreGathered) {
  ProblemBuilder builder;
  int x = builder.addInput({8, 16});
  int weight = builder.addParameter({16, 16});
  int cast = builder.addElementwise(weight, Linearity::jointly);
  builder.setRole(OpRole::forward, 100);
  builder.problem.values[cast].elementBytes = 2;
  auto layer = builder.addLayer(x, cast);
  int ofCast = layer.addBackward(builder.addInput({8, 16})).second;
  builder.problem.values[ofCast].elementBytes = 2;
  int gradient = builder.addElementwise(ofCast, Linearity::jointly);
  builder.setRole(OpRole::weightGradient, 100);
  builder.addUpdate(weight, builder.addAccumulate(gradient));
  const PlanningProblem &problem = builder.problem;
  PlanResult result = solveChecked(problem, makeRequest(2, 1, 3));
  EXPECT_TRUE(result.answer->rest[cast].isStored());
  EXPECT_EQ(countCollectives(problem, *result.answer),
            (Calls{{MoveKind::reduceScatter, 1}, {MoveKind::allGather, 2}}));
  // Without storage, too, the gradient is reduced in the short type or later,
  // but once.
  result = solveChecked(problem, makeRequest(2, 1, 0));
  EXPECT_EQ(countCollectives(problem, *result.answer),
            (Calls{{MoveKind::allReduce, 1}}));
}

TEST(Training, ReducesTheSquaresOfAllGradientsOnce) {
  ProblemBuilder builder;
  int x = builder.addInput({8, 16});
  std::vector<int> weights, gradients, squares;
  std::vector<ProblemBuilder::Layer> layers;
  for (int layer = 0; layer < 3; ++layer) {
    weights.push_back(builder.addParameter({16, 16}));
    layers.push_back(builder.addLayer(x, weights.back()));
    x = layers.back().result;
  }
  int gradient = builder.addInput({8, 16});
  for (int layer = 3; layer-- > 0;) {
    auto [ofInput, ofWeight] = layers[layer].addBackward(gradient);
    gradient = ofInput;
    gradients.insert(gradients.begin(), ofWeight);
  }
  for (int layer = 0; layer < 3; ++layer)
    squares.push_back(builder.addSquareSum(gradients[layer], 200 + layer));
  int total = builder.addElementwise(squares, Linearity::jointly);
  builder.setRole(OpRole::optimizer);
  builder.markOutput(builder.addElementwise(total));
  builder.setRole(OpRole::optimizer);
  for (int layer = 0; layer < 3; ++layer) {
    builder.addUpdate(weights[layer], gradients[layer]);
    builder.problem.ops.back().group = 200 + layer;
  }
  const PlanningProblem &problem = builder.problem;
  PlanResult result = solveChecked(problem, makeRequest(2, 1, 1));
  EXPECT_EQ(countCollectives(problem, *result.answer),
            (Calls{{MoveKind::reduceScatter, 3},
                   {MoveKind::allGather, 3},
                   {MoveKind::allReduce, 1}}));
}

TEST(Training, RefusesStagesWithoutDataParallelRanks) {
  PlanResult result =
      solve(makeTrainedLayer(1), makeRequest(1, 2, 3), SimpleCosts());
  EXPECT_FALSE(result.answer);
  ASSERT_EQ(result.refusals.size(), 1u);
  EXPECT_NE(result.refusals[0].find("zero=3"), std::string::npos);
}

TEST(Training, RefusesStagesThatCannotSpreadAParameter) {
  for (int microBatches : {1, 2})
    for (int stage = 0; stage < 4; ++stage) {
      PlanningProblem problem = makeTrainedLayer(microBatches);
      // An update on whole blocks only.
      problem.ops.back().rule.flat = false;
      PlanRequest request = makeRequest(2, 1, stage);
      PlanResult result = solve(problem, request, SimpleCosts());
      EXPECT_EQ(result.answer.has_value(), stage == 0);
      if (stage > 0) {
        ASSERT_EQ(result.refusals.size(), 1u);
        EXPECT_EQ(result.refusals[0],
                  "zero=" + std::to_string(stage) +
                      ": parameter 'v1' cannot be spread over the ranks that "
                      "split the batch");
      }
      // The sum of the gradients is on whole blocks only.
      problem = makeTrainedLayer(microBatches);
      problem.ops[problem.ops.size() - 2].rule.flat = false;
      result = solve(problem, request, SimpleCosts());
      EXPECT_EQ(result.answer.has_value(), stage < 2 || microBatches == 1);
    }
}

TEST(Training, DerivesTheForcedStage) {
  for (int microBatches : {1, 2})
    for (int stage = 0; stage < 4; ++stage) {
      PlanningProblem problem = makeTrainedLayer(microBatches);
      PlanResult result = solveChecked(problem, makeRequest(2, 1, stage));
      const PlanningAnswer &answer = *result.answer;
      EXPECT_EQ(getZeroStages(problem, answer, stage).at(1), stage);
      // What is forced changes the name of one plan alone.
      bool isOpen = microBatches == 1 && (stage == 1 || stage == 2);
      for (int forced = 0; forced < 4; ++forced)
        EXPECT_EQ(getZeroStages(problem, answer, forced).at(1),
                  isOpen ? forced == 2 ? 2 : 1 : stage);
    }
}

TEST(Training, StoresFrozenParametersInStageThree) {
  ProblemBuilder builder;
  int x = builder.addInput({8, 16});
  int frozen = builder.addParameter({16, 16});
  int weight = builder.addParameter({16, 16});
  int scalar = builder.addParameter({});
  auto layer = builder.addLayer(builder.addLayer(x, frozen).result, weight);
  int ofWeight = layer.addBackward(builder.addInput({8, 16})).second;
  builder.addUpdate(weight, builder.addAccumulate(ofWeight));
  const PlanningProblem &problem = builder.problem;
  for (int stage = 0; stage < 4; ++stage) {
    PlanResult result = solveChecked(problem, makeRequest(2, 1, stage));
    const PlanningAnswer &answer = *result.answer;
    EXPECT_EQ(answer.rest[frozen].isStored(), stage == 3);
    for (int parameter : {frozen, weight, scalar})
      EXPECT_EQ(getZeroStages(problem, answer, stage).at(parameter), stage);
    PlanningAnswer whole = answer;
    whole.rest[frozen] = Sharding::getReplicated(2);
    EXPECT_EQ(getZeroStages(problem, whole, stage).at(frozen),
              stage == 3 ? 0 : stage);
  }
}

TEST(Training, StoresWithinANodeWhereDataSpansNodes) {
  PlanningProblem problem = makeTrainedLayer(1);
  PlanRequest request = makeRequest(4, 1, 1);
  request.devicesPerNode = 2;
  std::vector<Mesh> meshes = getMeshes(problem, request);
  ASSERT_EQ(meshes.size(), 1u);
  EXPECT_EQ(meshes[0].getAxisCount(), 2);
  solveChecked(problem, request);
}

/// The transformer block of sharding.md: norm, q k v, heads, output, residual,
/// norm, two up, down, residual; and its backward pass.
struct Block {
  ProblemBuilder builder;
  int output = 0, gradient = 0;

  int add(llvm::ArrayRef<int> terms) {
    int sum = builder.addElementwise(terms, Linearity::jointly);
    builder.setRole(OpRole::gradientSum);
    return sum;
  }

  explicit Block(int64_t batch = 8, int64_t width = 32, int64_t hidden = 128) {
    int x = builder.addInput({batch, width});
    auto norm = builder.addNormLayer(x);
    std::vector<ProblemBuilder::Layer> heads, ups;
    for (int head = 0; head < 3; ++head)
      heads.push_back(
          builder.addLayer(norm.result, builder.addParameter({width, width})));
    int mixed = builder.addElementwise(
        {heads[0].result, heads[1].result, heads[2].result});
    builder.setRole(OpRole::forward, 100);
    auto out = builder.addLayer(mixed, builder.addParameter({width, width}));
    int middle = builder.addElementwise({x, out.result}, Linearity::jointly);
    auto norm2 = builder.addNormLayer(middle);
    for (int up = 0; up < 2; ++up)
      ups.push_back(builder.addLayer(norm2.result,
                                     builder.addParameter({width, hidden})));
    int gated = builder.addElementwise({ups[0].result, ups[1].result});
    builder.setRole(OpRole::forward, 101);
    auto down = builder.addLayer(gated, builder.addParameter({hidden, width}));
    output = builder.addElementwise({middle, down.result}, Linearity::jointly);
    builder.markOutput(output);

    int seed = builder.addInput({batch, width});
    int ofGated = down.addBackward(seed).first;
    std::vector<int> terms;
    for (auto &up : ups) {
      int ofUp =
          builder.addElementwise({ups[0].result, ups[1].result, ofGated});
      builder.setRole(OpRole::inputGradient, 101);
      terms.push_back(up.addBackward(ofUp).first);
    }
    int ofMiddle = add({seed, norm2.addBackward(add(terms)).first});
    int ofMixed = out.addBackward(ofMiddle).first;
    terms.clear();
    for (auto &head : heads) {
      int ofHead = builder.addElementwise(
          {heads[0].result, heads[1].result, heads[2].result, ofMixed});
      builder.setRole(OpRole::inputGradient, 100);
      terms.push_back(head.addBackward(ofHead).first);
    }
    gradient = add({ofMiddle, norm.addBackward(add(terms)).first});
    builder.markOutput(gradient);
  }
};

TEST(Training, ReducesATransformerBlockTwicePerDirection) {
  Block block;
  PlanningProblem &problem = block.builder.problem;
  // Whole at both ends, as the neighbouring blocks have it.
  PlanRequest request = makeRequest(1, 2);
  PlanResult result = solveChecked(problem, request);
  Calls calls = countCollectives(problem, *result.answer);
  int64_t reductions =
      calls[MoveKind::allReduce] + calls[MoveKind::reduceScatter];
  EXPECT_EQ(reductions, 4);
  EXPECT_TRUE(result.certificate.exact);
}

TEST(Training, ApproximatesAGraphThatIsTooWide) {
  Block block;
  const PlanningProblem &problem = block.builder.problem;
  PlanRequest request = makeRequest(1, 2);
  double best = solveChecked(problem, request).evaluation.stepTimeSeconds;
  request.tableLimit = 2;
  PlanResult result = solveChecked(problem, request);
  EXPECT_FALSE(result.certificate.exact);
  EXPECT_LE(result.certificate.lowerBoundSeconds, best * (1 + 1e-9));
  EXPECT_GT(result.certificate.lowerBoundSeconds, 0);
  EXPECT_GE(result.evaluation.stepTimeSeconds, best * (1 - 1e-9));
  EXPECT_LE(result.evaluation.stepTimeSeconds, best * 1.2);
}

TEST(Training, NeverGathersClassesThatAreSplit) {
  ProblemBuilder builder;
  int x = builder.addInput({8, 16});
  int logits = builder.addLayer(x, builder.addParameter({16, 512})).result;
  int loss = builder.addNorm(logits);
  builder.setRole(OpRole::loss);
  builder.markOutput(loss);
  PlanningProblem &problem = builder.problem;
  PlanRequest request = makeRequest(1, 2);
  // The product is split as it is forced; the loss wants whole rows.
  request.forcedAlgorithms = {{"MatMul", Algorithm::column}};
  PlanResult result = solveChecked(problem, request);
  EXPECT_EQ(
      getUseSharding(problem.ops[1].rule, result.answer->assignments[1], 0)
          .dims[1]
          .size(),
      0u);
  PlanningAnswer gathered = *result.answer;
  problem.values[logits].keptDimension = 1;
  EXPECT_FALSE(verifyAnswer(problem, gathered).empty());
  problem.ops[1].coupledReductions = 3;
  result = solveChecked(problem, request);
  EXPECT_EQ(
      getUseSharding(problem.ops[1].rule, result.answer->assignments[1], 0)
          .dims[1]
          .size(),
      1u);
}

/// A layer, perhaps two readers of its input, perhaps an update.
PlanningProblem makeRandomStep(std::mt19937 &random) {
  auto pick = [&](unsigned count) { return random() % count; };
  int64_t size = std::vector<int64_t>{4, 5, 8}[pick(3)];
  if (pick(2) == 0) {
    bool isAccumulated = pick(3) != 0;
    return makeTrainedLayer(isAccumulated && pick(2) == 0 ? 3 : 1,
                            isAccumulated, size);
  }
  ProblemBuilder builder;
  int x = builder.addInput({size, size});
  int weight = builder.addParameter({size, size});
  auto layer = builder.addLayer(x, weight);
  int gradient = builder.addInput({size, size});
  auto [ofInput, ofWeight] = layer.addBackward(gradient);
  builder.addElementwise({ofInput, pick(2) == 0 ? ofInput : gradient},
                         Linearity::jointly);
  builder.setRole(OpRole::gradientSum);
  builder.markOutput(builder.problem.ops.back().results[0]);
  return std::move(builder.problem);
}

TEST(Training, EqualsExhaustionOnRandomSteps) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 24; ++trial) {
    PlanningProblem problem = makeRandomStep(random);
    bool isData = trial % 2 == 0;
    PlanRequest request = makeRequest(isData ? 2 : 1, isData ? 1 : 2);
    if (isTraining(problem) && isData && random() % 2 == 0)
      request.zeroStage = static_cast<int>(random() % 4);
    PlanResult solved = solveChecked(problem, request);
    PlanResult best = solveByExhaustion(problem, request, SimpleCosts());
    ASSERT_TRUE(solved.answer && best.answer) << "trial " << trial;
    EXPECT_NEAR(solved.evaluation.stepTimeSeconds,
                best.evaluation.stepTimeSeconds, 1e-9)
        << "trial " << trial;
    EXPECT_TRUE(solved.certificate.exact);
  }
}

} // namespace
