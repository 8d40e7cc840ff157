//===- CasesTest.cpp - Models that PyTorch exported, raised ---------------===//
//
// Part of parplan. That they still compute the same is tested with the import.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Import.h"

#include "dialects/parplan/ParplanOps.h"
#include "passes/Simplify/Passes.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <map>

using namespace parplan;

namespace {

struct Case {
  const char *name;
  std::map<std::string, int> counts;
  int blocks = 0, opsPerBlock = 0;
  bool hasBatch = false, hasSequence = false;
};

void PrintTo(const Case &one, std::ostream *out) { *out << one.name; }

class Cases : public testing::TestWithParam<Case> {};

const std::map<std::string, int> gpt = {
    {"attention", 4}, {"layer_norm", 9}, {"gelu", 4}, {"matmul", 25}};
const std::map<std::string, int> bert = {
    {"attention", 4}, {"layer_norm", 10}, {"gelu", 5}, {"matmul", 26}};
const std::map<std::string, int> llama = {{"attention", 4},
                                          {"rms_norm", 9},
                                          {"silu", 4},
                                          {"rope", 8},
                                          {"matmul", 29}};
const std::map<std::string, int> vit = {{"attention", 4},
                                        {"layer_norm", 9},
                                        {"gelu", 4},
                                        {"matmul", 25},
                                        {"conv", 1}};
/// Two softmaxes choose experts.
const std::map<std::string, int> mixtral = {
    {"attention", 2}, {"rms_norm", 5}, {"silu", 2},         {"rope", 4},
    {"softmax", 2},   {"matmul", 17},  {"moe_dispatch", 2}, {"moe_combine", 2}};

INSTANTIATE_TEST_SUITE_P(
    All, Cases,
    testing::Values(
        Case{"bert", bert, 4, 22}, Case{"bert-train", bert, 4, 22, true},
        Case{"convnet", {{"conv", 3}, {"gelu", 1}, {"matmul", 1}}},
        Case{"experts-gather-train",
             {{"attention", 2},
              {"layer_norm", 5},
              {"silu", 2},
              {"softmax", 2},
              {"matmul", 17},
              {"moe_dispatch", 2},
              {"moe_combine", 2}},
             2,
             29},
        // Ones are dispatched, too, and multiplied by biases.
        Case{"experts-loop-train",
             {{"attention", 2},
              {"layer_norm", 5},
              {"gelu", 2},
              {"softmax", 2},
              {"matmul", 19},
              {"moe_dispatch", 4},
              {"moe_combine", 2}},
             2,
             34},
        Case{"gpt2", gpt, 4, 22}, Case{"gpt2-attention", gpt, 4, 22},
        Case{"gpt2-dynamic", gpt, 4, 22, true, true},
        Case{"llama", llama, 4, 20}, Case{"llama-train", llama, 4, 20, true},
        Case{"mixtral", mixtral, 2, 27}, Case{"mixtral-train", mixtral, 2, 27},
        Case{"mlp", {{"matmul", 3}, {"layer_norm", 1}}},
        Case{"resnet", {{"conv", 16}, {"matmul", 1}}},
        Case{"resnet-train", {{"conv", 16}, {"matmul", 1}, {"batch_norm", 16}}},
        Case{"vit", vit, 4, 22}, Case{"vit-train", vit, 4, 22, true}),
    [](const auto &info) {
      std::string name = info.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST_P(Cases, AreRaisedWhole) {
  const Case &one = GetParam();
  ImportOptions options;
  options.path = PARPLAN_TEST_MODELS "/";
  options.path.append(one.name).append("/model.onnx");
  if (one.hasBatch)
    options.dims["batch"] = 8;
  if (one.hasSequence)
    options.dims["sequence"] = 32;
  DiagnosticEngine diagnostics;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ImportedModel imported = importModel(context, options, diagnostics);
  ASSERT_TRUE(imported) << diagnostics.render();
  mlir::PassManager manager(&context);
  buildSimplifyPipeline(manager);
  ASSERT_TRUE(mlir::succeeded(manager.run(*imported.module)));

  std::map<std::string, int> counts;
  int numbered = 0, blocks = 0;
  imported.module->walk([&](mlir::Operation *op) {
    ++counts[op->getName().stripDialect().str()];
    if (auto block = op->getAttrOfType<mlir::IntegerAttr>(attributes::block)) {
      ++numbered;
      blocks = std::max<int>(blocks, static_cast<int>(block.getInt()) + 1);
    }
    // A raised op keeps where it came from.
    if (mlir::isa<MatmulOp, ConvOp, AttentionOp>(op)) {
      EXPECT_TRUE(op->hasAttr(attributes::node));
      EXPECT_TRUE(op->hasAttr(attributes::onnxOp));
    }
    if (auto attention = mlir::dyn_cast<AttentionOp>(op)) {
      EXPECT_FALSE(attention.getMask());
      EXPECT_EQ(attention.getCausal(),
                std::string(one.name).find("bert") != 0 &&
                    std::string(one.name).find("vit") != 0);
    }
  });
  for (const char *kind :
       {"attention", "layer_norm", "rms_norm", "batch_norm", "gelu", "silu",
        "rope", "softmax", "matmul", "conv", "moe_dispatch", "moe_combine"})
    EXPECT_EQ(counts[kind], one.counts.count(kind) ? one.counts.at(kind) : 0)
        << kind;
  for (const char *kind : {"is_nan", "erf", "neg", "sigmoid", "gather"})
    EXPECT_EQ(counts[kind], 0) << kind;
  EXPECT_EQ(blocks, one.blocks);
  EXPECT_EQ(numbered, one.blocks * one.opsPerBlock);
}

} // namespace
