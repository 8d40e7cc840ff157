//===- ServersPropertyTest.cpp - Servers keep what a step trains ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "Outcomes.h"
#include "RandomGraph.h"

#include "dialects/parplan/ParplanOps.h"
#include "passes/Memory/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <map>

using namespace mlir;
using namespace parplan;
using namespace parplan::test;

namespace {

MLIRContext &getContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registry.insert<ParplanDialect, func::FuncDialect>();
    auto *created = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    created->loadAllAvailableDialects();
    return created;
  }();
  return *context;
}

/// A random step, its values on one rank, and the programs of its workers and
/// servers.
class Case {
public:
  Case(uint64_t seed, int64_t workers, int64_t servers)
      : random(seed), handler(&getContext(), [&](Diagnostic &diagnostic) {
          messages += diagnostic.str() + "\n";
          return success();
        }) {
    step = makeRandomStepUpTo(getContext(), random, /*mostMicroBatches=*/3);
    func::FuncOp main = getFunctions().front();
    main.setSymName("main");
    Builder builder(&getContext());
    for (unsigned index = 0; index < main.getNumArguments(); ++index)
      main.setArgAttr(index, attributes::name,
                      builder.getStringAttr("a" + Twine(index)));
    for (unsigned index = 0; index < main.getNumResults(); ++index)
      if (!main.getResultAttr(index, attributes::variable))
        main.setResultAttr(index, attributes::name,
                           builder.getStringAttr("r" + Twine(index)));
    runOnOne();
    PlanOptions plan;
    plan.gpus = plan.data = workers;
    plan.tensor = plan.context = plan.expert = 1;
    plan.zero = 0;
    PassManager manager(&getContext());
    manager.addPass(createPlan(plan));
    isPlanned = succeeded(manager.run(*step.module)) && areWhole();
    if (!isPlanned)
      return;
    MeshOp mesh = getOnlyMesh(*step.module);
    mesh.setMeshAttr(MeshAttr::get(&getContext(),
                                   Mesh({{"dp0", workers, AxisRole::data},
                                         {"ps0", servers, AxisRole::server}})));
  }

  bool compile() {
    PassManager manager(&getContext());
    buildPartitionPipeline(manager);
    buildPipelinePipeline(manager);
    constexpr int64_t bucketBytes[] = {1, 400, 1 << 20};
    buildMemoryPipeline(manager, random.pick(bucketBytes));
    return succeeded(manager.run(*step.module));
  }

  /// What is wrong with the values of workers and servers, or nothing.
  std::string findFault() {
    std::vector<func::FuncOp> functions = getFunctions();
    std::vector<std::vector<Tensor>> arguments;
    for (func::FuncOp function : functions) {
      arguments.emplace_back();
      for (unsigned index = 0; index < function.getNumArguments(); ++index)
        arguments.back().push_back(values.at(
            function.getArgAttrOfType<StringAttr>(index, attributes::name)
                .str()));
    }
    auto results = interpretPositions(functions, arguments, step.initializers);
    if (failed(results))
      return messages;
    std::map<std::string, int> found;
    for (auto [function, own] : llvm::zip_equal(functions, *results))
      for (const Outcome &outcome : getOutcomes(function, own)) {
        std::string name = getKey(outcome);
        ++found[name];
        std::string fault =
            compare(expected.at(name), outcome.value, step.tolerance);
        if (!fault.empty())
          return function.getSymName().str() + " " + name + " " + fault;
      }
    for (auto &[name, value] : expected)
      if (found[name] == 0)
        return "nobody has " + name;
    return "";
  }

  std::string print() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    step.module->print(stream);
    return text;
  }

  std::vector<func::FuncOp> getFunctions() {
    auto functions = step.module->getOps<func::FuncOp>();
    return {functions.begin(), functions.end()};
  }

  Random random;
  std::string messages;
  ScopedDiagnosticHandler handler;
  Graph step;
  bool isPlanned = false;

private:
  /// Some variables of random steps have a dimension of samples, which a plan
  /// splits.
  bool areWhole() {
    MeshOp mesh = getOnlyMesh(*step.module);
    return llvm::all_of(getFunctions().front().getOps<ParameterOp>(),
                        [&](ParameterOp op) {
                          return getSharding(op.getResult())
                              .resolve(mesh.getMesh().getMesh())
                              ->isReplicated();
                        });
  }

  static std::string getKey(const Outcome &outcome) {
    if (!outcome.variable)
      return outcome.name;
    std::string text;
    llvm::raw_string_ostream(text) << outcome.variable;
    return text;
  }

  void runOnOne() {
    OwningOpRef<ModuleOp> whole = step.module->clone();
    PassManager manager(&getContext());
    buildPipelinePipeline(manager);
    if (failed(manager.run(*whole)))
      return;
    func::FuncOp function = *whole->getOps<func::FuncOp>().begin();
    for (auto [index, value] : llvm::enumerate(step.arguments))
      values["a" + std::to_string(index)] = value;
    FailureOr<std::vector<Tensor>> results =
        interpret(function, step.arguments, step.initializers);
    if (succeeded(results))
      for (const Outcome &outcome : getOutcomes(function, *results))
        expected[getKey(outcome)] = outcome.value;
  }

  std::map<std::string, Tensor> values, expected;
};

TEST(ServersProperty, WorkersAndServersTogetherTrainAsOneTrains) {
  int planned = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    int64_t workers = 1 + static_cast<int64_t>(seed % 3);
    int64_t servers = 1 + static_cast<int64_t>(seed / 3 % 3);
    Case test(seed, workers, servers);
    if (!test.isPlanned)
      continue;
    ++planned;
    ASSERT_TRUE(test.compile())
        << "seed " << seed << ": " << test.messages << test.print();
    ASSERT_EQ(test.getFunctions().size(), 2u);
    ASSERT_EQ(test.findFault(), "") << "seed " << seed << "\n" << test.print();
  }
  EXPECT_GT(planned, 60);
}

} // namespace
