//===- StepUnits.cpp - A step as a row of units ---------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "StepUnits.h"

#include "NearBlock.h"
#include "lib/Planner/Evaluation/StepTime.h"

#include "parplan/Planner/Decisions.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace parplan;

namespace {

using Unit = StepUnits::Unit;
using Kind = StepUnits::Kind;
using Part = StepUnits::Part;

class Division {
public:
  Division(const PlanningProblem &problem, const Folding &folding,
           llvm::ArrayRef<int64_t> labels)
      : problem(problem), folding(folding),
        contents(getContents(problem, labels)),
        decisions(getDecisions(problem)), makers(problem.values.size(), -1),
        readers(problem.values.size()) {
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      for (int result : op.results)
        makers[result] = static_cast<int>(index);
      for (int operand : op.operands)
        readers[operand].push_back(static_cast<int>(index));
    }
    result.unitOfOp.assign(problem.ops.size(), -1);
  }

  StepUnits run() {
    makeUnits();
    placeForward();
    placeOthers();
    dropEmptyUnits();
    for (auto [index, unit] : llvm::enumerate(result.unitOfOp))
      if (unit >= 0)
        result.units[unit].ops.push_back(static_cast<int>(index));
    for (Unit &unit : result.units)
      listValues(unit);
    findReach();
    findKinds();
    connect();
    result.phases = getPhases(problem);
    findMeeting();
    return std::move(result);
  }

private:
  /// True of units of which every position has one, wherever the cuts are. An
  /// end is never alone.
  bool isEverywhere(llvm::ArrayRef<int> places) const {
    for (size_t unit = 0; unit < result.units.size(); ++unit)
      if (!result.isEnd(unit) &&
          !llvm::is_contained(places, static_cast<int>(unit)))
        return false;
    return true;
  }

  void findMeeting() {
    // An end is with the block beside it.
    int count = static_cast<int>(result.units.size()), last = count - 1;
    int firstBlock = count > 1 && result.isEnd(0) ? 1 : 0;
    int lastBlock = count > 1 && result.isEnd(last) ? last - 1 : last;
    lastBlock = std::max(firstBlock, lastBlock);
    std::vector<int> places;
    for (int unit : result.unitOfOp)
      places.push_back(unit < 0 ? -1 : std::clamp(unit, firstBlock, lastBlock));
    Meetings meetings = findMeetings(problem, places);
    auto isOfEnds = [&](llvm::ArrayRef<int> units) {
      return llvm::all_of(units, [&](int unit) {
        return unit == firstBlock || unit == lastBlock;
      });
    };
    auto isOfAll = [&](llvm::ArrayRef<int> units) {
      return isEverywhere(units);
    };
    if (!isTraining(problem)) {
      result.meeting = Meeting::always;
    } else if (llvm::any_of(meetings.places, isOfAll)) {
      // What others have to be done before may not be before any in some cuts.
      bool isOne =
          findMeetings(problem, places, isOfAll).isBefore == meetings.isBefore;
      result.meeting = isOne ? Meeting::always : Meeting::bySomeCuts;
    } else if (!meetings.places.empty()) {
      result.meeting = llvm::all_of(meetings.places, isOfEnds)
                           ? Meeting::ofEnds
                           : Meeting::bySomeCuts;
    }
    result.isBeforeMeeting = std::move(meetings.isBefore);
  }

  /// Before each run of blocks and behind the last one there is a unit.
  void makeUnits() {
    auto add = [&](llvm::ArrayRef<int> ops) {
      for (int op : ops)
        result.unitOfOp[op] = static_cast<int>(result.units.size());
      result.units.emplace_back();
    };
    for (const Folding::Run &run : folding.runs) {
      outer.push_back(static_cast<int>(result.units.size()));
      add({});
      int end = run.firstBlock + run.blockCount;
      for (int block = run.firstBlock; block < end; ++block) {
        add(folding.blocks[block].ops);
        result.units.back().block = block;
      }
      runEnds.push_back(folding.blocks[end - 1].ops.back());
      std::vector<int> near = findNearBlock(problem, contents, folding, run);
      if (near.empty())
        continue;
      add(near);
      runEnds.back() = near.back();
    }
    outer.push_back(static_cast<int>(result.units.size()));
    add({});
  }

  int getUnitOfMaker(int value) const {
    return makers[value] < 0 ? -1 : result.unitOfOp[makers[value]];
  }

