//===- LoadedModel.h - A model file that passed the guards ------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_LOAD_LOADEDMODEL_H
#define PARPLAN_LIB_IMPORT_LOAD_LOADEDMODEL_H

#include "lib/Import/Graph/Element.h"
#include "lib/Import/Load/MappedFile.h"
#include "lib/Import/Load/WireFilter.h"

#include "parplan/Support/Diagnostics.h"

#include <memory>
#include <thread>

namespace onnx {
class ModelProto;
class TensorProto;
} // namespace onnx

namespace parplan::importer {

/// Where a tensor's bytes lie in another file.
struct ExternalData {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
};

/// An initializer of the main graph.
struct Initializer {
  std::string_view name;
  int32_t onnxType = 0;
  Shape shape;
  /// Bytes that type and shape ask for.
  int64_t bytes = 0;
  /// Its bytes in the model file, if they lie there in one piece.
  std::optional<FileSpan> span;
  std::optional<ExternalData> external;
  /// The message, which still has typed data.
  const onnx::TensorProto *message = nullptr;
  InitializerMark mark = InitializerMark::none;
};

/// Node operands and attributes are read from `getModel()`; initializers only
/// from the list here. After the first `inputCount` inputs the message may have
/// others, which stand for initializers.
class LoadedModel {
public:
  LoadedModel();
  ~LoadedModel();

  std::string path;
  MappedFile file;
  FilteredModel filtered;
  std::vector<Initializer> initializers;
  int inputCount = 0;

  onnx::ModelProto &getModel() const { return *model; }

  /// `file: node 412 '/h.3/mlp/MatMul' (MatMul)`; the name is read now.
  Location locateNode(uint32_t node, std::string opType) const;

  /// Maps and parses. Reports what is wrong and returns false.
  bool load(DiagnosticEngine &diagnostics);

private:
  struct Storage;
  std::unique_ptr<Storage> storage;
  onnx::ModelProto *model = nullptr;
};

/// Checks everything that must hold before ONNX's own code or the importer may
/// look at the model, reports all of it, and fills in `initializers`.
bool guardModel(LoadedModel &model, DiagnosticEngine &diagnostics);

/// Parts of guardModel.
void guardStructure(LoadedModel &model, DiagnosticEngine &diagnostics);
void guardFunctions(LoadedModel &model, DiagnosticEngine &diagnostics);
void guardTensors(LoadedModel &model, DiagnosticEngine &diagnostics);

/// Runs ONNX's checker on the model with its initializers as inputs, beside the
/// import, which reads the same messages. The checker takes about as long as
/// the rest, and knows only the first problem.
class ModelChecker {
public:
  explicit ModelChecker(LoadedModel &model);
  ~ModelChecker();

  /// Waits; what the checker says against the model, or "".
  std::string join();

private:
  std::thread thread;
  std::string reason;
};

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_LOAD_LOADEDMODEL_H
