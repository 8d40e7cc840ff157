//===- UnitMessages.cpp - What crosses from unit to unit ------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitMessages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <map>
#include <numeric>

using namespace parplan;

namespace {

class CrossingFinder {
public:
  explicit CrossingFinder(const UnitSample &sample)
      : sample(sample), needsProduct(sample.problem.values.size(), false) {
    trains = llvm::any_of(sample.phases, isBackward);
    for (const PlanningOp &op : sample.problem.ops) {
      bool needs = isProduct(op.work.kind) ||
                   llvm::any_of(op.operands, [&](int operand) {
                     return needsProduct[operand];
                   });
      for (int result : op.results)
        needsProduct[result] = needs;
    }
  }

  std::vector<int64_t> find(int kind, int next) const {
    // By slot: values are in it on both sides.
    std::map<int, int> behind = getSlots(kind, StepUnits::Part::behind);
    std::map<int, int> before = getSlots(next, StepUnits::Part::before);
    std::vector<int64_t> there, back;
    for (auto [slot, source] : behind) {
      auto found = before.find(slot);
      if (found == before.end() ||
          sample.problem.values[source].batchDimension < 0)
        continue;
      int target = found->second;
      int64_t bytes = sample.problem.values[source].getWholeBytes();
      if (isMadeForward(source) && needsProduct[source] &&
          isRead(next, target, isForward))
        there.push_back(bytes);
      if (isMadeBackward(target) && isRead(kind, source, isBackward))
        back.push_back(bytes);
    }
    auto sum = [](const std::vector<int64_t> &bytes) {
      return std::accumulate(bytes.begin(), bytes.end(), int64_t(0));
    };
    // The way with more bytes decides how long a message takes; those of the
    // other one may be in fewer pieces.
    return !trains || sum(there) <= sum(back) ? there : back;
  }

private:
  std::map<int, int> getSlots(int kind, StepUnits::Part part) const {
    std::map<int, int> values;
    const UnitSample::Range &range = sample.kinds[kind];
    for (int value = range.firstValue; value < range.endValue; ++value)
      if (sample.values[value].part == part)
        values[sample.values[value].slot] = value;
    return values;
  }
  bool isMadeForward(int value) const {
    int maker = sample.values[value].maker;
    return maker >= 0 && sample.phases[maker] == Phase::forward;
  }
  bool isMadeBackward(int value) const {
    int maker = sample.values[value].maker;
    return maker >= 0 && isBackward(sample.phases[maker]);
  }
  static bool isForward(Phase phase) { return phase == Phase::forward; }
  bool isRead(int kind, int value, bool (*isOfPass)(Phase)) const {
    const UnitSample::Range &range = sample.kinds[kind];
    return llvm::any_of(llvm::seq(range.firstOp, range.endOp), [&](int op) {
      return isOfPass(sample.phases[op]) &&
             llvm::is_contained(sample.problem.ops[op].operands, value);
    });
  }

  const UnitSample &sample;
  /// What needs no product may be made in several stages.
  std::vector<bool> needsProduct;
  bool trains = false;
};

} // namespace

std::vector<std::vector<int64_t>>
parplan::getCrossingBytes(const UnitSample &sample, const StepUnits &units) {
  CrossingFinder finder(sample);
  std::vector<std::vector<int64_t>> crossing(units.units.size());
  for (size_t unit = 0; unit + 1 < units.units.size(); ++unit) {
    int kind = units.units[unit].kind, next = units.units[unit + 1].kind;
    bool isSame =
        unit > 0 && units.units[unit - 1].kind == kind && kind == next;
    crossing[unit] = isSame ? crossing[unit - 1] : finder.find(kind, next);
  }
  return crossing;
}
