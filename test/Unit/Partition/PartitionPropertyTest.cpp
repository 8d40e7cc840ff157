//===- PartitionPropertyTest.cpp - N ranks equal one ----------------------===//
//
// Part of parplan. Random graphs, training steps, meshes and decisions: the
// partitioned program on N interpreted ranks computes what the graph computes
// on one, exactly where all values are integral. Faults planted into the local
// program are noticed.
//
//===----------------------------------------------------------------------===//

#include "GraphExperts.h"
#include "GraphMutants.h"
#include "Outcomes.h"
#include "RandomCosts.h"
#include "RandomGraph.h"
#include "RandomPlan.h"

#include "parplan/Interpreter/Interpreter.h"
#include "passes/Memory/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Pipeline/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <map>

using namespace mlir;

namespace parplan::test {
namespace {

constexpr uint64_t graphCount = 2400, stepCount = 1200, expertCount = 1200;

/// PARPLAN_FIRST_SEED and PARPLAN_GRAPHS run other and more cases.
uint64_t readSetting(const char *name, uint64_t usual) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

/// One random case: a graph, its values on one rank, and its local program.
class Case {
public:
  using MakeGraph = Graph (*)(MLIRContext &, Random &);

  explicit Case(uint64_t seed, MakeGraph makeGraph = makeRandomGraph)
      : random(seed), handler(&getContext(), [&](Diagnostic &diagnostic) {
          messages += diagnostic.str() + "\n";
          return success();
        }) {
    graph = makeGraph(getContext(), random);
    OwningOpRef<ModuleOp> whole = graph.module->clone();
    PassManager manager(&getContext());
    buildPipelinePipeline(manager);
    if (succeeded(manager.run(*whole))) {
      FailureOr<std::vector<Tensor>> values =
          interpret(getFunction(*whole), graph.arguments, graph.initializers);
      if (succeeded(values))
        expected = getOutcomes(getFunction(*whole), *values);
    }
    writeRandomPlan(*graph.module, random);
  }

  static MLIRContext &getContext() {
    static MLIRContext *context = [] {
      DialectRegistry registry;
      registry.insert<ParplanDialect, func::FuncDialect>();
      auto *created =
          new MLIRContext(registry, MLIRContext::Threading::DISABLED);
      created->loadAllAvailableDialects();
      return created;
    }();
    return *context;
  }

  static func::FuncOp getFunction(ModuleOp module) {
    return *module.getOps<func::FuncOp>().begin();
  }

  bool partition() {
    planned = graph.module->clone();
    PassManager manager(&getContext());
    buildPartitionPipeline(manager);
    buildPipelinePipeline(manager);
    constexpr int64_t bucketBytes[] = {0, 400, 1 << 20};
    RandomCosts costs(random);
    if (graph.microBatches > 0)
      buildMemoryPipeline(manager, random.pick(bucketBytes), &costs);
    return succeeded(verify(*planned)) && succeeded(manager.run(*graph.module));
  }

  /// Interprets all ranks; what is wrong, or nothing.
  std::string findFault() {
    if (failed(expected))
      return "one rank: " + messages;
    FailureOr<std::vector<Tensor>> values =
        interpretRanks(getFunction(*graph.module), graph.arguments,
                       graph.initializers, checkBlocks);
    if (failed(values))
      return messages;
    std::vector<Outcome> actual =
        getOutcomes(getFunction(*graph.module), *values);
    for (size_t result = 0; result < expected->size(); ++result) {
      std::string fault = compare((*expected)[result].value,
                                  actual[result].value, graph.tolerance);
      if (!fault.empty())
        return "outcome " + std::to_string(result) + " " + fault;
    }
    return "";
  }

  std::string print() {
    std::string text = "planned:\n";
    llvm::raw_string_ostream stream(text);
    planned->print(stream);
    stream << "\npartitioned:\n";
    graph.module->print(stream);
    return text;
  }

