//===- UnitOraclesTest.cpp - Units of a model, asked by weights -----------===//

#include "Residual.h"

#include "lib/Planner/Exact/MeshProblem.h"
#include "lib/Planner/Units/Components.h"
#include "lib/Planner/Units/NearBlock.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Planner/UnitOracles.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <random>
#include <thread>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A problem on one mesh, in units.
class Divided {
public:
  Divided(PlanningProblem given, int64_t data, int64_t tensor)
      : problem(std::move(given)), space{makeMesh(data, tensor), {}},
        model(problem, /*line=*/nullptr) {
    request.deviceCount = data * tensor;
    oracles.emplace(model, request, space, costs);
    EXPECT_EQ(oracles->getRefusal(), std::nullopt);
  }

  /// Of seconds, as often as a step spends them.
  Weights getStepWeights() const {
    Weights weights;
    weights.forward = weights.inputGradient = weights.weightGradient =
        static_cast<double>(problem.microBatches);
    return weights;
  }

  /// The cheapest plan per unit, all of one mode.
  std::vector<BlockPlan> getPlans(const Weights &weights, ModeSet modes,
                                  double &least) {
    std::vector<BlockOracle *> units;
    for (const SearchUnit &unit : oracles->getUnits())
      units.insert(units.end(), unit.count, unit.oracle);
    std::vector<std::vector<double>> best = {{0.0}};
    std::vector<std::vector<int>> before;
    for (BlockOracle *unit : units) {
      BoundaryMatrix matrix = unit->minimise(weights, modes);
      std::vector<double> next(matrix.outCount, infinity);
      std::vector<int> from(matrix.outCount, -1);
      for (int in = 0; in < matrix.inCount; ++in)
        for (int out = 0; out < matrix.outCount; ++out)
          if (double cost = best.back()[in] + matrix.get(in, out);
              cost < next[out]) {
            next[out] = cost;
            from[out] = in;
          }
      best.push_back(std::move(next));
      before.push_back(std::move(from));
    }
    least = best.back()[0];
    std::vector<BlockPlan> plans(units.size());
    for (int unit = static_cast<int>(units.size()), state = 0; unit-- > 0;) {
      int in = before[unit][state];
      plans[unit] = *units[unit]->getPlan(weights, modes, in, state);
      state = in;
    }
    return plans;
  }

  /// Of every plan with the same candidates.
  double getMinimum() {
    std::optional<std::string> refusal;
    auto assignments = getAllowedAssignments(problem, request, space, refusal);
    MeshProblem whole(problem, request, space, std::move(assignments), costs);
    auto elimination = whole.getNetwork().eliminate(1 << 24);
    EXPECT_TRUE(elimination);
    return elimination->getMinimum();
  }

  PlanningProblem problem;
  SimpleCosts costs;
  PlanRequest request;
  PlanSpace space;
  UnitModel model;
  std::optional<UnitOracles> oracles;
};

PlanningProblem makeStep(int blocks, int64_t microBatches,
                         std::vector<int64_t> hidden = {}) {
  ResidualShape shape;
  shape.blocks = blocks;
  shape.microBatches = microBatches;
  shape.hidden = std::move(hidden);
  return Residual(shape).makeTraining();
}

struct MeshCase {
  int64_t data, tensor;
};

/// What units need when the backward pass has come to one of them: it, and all
/// that those before it saved.
double estimatePeak(Divided &divided, llvm::ArrayRef<BlockPlan> plans) {
  std::vector<BlockOracle *> units;
  for (const SearchUnit &unit : divided.oracles->getUnits())
    units.insert(units.end(), unit.count, unit.oracle);
  double permanent = divided.oracles->getFixedBytes(), saved = 0, most = 0;
  for (auto [unit, plan] : llvm::zip_equal(units, plans)) {
    permanent += plan.cost.permanentBytes;
    saved += plan.cost.savedBytes;
    most = std::max(most, saved + unit->getWorkBytes(plan));
  }
  return permanent + most;
}

