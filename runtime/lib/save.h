//===- save.h - The trained model as a file -------------------------------===//

#ifndef PARPLAN_RUNTIME_LIB_SAVE_H
#define PARPLAN_RUNTIME_LIB_SAVE_H

#include "variables.h"

#include <string>
#include <vector>

namespace parplan {
namespace runtime {

/// Whether a file of this name holds the whole model, not only its weights.
bool savesOnnx(const std::string &path);

/// Writes all initializers of the model, under their names and in the model's
/// types, as .onnx or .safetensors by the suffix of `path`; the file appears
/// whole or not at all. Trained ones are collected from the ranks, others come
/// from the template. Fails with 65 when a trained value is not finite.
/// Collective.
void saveModel(EngineRank &rank, World &world,
               const std::vector<Variable> &variables, const std::string &path,
               const std::string &templateFile, const std::string &weightsFile);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_LIB_SAVE_H
