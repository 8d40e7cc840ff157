//===- PlanningAnswer.h - A plan, and what it costs -------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_PLANNINGANSWER_H
#define PARPLAN_PLANNER_PLANNINGANSWER_H

#include "parplan/CostModel/MemoryTier.h"
#include "parplan/Pipeline/Schedule.h"
#include "parplan/Planner/PlanningProblem.h"

namespace parplan {

/// In which order a pipeline runs, and what its passes and messages take.
struct PipelineChoice {
  ScheduleShape shape;
  /// Per virtual stage.
  std::vector<PassTimes> times;
  /// Seconds of a message, per boundary between two stages; empty: none takes
  /// any time.
  std::vector<double> latencies;
  /// Of its micro-batches, where the backward pass is split.
  WaitingRoom room;

  bool operator==(const PipelineChoice &other) const = default;
};

/// Who keeps the variables of a training step in place of those who compute.
struct ServerChoice {
  int64_t servers = 1;
  /// No worker is more than so many steps ahead of another; unset: all of them
  /// and the servers make each step together. Set, the answer is for one worker
  /// of `workers`, which are equal.
  std::optional<int64_t> staleness;
  int64_t workers = 1;

  int64_t getRankCount() const { return workers + servers; }
  bool operator==(const ServerChoice &other) const = default;
};

/// All decisions of a plan. Layouts in use, layouts as made, reshards, bytes
/// and memory follow from it.
struct PlanningAnswer {
  Mesh mesh;
  /// Per op the axes of its factors.
  std::vector<FactorAssignment> assignments;
  /// Per value its sharding at rest: where it was produced or is kept.
  std::vector<Sharding> rest;
  /// Per value whether its copies in other layouts are made again for the
  /// backward pass, in place of being kept for it; empty: of none.
  std::vector<bool> gathersAgain;
  /// Set where the mesh has an axis with the role `pipeline`, the outermost.
  std::optional<PipelineChoice> pipeline;
  /// Per op its virtual stage; -1: in every stage that reads it. Empty: one
  /// stage.
  std::vector<int> stages;
  /// Per op whether its results are handed on from stage to stage, in place of
  /// going to each position that reads them from where they are made; empty: of
  /// none.
  std::vector<bool> relayed;
  /// Per op whether it is a sum over micro-batches of what a visit moves once
  /// (`VisitSums.h`); empty: none is.
  std::vector<bool> perVisit;
  /// Unset: there are no servers. They stand beside the ranks of the mesh.
  std::optional<ServerChoice> servers;
  /// Per op whether its results are made again for the backward pass, in place
  /// of being kept for it; empty: of none.
  std::vector<bool> recomputed;
  /// Per value its tier; empty: the device.
  /// * States and what replaces a variable: where the variable rests between
  ///   steps. That of the new value of a parameter says where its update runs,
  ///   too: on the device or on the host (of NVMe likewise).
  /// * Parameters: from where passes read them. `device`: there for the whole
  ///   step, and uploaded before if the new value rests elsewhere. Others: for
  ///   every pass over their block, and released after it.
  /// * Activations: where they wait for the backward pass.
  ///
  ///                     parameter  states  its new value
  ///   optimizer:cpu     device     host    host
  ///   parameters:cpu    host       device  device
  ///   both              host       host    host
  std::vector<MemoryTier> tiers;

  /// Per value whether it is a parameter that rests between steps in the pieces
  /// in which it is updated off the device, and is gathered from them in each
  /// step. `rest` is how it lies in the passes. Empty: none is.
  std::vector<bool> inPieces;

  bool restsInPieces(size_t value) const {
    return value < inPieces.size() && inPieces[value];
  }
  bool isGatheredAgain(size_t value) const {
    return value < gathersAgain.size() && gathersAgain[value];
  }
  bool isRecomputed(size_t op) const {
    return op < recomputed.size() && recomputed[op];
  }
  bool isRelayed(size_t op) const { return op < relayed.size() && relayed[op]; }
  bool isPerVisit(size_t op) const {
    return op < perVisit.size() && perVisit[op];
  }
  /// 0 without stages.
  int getStage(size_t op) const { return stages.empty() ? 0 : stages[op]; }
  MemoryTier getTier(size_t value) const {
    return value < tiers.size() ? tiers[value] : MemoryTier::device;
  }
  /// p, 1 without a pipeline.
  int64_t getPositionCount() const {
    return pipeline ? pipeline->shape.positions : 1;
  }

  bool operator==(const PlanningAnswer &other) const = default;
};

/// What a rank moves between tiers in a step.
struct OffloadBytes {
  int64_t hostToDevice = 0;
  int64_t deviceToHost = 0;
  int64_t nvmeRead = 0;
  int64_t nvmeWritten = 0;

  int64_t getTotal() const {
    return hostToDevice + deviceToHost + nvmeRead + nvmeWritten;
  }
  bool operator==(const OffloadBytes &other) const = default;
};

/// What a plan costs, by the evaluator.
struct PlanEvaluation {
  double stepTimeSeconds = 0;
  double computeSeconds = 0;
  double tensorCommunicationSeconds = 0;
  double dataCommunicationSeconds = 0;
  /// Computation of ops with the role of the optimizer; not in
  /// `computeSeconds`.
  double optimizerSeconds = 0;
  /// Of a pipeline what the step takes beyond the work of its busiest position;
  /// the seconds above are those of that position.
  double pipelineBubbleSeconds = 0;
  /// What transfers between tiers take beyond what hides them.
  double offloadSeconds = 0;
  /// Of the position that transfers most, per step and rank.
  OffloadBytes offload;
  /// Per position the highest sum of live bytes of a rank.
  std::vector<int64_t> positionPeakBytes;
  /// Of a rank on its host and on its NVMe, at most.
  int64_t hostBytes = 0;
  int64_t nvmeBytes = 0;
  /// Highest sum of live bytes of a rank over the program; the parts below are
  /// of the position that has it.
  int64_t peakBytes = 0;
  int64_t parameterBytes = 0;
  /// States of the optimizer.
  int64_t optimizerBytes = 0;
  /// Live gradients of parameters at the peak.
  int64_t gradientBytes = 0;
  /// Everything else at the peak.
  int64_t activationBytes = 0;
};

struct Certificate {
  double upperBoundSeconds = 0;
  double lowerBoundSeconds = 0;
  /// The search closed: no better plan exists in the model.
  bool exact = false;
  int64_t explored = 0;
  int64_t pruned = 0;

  double getGap() const {
    return upperBoundSeconds > 0
               ? (upperBoundSeconds - lowerBoundSeconds) / upperBoundSeconds
               : 0;
  }
};

} // namespace parplan

#endif // PARPLAN_PLANNER_PLANNINGANSWER_H
