//===- StubSpaces.h - Spaces of random plans --------------------*- C++ -*-===//
//
// A source whose oracles have lists of random plans, so that the search above
// them can be compared with all that it could find.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PLANNER_STUBSPACES_H
#define PARPLAN_TEST_UNIT_PLANNER_STUBSPACES_H

#include "parplan/Planner/SpaceSearch.h"

#include <functional>
#include <random>

namespace parplan::test {

/// Keeps `saved` bytes of a micro-batch in flight, for so many seconds.
inline BlockPlan makeKeepingPlan(int mode, double seconds, double saved) {
  BlockPlan plan;
  plan.mode = mode;
  plan.cost.forward = seconds;
  plan.cost.savedBytes = saved;
  return plan;
}

/// The best of a list.
class ListOracle : public BlockOracle {
public:
  ListOracle(int inCount, int outCount, std::vector<BlockPlan> plans)
      : plans(std::move(plans)), inCount(inCount), outCount(outCount) {}

  int getInCount() const override { return inCount; }
  int getOutCount() const override { return outCount; }
  int getModeCount() const override { return 3; }
  BoundaryMatrix minimise(const Weights &weights, ModeSet modes) override;
  std::optional<BlockPlan> getPlan(const Weights &weights, ModeSet modes,
                                   int in, int out) override;
  double getWorkBytes(const BlockPlan &plan) override {
    return work ? work(plan) : 0;
  }

  std::vector<BlockPlan> plans;
  /// What passes need; empty: nothing.
  std::function<double(const BlockPlan &)> work;

private:
  int inCount, outCount;
};

struct StubOptions {
  int mostSpaces = 2, mostBlocks = 3, mostPlans = 3, mostStates = 2;
  Meeting meeting = Meeting::always;
  /// What each further micro-batch adds to the work of a step, as a share of
  /// the work of one; negative: parts are faster.
  double overheadOfParts = 0.05;
  std::vector<ScheduleKind> kinds = {
      ScheduleKind::gpipe, ScheduleKind::oneForwardOneBackward,
      ScheduleKind::interleaved, ScheduleKind::zbH1, ScheduleKind::zbV};
};

class StubSource : public SpaceSource {
public:
  StubSource(unsigned seed, const StubOptions &options);

  std::vector<int64_t> getCounts() const override { return counts; }
  int getSpaceCount() const override { return static_cast<int>(spaces.size()); }
  SpaceInfo getInfo(int space) const override;
  std::vector<ScheduleShape> getShapes(int space) const override;
  double getLeastMessageSeconds(int space, int64_t count) override;
  LeastModel getLeastOfAll(int space, int64_t count) override {
    return getLeast(space, count);
  }
  LeastModel getLeast(int space, int64_t count) override;
  double getLeastShare(int space, int64_t fewer, int64_t count) override;
  std::unique_ptr<SpaceModel> make(int space, int64_t count) override;

  /// The least step within a limit, over everything; infinity: nothing fits.
  /// And the bytes of the smallest and of the fastest plan.
  struct Exhaustive {
    double seconds = 0;
    double leastBytes = 0, bytesOfFastest = 0;
  };
  Exhaustive search(double limitBytes);

  double memoryLimitBytes = 0;

private:
  struct Space {
    int64_t positions = 1;
    int blocks = 1;
    /// Of one micro-batch per step: head, block, tail.
    std::vector<BlockPlan> head, block, tail;
    int states = 1;
    std::vector<double> latencies;
  };
  class Model;

  StubOptions options;
  std::vector<int64_t> counts;
  std::vector<Space> spaces;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PLANNER_STUBSPACES_H
