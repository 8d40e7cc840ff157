//===- UnitAgreement.cpp - One layout for what units share ----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitAgreement.h"

#include "llvm/ADT/STLExtras.h"

using namespace parplan;

/// The choice of a user's variable that is a layout.
static int getChoice(const UnitAgreement::User &user, int layout) {
  return static_cast<int>(llvm::find(user.layouts, layout) -
                          user.layouts.begin());
}

void UnitAgreement::settle(llvm::ArrayRef<User> users) {
  std::optional<int> layout = getLayout(users.front());
  if (llvm::any_of(
          users, [&](const User &user) { return getLayout(user) != *layout; }))
    layout = findLayout(users);
  if (!layout)
    return;
  for (const User &user : users)
    choose(user, *layout);
}

/// Leaves a unit without such a plan as it is.
void UnitAgreement::choose(const User &user, int layout) {
  BlockPlan &plan = plans[user.unit];
  UnitOracle::Pins settled = pins[user.unit];
  settled[user.variable] = getChoice(user, layout);
  if (getLayout(user) != layout) {
    auto other = user.oracle->getPlanWith(plan, weights[user.unit], settled);
    if (!other)
      return;
    plan = std::move(*other);
  }
  pins[user.unit] = std::move(settled);
}

/// Nullopt: some unit cannot have any that the others can.
std::optional<int> UnitAgreement::findLayout(llvm::ArrayRef<User> users) const {
  // In the order of candidates: numbers of layouts say who came first.
  std::vector<std::pair<int, double>> sums;
  for (int layout : users.front().layouts)
    sums.emplace_back(layout, 0);
  std::map<int, double> costs;
  const User *last = nullptr;
  for (const User &user : users) {
    if (!last || !areAlike(*last, user))
      costs = user.oracle->getCostsByChoice(
          plans[user.unit], weights[user.unit], pins[user.unit], user.variable);
    last = &user;
    for (auto &[layout, sum] : sums) {
      auto cost = costs.find(getChoice(user, layout));
      sum += cost == costs.end() ? BoundaryMatrix::impossible : cost->second;
    }
  }
  auto least = llvm::min_element(sums, llvm::less_second());
  if (least->second == BoundaryMatrix::impossible)
    return std::nullopt;
  return least->first;
}

bool UnitAgreement::areAlike(const User &one, const User &other) const {
  return one.oracle == other.oracle && one.variable == other.variable &&
         plans[one.unit].mode == plans[other.unit].mode &&
         plans[one.unit].choices == plans[other.unit].choices &&
         weights[one.unit] == weights[other.unit] &&
         pins[one.unit] == pins[other.unit];
}
