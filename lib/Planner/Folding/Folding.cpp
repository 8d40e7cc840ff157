//===- Folding.cpp - Equal blocks of a problem, once ----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/Folding.h"

#include "BlockRuns.h"

#include "parplan/Planner/Decisions.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"

#include <numeric>
#include <unordered_map>

using namespace parplan;

namespace {

using Key = llvm::SmallVector<int64_t, 8>;

struct HashKey {
  size_t operator()(const Key &key) const {
    return llvm::hash_combine_range(key.begin(), key.end());
  }
};

/// Numbers keys, first come first.
class Numbering {
public:
  int get(const Key &key) {
    return numbers.try_emplace(key, static_cast<int>(numbers.size()))
        .first->second;
  }

private:
  std::unordered_map<Key, int, HashKey> numbers;
};

class Folder {
public:
  Folder(const PlanningProblem &problem, const FoldingOptions &options)
      : problem(problem), options(options),
        contents(getContents(problem, options.labels)),
        decisions(getDecisions(problem)), makers(problem.values.size(), -1),
        firstReaders(problem.values.size(), -1),
        partOf(problem.ops.size(), -1) {
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      for (int result : op.results)
        makers[result] = static_cast<int>(index);
      if (isBeforeBackward(op.role))
        for (int operand : op.operands)
          if (firstReaders[operand] < 0)
            firstReaders[operand] = static_cast<int>(index);
    }
    folding.blockOfOp.assign(problem.ops.size(), -1);
  }

  Folding run() {
    findBlocks();
    assignBlocks();
    assignParts();
    classifyDecisions();
    classifyValues();
    addReadings();
    return std::move(folding);
  }

private:
  void findBlocks() {
    std::vector<int> forward;
    for (auto [index, op] : llvm::enumerate(problem.ops))
      if (isBeforeBackward(op.role))
        forward.push_back(static_cast<int>(index));
    for (const BlockRun &run :
         findBlockRuns(problem, contents, forward, options.leastBlockOps)) {
      int number = static_cast<int>(folding.runs.size());
      folding.runs.push_back(
          {static_cast<int>(folding.blocks.size()), run.count});
      for (int block = 0; block < run.count; ++block) {
        auto begin = forward.begin() + run.start + block * run.period;
        for (auto it = begin; it != begin + run.period; ++it)
          folding.blockOfOp[*it] = static_cast<int>(folding.blocks.size());
        folding.blocks.push_back({number, {begin, begin + run.period}});
      }
    }
  }

  int getBlockOfMaker(int value) const {
    return makers[value] < 0 ? -1 : folding.blockOfOp[makers[value]];
  }

  /// Of ops that are neither of the forward pass nor decided with such an op.
  /// Sums are with what they add last; ops that combine several blocks once per
  /// step are in none of them.
  int findBlock(const PlanningOp &op) const {
    int last = -1, block = -1;
    bool isMixed = false;
    for (int operand : op.operands) {
      int own = getBlockOfMaker(operand);
      isMixed |= own >= 0 && block >= 0 && own != block;
      block = std::max(block, own);
      if (makers[operand] > last)
        last = makers[operand];
    }
    if (op.role == OpRole::optimizer)
      return isMixed ? -1 : block;
    return last < 0 ? -1 : folding.blockOfOp[last];
  }

