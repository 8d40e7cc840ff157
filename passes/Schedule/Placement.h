//===- Placement.h - The program under construction -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_SCHEDULE_PLACEMENT_H
#define PARPLAN_PASSES_SCHEDULE_PLACEMENT_H

#include "dialects/exec/ExecOps.h"
#include "dialects/parplan/ParplanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace parplan {

class PlanCosts;

/// An `exec.program` to which statements are appended. Buffers get offsets when
/// all statements are there.
class Placement {
public:
  /// Creates an empty program behind everything in `module`.
  Placement(mlir::ModuleOp module, llvm::StringRef name, MeshAttr mesh,
            mlir::IntegerAttr position = {});

  exec::ProgramOp getProgram() const { return program; }
  const Mesh &getMesh() const { return mesh; }

  /// Appends to the statements.
  mlir::OpBuilder &getStatements() { return statements; }

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  /// The buffer that holds `tensor`, in the tier of new buffers where it is in
  /// several; null where none was defined.
  mlir::Value lookup(mlir::Value tensor) const;
  void map(mlir::Value tensor, mlir::Value buffer);
  /// A new activation for `tensor`, or where it was assigned to.
  mlir::Value define(mlir::Value tensor);

  /// Lets the definition of `tensor` write to `buffer`.
  void assign(mlir::Value tensor, mlir::Value buffer) {
    assigned[tensor] = buffer;
  }
  bool isAssigned(mlir::Value tensor) const { return assigned.count(tensor); }
  /// The buffer that it was assigned to, or null.
  mlir::Value getAssigned(mlir::Value tensor) const {
    return assigned.lookup(tensor);
  }

  /// Whether `user` is the last to read the activation that holds `tensor`: it
  /// may write its result there.
  bool canReuse(mlir::Value tensor, mlir::Operation *user) const;
  /// The buffer of `operand` for `result` if it is free by then, else a new
  /// one. For statements that may write where they read.
  mlir::Value defineInPlace(mlir::Value result, mlir::Value operand);

  /// From now on new buffers lie there.
  void setTier(exec::Tier next) { tier = next; }
  /// Lets `lookup` find `buffer` while new buffers lie on the host.
  void mapOnHost(mlir::Value tensor, mlir::Value buffer) {
    onHost[tensor] = buffer;
  }

  /// Whether two arrays have bytes in common.
  static bool shareBytes(mlir::Value left, mlir::Value right);

  /// The array of `shape` that starts `offset` bytes into `buffer`.
  mlir::Value createView(mlir::Value buffer, int64_t offset,
                         llvm::ArrayRef<int64_t> shape, mlir::Type elementType);

  /// `own` on one member of each group of a communicator, `other` on the rest.
  mlir::Value createChoice(exec::MemberAttr member, mlir::Value own,
                           mlir::Value other);

  mlir::Value createActivation(llvm::ArrayRef<int64_t> shape,
                               mlir::Type elementType);
  /// Null for no bytes.
  mlir::Value createWorkspace(int64_t bytes);
  mlir::Value createInterface(exec::BufferKind kind,
                              mlir::RankedTensorType type,
                              exec::BlockAttr block);

  /// The array of a bucket of variables.
  mlir::Value createBucket(exec::BufferKind kind, mlir::RankedTensorType type,
                           exec::BucketAttr bucket);

  /// The block of `global` that `sharding` gives a rank; row-major strides
  /// unless `strides` are given.
  exec::BlockAttr getBlock(llvm::StringRef name, mlir::RankedTensorType global,
                           ShardingAttr sharding,
                           mlir::FlatSymbolRefAttr source = {},
                           int64_t offset = 0,
                           llvm::ArrayRef<int64_t> strides = {},
                           mlir::StringAttr slot = {});

  //===--------------------------------------------------------------------===//
  // Communicators
  //===--------------------------------------------------------------------===//

