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

/// One program of the module and how the text calls its parts.
struct StageNames {
  exec::ProgramOp program;
  /// The namespace of its tables and of its step; empty where it is the only
  /// one.
  std::string space;
  llvm::DenseMap<mlir::Attribute, std::string> kernels;
  /// Numbers in the list of all stages.
  llvm::MapVector<mlir::Attribute, size_t> communicators;
  bool hasParameters = false, hasInputs = false, hasOutputs = false;
  /// What comes behind `step` is a function of its own.
  bool hasReply = false;
};

/// The text under construction and what parts of it refer to each other by.
class Emitter {
public:
  Emitter(llvm::ArrayRef<exec::ProgramOp> programs, const WeightLayout &weights,
          const EmitOptions &options, DiagnosticEngine &engine);

  EmittedProgram run();

  mlir::raw_indented_ostream &out() { return stream; }
  const Mesh &getMesh() const { return mesh; }

  /// `float`, `int64_t`, ..; reports types that have none.
  llvm::StringRef getTypeName(mlir::Type type, mlir::Location location);
  /// `ElementType::Float32`, ..
  llvm::StringRef getElementTypeName(mlir::Type type, mlir::Location location);

  /// Of the stage that is printed.
  std::string getKernelName(mlir::FlatSymbolRefAttr symbol) const;
  std::string getCommunicatorName(mlir::FlatSymbolRefAttr symbol) const;
  /// Indices of axes in the mesh: `0, 2`.
  std::string printAxes(AxisListAttr axes) const;

  void reportNoRule(mlir::Operation *op);

private:
  void nameCommunicators(StageNames &stage);
  void nameKernels(StageNames &stage);

  // EmitTables.cpp
  void emitTables();
  void emitStageTables(StageNames &stage);
  std::string printParameter(exec::BufferOp buffer, exec::BlockAttr block,
                             int64_t bucketOffset);
  std::string printTensor(exec::BufferOp buffer);
  std::string printTensors(exec::BufferKind kind);
  std::string printParameters();
  void emitOrderDigests();
  void emitTraining();
  void emitStagesTable();
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

  mlir::Block &getBody() const {
    return exec::ProgramOp(current->program).getBody().front();
  }

  std::vector<StageNames> stages;
  /// The stage that is printed.
  StageNames *current = nullptr;
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
  struct CommunicatorNames {
    std::string label;
    AxisListAttr axes;
    exec::StreamKind stream;
  };
  /// Of all stages; every rank has all of them.
  std::vector<CommunicatorNames> communicators;
  /// Kernels by their text without the name: equal ones are printed once.
  std::map<std::string, std::string> kernelNames;
  /// To be printed, with the stages that they are from.
  std::vector<std::pair<StageNames *, exec::KernelOp>> kernels;
};

} // namespace parplan

#endif // PARPLAN_LIB_TARGET_EMITTER_H
