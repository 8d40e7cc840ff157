//===- Dims.h - Sizes for the symbols of a model ----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_SWEEP_DIMS_H
#define PARPLAN_LIB_IMPORT_SWEEP_DIMS_H

#include "parplan/Support/Diagnostics.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onnx {
class GraphProto;
class ValueInfoProto;
} // namespace onnx

namespace parplan::importer {

/// Sizes by symbol, as `--dim` gives them.
using DimBindings = std::map<std::string, int64_t, std::less<>>;

/// A dimension as an expression of symbols: names, integers, + - * / // % and
/// parentheses. Exporters write `past_length + length` or `1024*batch`.
class DimExpression {
public:
  /// None if the text is no such expression.
  static std::optional<DimExpression> parse(std::string_view text);

  /// The names in it, in order, each once.
  const std::vector<std::string> &getSymbols() const { return symbols; }

  /// The value; none if a name has no size or the arithmetic overflows or
  /// divides by zero.
  std::optional<int64_t> evaluate(const DimBindings &bindings) const;

private:
  struct Parser;
  struct Step {
    /// A number, a symbol ('s', by index) or an operator on the two values on
    /// top of the stack.
    char kind;
    int64_t number;
  };

  std::vector<std::string> symbols;
  std::vector<Step> steps;
};

/// The sizes of all inputs of a model.
struct BoundInputs {
  struct Input {
    std::string name;
    int32_t onnxType = 0;
    std::vector<int64_t> shape;
    bool hasBatch = false;
    /// What it is instead of a tensor of the dialect; nodes that read it fail.
    std::string foreign = {};
  };
  std::vector<Input> inputs;
  /// With the batch's symbol, if it has one.
  DimBindings bindings;
  /// Symbols of inputs and outputs, in order of their first use.
  std::vector<std::string> symbols;
  /// The first dimension of the inputs; none if no input has one.
  std::optional<int64_t> batch;
  std::string batchSymbol;
};

/// Gives every input of the graph a static shape. The batch is the first
/// dimension of the first input of rank one or more; the inputs that share its
/// symbol, or its size, have it too. Reports every symbol without size, every
/// binding that the model does not know, every size that cannot be.
/// A symbolic batch that has a size gets the one of `chooseSamples` in its
/// place, if there is such a function. `isInitializer` says for each input
/// whether an initializer gives its value.
std::optional<BoundInputs>
bindInputs(const onnx::GraphProto &graph, const std::string &file,
           const DimBindings &dims, std::optional<int64_t> globalBatch,
           const std::function<int64_t(int64_t)> &chooseSamples,
           const std::vector<bool> &isInitializer,
           DiagnosticEngine &diagnostics);

/// The shape that a value info declares, with -1 where it says nothing or a
/// symbol has no size. None if it declares no rank.
std::optional<std::vector<int64_t>>
readDeclaredShape(const onnx::ValueInfoProto &info,
                  const DimBindings &bindings);

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_SWEEP_DIMS_H
