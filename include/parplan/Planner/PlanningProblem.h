//===- PlanningProblem.h - What is to be planned ----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. A value: two equal problems have
// equal plans.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_PLANNINGPROBLEM_H
#define PARPLAN_PLANNER_PLANNINGPROBLEM_H

#include "parplan/CostModel/OpCost.h"
#include "parplan/Sharding/OpRole.h"

#include <limits>
#include <string>
#include <vector>

namespace parplan {

/// `state` is a parameter of the optimizer.
enum class ValueKind { input, parameter, state, constant, activation };

/// A tensor of the graph, with its global shape.
struct PlanningValue {
  std::string name;
  ValueKind kind = ValueKind::activation;
  llvm::SmallVector<int64_t> shape;
  int64_t elementBytes = 4;
  /// Returned by the step: complete and not stored at rest.
  bool isOutput = false;
  /// Only in the problem of workers (Servers.h). A parameter that servers send:
  /// whole on every worker. Or a gradient that they take, as the terms that
  /// workers have of it: whole, pending or complete, to the end of the step.
  bool isServed = false;
  /// The dimension that carries the batch, or -1.
  int batchDimension = -1;
  /// The dimension that carries the positions of a sequence, or -1.
  int sequenceDimension = -1;
  /// The dimension that is never gathered once it is split over tensor axes
  /// (the classes of logits), or -1.
  int keptDimension = -1;
  /// The parameter or state that this result replaces, or -1. It is written
  /// where that one lies, so both rest alike, and no op reads it.
  int updates = -1;
  /// Shares of the seconds of its reductions and of its gathers that no work
  /// beside them hides (Kernels.h).
  double exposedReduction = 1;
  double exposedGather = 1;
  /// One call reduces or gathers it together with others, of altogether so many
  /// bytes while they are whole: gradients and parameters, over axes that are
  /// not of tensor parallelism. 0: it has calls of its own.
  int64_t bucketBytes = 0;

  /// Of all of it.
  int64_t getWholeBytes() const;
};

/// An operation, in program order. Operands and results are indices of values;
/// every value that is neither input, parameter nor constant has one producer.
struct PlanningOp {
  /// Name and operator type of the ONNX node, for `--force` and reports.
  std::string node;
  std::string type;
  int64_t nodeIndex = -1;
  ShardingRule rule;
  OpWork work;
  llvm::SmallVector<int, 3> operands;
  llvm::SmallVector<int, 1> results;
  /// The factor that carries the batch, or -1: the only one that data axes may
  /// split.
  int batchFactor = -1;
  /// The factor that carries the positions of a sequence, or -1: context axes
  /// split it where they can, and the batch where there is none.
  int sequenceFactor = -1;
  /// The factor that numbers the experts, or -1: expert axes split it, and the
  /// batch of every other op.
  int expertFactor = -1;
  /// Of what hands tokens to experts in groups: how many experts there are, and
  /// how many a token has; else 0.
  int64_t experts = 0, expertsPerToken = 0;
  /// Of attention, the keys (what a ring goes round) and the heads of keys,
  /// else -1. The sequence is that of the queries.
  int keyFactor = -1;
  int headFactor = -1;
  /// Of attention whose sequence lies in zig-zag order over so many ranks, more
  /// than one: it can only be a ring over as many.
  int64_t zigzag = 1;
  /// Equal blocks of the model are numbered one after the other; -1 outside of
  /// them.
  int64_t block = -1;
  /// Ops of a group are decided together: the leader by choice, the others by
  /// inference from it. -1: a group of its own.
  int64_t group = -1;
  bool isLeader = true;
  OpRole role = OpRole::forward;
  /// Runs once per micro-batch, else once per step.
  bool perMicroBatch = false;
  /// Adds up over the micro-batches: runs for each of them, and its results
  /// exist once per step.
  bool accumulates = false;
  /// Reductions that axes on a coupled factor cost, each of as many elements as
  /// the first result has without its coupled factors; 0: no axes are put
  /// there.
  int coupledReductions = 0;
  /// Bytes per element of each operand, then of each result, that its kernels
  /// move (Kernels.h); empty: all of them.
  llvm::SmallVector<int8_t, 4> movedBytes;
  /// A stack computes it inside of another op's kernel.
  bool isInReader = false;
  /// How often a stage may read what it makes where the program computes it
  /// inside of the kernels that do (Kernels.h), so that the result takes no
  /// memory; 0: it is always written.
  int fusedReads = 0;
  static constexpr int anyReads = std::numeric_limits<int>::max();
  /// Is made again with each upload of a parameter that it reads from another
  /// tier.
  bool isMadePerUpload = false;
};

struct PlanningProblem {
  std::vector<PlanningValue> values;
  std::vector<PlanningOp> ops;
  /// How often per step the ops run that run once per micro-batch.
  int64_t microBatches = 1;
  /// Bytes that every rank needs whatever the plan (workspaces).
  int64_t fixedBytes = 0;

  /// Of all parameters and states, each once.
  int64_t getVariableBytes() const;
};

/// Checks that the problem is complete: indices in range, producers before
/// users, rules that fit shapes, one leader per group, steps that read
/// micro-batches through an accumulate only. Returns what is wrong, or nullopt.
std::optional<std::string> verifyProblem(const PlanningProblem &problem);

/// How often an op runs in a step, and how often its results are made.
int64_t getRepeat(const PlanningProblem &problem, const PlanningOp &op);
int64_t getResultRepeat(const PlanningProblem &problem, const PlanningOp &op);

/// False for a reshard that takes axes other than those of the data from the
/// dimension that is to stay split.
bool mayReshard(const PlanningValue &value, const Mesh &mesh,
                const Sharding &from, const Sharding &to);

/// Bytes rounded up to the arena's alignment.
int64_t alignBytes(int64_t bytes);

/// Bytes of a value in a layout on one rank, rounded up likewise.
int64_t getLocalBytes(const PlanningValue &value, const Mesh &mesh,
                      const Sharding &layout);

/// What an op is as a reader.
CopyReader getCopyReader(const PlanningOp &op);

/// True for graphs that replace parameters, or have servers do so.
bool isTraining(const PlanningProblem &problem);

/// Per op its segment of the step: with several micro-batches a segment runs
/// for all of them before the next one starts, which reads sums over them. What
/// micro-batches have is made in the last segment in which its readers get it.
std::vector<int> getSegments(const PlanningProblem &problem);

} // namespace parplan

#endif // PARPLAN_PLANNER_PLANNINGPROBLEM_H
