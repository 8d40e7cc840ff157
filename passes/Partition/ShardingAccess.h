//===- ShardingAccess.h - Shardings of a module's values --------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PARTITION_SHARDINGACCESS_H
#define PARPLAN_PASSES_PARTITION_SHARDINGACCESS_H

#include "dialects/parplan/ParplanDialect.h"
#include "parplan/Sharding/OpRole.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

namespace parplan {

/// Reads and writes the sharding attributes of one module, as values of the
/// sharding library. Reading reports, at the op concerned, what is missing;
/// that what is there fits the mesh is the dialect's to verify.
class ShardingAccess {
public:
  /// Fails, with a diagnostic, on a module without exactly one mesh.
  static mlir::FailureOr<ShardingAccess> create(mlir::ModuleOp module);

  const Mesh &getMesh() const { return mesh; }

  /// Where `value` lies, by the attributes of the op or argument it comes from.
  mlir::FailureOr<Sharding> getSharding(mlir::Value value) const;
  /// Where a function must leave its result `index`.
  mlir::FailureOr<Sharding> getResultSharding(mlir::func::FuncOp function,
                                              unsigned index) const;
  /// The decision for `op`.
  mlir::FailureOr<FactorAssignment>
  getAssignment(mlir::Operation *op, const ShardingRule &rule) const;

  void setShardings(mlir::Operation *op,
                    llvm::ArrayRef<Sharding> shardings) const;
  void setAssignment(mlir::Operation *op, const ShardingRule &rule,
                     const FactorAssignment &assignment) const;

  ShardingAttr getAttr(const Sharding &sharding) const;
  AxisListAttr getAttr(llvm::ArrayRef<int> axes) const;
  /// The axes of an attribute that the dialect has verified.
  AxisList getAxes(AxisListAttr axes) const;

  /// The block of one rank (S3), flat where it is kept in pieces (S6).
  mlir::RankedTensorType getLocalType(mlir::RankedTensorType global,
                                      const Sharding &sharding) const;

private:
  ShardingAccess(Mesh mesh, mlir::FlatSymbolRefAttr symbol)
      : mesh(std::move(mesh)), symbol(symbol) {}

  Mesh mesh;
  mlir::FlatSymbolRefAttr symbol;
};

/// Parameters, constants, iotas and masks: they have no operands and can be
/// made in any layout.
bool isSource(mlir::Operation *op);

/// True where `op` runs once per micro-batch and not once per step.
bool isPerMicroBatch(mlir::Operation *op);

/// What `op` reads, as far as it decides which copies it shares with others.
CopyReader getReader(mlir::Operation *op);

/// Copies what says where an op comes from and when it runs: block, ONNX node,
/// role, group, stage, whether it runs per micro-batch and is made again.
void copyOrigin(mlir::Operation *from, mlir::Operation *to);
/// What stays says what an op does.
void removeOrigin(mlir::NamedAttrList &list);

} // namespace parplan

#endif // PARPLAN_PASSES_PARTITION_SHARDINGACCESS_H
