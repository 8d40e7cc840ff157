//===- PositionUnroller.h - The programs of all positions -------*- C++ -*-===//
//
// Part of parplan. Private to the phase.
//
// A step on a pipeline has three parts. Segments before the last one, and the
// end of the step, are written op by op in the order of the program for all
// positions at once: a value that another position reads is sent when that
// needs it. The last segment follows the table of the schedule, position by
// position, with its messages where the total order puts them. Either way all
// positions share one order of all messages.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PASSES_PIPELINE_POSITIONUNROLLER_H
#define PARPLAN_PASSES_PIPELINE_POSITIONUNROLLER_H

#include "passes/Pipeline/ProgramWriter.h"
#include "passes/Pipeline/StageFlow.h"
#include "passes/Pipeline/StepSegments.h"
#include "passes/Pipeline/VisitSums.h"

#include "parplan/Pipeline/Transfers.h"

#include "llvm/ADT/SetVector.h"

#include <map>

namespace parplan {

class PositionUnroller {
public:
  /// `segments` are null for inference: one micro-batch, and no sums.
  PositionUnroller(mlir::func::FuncOp step, const PipelineCut &cut,
                   const StepSegments *segments);

  /// Writes one function per position, beside the step.
  void run();

private:
  /// One half of a pass of a stage: its ops of a micro-batch, in order.
  using PassKey = std::pair<int64_t, PassKind>;

  //===--- What runs where -----------------------------------------------===//

  int64_t getOrder(mlir::Operation *op) const { return orders.lookup(op); }
  bool isInTable(mlir::Operation *op) const;
  bool isInPrologue(mlir::Operation *op) const;
  /// The pass that an op of the table belongs to; of an accumulate that which
  /// makes its operand.
  PassKey getPass(mlir::Operation *op) const;
  /// The only position of an op with a stage that is no copy.
  int64_t getHome(mlir::Operation *op) const;

  void classify();
  /// Updates run on every position that reads the parameter.
  void findHomes();
  /// Where in the table an op that runs once per step can run: its position and
  /// the index of the pass, if there is one.
  std::optional<std::pair<int64_t, size_t>> findPlace(mlir::Operation *op);

  //===--- Writing --------------------------------------------------------===//

  void createWriters();
  void writePrologue();
  /// Hands on what the table reads of the segments before.
  void sendBeforeTable();
  void writeTable(int64_t position, mlir::ArrayRef<Transfer> transfers);
  void writePass(int64_t position, size_t index);
  /// The sums of the passes of a position that are moved once per visit.
  void findVisitSums();
  /// Adds what `op` made in a pass to what the visit has so far.
  void addToVisit(mlir::Operation *op, int64_t position, size_t index);
  void writeEnd();
  /// A sum that is pending over the positions: each adds what it has.
  void writeOwnPart(mlir::Operation *op, int64_t position);
  void finish();
  /// Where a value is made that every position can make.
  int64_t getPositionOfSources(mlir::Value value) const;

  /// What position reads of what others make in the table.
  std::vector<StageEdge> collectEdges();

  /// Has everything there that `op` reads at `position`: ops without a stage
  /// are copied, and where `sends` allows it, other values come from their
  /// position.
  void require(mlir::ValueRange operands, int64_t position, int64_t index,
               bool sends);
  SendOp send(mlir::Value value, int64_t source, int64_t destination,
              int64_t index);
  ReceiveOp receive(mlir::Value value, int64_t source, int64_t destination,
                    int64_t index);

  mlir::func::FuncOp step;
  const PipelineCut &cut;
  const StepSegments *segments;
  int64_t count;
  mlir::Block &body;
  PipelineSchedule schedule;
  Timeline timeline;

  llvm::DenseMap<mlir::Operation *, int64_t> orders;
  llvm::DenseMap<mlir::Operation *, PassKind> kinds;
  llvm::DenseSet<mlir::Operation *> freeOps;
  /// Of updates and what follows from them.
  llvm::DenseMap<mlir::Operation *, llvm::SmallSetVector<int64_t, 4>> homes;
  std::map<PassKey, std::vector<mlir::Operation *>> passOps;
  /// Values that a visit adds up, and ops that follow at its end.
  llvm::DenseSet<mlir::Value> visitLeaves;
  llvm::DenseSet<mlir::Operation *> endsOfVisits;
  /// Per position, of every pass the one before it in its visit (-1: none), and
  /// whether it is the last one.
  struct VisitPass {
    int64_t previous = -1;
    bool isLast = true;
  };
  std::vector<std::vector<VisitPass>> visitPasses;
  /// Ops that run once per step, by their place in the table.
  llvm::DenseMap<mlir::Operation *, std::pair<int64_t, size_t>> places;
  std::map<std::pair<int64_t, size_t>, std::vector<mlir::Operation *>> onceOps;
  /// Ops that run once per step, at its end.
  std::vector<mlir::Operation *> endOps;
  /// The value of every edge.
  std::vector<mlir::Value> edgeValues;

  std::vector<std::unique_ptr<ProgramWriter>> writers;
  /// Copies of ops without a stage at the end of the step.
  std::vector<mlir::Operation *> copies;
};

} // namespace parplan

#endif // PARPLAN_PASSES_PIPELINE_POSITIONUNROLLER_H