  void assignBlocks() {
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      if (isBeforeBackward(op.role))
        continue;
      int leader = decisions.all[decisions.ofOp[index]].leader;
      folding.blockOfOp[index] = isBeforeBackward(problem.ops[leader].role)
                                     ? folding.blockOfOp[leader]
                                     : findBlock(op);
    }
  }

  /// The part that an op plays: the same in different blocks of a run.
  void assignParts() {
    for (auto [number, block] : llvm::enumerate(folding.blocks))
      for (auto [place, op] : llvm::enumerate(block.ops))
        partOf[op] = parts.get(
            {0, block.run, static_cast<int64_t>(place), contents.ofOp[op]});
    for (auto [index, op] : llvm::enumerate(problem.ops))
      if (partOf[index] < 0)
        partOf[index] =
            isBeforeBackward(op.role) || folding.blockOfOp[index] < 0
                ? parts.get({1, static_cast<int64_t>(index)})
                : getPart(static_cast<int>(index));
  }

  /// Of an op of the backward pass or the optimizer in a block: what it is of
  /// the leader, or what it does with what its block made. Equal ones of a
  /// block are told apart by their order.
  int getPart(int index) {
    const PlanningOp &op = problem.ops[index];
    int block = folding.blockOfOp[index];
    const Decision &decision = decisions.all[decisions.ofOp[index]];
    Key key;
    if (isBeforeBackward(problem.ops[decision.leader].role)) {
      key = {2, partOf[decision.leader], contents.ofOp[index]};
    } else {
      key = {3, folding.blocks[block].run, contents.ofOp[index]};
      for (int operand : op.operands)
        describe(operand, block, key);
    }
    int64_t among = occurrences[{block, parts.get(key)}]++;
    return parts.get({4, parts.get(key), among});
  }

  /// What an op of a block sees of an operand. What other blocks made looks
  /// alike, or the distance to the ends would tell all blocks apart.
  void describe(int operand, int block, Key &key) const {
    int maker = makers[operand];
    if (maker < 0)
      key.append(
          {0, firstReaders[operand] < 0 ? -1 : partOf[firstReaders[operand]]});
    else if (int own = folding.blockOfOp[maker]; own == block || own < 0)
      key.append({own == block ? 1 : 2, partOf[maker],
                  llvm::find(problem.ops[maker].results, operand) -
                      problem.ops[maker].results.begin()});
    else
      key.append({3, -1});
  }

  /// Decisions are of one class if their ops play the same parts and share
  /// operands and results in the same way; ops, if their decisions are.
  void classifyDecisions() {
    Numbering numbering;
    folding.classOfOp.resize(problem.ops.size());
    for (auto [number, decision] : llvm::enumerate(decisions.all)) {
      Key key;
      llvm::SmallDenseMap<int, int64_t, 16> local;
      auto append = [&](int value) {
        key.push_back(
            local.try_emplace(value, static_cast<int64_t>(local.size()))
                .first->second);
      };
      for (int member : decision.members) {
        key.push_back(partOf[member]);
        llvm::for_each(problem.ops[member].operands, append);
        llvm::for_each(problem.ops[member].results, append);
      }
      int found = numbering.get(key);
      folding.classOfDecision.push_back(found);
      if (found == static_cast<int>(folding.decisions.size()))
        addDecisionClass(static_cast<int>(number));
      Folding::DecisionClass &ofDecision = folding.decisions[found];
      ++ofDecision.count;
      for (auto [member, ofMember] :
           llvm::zip_equal(decision.members, ofDecision.members)) {
        folding.classOfOp[member] = ofMember;
        ++folding.ops[ofMember].count;
      }
    }
  }

  void addDecisionClass(int number) {
    const Decision &decision = decisions.all[number];
    Folding::DecisionClass made;
    made.representative = number;
    for (int member : decision.members) {
      if (member == decision.leader)
        made.leader = static_cast<int>(folding.ops.size());
      made.members.push_back(static_cast<int>(folding.ops.size()));
      folding.ops.push_back({member, 0});
    }
    folding.decisions.push_back(std::move(made));
  }

  /// Results by what makes them, all others by what reads them.
  void classifyValues() {
    readers.resize(problem.values.size());
    firstAlike.resize(folding.ops.size());
    for (auto [number, ofOp] : llvm::enumerate(folding.ops))
      findAlike(problem.ops[ofOp.representative].rule, firstAlike[number]);
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      int ofOp = folding.classOfOp[index];
      for (auto [position, operand] : llvm::enumerate(op.operands)) {
        Folding::Use use{ofOp, firstAlike[ofOp][position]};
        if (!llvm::is_contained(readers[operand], use))
          readers[operand].push_back(use);
      }
    }
    Numbering numbering;
    for (size_t index = 0; index < problem.values.size(); ++index) {
      Key key = {0, contents.ofValue[index]};
      if (int maker = makers[index]; maker >= 0) {
        const auto &results = problem.ops[maker].results;
        key = {1, folding.classOfOp[maker],
               llvm::find(results, static_cast<int>(index)) - results.begin()};
      } else {
        for (const Folding::Use &use : readers[index])
          key.append({use.opClass, use.operand});
      }
      int found = numbering.get(key);
      folding.classOfValue.push_back(found);
      if (found == static_cast<int>(folding.values.size()))
        folding.values.push_back({static_cast<int>(index), 0, found});
      ++folding.values[found].count;
    }
    tieVariables();
  }

  /// Operands that are always read alike, by the first one.
  static void findAlike(const ShardingRule &rule, std::vector<int> &alike) {
    // Only one operand is read pending.
    bool differ = rule.linearity == Linearity::separately;
    for (size_t position = 0; position < rule.operands.size(); ++position) {
      size_t first = 0;
      while (first < position &&
             (differ || rule.operands[first] != rule.operands[position]))
        ++first;
      alike.push_back(static_cast<int>(first));
    }
  }

  /// What replaces variables lies as they do: classes that are linked by
  /// members lie alike.
  void tieVariables() {
    std::vector<int> roots(folding.values.size());
    std::iota(roots.begin(), roots.end(), 0);
    auto find = [&](int number) {
      while (roots[number] != number)
        number = roots[number] = roots[roots[number]];
      return number;
    };
    for (auto [index, value] : llvm::enumerate(problem.values))
      if (value.updates >= 0) {
        int one = find(folding.classOfValue[value.updates]),
            other = find(folding.classOfValue[index]);
        roots[std::max(one, other)] = std::min(one, other);
      }
    for (auto [number, ofValue] : llvm::enumerate(folding.values))
      ofValue.restClass = find(static_cast<int>(number));
  }

  void addReadings() {
    Numbering numbering;
    for (size_t index = 0; index < problem.values.size(); ++index) {
      if (readers[index].empty())
        continue;
      Key key = {folding.classOfValue[index]};
      for (const Folding::Use &use : readers[index])
        key.append({use.opClass, use.operand});
      int found = numbering.get(key);
      if (found == static_cast<int>(folding.readings.size()))
        folding.readings.push_back(
            {folding.classOfValue[index], 0, readers[index]});
      ++folding.readings[found].count;
    }
  }

  const PlanningProblem &problem;
  const FoldingOptions &options;
  Contents contents;
  Decisions decisions;
  /// Per value the op that makes it, and the first forward op that reads it.
  std::vector<int> makers, firstReaders;
  Numbering parts;
  std::vector<int> partOf;
  struct HashPair {
    size_t operator()(std::pair<int, int> pair) const {
      return llvm::hash_value(pair);
    }
  };
  std::unordered_map<std::pair<int, int>, int64_t, HashPair> occurrences;
  /// Per value its readers in order of first use, and per class of ops the
  /// operands that stand for others.
  std::vector<std::vector<Folding::Use>> readers;
  std::vector<std::vector<int>> firstAlike;
  Folding folding;
};

} // namespace

Folding parplan::foldProblem(const PlanningProblem &problem,
                             const FoldingOptions &options) {
  return Folder(problem, options).run();
}
