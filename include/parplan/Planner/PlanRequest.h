//===- PlanRequest.h - What a plan must respect -----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_PLANREQUEST_H
#define PARPLAN_PLANNER_PLANREQUEST_H

#include "parplan/Planner/Candidates.h"
#include "parplan/Planner/SearchControl.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace parplan {

/// An algorithm forced on the ops whose node name matches a glob.
struct ForcedAlgorithm {
  std::string nodeGlob;
  Algorithm algorithm = Algorithm::replicate;
};

/// A forced schedule; `chunks` per position where the kind leaves it open.
struct ForcedSchedule {
  ScheduleKind kind = ScheduleKind::oneForwardOneBackward;
  int64_t chunks = 1;
};

/// What is made again for the backward pass, in place of being kept. Selective:
/// what takes much memory and little time (attention, softmax, norms,
/// activations). Full: all of a block but what enters it.
enum class RecomputeKind { none, selective, full };

/// Where what is not needed at once lies.
struct OffloadChoice {
  /// Of the states of the optimizer, and of the parameters. States move with
  /// their update.
  MemoryTier optimizer = MemoryTier::device;
  MemoryTier parameters = MemoryTier::device;
  /// Activations wait for the backward pass on the host.
  bool activations = false;

  bool isNone() const {
    return optimizer == MemoryTier::device &&
           parameters == MemoryTier::device && !activations;
  }
};

/// What the plan must respect.
struct PlanRequest {
  int64_t deviceCount = 1;
  int64_t memoryLimitBytes = 0;
  /// Forced sizes of the axes; unset ones are searched. `tensorSize` also asks
  /// for 1D tensor parallelism (`tp1d`).
  std::optional<int64_t> dataSize, tensorSize, contextSize, expertSize;
  /// Ranks of the expert axes of all meshes that are searched, where these are
  /// not forced.
  std::optional<int64_t> expertRanks;
  /// Positions of the pipeline; unset: 1.
  std::optional<int64_t> pipelineSize;
  /// Unset: the fastest that fits.
  std::optional<ForcedSchedule> schedule;
  /// Unset: none.
  std::optional<RecomputeKind> recompute;
  /// Unset: nothing.
  std::optional<OffloadChoice> offload;
  /// A joint search chooses of each update of a parameter that a unit of the
  /// model has whether it runs on the device or on the host, where what it
  /// replaces then rests. `offload` is unset.
  bool updatesMayMove = false;
  /// What is left open of `recompute` and `offload` is chosen, too, where
  /// nothing fits without: the fastest that fits.
  bool mayResort = false;
  /// Memory of the other tiers for one rank; 0: there is no such tier.
  int64_t hostLimitBytes = 0;
  int64_t nvmeLimitBytes = 0;
  /// `tp2d`, `tp2.5d`, `tp3d`; excludes `tensorSize`.
  std::optional<ForcedGrid> grid;
  /// `sp=on`: what lies between products splits its sequence over the tensor
  /// axes; `sp=off`: nothing of the forward pass does.
  std::optional<bool> sequenceParallel;
  std::vector<ForcedAlgorithm> forcedAlgorithms;
  /// Servers keep the variables; `deviceCount` is without them.
  std::optional<ServerChoice> servers;
  /// Forced ZeRO stage, 0 to 3, of all parameters; only for training steps.
  std::optional<int> zeroStage;
  /// Devices of a node; 0: all. Where the data axes span nodes, training may
  /// store over those within a node alone.
  int64_t devicesPerNode = 0;
  /// When it is over, meshes that were not looked at only give a bound; the one
  /// at hand is finished, unless the search is stopped.
  double timeBudgetSeconds = 60;
  /// Largest table of the elimination: 2^24 costs are 128 MiB. A graph that
  /// needs larger ones is planned by relaxed elimination and local search.
  int64_t tableLimit = int64_t(1) << 24;
  /// Who waits for the search.
  SearchControl control;

  /// Nothing more is to be looked at.
  bool isOver(std::chrono::steady_clock::time_point deadline) const {
    return control.isStopped() || std::chrono::steady_clock::now() > deadline;
  }
};

} // namespace parplan

#endif // PARPLAN_PLANNER_PLANREQUEST_H
