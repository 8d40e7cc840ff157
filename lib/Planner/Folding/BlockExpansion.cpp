//===- BlockExpansion.cpp - Problems with more equal blocks ---------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/BlockExpansion.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <map>

using namespace parplan;

namespace {

/// A run with neighbours on both sides of the block that is copied, which are
/// not the first or last one themselves: those may differ.
constexpr int fewestBlocks = 5;

class Expander {
public:
  Expander(const PlanningProblem &problem, const Folding &folding, int run,
           int64_t count)
      : problem(problem), folding(folding), count(count) {
    const Folding::Run &blocks = folding.runs[run];
    firstBlock = blocks.firstBlock;
    endBlock = firstBlock + blocks.blockCount;
    model = firstBlock + blocks.blockCount / 2;
    placeValues();
  }

  std::optional<ExpandedProblem> run(std::string &reason) {
    if (endBlock - firstBlock < fewestBlocks)
      refusal = "a run of too few blocks";
    if (refusal.empty())
      matchNeighbours();
    if (refusal.empty())
      expand();
    if (refusal.empty())
      return std::move(result);
    reason = refusal;
    return std::nullopt;
  }

private:
  using Origin = ExpandedProblem::Origin;

  void refuse(const std::string &why) {
    if (refusal.empty())
      refusal = why;
  }

  bool isOfRun(int block) const {
    return block >= firstBlock && block < endBlock;
  }

