//===- StepFixture.cpp - Training steps on the interpreter ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "StepFixture.h"

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Support/Check.h"
#include "passes/Pipeline/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <random>

using namespace mlir;

namespace parplan::test {

Training::Training(const std::string &text, const TrainingOptions &options)
    : context(MLIRContext::Threading::DISABLED) {
  context.loadDialect<ParplanDialect, func::FuncDialect>();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return success();
  });
  model = parseSourceString<ModuleOp>(text, &context);
  PARPLAN_CHECK(model, messages);
  step = model->clone();
  PassManager manager(&context);
  buildTrainPipeline(manager, options, nullptr);
  manager.addPass(createVerifyStep());
  manager.addPass(createUnrollMicroBatches());
  PARPLAN_CHECK(succeeded(manager.run(*step)) && succeeded(verify(*step)),
                messages);
  for (auto initializer : model->getOps<InitializerOp>())
    values[initializer.getSymName()] =
        Tensor(cast<RankedTensorType>(initializer.getType()));
}

func::FuncOp Training::getMain(ModuleOp from) {
  return from.lookupSymbol<func::FuncOp>("main");
}

std::vector<std::string> Training::getInitializers() const {
  std::vector<std::string> names;
  for (auto initializer : model.get().getOps<InitializerOp>())
    names.push_back(initializer.getSymName().str());
  return names;
}

static void fill(Tensor &tensor, const Numbers &numbers) {
  PARPLAN_CHECK(tensor.getSize() == static_cast<int64_t>(numbers.size()),
                tensor.getSize(), " elements, not ", numbers.size());
  for (auto [index, number] : llvm::enumerate(numbers))
    tensor.setNumber(static_cast<int64_t>(index), number);
}

static Numbers getNumbers(const Tensor &tensor) {
  Numbers numbers;
  for (int64_t index = 0; index < tensor.getSize(); ++index)
    numbers.push_back(tensor.getNumber(index));
  return numbers;
}

void Training::set(const std::string &name, const Numbers &numbers) {
  fill(values.find(name)->second, numbers);
}

Numbers Training::get(const std::string &name) const {
  return getNumbers(values.find(name)->second);
}

void Training::setInput(const std::string &name, const Numbers &numbers) {
  inputs[name] = numbers;
}

Tensor Training::makeInput(RankedTensorType type, const std::string &name) {
  auto found = inputs.find(name);
  PARPLAN_CHECK(found != inputs.end(), "no values of ", name);
  Tensor tensor(type);
  fill(tensor, found->second);
  return tensor;
}

std::map<std::string, double> Training::run(const Schedule &schedule) {
  func::FuncOp function = getMain(*step);
  std::vector<Tensor> arguments;
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto type = cast<RankedTensorType>(argument.getType());
    if (auto scheduled = function.getArgAttrOfType<StringAttr>(
            index, attributes::schedule)) {
      Tensor scalar(type);
      scalar.setNumber(0, schedule.at(scheduled.str()));
      arguments.push_back(scalar);
      continue;
    }
    auto name = function.getArgAttrOfType<StringAttr>(index, attributes::name);
    arguments.push_back(makeInput(type, name.str()));
  }
  FailureOr<std::vector<Tensor>> results =
      interpret(function, arguments, values);
  PARPLAN_CHECK(succeeded(results), messages);
  std::map<std::string, double> named;
  for (auto [index, value] : llvm::enumerate(*results)) {
    auto variable =
        function.getResultAttrOfType<VariableAttr>(index, attributes::variable);
    if (variable)
      store(variable, value);
    else
      named[function.getResultAttrOfType<StringAttr>(index, attributes::name)
                .str()] = value.getNumber(0);
  }
  return named;
}

void Training::store(VariableAttr variable, const Tensor &value) {
  std::string name = variable.getInitializer().getValue().str();
  Tensor &whole = values.find(name)->second;
  if (variable.getSlot())
    name = getSlotName(name, variable.getSlot().getValue());
  auto [found, isNew] = values.try_emplace(name, whole.getType());
  Tensor &target = found->second;
  ViewAttr view = variable.getView();
  forEachIndex(value.getShape(), [&](ArrayRef<int64_t> index, int64_t at) {
    int64_t position =
        view ? view.getOffset() + getPosition(index, view.getStrides()) : at;
    target.setNumber(position, value.getNumber(at));
  });
}

Numbers Training::forward() {
  func::FuncOp function = getMain(*model);
  std::vector<Tensor> arguments;
  for (BlockArgument argument : function.getArguments())
    arguments.push_back(
        makeInput(cast<RankedTensorType>(argument.getType()),
                  function
                      .getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                    attributes::name)
                      .str()));
  FailureOr<std::vector<Tensor>> results =
      interpret(function, arguments, values);
  PARPLAN_CHECK(succeeded(results), "the forward pass has values");
  return getNumbers(results->front());
}

Numbers makeNumbers(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  Numbers numbers;
  for (size_t index = 0; index < count; ++index)
    numbers.push_back(double(generator() % 2001) / 1000 - 1);
  return numbers;
}

Numbers differentiateNumerically(Training &training, const std::string &name,
                                 const std::function<double()> &loss) {
  constexpr double width = 1e-5;
  Numbers numbers = training.get(name), gradient;
  for (double &number : numbers) {
    double old = number;
    number = old + width;
    training.set(name, numbers);
    double above = loss();
    number = old - width;
    training.set(name, numbers);
    double below = loss();
    number = old;
    gradient.push_back((above - below) / (2 * width));
  }
  training.set(name, numbers);
  return gradient;
}

double getCrossEntropy(const Numbers &logits, const Numbers &labels) {
  size_t classes = logits.size() / labels.size();
  double total = 0, count = 0;
  for (auto [row, label] : llvm::enumerate(labels)) {
    if (label == CrossEntropyOp::ignoredLabel)
      continue;
    double sum = 0;
    for (size_t index = 0; index < classes; ++index)
      sum += std::exp(logits[row * classes + index]);
    total += std::log(sum) - logits[row * classes + size_t(label)];
    ++count;
  }
  return total / std::max(count, 1.0);
}

} // namespace parplan::test
