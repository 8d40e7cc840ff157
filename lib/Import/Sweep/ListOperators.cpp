//===- ListOperators.cpp - How each operator is supported ------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Load/LoadedModel.h"
#include "lib/Import/ModelInfo.h"
#include "lib/Import/Operators/OperatorTable.h"
#include "lib/Import/Sweep/SchemaBodies.h"
#include "lib/Import/Sweep/Scope.h"
#include "lib/Import/Sweep/Sweep.h"

#include "parplan/Support/DiagnosticCodes.h"

#include "onnx/onnx_pb.h"

#include <algorithm>
#include <set>

namespace parplan {

using namespace importer;

namespace {
class OperatorLister {
public:
  explicit OperatorLister(const onnx::ModelProto &model) : model(model) {
    for (const onnx::FunctionProto &function : model.functions())
      functions.insert({function.domain(), function.name()});
  }

  std::vector<OperatorUse> list() {
    addNodes(model.graph().node(), model.opset_import());
    for (const onnx::FunctionProto &function : model.functions())
      addNodes(function.node(), function.opset_import());
    std::vector<OperatorUse> uses;
    for (auto &[key, use] : found)
      uses.push_back(std::move(use));
    return uses;
  }

private:
  void addNodes(const Nodes &nodes, const Opsets &opsets) {
    for (const onnx::NodeProto &node : nodes) {
      describe(node, opsets);
      for (const onnx::AttributeProto &attribute : node.attribute()) {
        if (attribute.has_g())
          addNodes(attribute.g().node(), opsets);
        for (const onnx::GraphProto &graph : attribute.graphs())
          addNodes(graph.node(), opsets);
      }
    }
  }

  void describe(const onnx::NodeProto &node, const Opsets &opsets) {
    bool isDefault = node.domain().empty() || node.domain() == "ai.onnx";
    std::string domain = isDefault ? "" : node.domain();
    Scope scope;
    scope.opsets = &opsets;
    int opset = scope.getOpset(domain);
    OperatorUse &use = found[{domain, node.op_type(), opset}];
    if (use.count++ > 0)
      return;
    use.domain = domain;
    use.type = node.op_type();
    if (functions.count({node.domain(), node.op_type()})) {
      use.support = "function";
      use.note = "expanded where it is called";
      return;
    }
    OperatorMatch match;
    if (isDefault)
      match = findOperator(node.op_type(), opset);
    if (!match.entry && hasSchemaBody(node, opset)) {
      use.sinceVersion = opset;
      use.support = "expanded";
      use.note = "into the operators that ONNX defines it by";
      return;
    }
    use.support = "unsupported";
    if (!isDefault) {
      use.note = "operators of this domain are not supported";
      return;
    }
    use.sinceVersion = match.sinceVersion;
    if (!match.entry) {
      use.note = "no such operator is known";
    } else if (match.sinceVersion == 0) {
      use.note = concat("not in opset ", opset);
    } else {
      static const char *const names[] = {"folded", "direct", "lowered"};
      use.support = names[int(match.entry->support)];
      use.note = match.entry->note;
    }
  }

  const onnx::ModelProto &model;
  std::set<std::pair<std::string, std::string>> functions;
  std::map<std::tuple<std::string, std::string, int>, OperatorUse> found;
};
} // namespace

std::optional<OperatorReport> listOperators(const ImportOptions &options,
                                            DiagnosticEngine &diagnostics) {
  LoadedModel model;
  model.path = options.path;
  if (!model.load(diagnostics) || !guardModel(model, diagnostics))
    return std::nullopt;
  OperatorReport report;
  report.nodes = int64_t(model.filtered.nodes.size());
  report.operators = OperatorLister(model.getModel()).list();
  SweepOptions sweepOptions;
  sweepOptions.dims = options.dims;
  sweepOptions.globalBatch = options.globalBatch;
  sweepModel(model, sweepOptions, report.problems);
  // Sizes that were not given are no problem of the operators.
  const std::deque<Diagnostic> &problems = report.problems.getDiagnostics();
  if (std::any_of(
          problems.begin(), problems.end(), [](const Diagnostic &problem) {
            return problem.code.number == codes::unboundDimension.number;
          }))
    report.problems.clear();
  return report;
}

} // namespace parplan
