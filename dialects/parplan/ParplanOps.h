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

  /// The letter that all three tensors have; 0 where it is not one.
  char findCommon() const;
};

/// How rows of tokens lie: experts in groups of `experts`, one behind the
/// other, and of a token `rows` in each, for its experts there.
struct ExpertGroups {
  int64_t experts = 1, rows = 1;

  /// [experts, rows]; every expert has a row if absent, or no such pair, which
  /// verifiers refuse.
  static ExpertGroups read(std::optional<llvm::ArrayRef<int64_t>> groups);
  /// Null where every expert has a row.
  mlir::DenseI64ArrayAttr write(mlir::MLIRContext *context) const;

  /// How many experts so many rows are of.
  int64_t countExperts(int64_t rowCount) const {
    return rowCount / rows * experts;
  }
  bool operator==(const ExpertGroups &) const = default;
};

/// The rows of a product that count: of tokens, which the letters `tokens`
/// name, and of the experts that these have. `tokens` is a view.
struct ExpertRows {
  mlir::Value experts;
  /// Null where experts count from 0.
  mlir::Value first;
  llvm::StringRef tokens;
  /// Of all ranks.
  int64_t expertCount;
  ExpertGroups groups = {};

  /// Of the rows, those that count if tokens are spread evenly over experts.
  double getShare() const;
  /// Of experts, in a tensor of so named dimensions: rows of a group where it
  /// has tokens, else experts.
  int64_t getGroupSize(llvm::StringRef letters) const;
  /// Whether a product of the letters `spec` sums over tokens.
  bool areSummed(const MatmulSpec &spec) const;
  /// Whether `lhs` has one number a row, and an expert a vector of the others,
  /// as a bias is.
  bool areOfVectors(const MatmulSpec &spec,
                    llvm::ArrayRef<int64_t> lhsShape) const;
  /// The experts of the product: of the rank, after localisation.
  int64_t countExperts(const MatmulSpec &spec,
                       llvm::ArrayRef<int64_t> lhsShape) const;
};

/// Whether the op depends on the numbers of experts: the numbered factor of its
/// rule.
bool dependsOnExperts(mlir::Operation *op);

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
