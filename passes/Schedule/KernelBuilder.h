//===- KernelBuilder.h - Scalar code of fused elementwise ops ---*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_KERNELBUILDER_H
#define PARPLAN_PASSES_SCHEDULE_KERNELBUILDER_H

#include "passes/Schedule/FusableOps.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <map>

namespace parplan {

/// An index of one dimension of a tensor: affine in the indices of the kernel's
/// space and in its scalar arguments.
struct AffineIndex {
  int64_t constant = 0;
  llvm::SmallVector<int64_t, 4> coefficients;
  /// (number of the scalar, factor), ascending.
  llvm::SmallVector<std::pair<unsigned, int64_t>, 1> scalars;
};
using IndexMap = llvm::SmallVector<AffineIndex, 4>;

/// Builds the body of one kernel. Values of ops in `inlined` are computed,
/// other values are loaded.
class KernelBuilder {
public:
  KernelBuilder(mlir::OpBuilder &builder, mlir::Location location,
                llvm::ArrayRef<int64_t> space,
                const llvm::DenseSet<mlir::Operation *> &inlined);

  /// The indices of the space as the indices of a tensor of that shape.
  IndexMap getIdentity() const;

  /// The element of `value` at `map`, computed or loaded. `guard` is a
  /// condition outside of which loads would leave their tensor; null where
  /// there is none.
  mlir::Value evaluate(mlir::Value value, const IndexMap &map,
                       mlir::Value guard = nullptr);

  /// The element that `op` computes at `map`, whether or not it is in
  /// `inlined`.
  mlir::Value compute(mlir::Operation *op, const IndexMap &map,
                      mlir::Value guard);

  void store(mlir::Value scalar, int64_t offset,
             llvm::ArrayRef<int64_t> strides);

  mlir::Value apply(exec::ScalarFunction function, mlir::ValueRange operands,
                    mlir::Type result);

  /// Drops dimensions of size 1 and joins neighbours that every access crosses
  /// in one stride, and names the kernel's output type.
  exec::KernelOp finish(mlir::Type output);

  llvm::ArrayRef<mlir::Value> getInputs() const { return inputs.getArrayRef(); }
  llvm::ArrayRef<mlir::Attribute> getScalars() const {
    return scalars.getArrayRef();
  }
  /// Ops whose work is in the kernel.
  llvm::ArrayRef<mlir::Operation *> getOrigins() const {
    return origins.getArrayRef();
  }

private:
  mlir::Value load(mlir::Value value, const IndexMap &map, mlir::Value guard);
  mlir::Value materialise(const AffineIndex &index);
  mlir::Value literal(mlir::TypedAttr value);
  mlir::Value literal(mlir::Type type, double value);
  mlir::Value getScalar(exec::RankValueKind kind, int64_t size,
                        AxisListAttr axes);
  unsigned getScalarNumber(exec::RankValueKind kind, int64_t size,
                           AxisListAttr axes);
  mlir::Value conjunction(mlir::Value left, mlir::Value right);
  mlir::Value less(mlir::Value left, mlir::Value right);

  IndexMap broadcastMap(const IndexMap &map, mlir::Value operand) const;
  mlir::Value computeElementwise(mlir::Operation *op, const IndexMap &map,
                                 mlir::Value guard);
  mlir::Value computeConstant(ConstantOp op);
  mlir::Value computeMask(AffineMaskOp op, const IndexMap &map);
  mlir::Value computeSlice(SliceOp op, const IndexMap &map, mlir::Value guard);
  mlir::Value computePad(PadOp op, const IndexMap &map, mlir::Value guard);
  mlir::Value computeClearPadding(ClearPaddingOp op, const IndexMap &map,
                                  mlir::Value guard);
  mlir::Value computeShardSlice(ShardSliceOp op, const IndexMap &map,
                                mlir::Value guard);
  mlir::Value computePend(PendOp op, const IndexMap &map, mlir::Value guard);
  mlir::Value computeReshape(ReshapeOp op, const IndexMap &map,
                             mlir::Value guard);

  mlir::OpBuilder builder;
  mlir::Location location;
  const llvm::DenseSet<mlir::Operation *> &inlined;
  exec::KernelOp kernel;
  size_t rank;
  llvm::SetVector<mlir::Value> inputs;
  llvm::SetVector<mlir::Attribute> scalars;
  llvm::SetVector<mlir::Operation *> origins;
  /// Elements that exist already, by value, guard and map.
  std::map<std::vector<int64_t>, mlir::Value> known;
};

/// See KernelBuilder::finish.
void simplifySpace(exec::KernelOp kernel);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_KERNELBUILDER_H
