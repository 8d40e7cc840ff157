//===- ModelInfo.h - What else is known about a model -----------*- C++ -*-===//
//
// Part of parplan. Needs no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_MODELINFO_H
#define PARPLAN_LIB_IMPORT_MODELINFO_H

#include "parplan/Support/Diagnostics.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parplan {

namespace importer {
class LoadedModel;
}

struct ImportOptions {
  std::string path;
  /// Sizes of symbolic dimensions by name.
  std::map<std::string, int64_t, std::less<>> dims = {};
  /// Binds a symbolic batch; with a fixed batch B it must be a multiple of B.
  std::optional<int64_t> globalBatch = std::nullopt;
  /// For how many samples the module is made, of so many that a symbolic batch
  /// is bound to; without it, for all.
  std::function<int64_t(int64_t)> chooseSamples = nullptr;
  /// Files of weights must exist and be long enough. Without it they are never
  /// opened, except for small integers that shapes may depend on.
  bool needWeights = false;
};

/// What the exporter said about an initializer.
enum class ParameterMark : uint8_t { none, parameter, buffer };

/// Keeps the model file mapped, so that names are read when they are asked for.
class ModelInfo {
public:
  explicit ModelInfo(std::shared_ptr<const importer::LoadedModel> model);

  const std::string &getPath() const;
  /// Nodes of the main graph.
  size_t getNodeCount() const;
  /// The name of a node, or its first output if it has none.
  std::string getNodeName(size_t node) const;
  /// ONNX operator of a node.
  std::string getNodeOperator(size_t node) const;
  /// For a node that looks up embeddings: the id whose row is not trained.
  std::optional<int64_t> getPaddingId(size_t node) const;
  /// `model.onnx: node 412 '/h.3/mlp/MatMul' (MatMul)`.
  Location locateNode(size_t node) const;
  /// Of the whole file; reads all of it.
  std::string computeSha256() const;
  ParameterMark getMark(std::string_view initializer) const;
  /// The file as the importer has it; for what writes it again.
  const importer::LoadedModel &getLoadedModel() const { return *model; }

  /// Elements of the initializers that the program reads as parameters.
  int64_t parameterCount = 0;
  std::vector<std::string> inputNames;
  std::vector<std::string> outputNames;
  /// The batch that the module is made for: the first dimension of the inputs
  /// with the attribute `parplan.batch`. None if no input has a dimension.
  std::optional<int64_t> batch;
  /// The name of a symbolic batch; empty for a fixed one.
  std::string batchSymbol;
  /// Symbols of the dimensions of inputs and outputs.
  std::vector<std::string> symbols;

private:
  std::shared_ptr<const importer::LoadedModel> model;
};

/// How one operator of a model is supported.
struct OperatorUse {
  std::string domain;
  std::string type;
  /// The version that holds for the model's opset; 0 if it is not known.
  int sinceVersion = 0;
  int64_t count = 0;
  /// "folded", "direct", "lowered", "function", "expanded" or "unsupported".
  std::string support;
  /// Into what, with what limits, or why not.
  std::string note;
};

struct OperatorReport {
  std::vector<OperatorUse> operators;
  int64_t nodes = 0;
  /// What an import with the same options says about single nodes; empty if
  /// dimensions are missing.
  DiagnosticEngine problems;
};

/// Lists every operator of a model, of its functions and of nested graphs,
/// sorted by domain and type. Symbolic dimensions may be unbound. Returns
/// nothing after reporting that the file is no model.
std::optional<OperatorReport> listOperators(const ImportOptions &options,
                                            DiagnosticEngine &diagnostics);

} // namespace parplan

#endif // PARPLAN_LIB_IMPORT_MODELINFO_H
