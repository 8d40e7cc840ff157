//===- RandomCosts.h - Machines for random programs -------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_PARTITION_RANDOMCOSTS_H
#define PARPLAN_TEST_UNIT_PARTITION_RANDOMCOSTS_H

#include "RandomGraph.h"

#include "parplan/CostModel/OpCost.h"
#include "parplan/Planner/PlanCosts.h"

namespace parplan::test {

/// Communication is free, or takes as long as some ops, or longer than all.
class RandomCosts : public PlanCosts {
public:
  using PlanCosts::getCollectiveSeconds;
  using PlanCosts::getOpSeconds;
  explicit RandomCosts(Random &random) {
    constexpr double choices[] = {0, 1, 100};
    secondsPerByte = random.pick(choices);
  }

  double getOpSeconds(const OpCost &cost) const override {
    return static_cast<double>(cost.bytesRead + cost.bytesWritten);
  }
  double getCollectiveSeconds(CollectiveKind, const Mesh &, llvm::ArrayRef<int>,
                              int64_t bytes) const override {
    return secondsPerByte * static_cast<double>(bytes);
  }
  double getCopySeconds(int64_t bytes) const override {
    return static_cast<double>(bytes);
  }

private:
  double secondsPerByte;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PARTITION_RANDOMCOSTS_H
