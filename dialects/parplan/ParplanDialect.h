//===- ParplanDialect.h - The parplan dialect and its attributes *- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_PARPLANDIALECT_H
#define PARPLAN_DIALECTS_PARPLAN_PARPLANDIALECT_H

#include "parplan/Sharding/ShardingRule.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"

#include <optional>

#include "dialects/parplan/ParplanDialect.h.inc"
#include "dialects/parplan/ParplanEnums.h.inc"

namespace parplan::detail {
struct MeshAttrStorage;
} // namespace parplan::detail

#define GET_ATTRDEF_CLASSES
#include "dialects/parplan/ParplanAttributes.h.inc"

namespace parplan {

/// Names of the discardable attributes. The dialect verifies them.
namespace attributes {
/// On an op: #parplan.factors, the decision.
inline constexpr llvm::StringLiteral factors = "parplan.factors";
/// On an op: an array of #parplan.sharding, one per result (at rest).
inline constexpr llvm::StringLiteral shardings = "parplan.shardings";
/// On arguments and results of functions: #parplan.sharding.
inline constexpr llvm::StringLiteral sharding = "parplan.sharding";
/// On arguments and results of functions: their name in the model.
inline constexpr llvm::StringLiteral name = "parplan.name";
/// On ops, arguments and results after localisation: the type that the blocks
/// of all ranks have together; on ops whose results have several, their list.
inline constexpr llvm::StringLiteral globalType = "parplan.global_type";
/// On an argument: dimension 0 is the batch.
inline constexpr llvm::StringLiteral batch = "parplan.batch";
/// On an argument or result: an array<i64> with a number n per dimension. Where
/// n > 1, the dimension is in zig-zag order over n ranks (`parplan.attention`).
inline constexpr llvm::StringLiteral zigzag = "parplan.zigzag";
/// On an op: the number of the repeated block it belongs to.
inline constexpr llvm::StringLiteral block = "parplan.block";
/// On an op: index of the ONNX node that carries its mathematics.
inline constexpr llvm::StringLiteral node = "parplan.node";
/// On an op: the ONNX operator of that node.
inline constexpr llvm::StringLiteral onnxOp = "parplan.onnx_op";

// Training.

/// On a function: the number of micro-batches of a step.
inline constexpr llvm::StringLiteral microBatches = "parplan.micro_batches";
/// On a function: its micro-batches run forward only. Its results with
/// `parplan.batch_dim` have one part for each of them.
inline constexpr llvm::StringLiteral forwardOnly = "parplan.forward_only";
/// On a result of a forward pass: the dimension of the batch.
inline constexpr llvm::StringLiteral batchDim = "parplan.batch_dim";
/// On an op: runs once per micro-batch, not once per step.
inline constexpr llvm::StringLiteral perMicroBatch = "parplan.per_micro_batch";
/// Copies of the result in other layouts are made again for the backward pass.
inline constexpr llvm::StringLiteral gatherAgain = "parplan.gather_again";
/// On an op: what it does in a step; forward where it is absent.
inline constexpr llvm::StringLiteral role = "parplan.role";
/// On an op: the number of the ops that share one planning decision.
inline constexpr llvm::StringLiteral group = "parplan.group";
/// On an argument: which number of the schedule it is.
inline constexpr llvm::StringLiteral schedule = "parplan.schedule";
/// On a result: #parplan.variable, what it replaces after the step.
inline constexpr llvm::StringLiteral variable = "parplan.variable";
/// On a result: the #parplan.member of the bucket that it replaces.
inline constexpr llvm::StringLiteral bucket = "parplan.bucket";

// Pipelines, recomputation, tiers.

/// On an op: its virtual stage. Absent on ops that every stage that reads them
/// makes for itself, and where there is one stage only.
inline constexpr llvm::StringLiteral stage = "parplan.stage";
/// On a function: the name of the schedule ("interleaved:2").
inline constexpr llvm::StringLiteral pipelineSchedule =
    "parplan.pipeline_schedule";
/// On a function: an array<f64> with the seconds of forward, input gradient and
/// weight gradient of every stage, one stage behind the other.
inline constexpr llvm::StringLiteral passSeconds = "parplan.pass_seconds";
/// On a function: an array<f64> with the seconds of a message between every
/// stage and the next one; without it messages take no time.
inline constexpr llvm::StringLiteral boundarySeconds =
    "parplan.boundary_seconds";
/// On a function whose schedule has a `WaitingRoom`: an array<i64> with the
/// bytes of every position, and one with the five of every stage, one stage
/// behind the other.
inline constexpr llvm::StringLiteral roomBytes = "parplan.room_bytes";
inline constexpr llvm::StringLiteral passBytes = "parplan.pass_bytes";
/// On a function: an array with the passes of every position, as a string
/// ("F0 F1 B0 B1"), in place of those that follow from schedule and seconds.
inline constexpr llvm::StringLiteral passTable = "parplan.pass_table";
/// On a function: the pipeline position whose program it is.
inline constexpr llvm::StringLiteral position = "parplan.position";
/// On an op of a position's program: the micro-batch that it works on.
inline constexpr llvm::StringLiteral microBatch = "parplan.micro_batch";
/// On an op: stages behind the next one get its results from the stage before
/// theirs, not from where they are made.
inline constexpr llvm::StringLiteral relay = "parplan.relay";
/// On an accumulate: what the micro-batches of a visit of its chunk contribute
/// is added up before it is moved to where the sum lies.
inline constexpr llvm::StringLiteral perVisit = "parplan.per_visit";
/// On an op: its results are not kept for the backward pass but made again.
inline constexpr llvm::StringLiteral recompute = "parplan.recompute";
/// On an update: the parameter rests in the pieces in which it is updated, and
/// is gathered in each step.
inline constexpr llvm::StringLiteral inPieces = "parplan.in_pieces";
/// On an op: where a parameter or state rests, or where a single result waits
/// for the backward pass.
inline constexpr llvm::StringLiteral tier = "parplan.tier";
} // namespace attributes

// Parameter servers.
namespace attributes {
/// On a function of a mesh with servers: no worker is more than so many steps
/// ahead of another. Absent: all of them make each step together.
inline constexpr llvm::StringLiteral staleness = "parplan.staleness";
} // namespace attributes

/// Values of `parplan.role`.
namespace roles {
inline constexpr llvm::StringLiteral forward = "forward";
inline constexpr llvm::StringLiteral loss = "loss";
inline constexpr llvm::StringLiteral inputGradient = "input_gradient";
inline constexpr llvm::StringLiteral weightGradient = "weight_gradient";
inline constexpr llvm::StringLiteral gradientSum = "gradient_sum";
inline constexpr llvm::StringLiteral optimizer = "optimizer";
} // namespace roles

/// Kinds of memory: `parplan.tier` and the target of `parplan.transfer`.
namespace tiers {
inline constexpr llvm::StringLiteral device = "device";
inline constexpr llvm::StringLiteral host = "host";
inline constexpr llvm::StringLiteral nvme = "nvme";
} // namespace tiers

/// Values of `parplan.schedule`.
namespace schedules {
inline constexpr llvm::StringLiteral learningRate = "learning_rate";
inline constexpr llvm::StringLiteral stepSize = "step_size";
inline constexpr llvm::StringLiteral biasCorrection2Sqrt =
    "bias_correction2_sqrt";
inline constexpr llvm::StringLiteral lossScale = "loss_scale";
inline constexpr llvm::StringLiteral inverseLossScale = "inverse_loss_scale";
} // namespace schedules

class MeshOp;

/// The mesh op that `symbol` names in the module around `op`, or null. Meshes
/// stand first in a module, so that this does not search.
MeshOp findMesh(mlir::Operation *op, mlir::FlatSymbolRefAttr symbol);

/// The only mesh of a module, or null where there is none or several.
MeshOp getOnlyMesh(mlir::Operation *module);

/// What `parplan.global_type` says of result `index` of an op; null where it
/// says nothing.
mlir::TypeAttr getGlobalType(mlir::Operation *op, unsigned index);
/// Writes it for all results: a list only where they have different shapes.
void setGlobalTypes(mlir::Operation *op, mlir::TypeRange types);

/// The sharding of a value, as far as attributes tell it: `out_sharding` of a
/// move or collective, the target of a reshard, `parplan.shardings` of another
/// op, `parplan.sharding` of a function argument. Null where none is written.
ShardingAttr getSharding(mlir::Value value);

/// `parplan.role` of an op; forward where it is absent.
llvm::StringRef getRole(mlir::Operation *op);
/// `parplan.stage` of an op, or `none`.
std::optional<int64_t> getStage(mlir::Operation *op);
/// The axis of the mesh with the role of servers, or null.
MeshAxisAttr getServerAxis(MeshOp mesh);
/// The axis of the mesh with the role of a pipeline, or null.
MeshAxisAttr getPipelineAxis(MeshOp mesh);

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_PARPLANDIALECT_H