TEST(UnitOraclesTest, BytesOfUnitsAndOnePassAreAboutThoseOfAStep) {
  Divided divided(makeStep(/*blocks=*/6, /*microBatches=*/1), 2, 2);
  double least = 0;
  std::vector<BlockPlan> plans =
      divided.getPlans(divided.getStepWeights(), keepMode, least);
  PlanEvaluation evaluation = evaluatePlan(
      divided.problem, divided.oracles->getAnswer(plans), divided.costs);
  auto bytes = static_cast<double>(evaluation.peakBytes);
  EXPECT_GE(estimatePeak(divided, plans), 0.9 * bytes);
  EXPECT_LE(estimatePeak(divided, plans), 1.1 * bytes);
}

TEST(UnitOraclesTest, PassesNeedWhatTheyMakeAgain) {
  Divided divided(makeStep(/*blocks=*/6, /*microBatches=*/1), 2, 2);
  BlockOracle &block = *divided.oracles->getUnits()[1].oracle;
  Weights bytes;
  bytes.savedBytes = bytes.permanentBytes = 1;
  auto kept = block.getPlan(bytes, keepMode, /*in=*/0, /*out=*/0);
  auto smallest = block.getPlan(bytes, allModes, /*in=*/0, /*out=*/0);
  ASSERT_TRUE(kept && smallest);
  EXPECT_LT(smallest->cost.savedBytes, kept->cost.savedBytes);
  EXPECT_GE(block.getWorkBytes(*smallest) + smallest->cost.savedBytes,
            block.getWorkBytes(*kept) + kept->cost.savedBytes);
}

TEST(UnitOraclesTest, EqualBlocksShareAnOracle) {
  Divided divided(makeStep(/*blocks=*/5, /*microBatches=*/2), 2, 2);
  int64_t most = 0, count = 0;
  for (const SearchUnit &unit : divided.oracles->getUnits()) {
    most = std::max(most, unit.count);
    count += unit.count;
  }
  EXPECT_EQ(divided.model.getUnitCount(), count);
  EXPECT_GE(most, 3);
}

TEST(UnitOraclesTest, ALastBlockThatCostsLessIsAUnitOfItsOwn) {
  PlanningProblem equal = makeStep(/*blocks=*/5, /*microBatches=*/2);
  Folding folding = foldProblem(equal);
  ASSERT_EQ(folding.runs.size(), 1u);
  // The last op of the last block is computed in what reads it.
  PlanningProblem fused = equal;
  fused.ops[folding.blocks.back().ops.back()].isInReader = true;
  Folding shorter = foldProblem(fused);
  ASSERT_EQ(shorter.runs.size(), 1u);
  EXPECT_EQ(shorter.blocks.size() + 1, folding.blocks.size());
  EXPECT_EQ(findNearBlock(fused, getContents(fused, {}), shorter,
                          shorter.runs.front()),
            folding.blocks.back().ops);
  EXPECT_EQ(UnitModel(fused, /*line=*/nullptr).getUnitCount(),
            UnitModel(equal, /*line=*/nullptr).getUnitCount());
}

TEST(UnitOraclesTest, WhatIsNoBlockIsNoneNearly) {
  PlanningProblem problem = makeStep(4, 1, {32, 32, 32, 64});
  Folding folding = foldProblem(problem);
  ASSERT_FALSE(folding.runs.empty());
  EXPECT_EQ(findNearBlock(problem, getContents(problem, {}), folding,
                          folding.runs.back()),
            std::vector<int>());
}

TEST(UnitOraclesTest, AnswersAreTheSameWhenWorkIsForgotten) {
  Divided kept(makeStep(4, 2), 2, 2), forgotten(makeStep(4, 2), 2, 2);
  auto getLeast = [](Divided &divided, int mode) {
    std::vector<double> costs;
    for (const SearchUnit &unit : divided.oracles->getUnits())
      for (double cost :
           unit.oracle->minimise(divided.getStepWeights(), ModeSet(1) << mode)
               .costs)
        costs.push_back(cost);
    return costs;
  };
  for (int mode = 0; mode < unitModeCount; ++mode) {
    EXPECT_EQ(getLeast(kept, mode), getLeast(forgotten, mode)) << mode;
    forgotten.oracles->forget();
  }
}

