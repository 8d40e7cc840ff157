//===- OperatorTable.h - The operators that can be imported -----*- C++ -*-===//
//
// Part of parplan.
//
// An entry stands for the versions of an operator that one function imports;
// the versions are all since-versions that ONNX's schemas have for it from
// opset 7 on (a test compares). So an operator that a newer ONNX changes is
// refused until someone looked at the change.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_OPERATORS_OPERATORTABLE_H
#define PARPLAN_LIB_IMPORT_OPERATORS_OPERATORTABLE_H

#include "lib/Import/Operators/NodeContext.h"

namespace parplan::importer {

using ImportFunction = void (*)(NodeContext &);

enum class Support : uint8_t {
  /// Computed when the model is imported; nothing is left of it.
  folded,
  /// One op of the dialect.
  direct,
  /// Several ops of the dialect.
  lowered,
};

struct OperatorEntry {
  const char *type;
  std::initializer_list<int> versions;
  Support support;
  /// Null for control flow, which the sweep enters itself.
  ImportFunction import;
  /// For `parplan ops`: into what, or with what limits.
  const char *note = "";
};

struct OperatorMatch {
  const OperatorEntry *entry = nullptr;
  /// The since-version that holds for the opset; 0 if the operator is younger.
  int sinceVersion = 0;
};

/// Finds the entry for an operator of the default domain. `entry` is null if
/// there is none at all.
OperatorMatch findOperator(std::string_view type, int opset);

/// Of operators that are one op of one operand.
template <OpKind kind> void importUnary(NodeContext &node) {
  node.setOutput(0, node.builder.unary(kind, node.getInput(0)));
}

/// All entries, for tests and documentation.
std::vector<const OperatorEntry *> getOperators();

// Families, one file each, and control flow.
llvm::ArrayRef<OperatorEntry> getControlFlowOperators();
llvm::ArrayRef<OperatorEntry> getElementwiseOperators();
llvm::ArrayRef<OperatorEntry> getActivationOperators();
llvm::ArrayRef<OperatorEntry> getConstantOperators();
llvm::ArrayRef<OperatorEntry> getShapeOperators();
llvm::ArrayRef<OperatorEntry> getRearrangementOperators();
llvm::ArrayRef<OperatorEntry> getSliceOperators();
llvm::ArrayRef<OperatorEntry> getPadOperators();
llvm::ArrayRef<OperatorEntry> getSequenceOperators();
llvm::ArrayRef<OperatorEntry> getIndexingOperators();
llvm::ArrayRef<OperatorEntry> getExtremeOperators();
llvm::ArrayRef<OperatorEntry> getScatterOperators();
llvm::ArrayRef<OperatorEntry> getReductionOperators();
llvm::ArrayRef<OperatorEntry> getProductOperators();
llvm::ArrayRef<OperatorEntry> getEinsumOperators();
llvm::ArrayRef<OperatorEntry> getConvolutionOperators();
llvm::ArrayRef<OperatorEntry> getPoolOperators();
llvm::ArrayRef<OperatorEntry> getResizeOperators();
llvm::ArrayRef<OperatorEntry> getSamplingOperators();
llvm::ArrayRef<OperatorEntry> getSpectrumOperators();
llvm::ArrayRef<OperatorEntry> getNormalizationOperators();
llvm::ArrayRef<OperatorEntry> getAttentionOperators();
llvm::ArrayRef<OperatorEntry> getLossOperators();
llvm::ArrayRef<OperatorEntry> getRecurrentOperators();
llvm::ArrayRef<OperatorEntry> getQuantizationOperators();
llvm::ArrayRef<OperatorEntry> getQuantizedProductOperators();
llvm::ArrayRef<OperatorEntry> getSelectionOperators();

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_OPERATORS_OPERATORTABLE_H