  /// Forward ops outside of blocks: behind all that they need, and not before
  /// the runs that are over where they stand.
  void placeForward() {
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      int &unit = result.unitOfOp[index];
      if (!isBeforeBackward(op.role) || unit >= 0)
        continue;
      size_t segment =
          llvm::lower_bound(runEnds, static_cast<int>(index)) - runEnds.begin();
      int needed = 0;
      for (int operand : op.operands)
        needed = std::max(needed, getUnitOfMaker(operand));
      while (segment < runEnds.size() && outer[segment] < needed)
        ++segment;
      unit = outer[segment];
    }
  }

  /// With the leader, else with what is read last; what combines units once per
  /// step is in none.
  void placeOthers() {
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      if (isBeforeBackward(op.role))
        continue;
      int &unit = result.unitOfOp[index];
      int leader = decisions.all[decisions.ofOp[index]].leader;
      if (isBeforeBackward(problem.ops[leader].role)) {
        unit = result.unitOfOp[leader];
        continue;
      }
      int last = -1;
      bool isMixed = false;
      for (int operand : op.operands) {
        int own = getUnitOfMaker(operand);
        if (op.role == OpRole::optimizer || !op.perMicroBatch) {
          isMixed |= own >= 0 && unit >= 0 && own != unit;
          unit = std::max(unit, own);
        } else if (makers[operand] > last && own >= 0) {
          last = makers[operand];
          unit = own;
        }
      }
      bool isOfStep = !op.perMicroBatch && !op.accumulates;
      if (isMixed && isOfStep)
        unit = -1;
      else if (unit < 0 && !isOfStep)
        unit = static_cast<int>(result.units.size()) - 1;
    }
    // A decision is in one unit.
    for (const Decision &decision : decisions.all)
      for (int member : decision.members)
        result.unitOfOp[member] = result.unitOfOp[decision.leader];
  }

  void dropEmptyUnits() {
    std::vector<bool> isUsed(result.units.size(), false);
    for (int unit : result.unitOfOp)
      if (unit >= 0)
        isUsed[unit] = true;
    std::vector<int> numbers(result.units.size(), -1);
    std::vector<Unit> left;
    for (auto [number, unit] : llvm::enumerate(result.units)) {
      if (!isUsed[number])
        continue;
      numbers[number] = static_cast<int>(left.size());
      left.push_back(std::move(unit));
    }
    for (int &unit : result.unitOfOp)
      unit = unit < 0 ? -1 : numbers[unit];
    result.units = std::move(left);
  }

  void listValues(Unit &unit) {
    std::map<int, int> seen;
    auto visit = [&](int value) {
      if (seen.try_emplace(value, static_cast<int>(unit.values.size())).second)
        unit.values.push_back(value);
    };
    for (int op : unit.ops) {
      llvm::for_each(problem.ops[op].operands, visit);
      llvm::for_each(problem.ops[op].results, visit);
    }
    localOf.push_back(std::move(seen));
  }

  /// Per value the unit that answers for it and the boundary that it crosses.
  void findReach() {
    homes.assign(problem.values.size(), -1);
    crosses.assign(problem.values.size(), -1);
    isReadElsewhere.assign(problem.values.size(), false);
    for (size_t value = 0; value < problem.values.size(); ++value) {
      int home = getUnitOfMaker(static_cast<int>(value));
      bool isMade = makers[value] >= 0;
      int least = -1, most = -1;
      for (int reader : readers[value]) {
        int unit = result.unitOfOp[reader];
        if (unit < 0 || (isMade && unit == home))
          continue;
        least = least < 0 ? unit : std::min(least, unit);
        most = std::max(most, unit);
      }
      homes[value] = isMade ? home : least;
      if (least < 0)
        continue;
      if (!isMade) {
        isReadElsewhere[value] = least != most;
      } else if (least == most && home >= 0 && std::abs(least - home) == 1) {
        crosses[value] = std::min(home, least);
      } else {
        isReadElsewhere[value] = true;
      }
    }
  }

  Part getPart(int value, int unit) const {
    if (crosses[value] >= 0)
      return crosses[value] == unit ? Part::behind : Part::before;
    if (homes[value] != unit)
      return Part::foreign;
    return isReadElsewhere[value] ? Part::shared : Part::own;
  }

  /// What a unit is, seen from inside.
  std::vector<int> describe(int number) const {
    const Unit &unit = result.units[number];
    std::vector<int> key;
    for (int op : unit.ops) {
      key.push_back(contents.ofOp[op]);
      for (int operand : problem.ops[op].operands)
        key.push_back(localOf[number].at(operand));
      for (int made : problem.ops[op].results)
        key.push_back(localOf[number].at(made));
      key.push_back(-1);
    }
    for (int value : unit.values) {
      int updated = problem.values[value].updates;
      auto variable = localOf[number].find(updated);
      key.insert(key.end(),
                 {contents.ofValue[value],
                  static_cast<int>(getPart(value, number)),
                  makers[value] >= 0 && homes[value] == number,
                  variable == localOf[number].end() ? -1 : variable->second});
    }
    return key;
  }

  void findKinds() {
    std::map<std::vector<int>, int> known;
    for (size_t number = 0; number < result.units.size(); ++number) {
      int unit = static_cast<int>(number);
      auto [it, isNew] = known.try_emplace(
          describe(unit), static_cast<int>(result.kinds.size()));
      if (isNew)
        addKind(unit);
      result.units[number].kind = it->second;
      ++result.kinds[it->second].count;
    }
  }

  void addKind(int unit) {
    Kind &kind = result.kinds.emplace_back();
    kind.representative = unit;
    for (int value : result.units[unit].values)
      kind.parts.push_back(getPart(value, unit));
    kind.slots.assign(kind.parts.size(), -1);
  }

  /// Gives boundaries numbers and what crosses them slots, so that units of one
  /// kind have the same. Where that cannot be, they are of different kinds.
  void connect() {
    while (!tryConnect())
      ;
  }

  bool tryConnect() {
    for (Kind &kind : result.kinds) {
      kind.before = kind.behind = -1;
      kind.slots.assign(kind.parts.size(), -1);
    }
    result.slotCounts.clear();
    for (size_t boundary = 0; boundary + 1 < result.units.size(); ++boundary) {
      int left = static_cast<int>(boundary), right = left + 1;
      if (connectUnits(left, right))
        continue;
      // The later one is on its own.
      Unit &unit = result.units[right];
      --result.kinds[unit.kind].count;
      unit.kind = static_cast<int>(result.kinds.size());
      addKind(right);
      result.kinds.back().count = 1;
      return false;
    }
    return true;
  }

  bool connectUnits(int left, int right) {
    Kind &leftKind = result.kinds[result.units[left].kind];
    Kind &rightKind = result.kinds[result.units[right].kind];
    int number = leftKind.behind >= 0 ? leftKind.behind : rightKind.before;
    bool isNew = number < 0;
    if (isNew) {
      number = static_cast<int>(result.slotCounts.size());
      result.slotCounts.push_back(0);
    }
    for (int *known : {&leftKind.behind, &rightKind.before}) {
      if (*known >= 0 && *known != number)
        return false;
      *known = number;
    }
    int count = 0;
    for (size_t place = 0; place < leftKind.parts.size(); ++place) {
      if (leftKind.parts[place] != Part::behind)
        continue;
      int value = result.units[left].values[place];
      auto other = localOf[right].find(value);
      if (other == localOf[right].end())
        return false;
      int &leftSlot = leftKind.slots[place];
      int &rightSlot = rightKind.slots[other->second];
      if (leftSlot < 0 && rightSlot < 0) {
        if (!isNew)
          return false;
        leftSlot = count;
      }
      leftSlot = leftSlot < 0 ? rightSlot : leftSlot;
      rightSlot = rightSlot < 0 ? leftSlot : rightSlot;
      if (leftSlot != rightSlot)
        return false;
      ++count;
    }
    if (isNew)
      result.slotCounts[number] = count;
    return result.slotCounts[number] == count;
  }

  const PlanningProblem &problem;
  const Folding &folding;
  Contents contents;
  Decisions decisions;
  std::vector<int> makers;
  std::vector<llvm::SmallVector<int, 4>> readers;
  /// Per run the unit before it, and the one behind the last.
  std::vector<int> outer;
  /// Per run its last op, with those of what is nearly a block.
  std::vector<int> runEnds;
  /// Per unit the places of its values.
  std::vector<std::map<int, int>> localOf;
  std::vector<int> homes, crosses;
  std::vector<bool> isReadElsewhere;
  StepUnits result;
};

} // namespace

StepUnits parplan::getStepUnits(const PlanningProblem &problem,
                                const Folding &folding,
                                llvm::ArrayRef<int64_t> labels) {
  return Division(problem, folding, labels).run();
}