TEST(UnitOraclesTest, AnswersAreTheSameWhateverWasAskedBefore) {
  Divided fresh(makeStep(4, 2), 2, 2), asked(makeStep(4, 2), 2, 2);
  auto getWeights = [&](double bytePrice) {
    Weights weights = fresh.getStepWeights();
    weights.permanentBytes = weights.savedBytes = bytePrice;
    return weights;
  };
  constexpr double prices[] = {0, 1e-9, 1e-6, 1e-5, 1e-3};
  std::vector<SearchUnit> ofFresh = fresh.oracles->getUnits(),
                          ofAsked = asked.oracles->getUnits();
  for (size_t unit = 0; unit < ofAsked.size(); ++unit)
    for (double price : prices) {
      BlockOracle &oracle = *ofAsked[unit].oracle;
      for (double factor : {0.5, 0.9, 1.1, 2.0})
        oracle.getLeast(getWeights(price * factor), allModes);
      // What is known of others says something, and not too much.
      double known = oracle.getKnownValue(getWeights(price), allModes);
      BlockOracle::Least least = oracle.getLeast(getWeights(price), allModes);
      EXPECT_LE(known, least.value);
      EXPECT_GT(known, 0);
      BlockOracle::Least alone =
          ofFresh[unit].oracle->getLeast(getWeights(price), allModes);
      EXPECT_EQ(least.value, alone.value);
      EXPECT_EQ(toComponents(least.cost), toComponents(alone.cost));
      EXPECT_EQ(oracle.getLeastValue(getWeights(price), allModes), alone.value);
    }
}

TEST(UnitOraclesTest, TheCheapestUnitsAreTheCheapestPlan) {
  for (int blocks : {1, 2, 4})
    for (int64_t microBatches : {1, 2})
      for (MeshCase mesh : {MeshCase{1, 1}, {2, 1}, {1, 2}, {2, 2}, {1, 4}}) {
        Divided divided(makeStep(blocks, microBatches), mesh.data, mesh.tensor);
        SCOPED_TRACE(std::to_string(blocks) + " blocks on " +
                     std::to_string(mesh.data) + " x " +
                     std::to_string(mesh.tensor));
        double least = 0;
        auto plans =
            divided.getPlans(divided.getStepWeights(), keepMode, least);
        double minimum = divided.getMinimum();
        // Beside variables what units share is free for all but one of them.
        EXPECT_LE(least, minimum * (1 + 1e-9));
        EXPECT_GE(least, minimum * 0.97);
        PlanningAnswer answer = divided.oracles->getAnswer(plans);
        EXPECT_EQ(verifyAnswer(divided.problem, answer),
                  std::vector<std::string>());
        double seconds =
            getLayoutSeconds(divided.problem, answer, divided.costs);
        EXPECT_GE(seconds, minimum * (1 - 1e-9));
        EXPECT_LE(seconds, minimum * 1.03);
      }
}

/// [8, words] -> [8, 16] by a table, four blocks, and back by the same table.
PlanningProblem makeTied(int64_t words) {
  ProblemBuilder builder;
  int table = -1, current = builder.addInput({8, words});
  table = builder.addParameter({words, 16});
  current = builder.addContraction(current, "bv", table, "vh", "bh");
  for (int block = 0; block < 4; ++block) {
    int up = builder.addParameter({16, 32});
    int down = builder.addParameter({32, 16});
    int inner = builder.addProduct(builder.addNorm({current}), up);
    inner = builder.addProduct(builder.addNorm({inner}), down);
    current = builder.addElementwise({current, inner}, Linearity::jointly);
  }
  builder.markOutput(builder.addContraction(current, "bh", table, "vh", "bv"));
  return std::move(builder.problem);
}