  Random random;
  std::string messages;
  ScopedDiagnosticHandler handler;
  Graph graph;
  OwningOpRef<ModuleOp> planned;
  FailureOr<std::vector<Outcome>> expected = failure();
};

/// Runs cases up to the first that fails. Returns how many are exact, and
/// counts the ops of the local programs.
int runCases(uint64_t usualCount, Case::MakeGraph makeGraph,
             std::map<std::string, int> &opCounts) {
  int exact = 0;
  uint64_t first = readSetting("PARPLAN_FIRST_SEED", 0);
  uint64_t last = first + readSetting("PARPLAN_GRAPHS", usualCount);
  for (uint64_t seed = first; seed < last; ++seed) {
    Case test(seed, makeGraph);
    bool isPartitioned = test.partition();
    EXPECT_TRUE(isPartitioned)
        << "seed " << seed << ": " << test.messages << test.print();
    std::string fault = isPartitioned ? test.findFault() : "";
    EXPECT_EQ(fault, "") << "seed " << seed << "\n" << test.print();
    if (testing::Test::HasFailure())
      break;
    exact += test.graph.tolerance == 0;
    test.graph.module->walk(
        [&](Operation *op) { ++opCounts[op->getName().getStringRef().str()]; });
  }
  return exact;
}

TEST(PartitionProperty, RanksTogetherComputeWhatOneComputes) {
  std::map<std::string, int> opCounts;
  int exact = runCases(graphCount, makeRandomGraph, opCounts);
  // The cases reach what they are about.
  EXPECT_GT(exact, static_cast<int>(graphCount) / 5);
  for (const char *name :
       {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
        "send_receive", "shard_slice", "pend", "storage_view", "clear_padding",
        "block_start", "attention", "conv", "embedding", "softmax",
        "panel_matmul", "attention_gradient", "ring_attention",
        "ring_attention_gradient"})
    EXPECT_GT(opCounts[std::string("parplan.") + name], 20) << name;
}

TEST(PartitionProperty, RanksTogetherTrainAsOneTrains) {
  std::map<std::string, int> opCounts;
  int exact = runCases(stepCount, makeRandomStep, opCounts);
  EXPECT_GT(exact, static_cast<int>(stepCount) / 5);
  for (const char *name :
       {"all_reduce", "all_gather", "reduce_scatter", "shard_slice", "pend",
        "storage_view", "square_sum", "sum", "optimizer_update",
        "bucket_parameter", "pack", "unpack"})
    EXPECT_GT(opCounts[std::string("parplan.") + name], 20) << name;
}

TEST(PartitionProperty, RanksTogetherAskExpertsAsOneAsksThem) {
  std::map<std::string, int> opCounts;
  int exact = runCases(expertCount, makeRandomExperts, opCounts);
  EXPECT_GT(exact, static_cast<int>(expertCount) / 5);
  for (const char *name :
       {"moe_dispatch", "moe_combine", "moe_weight_gradient", "all_to_all",
        "reduce_scatter", "block_start", "clear_padding"})
    EXPECT_GT(opCounts[std::string("parplan.") + name], 20) << name;
}

class PartitionMutants : public testing::TestWithParam<Mutant> {};

TEST_P(PartitionMutants, AreNoticed) {
  int planted = 0, noticed = 0;
  for (uint64_t seed = 0; seed < graphCount && planted < 100; ++seed) {
    Case test(seed, GetParam().isOfStep ? makeRandomStep : makeRandomGraph);
    if (!test.partition() ||
        !GetParam().plant(Case::getFunction(*test.graph.module), test.random))
      continue;
    ++planted;
    noticed += !test.findFault().empty();
  }
  RecordProperty("planted", planted);
  RecordProperty("noticed", noticed);
  EXPECT_GE(planted, 30);
  EXPECT_GE(noticed * 100, planted * GetParam().percent)
      << noticed << " of " << planted;
}

INSTANTIATE_TEST_SUITE_P(All, PartitionMutants, testing::ValuesIn(getMutants()),
                         [](const testing::TestParamInfo<Mutant> &info) {
                           std::string name = info.param.name;
                           for (char &letter : name)
                             if (!std::isalnum(letter))
                               letter = '_';
                           return name;
                         });

} // namespace
} // namespace parplan::test
