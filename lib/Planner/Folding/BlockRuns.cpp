//===- BlockRuns.cpp - Where a model repeats itself -----------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "BlockRuns.h"

#include "llvm/ADT/DenseSet.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

using namespace parplan;

namespace {

constexpr size_t mostPeriods = 16;

class RunFinder {
public:
  RunFinder(const PlanningProblem &problem, const Contents &contents,
            llvm::ArrayRef<int> forward, int64_t leastOps)
      : problem(problem), contents(contents), forward(forward),
        leastOps(leastOps), makers(problem.values.size(), unmade) {
    for (auto [number, op] : llvm::enumerate(forward))
      for (int result : problem.ops[op].results)
        makers[result] = static_cast<int>(number);
  }

  std::vector<BlockRun> run() {
    search(0, static_cast<int>(forward.size()));
    return std::move(found);
  }

private:
  static constexpr int unmade = -1;

  /// Numbers of forward ops from `start`, `size` of them, of which each but the
  /// last `period` equals the one a period later.
  struct Stretch {
    int start = 0;
    int size = 0;
    int period = 0;
  };

  void search(int begin, int end) {
    Stretch best;
    for (int period : proposePeriods(begin, end)) {
      Stretch stretch = findLongest(period, begin, end);
      if (stretch.size > best.size ||
          (stretch.size == best.size && stretch.period < best.period))
        best = stretch;
    }
    if (best.size == 0)
      return;
    BlockRun run = cut(best);
    if (run.count < 2)
      return;
    search(begin, run.start);
    found.push_back(run);
    search(run.getEnd(), end);
  }

  /// Weighed by what they would cover.
  std::vector<int> proposePeriods(int begin, int end) const {
    std::unordered_map<int, int> last;
    std::map<int, int64_t> votes;
    for (int number = begin; number < end; ++number) {
      auto [it, isNew] =
          last.try_emplace(contents.ofOp[forward[number]], number);
      if (!isNew)
        ++votes[number - it->second];
      it->second = number;
    }
    std::vector<std::pair<int64_t, int>> ranked;
    for (auto [period, count] : votes)
      ranked.push_back({-count * period, period});
    std::sort(ranked.begin(), ranked.end());
    std::vector<int> periods;
    for (auto [score, period] : llvm::ArrayRef(ranked).take_front(mostPeriods))
      periods.push_back(period);
    return periods;
  }

  enum class Relation { different, same, moved, before };

  /// How two operands correspond, of ops a period apart. `before`: the left one
  /// was made elsewhere, as it may be for a first block.
  Relation relate(int left, int right, int period) const {
    if (left == right)
      return Relation::same;
    if (contents.ofValue[left] != contents.ofValue[right])
      return Relation::different;
    if (makers[left] == unmade && makers[right] == unmade)
      return problem.values[left].kind == ValueKind::activation ||
                     problem.values[left].kind == ValueKind::input
                 ? Relation::different
                 : Relation::same;
    if (makers[left] == unmade || makers[right] == unmade)
      return makers[left] == unmade ? Relation::before : Relation::different;
    if (makers[right] - makers[left] != period)
      return Relation::before;
    auto getResult = [&](int value) {
      return llvm::find(problem.ops[forward[makers[value]]].results, value) -
             problem.ops[forward[makers[value]]].results.begin();
    };
    return getResult(left) == getResult(right) ? Relation::moved
                                               : Relation::different;
  }

  /// Op `number` and the one a period later are equal. `lastBefore` rises to
  /// the last op that made something for the left one alone.
  bool areEqual(int number, int period, int &lastBefore) const {
    int left = forward[number], right = forward[number + period];
    if (contents.ofOp[left] != contents.ofOp[right])
      return false;
    for (auto [one, other] : llvm::zip_equal(problem.ops[left].operands,
                                             problem.ops[right].operands)) {
      Relation relation = relate(one, other, period);
      if (relation == Relation::different)
        return false;
      if (relation == Relation::before)
        lastBefore = std::max(lastBefore, makers[one] + 1);
    }
    return true;
  }

  Stretch findLongest(int period, int begin, int end) const {
    Stretch best{0, 0, period};
    for (int number = begin; number + period < end;) {
      int start = number;
      for (int before = 0; number + period < end; ++number)
        if (!areEqual(number, period, before) || before > 0)
          break;
      // What a first block may add is less than a block.
      if (2 * (number - start) >= period) {
        Stretch stretch =
            extend({start, number - start + period, period}, begin);
        if (stretch.size >= 2 * period && stretch.size > best.size &&
            isChain(stretch))
          best = stretch;
      }
      ++number;
    }
    return best;
  }

  /// To the left, by what may begin a first block: everything that reads
  /// elsewhere reads what was made before the stretch.
  Stretch extend(Stretch stretch, int begin) const {
    int least = std::max(begin, stretch.start - stretch.period);
    int lastBefore = 0, start = stretch.start;
    for (int number = stretch.start - 1; number >= least; --number) {
      if (!areEqual(number, stretch.period, lastBefore))
        break;
      if (lastBefore <= number)
        start = number;
    }
    return {start, stretch.size + stretch.start - start, stretch.period};
  }

  /// Ops of the second block read the first one.
  bool isChain(const Stretch &stretch) const {
    for (int number = stretch.start + stretch.period;
         number < stretch.start + 2 * stretch.period; ++number)
      for (int operand : problem.ops[forward[number]].operands)
        if (makers[operand] >= stretch.start &&
            makers[operand] < stretch.start + stretch.period)
          return true;
    return false;
  }

  /// The first cut at which the fewest bytes cross among those that leave as
  /// many blocks as possible.
  BlockRun cut(const Stretch &stretch) const {
    auto factor = static_cast<int>(
        std::max<int64_t>(1, (leastOps + stretch.period - 1) / stretch.period));
    int period = stretch.period * factor;
    int count = stretch.size / period;
    BlockRun best{stretch.start, period, count};
    if (count < 2)
      return best;
    int64_t fewest = std::numeric_limits<int64_t>::max();
    for (int start = stretch.start;
         start + count * period <= stretch.start + stretch.size &&
         start < stretch.start + stretch.period;
         ++start) {
      int64_t crossing = countCrossing(start + period, period);
      if (crossing < fewest) {
        fewest = crossing;
        best.start = start;
      }
    }
    return best;
  }

  /// Bytes that the period before `border` made and the one behind it reads.
  int64_t countCrossing(int border, int period) const {
    llvm::DenseSet<int> counted;
    int64_t sum = 0;
    for (int number = border; number < border + period; ++number)
      for (int operand : problem.ops[forward[number]].operands)
        if (makers[operand] >= border - period && makers[operand] < border &&
            counted.insert(operand).second)
          sum += problem.values[operand].getWholeBytes();
    return sum;
  }

  const PlanningProblem &problem;
  const Contents &contents;
  llvm::ArrayRef<int> forward;
  int64_t leastOps;
  /// Per value the number of its forward op.
  std::vector<int> makers;
  std::vector<BlockRun> found;
};

} // namespace

std::vector<BlockRun> parplan::findBlockRuns(const PlanningProblem &problem,
                                             const Contents &contents,
                                             llvm::ArrayRef<int> forward,
                                             int64_t leastOps) {
  return RunFinder(problem, contents, forward, leastOps).run();
}
