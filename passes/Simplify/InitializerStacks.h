//===- InitializerStacks.h - Several initializers as one --------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SIMPLIFY_INITIALIZERSTACKS_H
#define PARPLAN_PASSES_SIMPLIFY_INITIALIZERSTACKS_H

#include "passes/Simplify/Rewriter.h"

#include "mlir/IR/BuiltinOps.h"

namespace parplan::simplify {

/// The parameters that read each initializer.
using InitializerReaders =
    llvm::DenseMap<mlir::Attribute, llvm::SmallVector<mlir::Operation *, 2>>;

/// Makes stacks: initializers of several others.
class InitializerStacks {
public:
  explicit InitializerStacks(mlir::ModuleOp module)
      : module(module), symbols(module) {}

  /// The initializers of these parameters, if they are of one type and read in
  /// one way, each another one; null else.
  mlir::ArrayAttr getMembers(llvm::ArrayRef<mlir::Value> parameters) const;

  /// What they read, one behind the other: [e, ..].
  mlir::Value read(llvm::ArrayRef<mlir::Value> parameters, Rewriter &rewriter);

private:
  InitializerOp getInitializer(mlir::Attribute symbol) const;
  InitializerOp getStack(mlir::ArrayAttr members);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Attribute, InitializerOp> known;
};

} // namespace parplan::simplify

#endif // PARPLAN_PASSES_SIMPLIFY_INITIALIZERSTACKS_H