TEST(UnitOraclesTest, UnitsAgreeAboutTiedWeights) {
  int better = 0;
  for (int64_t words : {8, 32, 128, 512})
    for (MeshCase mesh : {MeshCase{2, 1}, {1, 2}, {2, 2}, {1, 4}}) {
      Divided divided(makeTied(words), mesh.data, mesh.tensor);
      SCOPED_TRACE(std::to_string(words) + " words on " +
                   std::to_string(mesh.data) + " x " +
                   std::to_string(mesh.tensor));
      Weights weights = divided.getStepWeights();
      double least = 0;
      auto alone = divided.getPlans(weights, keepMode, least);
      // Both ends may want another layout, and pay a half of copies.
      double minimum = divided.getMinimum();
      EXPECT_LE(least, minimum * (1 + 1e-9));
      auto together = divided.oracles->agree(
          alone, std::vector<Weights>(alone.size(), weights));
      for (auto [one, other] : llvm::zip_equal(alone, together))
        EXPECT_EQ(std::tuple(one.in, one.out, one.mode),
                  std::tuple(other.in, other.out, other.mode));
      auto getSeconds = [&](llvm::ArrayRef<BlockPlan> plans) {
        PlanningAnswer answer = divided.oracles->getAnswer(plans);
        EXPECT_EQ(verifyAnswer(divided.problem, answer),
                  std::vector<std::string>());
        return getLayoutSeconds(divided.problem, answer, divided.costs);
      };
      double seconds = getSeconds(together), before = getSeconds(alone);
      better += seconds < before * (1 - 1e-9);
      EXPECT_LE(seconds, before * (1 + 1e-9));
      EXPECT_LE(seconds, minimum * 1.03);
    }
  EXPECT_GT(better, 0);
}

/// Blocks of two products, the first of which reads the table of its group.
PlanningProblem makeGroups(llvm::ArrayRef<int> blocksOfGroup,
                           bool hasEmbedding) {
  ProblemBuilder builder;
  int current = builder.addInput({8, 16});
  if (hasEmbedding)
    current = builder.addProduct(current, builder.addParameter({16, 16}));
  for (int blocks : blocksOfGroup) {
    int table = builder.addParameter({16, 32});
    for (int block = 0; block < blocks; ++block) {
      int down = builder.addParameter({32, 16});
      int inner = builder.addProduct(builder.addNorm({current}), table);
      inner = builder.addProduct(builder.addNorm({inner}), down);
      current = builder.addElementwise({current, inner}, Linearity::jointly);
    }
  }
  builder.markOutput(builder.addNorm({current}));
  return std::move(builder.problem);
}

TEST(UnitOraclesTest, GroupsOfTiedWeightsAreBounded) {
  for (bool hasEmbedding : {false, true})
    for (std::vector<int> groups : {std::vector{3, 3}, {3, 4}, {4, 3}, {2, 5}})
      for (MeshCase mesh : {MeshCase{2, 1}, {1, 2}, {2, 2}, {1, 4}}) {
        Divided divided(makeGroups(groups, hasEmbedding), mesh.data,
                        mesh.tensor);
        double least = 0;
        divided.getPlans(divided.getStepWeights(), keepMode, least);
        EXPECT_LE(least, divided.getMinimum() * (1 + 1e-9))
            << groups[0] << " and " << groups[1] << " blocks on " << mesh.data
            << " x " << mesh.tensor;
      }
}

/// Steps of four blocks in which the gradients of some have a norm.
static Meeting getMeetingOfNorm(llvm::ArrayRef<int> blocks) {
  PlanningProblem problem = makeStep(/*blocks=*/4, /*microBatches=*/1);
  auto norm = llvm::find_if(problem.ops, [](const PlanningOp &op) {
    return op.operands.size() == 2 * 4;
  });
  auto operands = std::exchange(norm->operands, {});
  for (int block : blocks)
    norm->operands.append({operands[2 * block], operands[2 * block + 1]});
  norm->rule.operands.resize(norm->operands.size());
  return UnitModel(problem, /*line=*/nullptr).getMeeting();
}

TEST(UnitOraclesTest, PositionsMeetWhereEveryBlockTakesPart) {
  EXPECT_EQ(getMeetingOfNorm({0, 1, 2, 3}), Meeting::always);
}

TEST(UnitOraclesTest, SomeCutsMeetWhereSomeBlocksTakePart) {
  EXPECT_EQ(getMeetingOfNorm({0, 1}), Meeting::bySomeCuts);
}

TEST(UnitOraclesTest, EndsMeetWhereTheFirstAndTheLastBlockTakePart) {
  EXPECT_EQ(getMeetingOfNorm({0, 3}), Meeting::ofEnds);
}

