//===- UnitAgreement.h - One layout for what units share --------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_UNITAGREEMENT_H
#define PARPLAN_LIB_PLANNER_UNITAGREEMENT_H

#include "UnitOracle.h"

namespace parplan {

/// Settles the layouts of tied values among the units that have them, one value
/// after the other: each lies as costs the units least together, by what their
/// networks charge them, with what was settled before. States and modes stay.
class UnitAgreement {
public:
  /// Plans and weights per unit; weights must stay.
  UnitAgreement(std::vector<BlockPlan> plans, llvm::ArrayRef<Weights> weights)
      : plans(std::move(plans)), weights(weights), pins(this->plans.size()) {}

  /// A unit that has the value, as a variable of its network.
  struct User {
    int unit;
    UnitOracle *oracle;
    int variable;
    /// The layout of each choice of the variable.
    llvm::ArrayRef<int> layouts;
  };
  void settle(llvm::ArrayRef<User> users);

  std::vector<BlockPlan> take() { return std::move(plans); }

private:
  int getLayout(const User &user) const {
    return user.layouts[plans[user.unit].choices[user.variable]];
  }
  std::optional<int> findLayout(llvm::ArrayRef<User> users) const;
  bool areAlike(const User &one, const User &other) const;
  void choose(const User &user, int layout);

  std::vector<BlockPlan> plans;
  llvm::ArrayRef<Weights> weights;
  /// Per unit what is settled.
  std::vector<UnitOracle::Pins> pins;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_UNITAGREEMENT_H
