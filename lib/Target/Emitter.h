//===- Emitter.h - Parts that the emission functions share ------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_TARGET_EMITTER_H
#define PARPLAN_LIB_TARGET_EMITTER_H

#include "lib/Target/EmitProgram.h"
#include "lib/Target/WeightLayout.h"

#include "mlir/Support/IndentedOstream.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <map>

namespace parplan {

/// The text under construction and what parts of it refer to each other by.
class Emitter {
public:
  Emitter(exec::ProgramOp program, const WeightLayout &weights,
          const EmitOptions &options, DiagnosticEngine &engine);

  EmittedProgram run();

  mlir::raw_indented_ostream &out() { return stream; }
  exec::ProgramOp getProgram() const { return program; }
  const Mesh &getMesh() const { return mesh; }

  /// `float`, `int64_t`, ..; reports types that have none.
  llvm::StringRef getTypeName(mlir::Type type, mlir::Location location);
  /// `ElementType::Float32`, ..
  llvm::StringRef getElementTypeName(mlir::Type type, mlir::Location location);

  std::string getKernelName(mlir::FlatSymbolRefAttr symbol) const;
  std::string getCommunicatorName(mlir::FlatSymbolRefAttr symbol) const;
  /// Indices of axes in the mesh: `0, 2`.
  std::string printAxes(AxisListAttr axes) const;

  void reportNoRule(mlir::Operation *op);

private:
  // EmitTables.cpp
  void emitTables();
  std::string printParameter(exec::BufferOp buffer, exec::BlockAttr block,
                             int64_t bucketOffset);
  std::string printTensor(exec::BufferOp buffer);
  void emitTensors(exec::BufferKind kind, llvm::StringRef table);
  void emitParameters();
  void emitOrderDigests();
  void emitTraining();
  void emitProgramTable();
  /// The name of a table of axes, `{}` for none; declares it before.
  std::string getAxesTable(AxisListAttr axes);
  std::string getDimensionsTable(exec::BlockAttr block);

  // EmitKernels.cpp
  void emitKernel(exec::KernelOp kernel);

  // EmitStatements.cpp
  void emitStep();
  void emitExchangeTables();

  /// Counts the lines of the text so far.
  int64_t getLine();

  exec::ProgramOp program;
  Mesh mesh;
  const WeightLayout &weights;
  const EmitOptions &options;
  DiagnosticEngine &engine;

  EmittedProgram result;
  llvm::raw_string_ostream text;
  mlir::raw_indented_ostream stream;
  size_t countedBytes = 0;
  int64_t lines = 1;

  llvm::StringMap<std::string> axesTables;
  llvm::StringMap<std::string> dimensionTables;
  llvm::DenseMap<mlir::Attribute, std::string> kernelNames;
  llvm::DenseMap<mlir::Attribute, std::string> communicatorNames;
};

} // namespace parplan

#endif // PARPLAN_LIB_TARGET_EMITTER_H
