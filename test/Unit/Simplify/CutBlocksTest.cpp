//===- CutBlocksTest.cpp - The same model with fewer blocks ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/CutBlocks.h"

#include "dialects/parplan/ParplanOps.h"
#include "lib/Import/Import.h"
#include "passes/Simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace parplan;

namespace {

/// A model of four equal blocks that PyTorch exported.
class Llama {
public:
  Llama() {
    ImportOptions options;
    options.path = PARPLAN_TEST_MODELS "/llama-train/model.onnx";
    options.dims["batch"] = 8;
    DiagnosticEngine diagnostics;
    imported = importModel(context, options, diagnostics);
    EXPECT_TRUE(imported) << diagnostics.render();
    mlir::PassManager manager(&context);
    buildSimplifyPipeline(manager);
    EXPECT_TRUE(mlir::succeeded(manager.run(*imported.module)));
  }

  mlir::func::FuncOp getMain() {
    return imported.module.get().lookupSymbol<mlir::func::FuncOp>("main");
  }

  std::optional<CutBlocks> cut(int64_t kept) {
    return cutBlocks(getMain(), kept, [](llvm::StringRef) { return 0; });
  }

  std::map<std::string, int> count() {
    std::map<std::string, int> counts;
    imported.module->walk([&](mlir::Operation *op) {
      ++counts[op->getName().stripDialect().str()];
    });
    return counts;
  }

  std::map<int64_t, int> countPerBlock() {
    std::map<int64_t, int> counts;
    getMain().walk([&](mlir::Operation *op) {
      if (auto block = op->getAttrOfType<mlir::IntegerAttr>(attributes::block))
        ++counts[block.getInt()];
    });
    return counts;
  }

  std::string print() {
    std::string text;
    llvm::raw_string_ostream(text) << *imported.module;
    return text;
  }

  bool isVerified() { return mlir::succeeded(mlir::verify(*imported.module)); }

private:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  ImportedModel imported;
};

TEST(CutBlocks, LeavesOutBlocksWithTheirParameters) {
  Llama model;
  std::map<std::string, int> before = model.count();
  std::optional<CutBlocks> cut = model.cut(2);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->count, 2);
  EXPECT_TRUE(model.isVerified());
  EXPECT_EQ(model.countPerBlock(), (std::map<int64_t, int>{{0, 20}, {1, 20}}));
  std::map<std::string, int> after = model.count();
  EXPECT_EQ(before["attention"] - after["attention"], 2);
  EXPECT_EQ(before["matmul"] - after["matmul"], 14);
  EXPECT_EQ(before["initializer"] - after["initializer"],
            2 * static_cast<int>(cut->initializers.front().size()));
}

TEST(CutBlocks, TellsWhatTheBlocksOfTheWholeModelWere) {
  Llama model;
  std::optional<CutBlocks> cut = model.cut(3);
  ASSERT_TRUE(cut);
  ASSERT_EQ(cut->nodes.size(), 4u);
  ASSERT_EQ(cut->initializers.size(), 4u);
  std::set<std::string> names;
  int64_t last = -1;
  for (int block = 0; block < 4; ++block) {
    EXPECT_EQ(cut->nodes[block].size(), 20u);
    EXPECT_EQ(cut->initializers[block].size(),
              cut->initializers.front().size());
    names.insert(cut->initializers[block].begin(),
                 cut->initializers[block].end());
    EXPECT_GT(cut->nodes[block].front(), last);
    last = cut->nodes[block].front();
  }
  EXPECT_EQ(names.size(), 4 * cut->initializers.front().size());
  EXPECT_TRUE(names.count("model.layers.2.mlp.up_proj.weight") ||
              names.count("model.model.layers.2.mlp.up_proj.weight"));
}

TEST(CutBlocks, ChangesNothingWhereItCannot) {
  Llama model;
  std::string before = model.print();
  EXPECT_FALSE(model.cut(4));
  EXPECT_FALSE(model.cut(1));
  EXPECT_FALSE(cutBlocks(model.getMain(), 3, [](llvm::StringRef name) {
    return name.contains("layers.2.mlp.up_proj") ? 1 : 0;
  }));
  EXPECT_EQ(model.print(), before);
}

TEST(CutBlocks, RefusesReadersBehindTheNextBlock) {
  Llama model;
  mlir::func::FuncOp main = model.getMain();
  mlir::Operation *inner = nullptr;
  main.walk([&](mlir::Operation *op) {
    auto block = op->getAttrOfType<mlir::IntegerAttr>(attributes::block);
    if (block && block.getInt() == 1)
      inner = op;
  });
  ASSERT_TRUE(inner);
  mlir::Operation *end = main.getBody().front().getTerminator();
  end->insertOperands(end->getNumOperands(), inner->getResult(0));
  EXPECT_FALSE(model.cut(2));
}

} // namespace
