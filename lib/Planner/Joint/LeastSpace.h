//===- LeastSpace.h - A space before its oracles are made -------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_LEASTSPACE_H
#define PARPLAN_LIB_PLANNER_LEASTSPACE_H

#include "parplan/Planner/SearchModel.h"

#include <map>

namespace parplan {

/// A unit that costs what its plans cost at least, mode by mode. Nothing
/// crosses its boundaries.
class LeastOracle : public BlockOracle {
public:
  explicit LeastOracle(std::vector<SpaceSource::LeastUnit::Mode> modes)
      : modes(std::move(modes)) {}

  int getInCount() const override { return 1; }
  int getOutCount() const override { return 1; }
  int getModeCount() const override {
    return modes.empty() ? 1 : modes.back().number + 1;
  }
  BoundaryMatrix minimise(const Weights &weights, ModeSet wanted) override;
  std::optional<BlockPlan> getPlan(const Weights &weights, ModeSet wanted,
                                   int in, int out) override;

private:
  const SpaceSource::LeastUnit::Mode *findBest(const Weights &weights,
                                               ModeSet wanted) const;

  std::vector<SpaceSource::LeastUnit::Mode> modes;
};

/// What is known of a space before there is a model, as a model: its bounds are
/// bounds of the space. It has no plans.
class LeastSpace : public SpaceModel {
public:
  explicit LeastSpace(const SpaceSource::LeastModel &least);

  std::vector<SearchUnit> getUnits() override { return units; }
  double getFixedBytes() const override { return fixedBytes; }
  double getLatency(int /*instance*/, int /*state*/) const override {
    return 0;
  }
  JudgedPlan judge(const std::vector<BlockPlan> &plans,
                   const StageChoice &stages, double limitBytes) override;

  /// Of all units, what they cost whatever their modes.
  const CostVector &getSum() const { return sum; }

private:
  std::vector<std::unique_ptr<LeastOracle>> oracles;
  std::vector<SearchUnit> units;
  double fixedBytes;
  CostVector sum;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_LEASTSPACE_H
