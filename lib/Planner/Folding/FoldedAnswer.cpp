//===- FoldedAnswer.cpp - Plans that are equal in equal blocks ------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "lib/Planner/Problem/Contents.h"

#include "parplan/Planner/Decisions.h"
#include "parplan/Planner/Folding.h"

#include <map>
#include <set>

using namespace parplan;

PlanningAnswer parplan::expandAnswer(const Folding &folding,
                                     const FoldedAnswer &answer) {
  PlanningAnswer whole;
  whole.mesh = answer.mesh;
  whole.assignments.reserve(folding.classOfOp.size());
  for (int ofOp : folding.classOfOp)
    whole.assignments.push_back(answer.assignments[ofOp]);
  whole.rest.reserve(folding.classOfValue.size());
  for (int ofValue : folding.classOfValue)
    whole.rest.push_back(answer.rest[folding.values[ofValue].restClass]);
  return whole;
}

std::optional<FoldedAnswer> parplan::foldAnswer(const Folding &folding,
                                                const PlanningAnswer &answer) {
  FoldedAnswer folded;
  folded.mesh = answer.mesh;
  for (const Folding::OpClass &ofOp : folding.ops)
    folded.assignments.push_back(answer.assignments[ofOp.representative]);
  for (const Folding::ValueClass &ofValue : folding.values)
    folded.rest.push_back(answer.rest[ofValue.representative]);
  PlanningAnswer expanded = expandAnswer(folding, folded);
  if (expanded.assignments != answer.assignments ||
      expanded.rest != answer.rest)
    return std::nullopt;
  return folded;
}

double parplan::getFoldedSeconds(const PlanningProblem &problem,
                                 const Folding &folding,
                                 const FoldedAnswer &answer,
                                 const PlanCosts &costs) {
  ReshardCache reshards(answer.mesh);
  auto getRest = [&](int ofValue) -> const Sharding & {
    return answer.rest[folding.values[ofValue].restClass];
  };
  auto getSeconds = [&](int ofValue, const Sharding &from, const Sharding &to) {
    const PlanningValue &value =
        problem.values[folding.values[ofValue].representative];
    return costs.getPathSeconds(reshards.get(value.shape, from, to),
                                answer.mesh, value);
  };
  double seconds = 0;
  for (auto [ofOp, assignment] :
       llvm::zip_equal(folding.ops, answer.assignments)) {
    const PlanningOp &op = problem.ops[ofOp.representative];
    double each = costs.getOpSeconds(problem, op, assignment, answer.mesh) +
                  costs.getInnerSeconds(problem, op, assignment, answer.mesh);
    for (auto [position, result] : llvm::enumerate(op.results)) {
      int ofValue = folding.classOfValue[result];
      each += static_cast<double>(getResultRepeat(problem, op)) *
              getSeconds(ofValue,
                         getMadeSharding(op.rule, assignment,
                                         static_cast<int>(position)),
                         getRest(ofValue));
    }
    seconds += static_cast<double>(ofOp.count) * each;
  }
  struct Copy {
    Sharding layout;
    CopyReader reader;
  };
  for (const Folding::Reading &reading : folding.readings) {
    int representative = folding.values[reading.valueClass].representative;
    if (problem.values[representative].kind == ValueKind::constant)
      continue;
    const Sharding &rest = getRest(reading.valueClass);
    llvm::SmallVector<Copy, 4> copies;
    for (const Folding::Use &use : reading.uses) {
      const PlanningOp &op =
          problem.ops[folding.ops[use.opClass].representative];
      CopyReader reader = getCopyReader(op);
      Sharding layout =
          getUseSharding(op.rule, answer.assignments[use.opClass], use.operand);
      if (layout == rest || llvm::any_of(copies, [&](const Copy &copy) {
            return copy.layout == layout &&
                   sharesCopies(copy.reader, reader, rest);
          }))
        continue;
      seconds += static_cast<double>(reading.count * getRepeat(problem, op)) *
                 getSeconds(reading.valueClass, rest, layout);
      copies.push_back({std::move(layout), reader});
    }
  }
  return seconds;
}

