//===- RaisedModel.cpp - A model before and after it is simplified --------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RaisedModel.h"

#include "parplan/Interpreter/Interpreter.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <random>

using namespace mlir;

namespace parplan::test {

/// The members one behind the other.
static Tensor stack(InitializerOp op, const InitializerValues &initializers) {
  Tensor whole(cast<RankedTensorType>(op.getType()));
  int64_t next = 0;
  for (auto member : op.getMembers()->getAsRange<FlatSymbolRefAttr>()) {
    const Tensor &part = initializers.find(member.getValue())->second;
    for (int64_t i = 0; i < part.getSize(); ++i)
      whole[next++] = part[i];
  }
  return whole;
}

RaisedModel::RaisedModel(const std::string &text,
                         llvm::function_ref<void(OpPassManager &)> addPasses) {
  context.loadDialect<ParplanDialect, func::FuncDialect>();
  module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  if (!module) {
    module = ModuleOp::create(UnknownLoc::get(&context));
    return;
  }
  auto getFunction = [&] { return *module->getOps<func::FuncOp>().begin(); };
  std::mt19937 engine(3);
  auto draw = [&](RankedTensorType type) {
    Tensor tensor(type);
    for (int64_t i = 0; i < tensor.getSize(); ++i)
      tensor[i].real = engine() / 2147483648.0 - 1;
    return tensor;
  };
  std::vector<Tensor> arguments;
  for (Type type : getFunction().getArgumentTypes())
    arguments.push_back(draw(cast<RankedTensorType>(type)));
  InitializerValues initializers;
  for (auto op : module->getOps<InitializerOp>())
    initializers[op.getSymName().str()] =
        draw(cast<RankedTensorType>(op.getType()));
  auto before = interpret(getFunction(), arguments, initializers);

  PassManager manager(&context);
  addPasses(manager);
  EXPECT_TRUE(succeeded(manager.run(*module)));
  for (auto op : module->getOps<InitializerOp>())
    if (op.getMembers())
      initializers[op.getSymName().str()] = stack(op, initializers);
  auto after = interpret(getFunction(), arguments, initializers);
  EXPECT_TRUE(succeeded(before) && succeeded(after));
  if (failed(before) || failed(after))
    return;
  for (size_t result = 0; result < before->size(); ++result)
    for (int64_t i = 0; i < (*before)[result].getSize(); ++i)
      EXPECT_NEAR((*after)[result][i].real, (*before)[result][i].real, 1e-12)
          << i;
}

int RaisedModel::countStacks() {
  int stacks = 0;
  for (auto op : module->getOps<InitializerOp>())
    stacks += bool(op.getMembers());
  return stacks;
}

} // namespace parplan::test
