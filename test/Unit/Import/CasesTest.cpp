//===- CasesTest.cpp - Models that PyTorch exported ------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"

#include "lib/Import/Import.h"

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Interpreter/Interpreter.h"
#include "passes/Simplify/Passes.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

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

std::string readBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::string getFolder(const Case &one) {
  return std::string(PARPLAN_TEST_MODELS) + "/" + one.name + "/";
}

ImportOptions getOptions(const Case &one) {
  ImportOptions options;
  options.path = getFolder(one) + "model.onnx";
  if (one.hasBatch)
    options.dims["batch"] = 8;
  if (one.hasSequence)
    options.dims["sequence"] = 32;
  return options;
}

/// Elements of little-endian bytes.
Tensor makeTensor(mlir::RankedTensorType type, const char *bytes) {
  Tensor tensor(type);
  for (int64_t i = 0; i < tensor.getSize(); ++i) {
    if (type.getElementType().isF32()) {
      float number;
      std::memcpy(&number, bytes + 4 * i, 4);
      tensor[i].real = number;
    } else {
      std::memcpy(&tensor[i].integer, bytes + 8 * i, 8);
    }
  }
  return tensor;
}

/// The data of a .npy file of the type: version 1, C order.
Tensor readNpy(const std::string &path, mlir::RankedTensorType type) {
  std::string bytes = readBytes(path);
  size_t header = 10 + static_cast<uint8_t>(bytes[8]) +
                  256 * static_cast<uint8_t>(bytes[9]);
  return makeTensor(type, bytes.data() + header);
}

InitializerValues readInitializers(mlir::ModuleOp module,
                                   const std::string &model) {
  InitializerValues values;
  for (InitializerOp op : module.getOps<InitializerOp>())
    values[op.getSymName()] =
        makeTensor(mlir::cast<mlir::RankedTensorType>(op.getType()),
                   model.data() + op.getOffset());
  return values;
}

/// Difference to PyTorch's logits, relative to the largest of them.
double getDifference(mlir::ModuleOp module, const Case &one) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  std::string folder = getFolder(one);
  std::vector<Tensor> arguments;
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    auto name = main.getArgAttrOfType<mlir::StringAttr>(i, attributes::name);
    arguments.push_back(readNpy(
        folder + name.str() + ".npy",
        mlir::cast<mlir::RankedTensorType>(main.getArgumentTypes()[i])));
  }
  auto results =
      interpret(main, arguments,
                readInitializers(module, readBytes(folder + "model.onnx")));
  if (mlir::failed(results))
    return INFINITY;
  Tensor expected = readNpy(folder + "logits.npy", (*results)[0].getType());
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < expected.getSize(); ++i) {
    largest = std::max(largest, std::fabs(expected[i].real));
    difference = std::max(difference,
                          std::fabs(expected[i].real - (*results)[0][i].real));
  }
  return difference / largest;
}

TEST_P(Cases, ComputeWhatPyTorchComputesBeforeAndAfterSimplify) {
  DiagnosticEngine diagnostics;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ImportedModel imported =
      importModel(context, getOptions(GetParam()), diagnostics);
  ASSERT_TRUE(imported) << diagnostics.render();
  EXPECT_LT(getDifference(*imported.module, GetParam()), 5e-6);
  mlir::PassManager manager(&context);
  buildSimplifyPipeline(manager);
  ASSERT_TRUE(mlir::succeeded(manager.run(*imported.module)));
  EXPECT_LT(getDifference(*imported.module, GetParam()), 5e-6);
}

TEST_P(Cases, ImportToAVerifiedModuleWithoutShapeArithmetic) {
  const Case &one = GetParam();
  DiagnosticEngine diagnostics;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ImportedModel imported = importModel(context, getOptions(one), diagnostics);
  ASSERT_TRUE(imported) << diagnostics.render();
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*imported.module)));
  EXPECT_EQ(imported.info->batch, 8);
  EXPECT_EQ(imported.info->outputNames, std::vector<std::string>{"logits"});
  int products = 0, norms = 0;
  int64_t lastNode = -1;
  imported.module->walk([&](mlir::Operation *op) {
    products += mlir::isa<MatmulOp, ConvOp>(op);
    norms += mlir::isa<LayerNormOp, RMSNormOp, BatchNormOp>(op);
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