  /// Ranks in a group of `axes`.
  int64_t getWidth(AxisListAttr axes) const;
  /// The communicator of `axes`, of more than one rank, for one stream.
  mlir::FlatSymbolRefAttr
  getCommunicator(AxisListAttr axes,
                  exec::StreamKind stream = exec::StreamKind::communication);

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  struct Memory {
    exec::Tier tier = exec::Tier::device;
    int64_t peak = 0;
    int64_t lowerBound = 0;
  };
  /// Gives every buffer its live range and offset and the program its arenas:
  /// the device's, and those of other tiers with buffers. Erases buffers that
  /// no statement uses, but for interfaces. `costs` say when calls are done,
  /// `looks` how long each arena is packed (`packArena`).
  llvm::SmallVector<Memory> placeBuffers(const PlanCosts &costs, int64_t looks);

private:
  mlir::Value createBuffer(exec::BufferKind kind, llvm::ArrayRef<int64_t> shape,
                           mlir::Type type, exec::BlockAttr block);

  /// Makes `declarations` insert behind the last of them.
  void declareNext();

  mlir::MLIRContext *context;
  Mesh mesh;
  exec::ProgramOp program;
  mlir::OpBuilder declarations;
  mlir::Operation *lastDeclaration = nullptr;
  mlir::Operation *lastCommunicator = nullptr;
  mlir::OpBuilder statements;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  /// The tensors that were mapped to a buffer or to views of it.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>> holders;
  llvm::DenseMap<mlir::Value, mlir::Value> assigned;
  llvm::DenseMap<mlir::Value, mlir::Value> onHost;
  exec::Tier tier = exec::Tier::device;
  llvm::DenseMap<std::pair<AxisListAttr, int>, mlir::FlatSymbolRefAttr>
      communicators;
};

/// Appends the statements of ops that a kernel of the runtime carries out, and
/// defines their results. Fails, with a diagnostic, on an op that has none.
llvm::LogicalResult lowerLaunch(mlir::Operation *op, Placement &placement);

/// Appends the statements of a collective or of a view of bytes.
llvm::LogicalResult lowerMove(mlir::Operation *op, Placement &placement);

/// Appends a send, or a receive into a buffer of its own.
llvm::LogicalResult lowerMessage(mlir::Operation *op, Placement &placement);
/// True for the first of two messages that are issued together.
bool isIssuedWithNext(mlir::Operation *statement);

/// Where a parameter or state rests.
exec::Tier getRestingTier(mlir::Operation *parameter);
/// Appends a copy to another tier.
llvm::LogicalResult lowerTransfer(TransferOp op, Placement &placement);

/// Appends the loop over panels of a product, unrolled, and defines its result.
llvm::LogicalResult lowerPanels(PanelMatmulOp op, Placement &placement);

/// Appends the statements of an attention or of its gradient.
llvm::LogicalResult lowerAttention(mlir::Operation *op, Placement &placement);

/// Appends the hops of an attention or a gradient in a ring, unrolled.
llvm::LogicalResult lowerRing(mlir::Operation *op, Placement &placement);

/// Lets operands of `parplan.pack` be made inside of their buckets, where they
/// serve nothing else. Kernels are in the program by then.
void assignPacks(mlir::func::FuncOp function, Placement &placement);
/// Appends what completes a bucket, and defines it.
void lowerPack(PackOp op, Placement &placement);
/// Defines the results as views of the bucket.
void lowerUnpack(UnpackOp op, Placement &placement);
/// Defines a bucket of parameters or states.
void defineBucket(BucketParameterOp op, Placement &placement);

/// Appends a copy of all of `from` to `to`, which may be in another tier.
void copyBuffer(mlir::Location location, mlir::Value from, mlir::Value to,
                Placement &placement);

/// Inserts records and waits where a statement touches bytes that another
/// stream writes, or writes bytes that another stream touches.
void placeEvents(exec::ProgramOp program);

} // namespace parplan

#endif // PARPLAN_PASSES_SCHEDULE_PLACEMENT_H
