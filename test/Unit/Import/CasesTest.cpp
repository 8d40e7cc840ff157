//===- CasesTest.cpp - Models that PyTorch exported ------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"

#include "lib/Import/Import.h"

#include "dialects/parplan/ParplanOps.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

#include <map>

using namespace parplan;
using namespace parplan::test;

namespace {

struct Case {
  const char *name;
  /// Ops of the kinds that carry the mathematics.
  int products, norms;
  bool hasBatch = false, hasSequence = false;
};

void PrintTo(const Case &one, std::ostream *out) { *out << one.name; }

class Cases : public testing::TestWithParam<Case> {};

/// The attentions of these have two products each; those of models at opset 23
/// are one op.
INSTANTIATE_TEST_SUITE_P(
    All, Cases,
    testing::Values(Case{"bert", 34, 10}, Case{"bert-train", 34, 10, true},
                    Case{"convnet", 4, 0}, Case{"gpt2", 25, 9},
                    Case{"gpt2-attention", 17, 9},
                    Case{"gpt2-dynamic", 25, 9, true, true},
                    Case{"llama", 29, 9}, Case{"llama-train", 37, 0, true},
                    Case{"mixtral", 19, 0}, Case{"mixtral-train", 19, 0},
                    Case{"mlp", 3, 1}, Case{"resnet", 17, 0},
                    Case{"resnet-train", 17, 16}, Case{"vit", 26, 9},
                    Case{"vit-train", 34, 9, true}),
    [](const auto &info) {
      std::string name = info.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST_P(Cases, ImportToAVerifiedModuleWithoutShapeArithmetic) {
  const Case &one = GetParam();
  ImportOptions options;
  options.path =
      std::string(PARPLAN_TEST_MODELS) + "/" + one.name + "/model.onnx";
  if (one.hasBatch)
    options.dims["batch"] = 8;
  if (one.hasSequence)
    options.dims["sequence"] = 32;
  DiagnosticEngine diagnostics;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ImportedModel imported = importModel(context, options, diagnostics);
  ASSERT_TRUE(imported) << diagnostics.render();
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*imported.module)));
  EXPECT_EQ(imported.info->batch, 8);
  EXPECT_EQ(imported.info->outputNames, std::vector<std::string>{"logits"});
  int products = 0, norms = 0;
  int64_t lastNode = -1;
  imported.module->walk([&](mlir::Operation *op) {
    products += mlir::isa<MatmulOp, ConvOp>(op);
    norms += mlir::isa<LayerNormOp, RMSNormOp, BatchNormOp>(op);
    // Integers are ids and their arithmetic in front of the embedding only.
    if (auto node = op->getAttrOfType<mlir::IntegerAttr>(attributes::node)) {
      EXPECT_GE(node.getInt(), 0);
      EXPECT_LT(node.getInt(), int64_t(imported.info->getNodeCount()));
      lastNode = node.getInt();
      EXPECT_EQ(op->getAttrOfType<mlir::StringAttr>(attributes::onnxOp),
                imported.info->getNodeOperator(node.getInt()));
    }
  });
  EXPECT_GE(lastNode, 0);
  EXPECT_EQ(products, one.products);
  EXPECT_EQ(norms, one.norms);
}

} // namespace
