//===- NodeSweep.h - Imports the nodes of graphs and functions --*- C++ -*-===//
//
// Part of parplan.
//
// Calls of functions, branches of known conditions and the passes of loops of
// known length are entered where they stand. Each node that is entered counts,
// so that a loop is no longer than a model may be.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_SWEEP_NODESWEEP_H
#define PARPLAN_LIB_IMPORT_SWEEP_NODESWEEP_H

#include "lib/Import/Load/Limits.h"
#include "lib/Import/Load/LoadedModel.h"
#include "lib/Import/Operators/OperatorTable.h"
#include "lib/Import/Sweep/ListedRows.h"
#include "lib/Import/Sweep/Scope.h"

namespace parplan::importer {

class NodeSweep {
public:
  NodeSweep(const LoadedModel &model, GraphBuilder &builder,
            DiagnosticEngine &diagnostics);

  /// Gives a name to a value; reports a second one.
  void define(std::string_view name, ValueId value, Scope &scope);
  /// The nodes of the main graph. Returns for each whether it left no op.
  std::vector<bool> importMain(const Nodes &nodes, Scope &scope);
  /// Looks for unsupported operators only.
  void reportUnsupported(const Nodes &nodes, const Scope &scope);
  /// True if the size of a value of the main graph is not known.
  bool hasUnknownSize(const std::string &name) const {
    return rows.contains(name);
  }

private:
  using ValueList = llvm::SmallVector<ValueId, 4>;

  /// An operator as it was found; at most one of the two.
  struct Operator {
    const onnx::FunctionProto *function = nullptr;
    OperatorMatch match;
  };

  Location locate() const;
  /// An error at the node of the main graph, which a user finds in the file,
  /// with the node inside of it that is the cause.
  DiagnosticBuilder report(const DiagnosticCode &code);
  ValueId poison();
  const onnx::FunctionProto *findFunction(const onnx::NodeProto &node) const;
  /// Says what a node is not supported for; true if it did.
  bool reportIfUnsupported(const onnx::NodeProto &node, const Scope &scope,
                           Operator &found);

  void importNodes(const Nodes &nodes, Scope &scope);
  void importNode(const onnx::NodeProto &node, Scope &scope);
  /// Counts a node, or a pass of a loop, against the limit of the model.
  void spendNode();
  ValueList enterNode(const onnx::NodeProto &node, const Operator &found,
                      llvm::ArrayRef<ValueId> inputs, Scope &scope);
  bool readsListedRows(const onnx::NodeProto &node, const Scope &scope) const;
  ValueList importOperator(const onnx::NodeProto &node,
                           const OperatorMatch &match,
                           llvm::ArrayRef<ValueId> given, const Scope &scope);
  ValueList callFunction(const onnx::NodeProto &node,
                         const onnx::FunctionProto &function,
                         llvm::ArrayRef<ValueId> inputs, const Scope &caller);
  /// An operator that ONNX defines by others.
  ValueList callSchemaBody(const onnx::NodeProto &node,
                           llvm::ArrayRef<ValueId> inputs, const Scope &caller);

  // Control flow (ControlFlow.cpp).
  ValueList importCondition(const onnx::NodeProto &node,
                            llvm::ArrayRef<ValueId> inputs, Scope &outer);
  ValueList importLoop(const onnx::NodeProto &node,
                       llvm::ArrayRef<ValueId> inputs, Scope &outer);
  ValueList importScan(const onnx::NodeProto &node, int version,
                       llvm::ArrayRef<ValueId> inputs, Scope &outer);
  ValueList scanOnce(const onnx::NodeProto &node, const onnx::GraphProto &body,
                     llvm::ArrayRef<ValueId> states,
                     llvm::ArrayRef<ValueId> scanned, Scope &outer);
  const onnx::GraphProto &getGraph(const NodeContext &context,
                                   std::string_view name) const;
  void defineInitializers(const onnx::GraphProto &graph, Scope &scope);
  /// The outputs of a nested graph whose inputs are `inputs`.
  ValueList enterGraph(const onnx::GraphProto &graph,
                       llvm::ArrayRef<ValueId> inputs, Scope &outer);

  const LoadedModel &model;
  GraphBuilder &builder;
  DiagnosticEngine &diagnostics;
  ListedRows rows;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>,
           const onnx::FunctionProto *>
      functions;
  const onnx::NodeProto *current = nullptr;
  ValueId poisonValue = noValue;
  /// Negative once the limit was passed, and that reported.
  int64_t nodeBudget = limits::nodes;
  int depth = 0;
};

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_SWEEP_NODESWEEP_H