TEST(UnitOraclesTest, NoPositionsMeetWhereOneBlockTakesPart) {
  EXPECT_EQ(getMeetingOfNorm({0}), Meeting::never);
}

TEST(UnitOraclesTest, PositionsSendTheirPartOfWhatTheNextBlockReads) {
  PlanningProblem problem = makeStep(/*blocks=*/4, /*microBatches=*/2);
  UnitModel model(problem, /*line=*/nullptr);
  int64_t whole = model.getLeastMessageBytes(/*ranks=*/1);
  const PlanningValue &input = problem.values[0];
  ASSERT_EQ(input.kind, ValueKind::input);
  EXPECT_EQ(whole, input.getWholeBytes()) << "blocks keep the shape";
  EXPECT_EQ(model.getLeastMessageBytes(/*ranks=*/8), ceilDivide(whole, 8));
}

TEST(UnitOraclesTest, EveryModeIsAPlanThatCostsWhatItSays) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> draw(0, 2);
  Divided divided(makeStep(/*blocks=*/3, /*microBatches=*/2), 2, 2);
  for (int mode = 0; mode < unitModeCount; ++mode)
    for (int question = 0; question < 5; ++question) {
      SCOPED_TRACE("mode " + std::to_string(mode));
      Weights weights = divided.getStepWeights();
      weights.forward *= draw(generator);
      weights.ends *= draw(generator);
      weights.permanentBytes = 1e-4 * draw(generator);
      weights.savedBytes = 1e-4 * draw(generator);
      double least = 0;
      auto plans = divided.getPlans(weights, keepMode | 1u << mode, least);
      CostVector sum;
      for (const BlockPlan &plan : plans)
        sum += plan.cost;
      EXPECT_NEAR(weights.get(sum), least, 1e-9 * least);
      PlanningAnswer answer = divided.oracles->getAnswer(plans);
      ASSERT_EQ(verifyAnswer(divided.problem, answer),
                std::vector<std::string>());
      PlanEvaluation evaluation =
          evaluatePlan(divided.problem, answer, divided.costs);
      double seconds = divided.getStepWeights().get(sum);
      EXPECT_GE(evaluation.stepTimeSeconds, seconds * (1 - 1e-9));
      EXPECT_LE(evaluation.stepTimeSeconds, seconds * 1.05);
      // Counted from below: less than is live at the start of a backward pass.
      EXPECT_GE(static_cast<double>(evaluation.peakBytes),
                sum.permanentBytes + sum.savedBytes);
    }
}

TEST(UnitOraclesTest, ThreadsOnOneMeshGiveTheAnswersOfOne) {
  SimpleCosts costs;
  Mesh mesh = makeMesh(2, 4);
  PlanRequest request;
  request.deviceCount = 8;
  std::vector<PlanningProblem> steps;
  for (int64_t microBatches : {1, 2, 4})
    steps.push_back(makeStep(/*blocks=*/3, microBatches));
  auto ask = [&](bool usesThreads) {
    auto known = makeMeshKnowledge(mesh, costs);
    std::vector<std::unique_ptr<UnitModel>> models;
    std::vector<std::unique_ptr<UnitOracles>> oracles;
    for (const PlanningProblem &step : steps) {
      models.push_back(std::make_unique<UnitModel>(step, /*line=*/nullptr));
      oracles.push_back(std::make_unique<UnitOracles>(
          *models.back(), request, PlanSpace{mesh, {}}, costs, known));
    }
    std::vector<std::thread> threads;
    if (usesThreads)
      for (auto &ofStep : oracles)
        threads.emplace_back([&] { ofStep->prepare(UnitScope::all); });
    std::vector<double> answers;
    for (auto &ofStep : oracles)
      for (const SearchUnit &unit : ofStep->getUnits()) {
        BoundaryMatrix matrix = unit.oracle->minimise({}, allModes);
        answers.insert(answers.end(), matrix.costs.begin(), matrix.costs.end());
      }
    for (std::thread &thread : threads)
      thread.join();
    return answers;
  };
  std::vector<double> alone = ask(/*usesThreads=*/false);
  for (int time = 0; time < 10; ++time)
    EXPECT_EQ(ask(/*usesThreads=*/true), alone);
}

} // namespace
