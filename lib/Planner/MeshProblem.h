//===- MeshProblem.h - The planning problem on one mesh ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_MESHPROBLEM_H
#define PARPLAN_LIB_PLANNER_MESHPROBLEM_H

#include "parplan/Planner/CostNetwork.h"
#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanningAnswer.h"

#include <utility>
#include <vector>

namespace parplan {

/// One choice for a value: its layout at rest, and which of its use layouts are
/// kept as copies for all readers.
struct ValueChoice {
  int rest;
  uint32_t copies;
};

/// The planning problem on one mesh as a cost network. Variables are ops (which
/// assignment) and values (which layout at rest, which shared copies).
class MeshProblem {
public:
  MeshProblem(const PlanningProblem &problem, const Mesh &mesh,
              std::vector<std::vector<FactorAssignment>> assignments,
              const PlanCosts &costs);

  const CostNetwork &getNetwork() const { return network; }

  PlanningAnswer getAnswer(const std::vector<int> &choices) const;

  /// Bytes of parameters that every completion of a partial answer needs.
  int64_t getLeastParameterBytes(const std::vector<int> &choices) const;

  /// The network with `secondsPerByte` added for every byte that is live while
  /// an op runs, times the weight of the op; weights add up to one. Its best
  /// plans are smaller and slower.
  CostNetwork getNetwork(double secondsPerByte,
                         llvm::ArrayRef<double> opWeights) const;

private:
  int getRest(size_t value, const std::vector<int> &choices) const;

  double getPathSeconds(size_t value, const Sharding &from, const Sharding &to);

  void addOps();

  void addValues();

  /// Adds the variable of a value: every layout at rest with every set of
  /// copies that its readers could need.
  void addValue(size_t value, const std::vector<Sharding> &layouts,
                size_t readerCount);

  const PlanningProblem &problem;
  const Mesh &mesh;
  const PlanCosts &costs;
  ReshardCache reshards;
  std::vector<std::vector<FactorAssignment>> assignments;
  std::vector<std::vector<Sharding>> rests;
  CostNetwork network;
  std::vector<int> variableOf;
  std::vector<std::vector<ValueChoice>> valueChoices;
  std::vector<std::vector<int64_t>> restBytes;
  std::vector<int64_t> leastBytes;
  /// Per value the bytes of every choice, and the ops while it is live.
  std::vector<std::vector<int64_t>> choiceBytes;
  std::vector<std::pair<int, int>> liveRanges;
  /// Per value the op that makes it, or -1, and what each assignment of the op
  /// makes, with its bytes.
  struct Making {
    int op = -1;
    std::vector<std::pair<Sharding, int64_t>> layouts;
  };
  std::vector<Making> makings;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_MESHPROBLEM_H
