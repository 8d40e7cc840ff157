//===- Emitter.h - Writes the graph as a module -----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_EMIT_EMITTER_H
#define PARPLAN_LIB_IMPORT_EMIT_EMITTER_H

#include "lib/Import/Sweep/ImportGraph.h"

#include "dialects/parplan/ParplanOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <array>

namespace parplan::importer {

class Emitter {
public:
  Emitter(mlir::MLIRContext &context, const ImportedGraph &imported);

  mlir::OwningOpRef<mlir::ModuleOp> emit();

private:
  mlir::Type getElementType(ElementType type);
  mlir::RankedTensorType getType(ElementType type, ShapeRef shape);
  mlir::RankedTensorType getType(ValueId id);
  mlir::Location getLocation(uint32_t node);

  // Leaves (EmitLeaves.cpp).
  /// Declares the initializers that are read.
  void emitInitializers();
  /// What every use of a leaf shares stands at the start of the function; a
  /// parameter with one use stands before it.
  void emitLeaf(ValueId id);
  mlir::Value emitConstant(ValueId id);
  mlir::Value emitDense(const Constant &constant, ShapeRef shape);
  mlir::Value emitRange(const AffineFunction &function, size_t dim,
                        const Constant &constant);
  mlir::Value broadcast(mlir::Value value, ShapeRef shape);
  void countUses();

  // Ops (EmitOps.cpp, EmitMathematics.cpp).
  void emitOp(const Op &op);
  mlir::Operation *emitUnary(const Op &op);
  mlir::Operation *emitBinary(const Op &op);
  mlir::Operation *emitShape(const Op &op);
  mlir::Operation *emitIndexing(const Op &op);
  mlir::Operation *emitMathematics(const Op &op);
  mlir::Operation *emitWindow(const Op &op);
  mlir::Operation *emitComposite(const Op &op);

  mlir::Value operand(const Op &op, size_t index);
  mlir::Type resultType(const Op &op) { return getType(op.firstResult); }
  template <typename ConcreteOp, typename... Arguments>
  mlir::Operation *create(const Op &op, Arguments &&...arguments) {
    return builder
        .create<ConcreteOp>(location, resultType(op),
                            std::forward<Arguments>(arguments)...)
        .getOperation();
  }
  llvm::ArrayRef<int64_t> integers(const Op &op, size_t first, size_t count) {
    return llvm::ArrayRef(op.integers).slice(first, count);
  }

  const ImportedGraph &imported;
  const Graph &graph;
  mlir::OpBuilder builder;
  mlir::Location location;
  mlir::StringAttr file, nodeName, operatorName;
  mlir::Type indexType;
  /// Of types that are not narrow.
  std::array<mlir::Type, static_cast<size_t>(ElementType::i1) + 1> elementTypes;
  /// By value; null until emitted.
  std::vector<mlir::Value> values;
  std::vector<uint32_t> uses;
  std::vector<mlir::FlatSymbolRefAttr> symbols;
  llvm::StringMap<mlir::StringAttr> operators;
};

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_EMIT_EMITTER_H