  /// What ops make is in their block, what they read that nobody makes is in
  /// the block of all its readers. Of what is in no block of the run, the
  /// forward ops say whether it is behind the copied block.
  void placeValues() {
    constexpr int unread = -2;
    int last = folding.blocks[model].ops.back();
    llvm::DenseMap<int64_t, int> leaders;
    for (auto [index, op] : llvm::enumerate(problem.ops))
      if (op.group >= 0 && op.isLeader)
        leaders[op.group] = static_cast<int>(index);
    isOpBehind.resize(problem.ops.size());
    isValueBehind.resize(problem.values.size());
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      int block = folding.blockOfOp[index], number = static_cast<int>(index);
      isOpBehind[index] =
          isOfRun(block)
              ? block > model
              : (op.group < 0 ? number : leaders.lookup(op.group)) > last;
      for (int value : op.results)
        isValueBehind[value] = isOpBehind[index];
    }
    blockOfValue.assign(problem.values.size(), unread);
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      int block = folding.blockOfOp[index];
      for (int value : op.operands)
        if (problem.values[value].kind != ValueKind::activation) {
          if (blockOfValue[value] == unread) {
            blockOfValue[value] = block;
            isValueBehind[value] = isOpBehind[index];
          } else if (blockOfValue[value] != block) {
            blockOfValue[value] = -1;
          }
        }
      for (int value : op.results)
        blockOfValue[value] = block;
    }
    for (int &block : blockOfValue)
      if (block == unread)
        block = -1;
  }

  /// The ops and values of the blocks beside the copied one are, one by one in
  /// their order, of the same classes as its own.
  void matchNeighbours() {
    match(folding.blockOfOp, folding.classOfOp, opBefore, opBehind,
          "an operator");
    match(blockOfValue, folding.classOfValue, valueBefore, valueBehind,
          "a value");
  }

  void match(llvm::ArrayRef<int> blocks, llvm::ArrayRef<int> classes,
             llvm::DenseMap<int, int> &before, llvm::DenseMap<int, int> &behind,
             const char *what) {
    // By class, in order: what is reversed from block to block is reversed as
    // a whole.
    std::map<int, std::vector<int>> own, previous, next;
    for (auto [index, block] : llvm::enumerate(blocks)) {
      int number = static_cast<int>(index);
      if (block == model)
        own[classes[index]].push_back(number);
      else if (block == model - 1)
        previous[classes[index]].push_back(number);
      else if (block == model + 1)
        next[classes[index]].push_back(number);
    }
    auto pair = [&](const std::map<int, std::vector<int>> &others,
                    llvm::DenseMap<int, int> &pairs) {
      if (own.size() != others.size())
        return false;
      for (const auto &[ofClass, members] : own) {
        auto found = others.find(ofClass);
        if (found == others.end() || found->second.size() != members.size())
          return false;
        for (auto [mine, other] : llvm::zip_equal(members, found->second))
          pairs[other] = mine;
      }
      return true;
    };
    if (!pair(previous, before) || !pair(next, behind))
      refuse(std::string(what) + " is in some inner blocks and not in others");
  }

  /// The order of a list with the copies in it. `places` has the block of each
  /// entry; `behind` the entry of the model for those of the next block.
  std::vector<Origin> arrange(llvm::ArrayRef<int> places,
                              const llvm::DenseMap<int, int> &behind,
                              const std::vector<bool> &isBehind,
                              llvm::ArrayRef<int> numbers) const {
    // Entries whose counterpart in the next block stands before them.
    llvm::DenseMap<int, size_t> positions;
    for (auto [position, number] : llvm::enumerate(numbers))
      if (places[position] == model)
        positions[number] = position;
    llvm::DenseMap<int, bool> isReversed;
    for (auto [position, number] : llvm::enumerate(numbers))
      if (places[position] == model + 1)
        if (auto mine = behind.find(number); mine != behind.end())
          if (auto found = positions.find(mine->second);
              found != positions.end())
            isReversed[mine->second] = position < found->second;
    std::vector<Origin> order;
    order.reserve(numbers.size() + positions.size() * count);
    for (size_t begin = 0; begin < numbers.size();) {
      if (places[begin] != model) {
        int number = numbers[begin++];
        order.push_back({number, isBehind[number] ? count : 0});
        continue;
      }
      size_t end = begin;
      bool reverse = isReversed.lookup(numbers[begin]);
      while (end < numbers.size() && places[end] == model &&
             isReversed.lookup(numbers[end]) == reverse)
        ++end;
      for (int64_t copy = 0; copy <= count; ++copy)
        for (size_t position = begin; position < end; ++position)
          order.push_back({numbers[position], reverse ? count - copy : copy});
      begin = end;
    }
    return order;
  }

  std::vector<Origin> arrange(llvm::ArrayRef<int> blocks,
                              const llvm::DenseMap<int, int> &behind,
                              const std::vector<bool> &isBehind) const {
    std::vector<int> numbers(blocks.size());
    for (size_t index = 0; index < numbers.size(); ++index)
      numbers[index] = static_cast<int>(index);
    return arrange(blocks, behind, isBehind, numbers);
  }

  void expand() {
    result.values = arrange(blockOfValue, valueBehind, isValueBehind);
    result.ops = arrange(folding.blockOfOp, opBehind, isOpBehind);
    newValues.resize(problem.values.size());
    for (auto [index, origin] : llvm::enumerate(result.values)) {
      std::vector<int> &copies = newValues[origin.number];
      if (blockOfValue[origin.number] == model) {
        copies.resize(count + 1);
        copies[origin.shift] = static_cast<int>(index);
      } else {
        copies = {static_cast<int>(index)};
      }
    }
    PlanningProblem &whole = result.problem;
    whole.microBatches = problem.microBatches;
    whole.fixedBytes = problem.fixedBytes;
    whole.values.reserve(result.values.size());
    for (const Origin &origin : result.values) {
      PlanningValue &value =
          whole.values.emplace_back(problem.values[origin.number]);
      if (value.updates >= 0)
        value.updates =
            find(value.updates, blockOfValue[origin.number], origin.shift);
    }
    whole.ops.reserve(result.ops.size());
    for (const Origin &origin : result.ops)
      addOp(origin);
    if (refusal.empty())
      numberGroups();
  }

  void addOp(const Origin &origin) {
    PlanningOp &op =
        result.problem.ops.emplace_back(problem.ops[origin.number]);
    int block = folding.blockOfOp[origin.number];
    if (op.block >= 0)
      op.block += origin.shift;
    bool isMixed =
        !isOfRun(block) && llvm::any_of(op.operands, [&](int operand) {
          return blockOfValue[operand] == model;
        });
    if (isMixed) {
      replicateOperands(op);
    } else {
      for (int &operand : op.operands)
        operand = find(operand, block, origin.shift);
    }
    for (int &value : op.results)
      value = find(value, block, origin.shift);
  }

  /// Of an op outside of blocks that reads the same of all of them.
  void replicateOperands(PlanningOp &op) {
    llvm::SmallVector<int> places;
    llvm::DenseMap<int, int> neighbours;
    for (int operand : op.operands) {
      places.push_back(blockOfValue[operand]);
      for (const auto *pairs : {&valueBefore, &valueBehind})
        if (auto own = pairs->find(operand); own != pairs->end())
          ++neighbours[own->second];
    }
    for (auto [operand, place] : llvm::zip_equal(op.operands, places))
      if (place == model && neighbours.lookup(operand) != 2)
        return refuse("something reads one of many equal blocks");
    llvm::SmallVector<int, 3> operands;
    llvm::SmallVector<TensorFactors, 3> rules;
    llvm::DenseMap<int, TensorFactors> ruleOf;
    for (auto [operand, tensor] :
         llvm::zip_equal(op.operands, op.rule.operands))
      ruleOf[operand] = tensor;
    for (const Origin &origin :
         arrange(places, valueBehind, isValueBehind, op.operands)) {
      int block = blockOfValue[origin.number];
      operands.push_back(
          newValues[origin.number][block == model ? origin.shift : 0]);
      rules.push_back(ruleOf.lookup(origin.number));
    }
    // Terms are added one by one.
    for (WorkTerm &term : op.work.flops)
      if (term.coefficient == static_cast<double>(op.operands.size()) - 1)
        term.coefficient = static_cast<double>(operands.size()) - 1;
    op.operands = std::move(operands);
    op.rule.operands = std::move(rules);
  }

  /// The number of a value for a reader or maker in a block that was moved by
  /// so many.
  int find(int value, int block, int64_t shift) {
    int own = blockOfValue[value];
    if (!isOfRun(own))
      return newValues[value].front();
    if (!isOfRun(block)) {
      if (own == model)
        refuse("something reads one of many equal blocks");
      return newValues[value].front();
    }
    if (own - block > 1 || block - own > 1) {
      refuse("a block reads another that is not its neighbour");
      return 0;
    }
    // As the copied block stands for all that come between.
    if (block == model && own == model - 1 && shift > 0)
      return getCopy(valueBefore, value, shift - 1);
    if (block == model && own == model + 1 && shift < count)
      return getCopy(valueBehind, value, shift + 1);
    if (own != model)
      return newValues[value].front();
    if (block == model)
      return newValues[value][shift];
    return newValues[value][block < model ? 0 : count];
  }

  int getCopy(const llvm::DenseMap<int, int> &pairs, int value, int64_t copy) {
    return newValues[pairs.lookup(value)][copy];
  }

  /// In the order of their leaders.
  void numberGroups() {
    std::map<std::pair<int64_t, int64_t>, int64_t> numbers;
    std::vector<PlanningOp> &ops = result.problem.ops;
    auto getKey = [&](size_t index) {
      const Origin &origin = result.ops[index];
      return std::pair(ops[index].group, origin.shift);
    };
    for (size_t index = 0; index < ops.size(); ++index)
      if (ops[index].group >= 0 && ops[index].isLeader)
        numbers.try_emplace(getKey(index),
                            static_cast<int64_t>(numbers.size()));
    for (size_t index = 0; index < ops.size(); ++index) {
      if (ops[index].group < 0)
        continue;
      auto found = numbers.find(getKey(index));
      if (found == numbers.end())
        return refuse("a group is in several blocks");
      ops[index].group = found->second;
    }
  }

  const PlanningProblem &problem;
  const Folding &folding;
  int64_t count;
  /// Of the run; `model` is the block that is copied.
  int firstBlock = 0, endBlock = 0, model = 0;
  std::vector<int> blockOfValue;
  std::vector<bool> isOpBehind, isValueBehind;
  /// For ops and values of the blocks before and behind the model those of it.
  llvm::DenseMap<int, int> opBefore, opBehind, valueBefore, valueBehind;
  /// Per value its numbers in the result: per copy, or one.
  std::vector<std::vector<int>> newValues;
  std::string refusal;
  ExpandedProblem result;
};

} // namespace

std::optional<ExpandedProblem>
parplan::expandBlocks(const PlanningProblem &problem, const Folding &folding,
                      int run, int64_t count, std::string &reason) {
  return Expander(problem, folding, run, count).run(reason);
}
