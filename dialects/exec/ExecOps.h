//===- ExecOps.h - Operations of the exec dialect ---------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_EXEC_EXECOPS_H
#define PARPLAN_DIALECTS_EXEC_EXECOPS_H

#include "dialects/exec/Ranks.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace parplan::exec {
class ProgramOp;

/// The stream of a launch: the host's where a buffer that it takes is there.
StreamKind getLaunchStream(mlir::Operation *statement);
/// Checks E19's and E20's tiers.
llvm::LogicalResult verifyTiers(mlir::Operation *statement);
/// Checks E24 of the choices that a statement takes.
llvm::LogicalResult verifyChoices(mlir::Operation *statement);

/// The bytes that element type takes in a buffer.
int64_t getStorageBytes(mlir::Type elementType);
/// Floats of 16 bits: stored so, computed as f32.
inline bool isNarrow(mlir::Type elementType) {
  return elementType.isBF16() || elementType.isF16();
}
} // namespace parplan::exec

#include "dialects/exec/ExecInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.h.inc"

#include "parplan_runtime/expert_shapes.h"

namespace parplan::exec {

/// The programs of a module, by position.
llvm::SmallVector<ProgramOp> getPrograms(mlir::ModuleOp module);

/// The arrays, buffers or views, of which an operand of a statement is one on
/// each rank: itself, or both of a choice.
llvm::SmallVector<mlir::Value, 2> getArrays(mlir::Value operand);
/// Which of them it is on a member of a communicator; the operand where that
/// does not tell.
mlir::Value getArrayOn(MemberAttr member, mlir::Value operand);
/// The buffer that an array is, or is a view of; null for anything else.
BufferOp getBuffer(mlir::Value array);
/// Where in the arena an array starts, in bytes.
int64_t getArenaOffset(mlir::Value array);
/// Whether two values are the same bytes of one buffer.
bool isSameArray(mlir::Value left, mlir::Value right);
inline BufferType getBufferType(mlir::Value operand) {
  return mlir::cast<BufferType>(operand.getType());
}

/// Bytes of the arena of a tier.
struct ByteRange {
  int64_t offset = 0;
  int64_t end = 0;
  Tier tier = Tier::device;

  bool meets(const ByteRange &other) const {
    return tier == other.tier && offset < other.end && other.offset < end;
  }
};
/// The bytes of an array.
ByteRange getByteRange(mlir::Value array);
/// The tier of an operand of a statement; the device for anything else.
Tier getTier(mlir::Value operand);

/// What some ranks do with an array.
struct Access {
  mlir::Value array;
  Ranks ranks;
  bool writes = false;
};
/// All that a statement does, reads before writes. The arrays of a choice are
/// accessed by the ranks that have them, and by none where these take no part.
llvm::SmallVector<Access> getAccesses(StatementOpInterface statement);

/// The shapes that the runtime's kernels take, for their workspace formulas.
/// Of adjoints it is the shape of the convolution that they belong to.
template <typename Convolution>
runtime::ConvolutionShape getRuntimeShape(Convolution op) {
  runtime::ConvolutionShape shape = {};
  shape.batch = op.getBatch();
  shape.inChannels = op.getInChannels();
  shape.outChannels = op.getOutChannels();
  shape.groups = op.getGroups();
  shape.spatialRank = static_cast<int32_t>(op.getIn().size());
  for (int32_t d = 0; d < shape.spatialRank; ++d) {
    shape.in[d] = op.getIn()[d];
    shape.out[d] = op.getOut()[d];
    shape.kernel[d] = op.getWindow()[d];
    shape.stride[d] = op.getStrides()[d];
    shape.dilation[d] = op.getDilations()[d];
    shape.padLow[d] = op.getPadsLow()[d];
  }
  return shape;
}
/// Without the numbers that differ between ranks.
runtime::AttentionShape getRuntimeShape(AttentionOp op);
runtime::AttentionShape getRuntimeShape(AttentionGradientOp op);
runtime::ExpertProductShape getRuntimeShape(MoeMatmulOp op);

} // namespace parplan::exec

#endif // PARPLAN_DIALECTS_EXEC_EXECOPS_H
