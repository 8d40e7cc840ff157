//===- Origins.h - The model's nodes behind a statement ---------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_ORIGINS_H
#define PARPLAN_PASSES_SCHEDULE_ORIGINS_H

#include "dialects/parplan/ParplanDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace parplan {

/// On exec.map and statements: indices of the ONNX nodes whose work they do,
/// ascending.
inline constexpr llvm::StringLiteral nodesName = "exec.nodes";

/// Writes the nodes of `origins` on `op`.
inline void setOrigins(mlir::Operation *op,
                       llvm::ArrayRef<mlir::Operation *> origins) {
  llvm::SmallVector<int64_t> nodes;
  for (mlir::Operation *origin : origins) {
    if (auto node = origin->getAttrOfType<mlir::IntegerAttr>(attributes::node))
      nodes.push_back(node.getInt());
    if (auto list = origin->getAttrOfType<mlir::DenseI64ArrayAttr>(nodesName))
      nodes.append(list.asArrayRef().begin(), list.asArrayRef().end());
  }
  llvm::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  if (!nodes.empty())
    op->setAttr(nodesName,
                mlir::DenseI64ArrayAttr::get(op->getContext(), nodes));
}

/// Copies the ONNX node that an op comes from, and not where its blocks lie.
inline void copyNode(mlir::Operation *from, mlir::Operation *to) {
  if (mlir::Attribute node = from->getAttr(attributes::node))
    to->setAttr(attributes::node, node);
}

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_ORIGINS_H
