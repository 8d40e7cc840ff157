//===- PanelsFixture.h - A random product, partitioned ----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PANELS_PANELSFIXTURE_H
#define PARPLAN_TEST_UNIT_PANELS_PANELSFIXTURE_H

#include "RandomProduct.h"

#include "dialects/exec/ExecOps.h"
#include "passes/Partition/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

namespace parplan::test {

inline mlir::MLIRContext &getPanelContext() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    registry
        .insert<ParplanDialect, exec::ExecDialect, mlir::func::FuncDialect>();
    auto *created =
        new mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
    created->loadAllAvailableDialects();
    return created;
  }();
  return *context;
}

/// A random product, its value on one rank, and its local program.
class PanelCase {
public:
  explicit PanelCase(uint64_t seed)
      : handler(&getPanelContext(),
                [&](mlir::Diagnostic &diagnostic) {
                  messages += diagnostic.str() + "\n";
                  return mlir::success();
                }),
        product(makeRandomProduct(getPanelContext(), seed)),
        local(product.module->clone()) {
    auto values = interpret(product.getFunction(), product.arguments);
    if (succeeded(values))
      expected = values->front();
  }

  bool partition() {
    mlir::PassManager manager(&getPanelContext());
    buildPartitionPipeline(manager);
    return succeeded(mlir::verify(*product.module)) &&
           succeeded(manager.run(*local));
  }

  mlir::func::FuncOp getLocalFunction() {
    return *local->getOps<mlir::func::FuncOp>().begin();
  }

  /// Where `value` differs from that of one rank, or nothing.
  std::string compare(const Tensor &value) const {
    for (int64_t i = 0; i < expected.getSize(); ++i)
      if (value.getNumber(i) != expected.getNumber(i))
        return "element " + std::to_string(i) + ": " +
               std::to_string(value.getNumber(i)) + ", not " +
               std::to_string(expected.getNumber(i));
    return "";
  }

  std::string print() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    product.module->print(stream);
    local->print(stream);
    return text;
  }

  std::string messages;
  mlir::ScopedDiagnosticHandler handler;
  RandomProduct product;
  mlir::OwningOpRef<mlir::ModuleOp> local;
  Tensor expected;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PANELS_PANELSFIXTURE_H