namespace {

/// F1 and F5: what members of a class have in common.
std::optional<std::string> verifyMembers(const PlanningProblem &problem,
                                         const Folding &folding) {
  Contents contents = getContents(problem, {});
  std::vector<int64_t> counts(folding.ops.size(), 0);
  std::set<std::pair<int, int>> blocksOfClasses;
  std::vector<int> places(problem.ops.size(), -1);
  for (const Folding::Block &block : folding.blocks)
    for (auto [place, op] : llvm::enumerate(block.ops))
      places[op] = static_cast<int>(place);
  for (auto [index, ofOp] : llvm::enumerate(folding.classOfOp)) {
    int representative = folding.ops[ofOp].representative;
    auto fail = [&](const std::string &what) {
      return "operator " + std::to_string(index) + what;
    };
    ++counts[ofOp];
    if (contents.ofOp[index] != contents.ofOp[representative])
      return fail(" differs from its class (F1)");
    if (!isBeforeBackward(problem.ops[index].role))
      continue;
    int block = folding.blockOfOp[index];
    if (block < 0
            ? folding.ops[ofOp].count != 1
            : !blocksOfClasses.emplace(ofOp, block).second ||
                  places[index] != places[representative] ||
                  folding.blocks[block].run !=
                      folding.blocks[folding.blockOfOp[representative]].run)
      return fail(" is at another place than its class (F5)");
  }
  for (auto [ofOp, count] : llvm::zip_equal(folding.ops, counts))
    if (ofOp.count != count)
      return std::string("a class of operators is miscounted");
  counts.assign(folding.values.size(), 0);
  for (auto [index, ofValue] : llvm::enumerate(folding.classOfValue)) {
    ++counts[ofValue];
    if (contents.ofValue[index] !=
        contents.ofValue[folding.values[ofValue].representative])
      return "value " + std::to_string(index) + " differs from its class (F1)";
    int variable = problem.values[index].updates;
    if (variable >= 0 &&
        folding.values[ofValue].restClass !=
            folding.values[folding.classOfValue[variable]].restClass)
      return "value " + std::to_string(index) + " lies not as its variable";
  }
  for (auto [ofValue, count] : llvm::zip_equal(folding.values, counts))
    if (ofValue.count != count)
      return std::string("a class of values is miscounted");
  return std::nullopt;
}

/// F2: decisions of a class are equal but for the numbers of their values.
std::optional<std::string> verifyDecisions(const PlanningProblem &problem,
                                           const Folding &folding) {
  Decisions decisions = getDecisions(problem);
  std::vector<int64_t> counts(folding.decisions.size(), 0);
  for (auto [number, decision] : llvm::enumerate(decisions.all)) {
    int found = folding.classOfDecision[number];
    const Folding::DecisionClass &ofDecision = folding.decisions[found];
    const Decision &first = decisions.all[ofDecision.representative];
    ++counts[found];
    auto fail = [&, number = number](const std::string &what) {
      return "decision " + std::to_string(number) + what + " (F2)";
    };
    if (decision.members.size() != ofDecision.members.size() ||
        folding.classOfOp[decision.leader] != ofDecision.leader)
      return fail(" has other members than its class");
    std::map<int, int> same, back;
    for (auto [place, member] : llvm::enumerate(decision.members)) {
      if (folding.classOfOp[member] != ofDecision.members[place])
        return fail(" has other members than its class");
      const PlanningOp &op = problem.ops[member];
      const PlanningOp &other = problem.ops[first.members[place]];
      auto matches = [&](llvm::ArrayRef<int> some, llvm::ArrayRef<int> others) {
        return llvm::all_of_zip(some, others, [&](int one, int two) {
          return same.try_emplace(one, two).first->second == two &&
                 back.try_emplace(two, one).first->second == one;
        });
      };
      if (!matches(op.operands, other.operands) ||
          !matches(op.results, other.results))
        return fail(" shares other values than its class");
    }
  }
  for (auto [ofDecision, count] : llvm::zip_equal(folding.decisions, counts))
    if (ofDecision.count != count)
      return std::string("a class of decisions is miscounted");
  return std::nullopt;
}

/// F3 and F4: who makes and who reads members of a class.
std::optional<std::string> verifyValues(const PlanningProblem &problem,
                                        const Folding &folding) {
  std::vector<bool> isRead(problem.values.size(), false);
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    const PlanningOp &first =
        problem.ops[folding.ops[folding.classOfOp[index]].representative];
    for (auto [result, other] : llvm::zip_equal(op.results, first.results))
      if (folding.classOfValue[result] != folding.classOfValue[other])
        return "results of operator " + std::to_string(index) +
               " are of other classes than those of its class (F3)";
    for (int operand : op.operands)
      isRead[operand] = true;
  }
  std::vector<int64_t> read(folding.values.size(), 0),
      counted(folding.values.size(), 0);
  for (size_t value = 0; value < problem.values.size(); ++value)
    read[folding.classOfValue[value]] += isRead[value];
  for (const Folding::Reading &reading : folding.readings)
    counted[reading.valueClass] += reading.count;
  if (read != counted)
    return std::string("readings are miscounted (F4)");
  return std::nullopt;
}

} // namespace

std::optional<std::string>
parplan::verifyFolding(const PlanningProblem &problem, const Folding &folding) {
  if (folding.classOfOp.size() != problem.ops.size() ||
      folding.classOfValue.size() != problem.values.size())
    return "the folding is of another problem";
  if (auto fault = verifyMembers(problem, folding))
    return fault;
  if (auto fault = verifyDecisions(problem, folding))
    return fault;
  return verifyValues(problem, folding);
}
