//===- ParplanOps.h - Operations of the parplan dialect ---------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_PARPLANOPS_H
#define PARPLAN_DIALECTS_PARPLAN_PARPLANOPS_H

#include "dialects/parplan/ParplanDialect.h"

#include "parplan/CostModel/Collective.h"
#include "parplan/CostModel/OpCost.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace parplan {

class GradientBuilder;

/// An elementwise op with f(0) = 0.
template <typename ConcreteOp>
class MapsZeroToZero
    : public mlir::OpTrait::TraitBase<ConcreteOp, MapsZeroToZero> {};

/// The cost of `op`, which implements CostOpInterface, on a device that holds
/// `localFactorSizes` of its factors.
OpCost evaluateWork(mlir::Operation *op,
                    llvm::ArrayRef<int64_t> localFactorSizes);

/// The letters of a matmul spec "bsk,kn->bsn", split; views into `spec`.
struct MatmulSpec {
  llvm::StringRef lhs, rhs, result;

  /// Fails on a text that is not of this form, and on repeated letters.
  static mlir::FailureOr<MatmulSpec> parse(llvm::StringRef spec);
};

/// Bytes of one element; an i1 takes one.
int64_t getElementBytes(mlir::Type type);

} // namespace parplan

#include "dialects/parplan/ParplanInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/parplan/ParplanOps.h.inc"

namespace parplan {

/// True for what is made again with every upload of the parameter that it
/// reads: it costs little, and must not outlive the upload.
inline bool isMadePerUpload(mlir::Operation *op) {
  return mlir::isa<ReshapeOp, CastOp, UnpackOp>(op);
}

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_PARPLANOPS_H
