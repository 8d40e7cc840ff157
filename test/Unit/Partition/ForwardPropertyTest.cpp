//===- ForwardPropertyTest.cpp - Micro-batches of forward passes ----------===//
//
// Part of parplan. Random graphs as the forward pass of one micro-batch, on
// random meshes, cut into stages or not: what all ranks of all positions return
// for several micro-batches is what one rank computes for each of them.
//
//===----------------------------------------------------------------------===//

#include "Outcomes.h"
#include "RandomPlan.h"
#include "RandomStages.h"

#include "passes/Partition/Passes.h"
#include "passes/Pipeline/Passes.h"

#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <map>

using namespace mlir;

namespace parplan::test {
namespace {

constexpr uint64_t caseCount = 150;

/// The elements of `value` moved on by `turn`: another sample of its kind.
Tensor rotate(const Tensor &value, int64_t turn) {
  Tensor rotated = value;
  for (int64_t i = 0; i < value.getSize(); ++i)
    rotated[i] = value[(i + turn) % value.getSize()];
  return rotated;
}

Tensor stack(ArrayRef<Tensor> parts) {
  SmallVector<int64_t> shape(parts.front().getType().getShape());
  shape.insert(shape.begin(), static_cast<int64_t>(parts.size()));
  Tensor all(parts.front().getType().clone(shape));
  for (auto [number, part] : llvm::enumerate(parts))
    for (int64_t i = 0; i < part.getSize(); ++i)
      all[static_cast<int64_t>(number) * part.getSize() + i] = part[i];
  return all;
}

class Case {
public:
  Case(MLIRContext &context, uint64_t seed)
      : random(seed), builder(&context),
        handler(&context, [&](Diagnostic &diagnostic) {
          messages += diagnostic.str() + "\n";
          return success();
        }) {
    graph = makeRandomGraph(context, random);
    count = random.between(2, 5);
    cutBatch();
    interpretParts();
    int64_t positions = random.between(1, 3);
    writeRandomPlan(*graph.module, random, positions);
    ScheduleShape shape{ScheduleKind::forwardOnly, positions, count,
                        positions > 1 ? random.between(1, 2) : 1};
    if (positions > 1)
      writeRandomStages(getFunctions().front(), shape, random);
  }

  /// What is wrong, or nothing.
  std::string findFault() {
    if (!messages.empty())
      return "one rank: " + messages;
    PassManager manager(builder.getContext());
    buildPartitionPipeline(manager);
    buildPipelinePipeline(manager);
    if (failed(manager.run(*graph.module)))
      return messages;
    std::vector<func::FuncOp> functions = getFunctions();
    std::vector<std::vector<Tensor>> arguments;
    for (func::FuncOp function : functions) {
      arguments.emplace_back();
      for (unsigned index = 0; index < function.getNumArguments(); ++index)
        arguments.back().push_back(given.at(getName(
            function.getArgAttrOfType<StringAttr>(index, attributes::name))));
    }
    if (!functions.front()->hasAttr(attributes::position)) {
      auto values = interpretRanks(functions.front(), arguments.front(),
                                   graph.initializers, checkBlocks);
      return failed(values) ? messages : compareAll(functions, {*values});
    }
    auto values = interpretPositions(functions, arguments, graph.initializers,
                                     checkBlocks);
    return failed(values) ? messages : compareAll(functions, *values);
  }

  Graph graph;

private:
  static std::string getName(StringAttr name) { return name.str(); }

  std::vector<func::FuncOp> getFunctions() {
    auto functions = graph.module->getOps<func::FuncOp>();
    return {functions.begin(), functions.end()};
  }

