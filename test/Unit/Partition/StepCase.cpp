//===- StepCase.cpp - A random step and what one rank makes of it ---------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "StepCase.h"

#include "Outcomes.h"

#include "dialects/parplan/ParplanOps.h"
#include "passes/Pipeline/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace parplan;
using namespace parplan::test;

MLIRContext &StepCase::getContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registry.insert<ParplanDialect, func::FuncDialect>();
    auto *created = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    created->loadAllAvailableDialects();
    return created;
  }();
  return *context;
}

StepCase::StepCase(uint64_t seed, int64_t mostMicroBatches)
    : random(seed), handler(&getContext(), [&](Diagnostic &diagnostic) {
        messages += diagnostic.str() + "\n";
        return success();
      }) {
  step = makeRandomStepUpTo(getContext(), random, mostMicroBatches);
  func::FuncOp main = getFunctions().front();
  Builder builder(&getContext());
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    main.setArgAttr(index, attributes::name,
                    builder.getStringAttr("a" + Twine(index)));
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (!main.getResultAttr(index, attributes::variable))
      main.setResultAttr(index, attributes::name,
                         builder.getStringAttr("r" + Twine(index)));
  runOnOne();
}

std::vector<func::FuncOp> StepCase::getFunctions() {
  auto functions = step.module->getOps<func::FuncOp>();
  return {functions.begin(), functions.end()};
}

/// The same in all programs: a variable has no other name.
static std::string getKey(const Outcome &outcome) {
  if (!outcome.variable)
    return outcome.name;
  std::string text;
  llvm::raw_string_ostream(text) << outcome.variable;
  return text;
}

void StepCase::runOnOne() {
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

std::string StepCase::findFault(RankObserver observer) {
  if (expected.empty())
    return "one rank: " + messages;
  std::vector<func::FuncOp> functions = getFunctions();
  std::vector<std::vector<Tensor>> arguments;
  for (func::FuncOp function : functions) {
    arguments.emplace_back();
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      arguments.back().push_back(values.at(
          function.getArgAttrOfType<StringAttr>(index, attributes::name)
              .str()));
  }
  auto results =
      interpretPositions(functions, arguments, step.initializers, observer);
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
      return "no position has " + name;
  return "";
}

std::string StepCase::print() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  step.module->print(stream);
  return text;
}
