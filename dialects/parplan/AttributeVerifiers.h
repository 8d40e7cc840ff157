//===- AttributeVerifiers.h - Parts of attributes' verifiers ----*- C++ -*-===//
//
// Part of parplan. Internal to dialects/parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_ATTRIBUTEVERIFIERS_H
#define PARPLAN_DIALECTS_PARPLAN_ATTRIBUTEVERIFIERS_H

#include "dialects/parplan/ParplanDialect.h"

namespace parplan {

/// Finds the mesh of an attribute, or reports that there is none.
mlir::FailureOr<MeshAttr> resolveMesh(mlir::Operation *op,
                                      llvm::StringRef attribute,
                                      mlir::FlatSymbolRefAttr symbol);

/// S1 and S2 for a value of `type`.
mlir::FailureOr<ShardingAttr> verifyShardingOf(mlir::Operation *op,
                                               llvm::StringRef name,
                                               mlir::Attribute attribute,
                                               mlir::Type type);

/// The type that all blocks of a local value have together; `type` where it is
/// global itself.
mlir::Type getTypeOfBlocks(mlir::Attribute globalType, mlir::Type type);
mlir::LogicalResult verifyGlobalType(mlir::Operation *op,
                                     mlir::NamedAttribute attribute);

/// A string that is one of `values`.
mlir::LogicalResult verifyChoice(mlir::Operation *op,
                                 mlir::NamedAttribute attribute,
                                 llvm::ArrayRef<llvm::StringRef> values);

/// An i64 that is not negative.
mlir::LogicalResult verifyNumber(mlir::Operation *op,
                                 mlir::NamedAttribute attribute);
mlir::LogicalResult verifyString(mlir::Operation *op,
                                 mlir::NamedAttribute attribute);
mlir::LogicalResult verifyUnit(mlir::Operation *op,
                               mlir::NamedAttribute attribute);

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_ATTRIBUTEVERIFIERS_H
