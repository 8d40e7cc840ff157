//===- Scope.h - The names that a node may read -----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_IMPORT_SWEEP_SCOPE_H
#define PARPLAN_LIB_IMPORT_SWEEP_SCOPE_H

#include "lib/Import/Graph/Graph.h"

#include "onnx/onnx_pb.h"

#include <map>
#include <string_view>

namespace parplan::importer {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Opsets = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;

/// A function has no parent; the graph of a condition or a loop has the graph
/// around it.
struct Scope {
  Scope *parent = nullptr;
  /// noValue: an optional input of a function that its caller leaves out.
  llvm::DenseMap<llvm::StringRef, ValueId> names;
  const Opsets *opsets = nullptr;
  /// Attributes of the call, by name, and the function's defaults.
  std::map<std::string_view, const onnx::AttributeProto *> attributes;
  bool isMain = false;

  /// Of a graph inside of this one's.
  Scope makeInner() {
    Scope inner;
    inner.parent = this;
    inner.opsets = opsets;
    return inner;
  }

  /// None if nothing defines the name.
  std::optional<ValueId> find(llvm::StringRef name) const {
    for (const Scope *scope = this; scope; scope = scope->parent)
      if (auto found = scope->names.find(name); found != scope->names.end())
        return found->second;
    return std::nullopt;
  }

  /// 0 if the domain is not imported.
  int getOpset(std::string_view domain) const {
    bool isDefault = domain.empty() || domain == "ai.onnx";
    for (const onnx::OperatorSetIdProto &opset : *opsets)
      if (opset.domain() == domain ||
          (isDefault &&
           (opset.domain().empty() || opset.domain() == "ai.onnx")))
        return int(opset.version());
    return 0;
  }

  /// An attribute of the call of the function around; for NodeContext.
  static const onnx::AttributeProto *findAttribute(const void *scope,
                                                   std::string_view name) {
    for (auto place = static_cast<const Scope *>(scope); place;
         place = place->parent)
      if (auto found = place->attributes.find(name);
          found != place->attributes.end())
        return found->second;
    return nullptr;
  }
};

} // namespace parplan::importer

#endif // PARPLAN_LIB_IMPORT_SWEEP_SCOPE_H
