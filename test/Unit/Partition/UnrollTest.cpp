//===- UnrollTest.cpp - Micro-batches together are the batch --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Interpreter/Interpreter.h"
#include "passes/Pipeline/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;

namespace parplan {
namespace {

/// A step of a linear model: mean loss over labels that are not ignored, its
/// gradient, and an update. {0}: samples of a micro-batch, {1}: micro-batches.
constexpr char text[] = R"(
parplan.initializer @w "w" : tensor<3x5xf64> in "" at 0 length 120
func.func @main(%x: tensor<{0}x3xf64> {{parplan.batch},
                %labels: tensor<{0}xi64> {{parplan.batch},
                %rate: tensor<f64> {{parplan.schedule = "learning_rate"})
    -> (tensor<f64>, tensor<3x5xf64> {{parplan.variable = #parplan.variable<@w>})
    attributes {{parplan.micro_batches = {1} : i64} {{
  %w = parplan.parameter @w : tensor<3x5xf64>
  %ignored = parplan.constant dense<-100> : tensor<i64>
  %one = parplan.constant dense<1.0> : tensor<f64>
  %y = parplan.matmul "mk,kn->mn" %x, %w {{parplan.per_micro_batch} : tensor<{0}x3xf64>, tensor<3x5xf64>
  %is = parplan.compare ne %labels, %ignored {{parplan.per_micro_batch} : tensor<{0}xi64>, tensor<i64>
  %weight = parplan.cast %is {{parplan.per_micro_batch} : tensor<{0}xi1> to tensor<{0}xf64>
  %own = parplan.reduce sum %weight dims [0] {{parplan.per_micro_batch} : tensor<{0}xf64>
  %all = parplan.accumulate %own : tensor<f64>
  %count = parplan.max %all, %one : tensor<f64>, tensor<f64>
  %loss, %lse = parplan.cross_entropy %y, %labels {{parplan.per_micro_batch} : tensor<{0}x5xf64>, tensor<{0}xi64>
  %mean = parplan.div %loss, %count {{parplan.per_micro_batch} : tensor<{0}xf64>, tensor<f64>
  %part = parplan.reduce sum %mean dims [0] {{parplan.per_micro_batch} : tensor<{0}xf64>
  %total = parplan.accumulate %part : tensor<f64>
  %t = parplan.tanh %y {{parplan.per_micro_batch} : tensor<{0}x5xf64>
  %d = parplan.div %t, %count {{parplan.per_micro_batch} : tensor<{0}x5xf64>, tensor<f64>
  %g = parplan.matmul "mk,mn->kn" %x, %d {{parplan.per_micro_batch} : tensor<{0}x3xf64>, tensor<{0}x5xf64>
  %gradient = parplan.accumulate %g : tensor<3x5xf64>
  %step = parplan.mul %gradient, %rate : tensor<3x5xf64>, tensor<f64>
  %new = parplan.sub %w, %step : tensor<3x5xf64>, tensor<3x5xf64>
  return %total, %new : tensor<f64>, tensor<3x5xf64>
}
)";

Tensor makeTensor(MLIRContext &context, ArrayRef<int64_t> shape, bool isReal,
                  llvm::function_ref<double(int64_t)> getNumber) {
  Type element = isReal ? Type(Float64Type::get(&context))
                        : Type(IntegerType::get(&context, 64));
  Tensor tensor(RankedTensorType::get(shape, element));
  for (int64_t i = 0; i < tensor.getSize(); ++i)
    tensor.setNumber(i, getNumber(i));
  return tensor;
}

std::vector<Tensor> run(MLIRContext &context, int64_t batch, int64_t count) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      llvm::formatv(text, batch, count).str(), &context);
  EXPECT_TRUE(module);
  PassManager manager(&context);
  buildPipelinePipeline(manager);
  EXPECT_TRUE(succeeded(manager.run(*module)));
  std::vector<Tensor> arguments = {
      makeTensor(context, {count, batch, 3}, true,
                 [](int64_t i) { return std::sin(1.0 + 2.0 * i); }),
      // The first samples are ignored: one whole micro-batch of four.
      makeTensor(context, {count, batch}, false,
                 [](int64_t i) { return i < 3 ? -100 : i * i % 5; }),
      makeTensor(context, {}, true, [](int64_t) { return 0.3; })};
  InitializerValues initializers;
  initializers["w"] = makeTensor(context, {3, 5}, true,
                                 [](int64_t i) { return std::cos(3.0 * i); });
  FailureOr<std::vector<Tensor>> results = interpret(
      *module->getOps<func::FuncOp>().begin(), arguments, initializers);
  EXPECT_TRUE(succeeded(results));
  return succeeded(results) ? *results : std::vector<Tensor>();
}

TEST(Unroll, MicroBatchesTogetherAreTheBatch) {
  DialectRegistry registry;
  registry.insert<ParplanDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::vector<Tensor> whole = run(context, 12, 1);
  for (int64_t count : {2, 4, 12}) {
    std::vector<Tensor> parts = run(context, 12 / count, count);
    ASSERT_EQ(parts.size(), whole.size());
    for (size_t result = 0; result < whole.size(); ++result)
      for (int64_t i = 0; i < whole[result].getSize(); ++i)
        EXPECT_NEAR(parts[result].getNumber(i), whole[result].getNumber(i),
                    1e-12)
            << count << " micro-batches, result " << result;
  }
}

} // namespace
} // namespace parplan