  /// Most arguments have samples, and with them what depends on them.
  void cutBatch() {
    func::FuncOp function = getFunctions().front();
    function->setAttr(attributes::forwardOnly, builder.getUnitAttr());
    function->setAttr(attributes::microBatches,
                      builder.getI64IntegerAttr(count));
    for (BlockArgument argument : function.getArguments()) {
      unsigned index = argument.getArgNumber();
      function.setArgAttr(index, attributes::name,
                          builder.getStringAttr("a" + Twine(index)));
      if (!random.chance(70))
        continue;
      function.setArgAttr(index, attributes::batch, builder.getUnitAttr());
      ofBatch.insert(argument);
    }
    Block &body = function.getBody().front();
    for (Operation &op : body.without_terminator())
      if (llvm::any_of(op.getOperands(), [&](Value operand) {
            return ofBatch.contains(operand);
          })) {
        op.setAttr(attributes::perMicroBatch, builder.getUnitAttr());
        ofBatch.insert(op.result_begin(), op.result_end());
      }
    for (OpOperand &operand : body.getTerminator()->getOpOperands()) {
      unsigned index = operand.getOperandNumber();
      function.setResultAttr(index, attributes::name,
                             builder.getStringAttr("r" + Twine(index)));
      if (isCollected(operand.get()))
        function.setResultAttr(index, attributes::batchDim,
                               builder.getI64IntegerAttr(0));
    }
  }

  bool isCollected(Value value) const {
    return ofBatch.contains(value) &&
           cast<RankedTensorType>(value.getType()).getRank() > 0;
  }

  void interpretParts() {
    func::FuncOp function = getFunctions().front();
    Operation *end = function.getBody().front().getTerminator();
    std::vector<std::vector<Tensor>> parts(end->getNumOperands()),
        inputs(function.getNumArguments());
    for (int64_t turn = 0; turn < count; ++turn) {
      std::vector<Tensor> arguments;
      for (BlockArgument argument : function.getArguments()) {
        unsigned index = argument.getArgNumber();
        const Tensor &value = graph.arguments[index];
        arguments.push_back(ofBatch.contains(argument) ? rotate(value, turn)
                                                       : value);
        inputs[index].push_back(arguments.back());
      }
      auto results = interpret(function, arguments, graph.initializers);
      if (failed(results))
        return;
      for (auto [all, part] : llvm::zip_equal(parts, *results))
        all.push_back(part);
    }
    for (BlockArgument argument : function.getArguments()) {
      const std::vector<Tensor> &all = inputs[argument.getArgNumber()];
      given.emplace("a" + std::to_string(argument.getArgNumber()),
                    ofBatch.contains(argument) ? stack(all) : all.front());
    }
    // A number has no dimension of samples: it is that of the last micro-batch.
    for (OpOperand &operand : end->getOpOperands()) {
      const std::vector<Tensor> &all = parts[operand.getOperandNumber()];
      expected.emplace("r" + std::to_string(operand.getOperandNumber()),
                       isCollected(operand.get()) ? stack(all) : all.back());
    }
  }

  std::string compareAll(ArrayRef<func::FuncOp> functions,
                         ArrayRef<std::vector<Tensor>> values) {
    size_t found = 0;
    for (auto [function, own] : llvm::zip_equal(functions, values))
      for (const Outcome &outcome :
           getOutcomes(const_cast<func::FuncOp &>(function), own)) {
        ++found;
        std::string fault =
            compare(expected.at(outcome.name), outcome.value, graph.tolerance);
        if (!fault.empty())
          return outcome.name + " " + fault;
      }
    return found == expected.size() ? "" : "results are missing, or double";
  }

  Random random;
  Builder builder;
  std::string messages;
  ScopedDiagnosticHandler handler;
  int64_t count = 1;
  llvm::DenseSet<Value> ofBatch;
  std::map<std::string, Tensor> given, expected;
};

TEST(ForwardProperty, MicroBatchesOfAllPositionsAreThoseOfOneRank) {
  DialectRegistry registry;
  registry.insert<ParplanDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::map<std::string, int> opCounts;
  for (uint64_t seed = 0; seed < caseCount; ++seed) {
    Case test(context, seed);
    std::string before, fault;
    llvm::raw_string_ostream(before) << *test.graph.module;
    fault = test.findFault();
    ASSERT_EQ(fault, "") << "seed " << seed << "\n" << before;
    test.graph.module->walk(
        [&](Operation *op) { ++opCounts[op->getName().getStringRef().str()]; });
  }
  for (const char *name : {"send", "receive", "pack"})
    EXPECT_GT(opCounts[std::string("parplan.") + name], 20) << name;
}

} // namespace
} // namespace parplan::test
