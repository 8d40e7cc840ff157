//===- ProgramInterface.h - What lives outside of a step --------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_PROGRAMINTERFACE_H
#define PARPLAN_PASSES_SCHEDULE_PROGRAMINTERFACE_H

#include "passes/Schedule/Placement.h"
#include "passes/Schedule/Variables.h"

#include "llvm/ADT/MapVector.h"

namespace parplan {

/// What the programs of a module have in common.
struct ModuleParts {
  explicit ModuleParts(mlir::ModuleOp module)
      : symbols(module), kernels(module.getOps<exec::KernelOp>()) {}

  /// Initializers by name: there are thousands.
  mlir::SymbolTable symbols;
  llvm::SmallVector<exec::KernelOp> kernels;
  llvm::MapVector<mlir::Attribute, mlir::FlatSymbolRefAttr> data;
};

/// Defines the buffers of a function's inputs, parameters, states, constants
/// and outputs.
class ProgramInterface {
public:
  ProgramInterface(mlir::func::FuncOp function, Placement &placement,
                   ModuleParts &parts)
      : function(function), placement(placement), parts(parts) {}

  /// Finds what the function replaces. Before kernels leave the module: it
  /// looks at them.
  llvm::LogicalResult findVariables();
  void defineInputs();
  /// The buffers of what is replaced, and who writes to them.
  void defineVariables();

  /// A buffer for an argument, in the tier of new buffers.
  mlir::Value createInput(mlir::BlockArgument argument);
  void defineParameter(ParameterOp op);
  /// The bytes of a constant, which stand in the module.
  void defineData(ConstantOp op);
  /// Behind `defineData`.
  void defineConstant(ConstantOp op);
  /// The buffer of a result becomes an output; what is an input, a parameter, a
  /// part of something or an output already is copied.
  void defineOutputs(mlir::func::ReturnOp op);
  /// Copies the new values that were not written in place, last of all.
  void storeVariables(mlir::func::ReturnOp op);

private:
  bool isVariable(ParameterOp op) const;
  mlir::Value getVariableBuffer(const VariableResult &variable) const;
  mlir::Operation *findLastBuffer();

  mlir::func::FuncOp function;
  Placement &placement;
  ModuleParts &parts;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, mlir::Value>
      parameters;
  llvm::SmallVector<exec::BufferOp> outputs;
  llvm::SmallVector<VariableResult> variables;
  /// Of a training step, else null.
  mlir::IntegerAttr microBatches;
};

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_PROGRAMINTERFACE_H
