//===- EmitProgram.h - exec programs as C++ and CUDA text -------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_TARGET_EMITPROGRAM_H
#define PARPLAN_LIB_TARGET_EMITPROGRAM_H

#include "dialects/exec/ExecOps.h"
#include "parplan/Support/Diagnostics.h"

#include "parplan_runtime/tables.h"

#include <optional>
#include <string>
#include <vector>

namespace parplan {

struct WeightLayout;

/// An initializer in trained.onnx.template: runtime::SavedTensor.
struct SavedInitializer {
  std::string name;
  /// TensorProto.DataType.
  int32_t onnxType = 0;
  std::vector<int64_t> shape;
  int64_t fileOffset = 0;
  int64_t bytes = 0;
  /// The name of the stack that it is part of; empty: none.
  std::string stack = {};
  int64_t stackIndex = 0;
};

/// What a training program is told beside its statements: runtime::Training.
struct EmitTraining {
  double learningRate = 0.0;
  runtime::LearningRateSchedule schedule = {};
  /// 0: the loss is not scaled.
  double initialLossScale = 0.0;
  std::string modelSha256 = {};
  /// Labels are below it, or -100; 0: any value.
  int64_t classes = 0;
  std::vector<SavedInitializer> saved = {};
  /// False when the template is too large for an ONNX file.
  bool savesModel = true;
};

struct EmitOptions {
  /// The model's name, for messages of the program.
  std::string modelName;
  /// SHA-256 of the order of communication, one for all ranks or one for each;
  /// empty: the program does not check it.
  std::vector<std::string> orderDigests = {};
  /// Read only for a program with micro-batches.
  EmitTraining training = {};
};

/// Statements that begin on `line` (from 1) of the text and the ONNX nodes
/// whose work they do.
struct SourceLine {
  int64_t line = 0;
  std::vector<int64_t> nodes;
};

struct EmittedProgram {
  /// Compiles as C++17 and, with nvcc, as CUDA.
  std::string text;
  std::vector<SourceLine> sourceMap;
};

/// Prints the verified programs of a module, by position. Nothing is decided
/// here: one statement per op, in their order. Reports an op without emission
/// rule (E6101) and element types that the runtime cannot compute with (E6102);
/// the text is then not to be used.
EmittedProgram emitProgram(llvm::ArrayRef<exec::ProgramOp> programs,
                           const WeightLayout &weights,
                           const EmitOptions &options,
                           DiagnosticEngine &engine);
inline EmittedProgram emitProgram(mlir::ModuleOp module,
                                  const WeightLayout &weights,
                                  const EmitOptions &options,
                                  DiagnosticEngine &engine) {
  return emitProgram(exec::getPrograms(module), weights, options, engine);
}

} // namespace parplan

#endif // PARPLAN_LIB_TARGET_EMITPROGRAM_H
