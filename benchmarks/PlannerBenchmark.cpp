//===- PlannerBenchmark.cpp - How long plans take to find -----------------===//

#include "../test/Unit/Planner/TestProblems.h"

#include "parplan/Cluster/Presets.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Solver.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/Diagnostics.h"

#include <benchmark/benchmark.h>

using namespace parplan;

/// A training step of a chain of products with an elementwise op behind each,
/// of `layers` layers.
static PlanningProblem makeTrainingChain(int64_t layers) {
  constexpr int64_t batch = 4096, width = 4096;
  test::ProblemBuilder builder;
  int value = builder.addInput({batch, width});
  std::vector<int> weights;
  std::vector<test::ProblemBuilder::Layer> products;
  for (int64_t layer = 0; layer < layers; ++layer) {
    weights.push_back(builder.addParameter({width, width}));
    products.push_back(builder.addLayer(value, weights.back()));
    value = builder.addElementwise({products.back().result});
  }
  int gradient = value;
  for (int64_t layer = layers; layer-- > 0;) {
    gradient = builder.addElementwise({gradient, products[layer].result});
    auto [ofInput, ofWeight] = products[layer].addBackward(gradient);
    builder.addUpdate(weights[layer], ofWeight);
    gradient = ofInput;
  }
  return std::move(builder.problem);
}

/// Arguments: ranks, layers.
static void planTrainingChain(benchmark::State &state,
                              const PlanRequest &forced) {
  PlanRequest request = forced;
  request.deviceCount = state.range(0);
  request.memoryLimitBytes = int64_t(80) << 30;
  PlanningProblem problem = makeTrainingChain(state.range(1));
  DiagnosticEngine engine;
  auto cluster =
      makeCluster(*findPreset("dgx-h100"), request.deviceCount, engine);
  PARPLAN_CHECK(cluster.has_value(), "the preset has so many devices");
  CostModel model(*cluster, Precision::bf16);
  ClusterCosts costs(model);
  for (auto _ : state) {
    PlanResult result = solve(problem, request, costs);
    PARPLAN_CHECK(result.answer.has_value(), "a chain can be planned");
    benchmark::DoNotOptimize(result);
  }
}

static void registerAll() {
  auto add = [](const char *name, const PlanRequest &request,
                std::vector<int64_t> ranks) {
    benchmark::RegisterBenchmark(name, planTrainingChain, request)
        ->ArgsProduct({std::move(ranks), {2, 8}})
        ->ArgNames({"ranks", "layers"})
        ->Unit(benchmark::kMillisecond);
  };
  PlanRequest free, data, tensor, grid2d, grid3d;
  data.dataSize = 64;
  tensor.tensorSize = 64;
  grid2d.grid = {GridKind::grid2d, {8, 8}};
  grid3d.grid = {GridKind::grid3d, {4, 4, 4}};
  add("any", free, {4, 8});
  add("dp", data, {64});
  add("tp1d", tensor, {64});
  add("tp2d=8x8", grid2d, {64});
  add("tp3d=4x4x4", grid3d, {64});
}

int main(int argc, char **argv) {
  registerAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
