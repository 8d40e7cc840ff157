//===- NodeContext.h - One node while it is imported ------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_OPERATORS_NODECONTEXT_H
#define PARPLAN_LIB_IMPORT_OPERATORS_NODECONTEXT_H

#include "lib/Import/Graph/GraphBuilder.h"

#include <string_view>

namespace onnx {
class AttributeProto;
class NodeProto;
} // namespace onnx

namespace parplan::importer {

/// What an import function sees of its node: operands as values, attributes
/// with references to those of a function resolved, the version of the
/// operator, and the builder. Everything fails with a NodeFailure.
class NodeContext {
public:
  using FindAttribute = const onnx::AttributeProto *(*)(const void *scope,
                                                        std::string_view name);

  NodeContext(GraphBuilder &builder, const onnx::NodeProto &node, int version,
              llvm::ArrayRef<ValueId> inputs, const void *scope,
              FindAttribute findAttribute)
      : builder(builder), version(version), node(node), inputs(inputs),
        scope(scope), findAttribute(findAttribute) {}

  GraphBuilder &builder;
  /// The since-version of the operator.
  const int version;

  size_t getInputCount() const { return inputs.size(); }
  bool hasInput(size_t index) const {
    return index < inputs.size() && inputs[index] != noValue;
  }
  /// An operand that must be there and be a tensor.
  ValueId getInput(size_t index) const;
  /// An operand of any kind.
  ValueId getAnyInput(size_t index) const;
  ValueId getOptionalInput(size_t index) const {
    return hasInput(index) ? getInput(index) : noValue;
  }
  /// All operands of a variadic operator.
  llvm::SmallVector<ValueId, 4> getAllInputs() const;
  const TensorSequence &getSequence(size_t index) const;
  /// The elements of an integer operand that must be constant.
  std::vector<int64_t> getKnownIntegers(size_t index,
                                        std::string_view what) const;
  int64_t getKnownInteger(size_t index, std::string_view what) const;
  /// The elements of an operand of floats that must be constant, or few
  /// weights.
  std::vector<double> getKnownReals(size_t index, std::string_view what) const;
  /// The one value of an operand that must be constant.
  Cell getKnownScalar(size_t index, std::string_view what) const;

  size_t getOutputCount() const;
  /// True if something may read the output.
  bool isOutputWanted(size_t index) const;
  void setOutput(size_t index, ValueId value);
  ValueId getOutput(size_t index) const {
    return index < outputs.size() ? outputs[index] : noValue;
  }

  const onnx::AttributeProto *getAttribute(std::string_view name) const;
  bool hasAttribute(std::string_view name) const {
    return getAttribute(name) != nullptr;
  }
  int64_t getInteger(std::string_view name, int64_t otherwise) const;
  int64_t getRequiredInteger(std::string_view name) const;
  double getReal(std::string_view name, double otherwise) const;
  std::string getText(std::string_view name, std::string_view otherwise) const;
  /// An attribute that is one of ONNX's data types.
  ElementType getElementType(std::string_view name,
                             ElementType otherwise) const;
  /// Empty if there are none.
  std::vector<std::string> getTexts(std::string_view name) const;
  std::optional<std::vector<int64_t>> getIntegers(std::string_view name) const;
  std::optional<std::vector<double>> getReals(std::string_view name) const;
  /// A tensor attribute as a constant; noValue if there is none.
  ValueId getTensor(std::string_view name) const;

private:
  const onnx::NodeProto &node;
  llvm::ArrayRef<ValueId> inputs;
  llvm::SmallVector<ValueId, 3> outputs;
  const void *scope;
  FindAttribute findAttribute;
};

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_OPERATORS_NODECONTEXT_H
