//===- ModelTemplate.h - The model as a file to be filled in ----*- C++ -*-===//
//
// Part of parplan. Needs no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_SAVE_MODELTEMPLATE_H
#define PARPLAN_LIB_IMPORT_SAVE_MODELTEMPLATE_H

#include "lib/Import/ModelInfo.h"

namespace parplan {

/// An initializer of the model, and where its bytes lie in the template.
struct TemplateInitializer {
  std::string name;
  /// ONNX's number of the data type.
  int32_t onnxType = 0;
  std::vector<int64_t> shape;
  int64_t offset = 0;
  int64_t bytes = 0;
};

struct ModelTemplate {
  /// In the order of the file; without those of types that the dialect does
  /// not have.
  std::vector<TemplateInitializer> initializers;
  /// ONNX files end below 2 GiB: a larger template only holds bytes.
  bool isModel = true;
};

/// Writes the model to `path` with the bytes of every initializer raw and in
/// one piece, external data included: who knows the offsets can exchange
/// weights without reading ONNX. All else stays as it is in the file. Reports
/// weights that cannot be read and files that cannot be written.
std::optional<ModelTemplate> writeModelTemplate(const ModelInfo &info,
                                                const std::string &path,
                                                DiagnosticEngine &engine);

} // namespace parplan

#endif // PARPLAN_LIB_IMPORT_SAVE_MODELTEMPLATE_H
