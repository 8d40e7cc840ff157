//===- Differentiated.cpp - A function with its gradients -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "Differentiated.h"

#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;

namespace parplan::test {

bool isFloat(Value value) {
  return isa<FloatType>(
      cast<RankedTensorType>(value.getType()).getElementType());
}

static double drawReal(const GradientCase &from, std::mt19937 &engine) {
  double value = 0;
  do
    value = from.low + (from.high - from.low) * (engine() / 4294967296.0);
  while (std::abs(value) < from.distance);
  return value;
}

Tensor makeRandom(RankedTensorType type, const GradientCase &from,
                  std::mt19937 &engine) {
  Tensor tensor(type);
  for (int64_t i = 0; i < tensor.getSize(); ++i) {
    if (tensor.isReal())
      tensor[i].real = i < from.zeros ? 0 : drawReal(from, engine);
    else
      tensor[i].integer = from.integers[i % from.integers.size()];
  }
  return tensor;
}

Differentiated::Differentiated(const GradientCase &from, const Options &options)
    : fixture(from.op, from.arguments), from(from) {
  func::FuncOp function = fixture.getFunction();
  Block &body = function.getBody().front();
  op = fixture.getOp();
  SmallVector<Value> wanted;
  for (auto [index, argument] : llvm::enumerate(body.getArguments()))
    if (isFloat(argument) &&
        (options.only < 0 || options.only == static_cast<int>(index)))
      wanted.push_back(argument);
  size_t argumentCount = body.getNumArguments();

  OpBuilder builder(op);
  SmallVector<Operation *> ops{op};
  SmallVector<Value> results(op->getResults());
  if (options.decompose) {
    results = cast<DecomposableOpInterface>(op).decompose(builder);
    ops.clear();
    for (Operation &part : body.without_terminator())
      if (&part != op)
        ops.push_back(&part);
  }
  SmallVector<std::pair<Value, Value>> seeds;
  for (auto [index, result] : llvm::enumerate(results)) {
    if (!isFloat(result) || (from.onlyFirst && index > 0))
      continue;
    cotangents.emplace_back(index, body.getNumArguments());
    seeds.emplace_back(
        result, body.addArgument(result.getType(), builder.getUnknownLoc()));
  }
  builder.setInsertionPoint(body.getTerminator());
  Operation *last = body.getTerminator()->getPrevNode();
  Gradients found = differentiate(builder, ops, seeds, wanted, options.mode);
  EXPECT_TRUE(found.missing.empty());
  for (Operation *next = last->getNextNode(); next != body.getTerminator();
       next = next->getNextNode())
    made.push_back(next);

  for (size_t index = 0; index < argumentCount; ++index) {
    Value gradient = found.of.lookup(body.getArgument(index));
    gradients.push_back(gradient);
    positions.push_back(gradient ? static_cast<int>(results.size()) : -1);
    if (gradient)
      results.push_back(gradient);
  }
  body.getTerminator()->setOperands(results);
  function.setFunctionType(FunctionType::get(
      function.getContext(), body.getArgumentTypes(), TypeRange(results)));
  EXPECT_TRUE(succeeded(verify(*fixture.module)));
}

std::vector<Tensor> Differentiated::run(ArrayRef<Tensor> arguments) {
  auto results = interpret(fixture.getFunction(), arguments);
  return failed(results) ? std::vector<Tensor>() : *results;
}

std::vector<Tensor> Differentiated::makeArguments(unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<Tensor> arguments;
  GradientCase plain;
  for (auto [index, type] :
       llvm::enumerate(fixture.getFunction().getArgumentTypes()))
    arguments.push_back(makeRandom(cast<RankedTensorType>(type),
                                   index < gradients.size() ? from : plain,
                                   engine));
  return arguments;
}

} // namespace parplan::test
