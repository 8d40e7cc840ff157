//===- PartitionPropertyTest.cpp - N ranks equal one ----------------------===//
//
// Part of parplan. Random graphs, meshes and decisions: the partitioned program
// on N interpreted ranks computes what the graph computes on one, exactly where
// all values are integral. Faults planted into the local program are noticed.
//
//===----------------------------------------------------------------------===//

#include "GraphMutants.h"
#include "RandomGraph.h"
#include "RandomPlan.h"

#include "parplan/Interpreter/Interpreter.h"
#include "passes/Partition/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>

using namespace mlir;

namespace parplan::test {
namespace {

constexpr uint64_t graphCount = 2400;

/// PARPLAN_FIRST_SEED and PARPLAN_GRAPHS run other and more cases.
uint64_t readSetting(const char *name, uint64_t usual) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

/// S4 and S5 for what the ranks hold of one result; pending values and those
/// whose padding is about to be cleared are none of this.
LogicalResult checkBlocks(OpResult result, llvm::ArrayRef<Tensor> blocks) {
  Operation *op = result.getOwner();
  auto global = op->getAttrOfType<TypeAttr>(attributes::globalType);
  ShardingAttr attribute = getSharding(result);
  bool isCleared = !result.use_empty() &&
                   llvm::all_of(result.getUsers(), [](Operation *user) {
                     return isa<ClearPaddingOp>(user);
                   });
  if (!global || !attribute || isCleared)
    return success();
  Mesh mesh = getOnlyMesh(op->getParentOfType<ModuleOp>()).getMesh().getMesh();
  Sharding sharding = *attribute.resolve(mesh);
  if (sharding.isPartial())
    return success();
  auto type = cast<RankedTensorType>(global.getValue())
                  .clone(blocks.front().getType().getElementType());
  Tensor whole;
  if (auto fault =
          unshard(blocks, cast<RankedTensorType>(type), sharding, mesh, whole))
    return op->emitError(*fault);
  return success();
}

/// One random case: a graph, its values on one rank, and its local program.
class Case {
public:
  explicit Case(uint64_t seed)
      : random(seed), handler(&getContext(), [&](Diagnostic &diagnostic) {
          messages += diagnostic.str() + "\n";
          return success();
        }) {
    graph = makeRandomGraph(getContext(), random);
    expected = interpret(getFunction(*graph.module), graph.arguments,
                         graph.initializers);
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
    return succeeded(verify(*planned)) && succeeded(manager.run(*graph.module));
  }

  /// Interprets all ranks; what is wrong, or nothing.
  std::string findFault() {
    if (failed(expected))
      return "one rank: " + messages;
    FailureOr<std::vector<Tensor>> actual =
        interpretRanks(getFunction(*graph.module), graph.arguments,
                       graph.initializers, checkBlocks);
    if (failed(actual))
      return messages;
    for (size_t result = 0; result < expected->size(); ++result)
      for (int64_t i = 0; i < (*expected)[result].getSize(); ++i) {
        double wanted = (*expected)[result].getNumber(i);
        double found = (*actual)[result].getNumber(i);
        bool isEqual = wanted == found ||
                       (std::isnan(wanted) && std::isnan(found)) ||
                       std::abs(wanted - found) <= graph.tolerance;
        if (!isEqual)
          return "result " + std::to_string(result) + " element " +
                 std::to_string(i) + ": " + std::to_string(found) + ", not " +
                 std::to_string(wanted);
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
  FailureOr<std::vector<Tensor>> expected;
};

TEST(PartitionProperty, RanksTogetherComputeWhatOneComputes) {
  int exact = 0;
  std::map<std::string, int> opCounts;
  uint64_t first = readSetting("PARPLAN_FIRST_SEED", 0);
  uint64_t last = first + readSetting("PARPLAN_GRAPHS", graphCount);
  for (uint64_t seed = first; seed < last; ++seed) {
    Case test(seed);
    ASSERT_TRUE(test.partition())
        << "seed " << seed << ": " << test.messages << test.print();
    ASSERT_EQ(test.findFault(), "") << "seed " << seed << "\n" << test.print();
    exact += test.graph.tolerance == 0;
    test.graph.module->walk(
        [&](Operation *op) { ++opCounts[op->getName().getStringRef().str()]; });
  }
  // The cases reach what they are about.
  EXPECT_GT(exact, static_cast<int>(graphCount) / 5);
  for (const char *name :
       {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
        "send_receive", "shard_slice", "pend", "storage_view", "clear_padding",
        "block_start", "attention", "conv", "embedding", "softmax"})
    EXPECT_GT(opCounts[std::string("parplan.") + name], 20) << name;
}

class PartitionMutants : public testing::TestWithParam<Mutant> {};

TEST_P(PartitionMutants, AreNoticed) {
  int planted = 0, noticed = 0;
  for (uint64_t seed = 0; seed < graphCount && planted < 100; ++seed) {
    Case test(seed);
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
