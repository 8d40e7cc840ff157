//===- OpFixture.cpp - One op of the dialect, from text -------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "OpFixture.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace parplan::test {

OpFixture::OpFixture(const std::string &op,
                     const std::vector<std::string> &arguments,
                     const std::string &preamble)
    : context(MLIRContext::Threading::DISABLED) {
  context.loadDialect<func::FuncDialect, ParplanDialect>();
  std::string text = preamble + "\nfunc.func @main(";
  for (auto [index, type] : llvm::enumerate(arguments))
    text += (index ? ", %" : "%") + std::to_string(index) + ": tensor<" + type +
            ">";
  text += ") {\n" + op + "\nreturn\n}\n";
  module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    ADD_FAILURE() << "cannot parse\n" << text;
}

func::FuncOp OpFixture::getFunction() {
  return module->lookupSymbol<func::FuncOp>("main");
}

Operation *OpFixture::getOp() {
  return getFunction().getBody().front().getTerminator()->getPrevNode();
}

} // namespace parplan::test
