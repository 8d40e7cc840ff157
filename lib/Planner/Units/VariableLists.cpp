//===- VariableLists.cpp - What units choose for variables ----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "VariableLists.h"

#include "JoinedMesh.h"

#include "parplan/Support/Check.h"

#include <set>

using namespace parplan;

namespace {

class VariableListsBuilder {
public:
  VariableListsBuilder(const UnitSample &sample, const StepUnits &units,
                       UnitTables &tables, LayoutTable &joined)
      : sample(sample), units(units), tables(tables),
        joiner(tables.layouts, joined), made{UnitLists(joined), {}} {}

  VariableLists build() {
    made.lists.mayMove = tables.mayMove;
    made.lists.movers = tables.movers;
    findCovered();
    addOps();
    for (const Decision &decision : sample.decisions.all)
      addChoices(decision);
    addRests();
    addSlots();
    addKey();
    return std::move(made);
  }

private:
  int join(int layout) {
    std::optional<int> joined = joiner.join(layout);
    PARPLAN_CHECK(joined, "a layout of what is covered is joined");
    return *joined;
  }

  /// Outputs of a micro-batch stay for the step: what they cost depends on how
  /// many there are.
  bool isPerMicroBatchOutput(size_t value) const {
    int maker = sample.values[value].maker;
    return sample.problem.values[value].isOutput && maker >= 0 &&
           sample.problem.ops[maker].perMicroBatch;
  }

  /// What has no samples, and no layout that cannot be joined: tables of
  /// positions have context axes on their sequence.
  void findCovered() {
    for (auto [index, value] : llvm::enumerate(sample.problem.values))
      isCovered.push_back(value.batchDimension < 0 &&
                          !isPerMicroBatchOutput(index));
    auto check = [&](int value, llvm::ArrayRef<int> layouts) {
      if (isCovered[value])
        isCovered[value] = llvm::all_of(
            layouts, [&](int layout) { return joiner.join(layout); });
    };
    for (auto [index, rests] : llvm::enumerate(tables.rests))
      check(static_cast<int>(index), rests);
    for (auto [index, op] : llvm::enumerate(sample.problem.ops)) {
      for (auto [value, layouts] :
           llvm::zip_equal(op.operands, tables.uses[index]))
        check(value, layouts);
      for (auto [value, layouts] :
           llvm::zip_equal(op.results, tables.makings[index]))
        check(value, layouts);
    }
    // What replaces a variable lies as it does.
    for (auto [index, value] : llvm::enumerate(sample.problem.values))
      if (value.updates >= 0)
        isCovered[index] = isCovered[value.updates] =
            isCovered[index] && isCovered[value.updates];
  }

  void addOps() {
    for (const PlanningOp &op : sample.problem.ops) {
      made.lists.choiceCounts.push_back(0);
      made.lists.uses.emplace_back(op.operands.size());
      made.lists.makings.emplace_back(op.results.size());
    }
  }

  /// Layouts of what has no samples, in the order of members and positions.
  using Wants = std::vector<int>;
  Wants getWants(const Decision &decision, int choice) {
    Wants wants;
    auto add = [&](llvm::ArrayRef<int> values,
                   llvm::ArrayRef<std::vector<int>> layouts) {
      for (auto [value, ofChoices] : llvm::zip_equal(values, layouts))
        wants.push_back(isCovered[value] ? join(ofChoices[choice]) : nowhere);
    };
    for (int member : decision.members) {
      const PlanningOp &op = sample.problem.ops[member];
      add(op.operands, tables.uses[member]);
      add(op.results, tables.makings[member]);
    }
    return wants;
  }

  void addChoices(const Decision &decision) {
    std::set<Wants> distinct;
    for (int choice = 0; choice < tables.choiceCounts[decision.leader];
         ++choice) {
      Wants wants = getWants(decision, choice);
      if (!distinct.insert(wants).second)
        continue;
      const int *next = wants.data();
      for (int member : decision.members) {
        ++made.lists.choiceCounts[member];
        for (std::vector<int> &ofChoices : made.lists.uses[member])
          ofChoices.push_back(*next++);
        for (std::vector<int> &ofChoices : made.lists.makings[member])
          ofChoices.push_back(*next++);
      }
    }
  }

  std::vector<int> joinAll(llvm::ArrayRef<int> layouts) {
    std::vector<int> list;
    for (int layout : layouts)
      list.push_back(join(layout));
    return list;
  }

  void addRests() {
    for (auto [index, value] : llvm::enumerate(sample.problem.values)) {
      made.lists.forms.push_back(made.lists.layouts.getForm(value));
      made.lists.rests.push_back(isCovered[index] ? joinAll(tables.rests[index])
                                                  : std::vector<int>());
    }
  }

  void addSlots() {
    for (const auto &slots : tables.slotRests)
      made.lists.slotRests.emplace_back(slots.size(),
                                        std::vector<int>{nowhere});
    for (auto [number, range] : llvm::enumerate(sample.kinds))
      for (int value = range.firstValue; value < range.endValue; ++value) {
        const UnitSample::Value &inUnit = sample.values[value];
        if (inUnit.slot < 0 || !isCovered[value])
          continue;
        bool isBefore = inUnit.part == StepUnits::Part::before;
        int boundary =
            isBefore ? units.kinds[number].before : units.kinds[number].behind;
        made.lists.slotRests[boundary][inUnit.slot] = made.lists.rests[value];
      }
  }

  /// All that costs depend on that steps of one model may differ in.
  void addKey() {
    std::vector<int64_t> &key = made.key;
    auto addAll = [&](const auto &list) {
      key.push_back(static_cast<int64_t>(list.size()));
      for (auto entry : list)
        key.push_back(entry);
    };
    key.push_back(sample.problem.microBatches > 1 ? 1 : 0);
    for (const UnitSample::Range &range : sample.kinds)
      llvm::append_range(key, std::array<int64_t, 4>{range.firstOp, range.endOp,
                                                     range.firstValue,
                                                     range.endValue});
    for (auto [index, value] : llvm::enumerate(sample.problem.values)) {
      const UnitSample::Value &inUnit = sample.values[index];
      if (!isCovered[index])
        continue;
      llvm::append_range(
          key, std::array<int64_t, 8>{
                   static_cast<int64_t>(index), made.lists.forms[index],
                   static_cast<int64_t>(value.kind), value.updates,
                   static_cast<int64_t>(inUnit.part), inUnit.maker,
                   inUnit.tiedTo, inUnit.readingUnits});
      addAll(made.lists.rests[index]);
    }
    for (size_t op = 0; op < sample.problem.ops.size(); ++op) {
      key.push_back(static_cast<int64_t>(sample.phases[op]));
      for (auto *lists : {&made.lists.uses[op], &made.lists.makings[op]})
        for (const std::vector<int> &ofChoices : *lists)
          addAll(ofChoices);
    }
  }

  /// The number of a layout of which nothing is asked.
  static constexpr int nowhere = 0;

  const UnitSample &sample;
  const StepUnits &units;
  UnitTables &tables;
  LayoutJoiner joiner;
  VariableLists made;
  std::vector<bool> isCovered;
};

} // namespace

VariableLists parplan::getVariableLists(const UnitSample &sample,
                                        const StepUnits &units,
                                        UnitTables &tables,
                                        LayoutTable &joined) {
  return VariableListsBuilder(sample, units, tables, joined).build();
}
