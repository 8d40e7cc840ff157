//===- InterpreterFixture.h - Runs functions given as text ------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_INTERPRETER_INTERPRETERFIXTURE_H
#define PARPLAN_TEST_UNIT_INTERPRETER_INTERPRETERFIXTURE_H

#include "parplan/Interpreter/Interpreter.h"

#include "dialects/parplan/ParplanOps.h"
#include "parplan/Support/Check.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

namespace parplan::test {

using Numbers = std::vector<double>;

/// Parses functions and runs them; collects diagnostics.
class InterpreterFixture : public testing::Test {
protected:
  InterpreterFixture()
      : context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &diagnostic) {
          messages += diagnostic.str();
          return mlir::success();
        }) {
    context.loadAllAvailableDialects();
  }

  static const mlir::DialectRegistry &makeRegistry() {
    static mlir::DialectRegistry registry = [] {
      mlir::DialectRegistry created;
      created.insert<ParplanDialect, mlir::func::FuncDialect>();
      return created;
    }();
    return registry;
  }

  /// The first function of a module.
  mlir::func::FuncOp parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    PARPLAN_CHECK(module, messages);
    return *module->getOps<mlir::func::FuncOp>().begin();
  }

  /// Elements of the only result of ops that end with %r.
  std::vector<double> run(const std::string &ops, const std::string &type) {
    mlir::func::FuncOp function = parse("func.func @f() -> " + type + " {\n" +
                                        ops + "\nreturn %r : " + type + "\n}");
    mlir::FailureOr<std::vector<Tensor>> results = interpret(function, {});
    return succeeded(results) ? getNumbers(results->front())
                              : std::vector<double>();
  }

  static std::vector<double> getNumbers(const Tensor &tensor) {
    std::vector<double> numbers;
    for (int64_t i = 0; i < tensor.getSize(); ++i)
      numbers.push_back(tensor.getNumber(i));
    return numbers;
  }

  mlir::MLIRContext context;
  std::string messages;
  mlir::ScopedDiagnosticHandler handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_INTERPRETER_INTERPRETERFIXTURE_H
