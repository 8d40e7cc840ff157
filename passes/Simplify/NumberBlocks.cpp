//===- NumberBlocks.cpp - Numbers the repeated blocks of a model ----------===//
//
// Part of parplan.
//
// Ops that compute are numbered in order and hashed over what they do, not over
// names. Distances between equal ops vote for periods; the best are swept for
// the longest run in which op i and op i + period are equal and read operands
// equally far back. Layers may alternate in what they read, as in a window of
// the keys or all of them: where no period covers most of the model, multiples
// are swept as well. A run is cut into blocks where the fewest values cross.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/Passes.h"

#include "dialects/parplan/ParplanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Hashing.h"

#include <limits>
#include <map>

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_NUMBERBLOCKS
#include "passes/Simplify/Passes.h.inc"

namespace {

constexpr int maxCandidates = 16;
/// Layers that alternate in what they read, at most.
constexpr int maxAlternating = 8;

/// Parameters and constants are leaves: they belong to the op that reads them.
bool isLeaf(Operation *op) { return op->getNumOperands() == 0; }

/// Everything that makes two ops the same but their operands.
llvm::hash_code hashOp(Operation *op) {
  llvm::hash_code hash =
      llvm::hash_combine(op->getName().getTypeID(), op->hashProperties());
  for (Type type : op->getResultTypes())
    hash = llvm::hash_combine(hash, type.getAsOpaquePointer());
  return hash;
}

/// What an operand is, seen from its user.
struct Reference {
  enum class Kind { leaf, argument, op } kind;
  /// Hash of a leaf, number of an argument or op.
  uint64_t number;
  unsigned result = 0;
};

struct ComputingOp {
  Operation *op;
  llvm::hash_code hash;
  SmallVector<Reference, 3> operands;
};

struct Run {
  int64_t start = 0;
  /// Ops from `start` on that equal those a period later.
  int64_t matches = 0;
  int64_t period = 0;

  int64_t size() const { return matches ? matches + period : 0; }
};

class BlockFinder {
public:
  explicit BlockFinder(Block &block) {
    llvm::DenseMap<Operation *, int64_t> numbers;
    for (Operation &op : block.without_terminator()) {
      if (isLeaf(&op))
        continue;
      numbers[&op] = static_cast<int64_t>(ops.size());
      ComputingOp &entry = ops.emplace_back();
      entry.op = &op;
      entry.hash = hashOp(&op);
      for (Value operand : op.getOperands())
        entry.operands.push_back(describe(operand, numbers));
    }
  }

  void number() {
    Run best;
    auto sweep = [&](int64_t period) {
      Run run = findLongestRun(period);
      if (run.matches >= period &&
          (run.size() > best.size() ||
           (run.size() == best.size() && run.period < best.period)))
        best = run;
    };
    SmallVector<int64_t> periods = proposePeriods();
    for (int64_t period : periods)
      sweep(period);
    auto all = static_cast<int64_t>(ops.size());
    for (int multiple = 2; multiple <= maxAlternating && 2 * best.size() < all;
         ++multiple)
      for (int64_t period : periods)
        if (2 * multiple * period <= all)
          sweep(multiple * period);
    if (best.matches == 0)
      return;
    int64_t start = chooseCut(best);
    int64_t count = (best.start + best.size() - start) / best.period;
    for (int64_t index = 0; index < count * best.period; ++index) {
      Operation *op = ops[start + index].op;
      op->setAttr(attributes::block,
                  IntegerAttr::get(IntegerType::get(op->getContext(), 64),
                                   index / best.period));
    }
  }

private:
  static Reference
  describe(Value operand, const llvm::DenseMap<Operation *, int64_t> &numbers) {
    Operation *op = operand.getDefiningOp();
    if (!op)
      return {Reference::Kind::argument,
              cast<BlockArgument>(operand).getArgNumber()};
    if (!isLeaf(op))
      return {Reference::Kind::op, static_cast<uint64_t>(numbers.lookup(op)),
              cast<OpResult>(operand).getResultNumber()};
    // All parameters of one type look alike.
    if (isa<ParameterOp>(op))
      return {Reference::Kind::leaf,
              llvm::hash_value(operand.getType().getAsOpaquePointer())};
    return {Reference::Kind::leaf, hashOp(op)};
  }

  /// Op `number` and the one `period` later compute the same of operands that
  /// are equally far back, or the same.
  bool isEqual(int64_t number, int64_t period) const {
    const ComputingOp &left = ops[number], &right = ops[number + period];
    if (left.hash != right.hash ||
        left.operands.size() != right.operands.size())
      return false;
    for (auto [one, other] : llvm::zip(left.operands, right.operands)) {
      if (one.kind != other.kind || one.result != other.result)
        return false;
      bool isSame = one.number == other.number;
      bool isShifted =
          one.kind == Reference::Kind::op &&
          other.number - one.number == static_cast<uint64_t>(period);
      if (!isSame && !isShifted)
        return false;
    }
    return true;
  }

  /// The distances between neighbours of equal hash, weighed by what they
  /// would cover.
  SmallVector<int64_t> proposePeriods() const {
    llvm::DenseMap<uint64_t, int64_t> last;
    std::map<int64_t, int64_t> votes;
    for (auto [number, entry] : llvm::enumerate(ops)) {
      uint64_t hash = static_cast<size_t>(entry.hash) >> 2;
      auto [found, isNew] =
          last.try_emplace(hash, static_cast<int64_t>(number));
      if (isNew)
        continue;
      ++votes[static_cast<int64_t>(number) - found->second];
      found->second = static_cast<int64_t>(number);
    }
    SmallVector<std::pair<int64_t, int64_t>> ranked;
    for (auto [period, count] : votes)
      ranked.push_back({-count * period, period});
    llvm::sort(ranked);
    SmallVector<int64_t> periods;
    for (auto [score, period] : ArrayRef(ranked).take_front(maxCandidates))
      periods.push_back(period);
    return periods;
  }

  Run findLongestRun(int64_t period) const {
    Run best{0, 0, period};
    int64_t start = 0, count = static_cast<int64_t>(ops.size());
    for (int64_t number = 0; number + period <= count; ++number) {
      bool isEnd = number + period == count || !isEqual(number, period);
      if (!isEnd)
        continue;
      if (number - start > best.matches)
        best = {start, number - start, period};
      start = number + 1;
    }
    return best;
  }

  /// The first cut of the run at which the fewest values cross, among those
  /// that leave as many blocks as possible.
  int64_t chooseCut(const Run &run) const {
    int64_t end = run.start + run.size();
    int64_t blocks = run.size() / run.period;
    int64_t best = run.start, fewest = std::numeric_limits<int64_t>::max();
    for (int64_t cut = run.start; cut + blocks * run.period <= end; ++cut) {
      int64_t crossing = countCrossing(cut + run.period, run.period);
      if (crossing < fewest) {
        fewest = crossing;
        best = cut;
      }
    }
    return best;
  }

  /// Values of the period before `cut` that the period behind it reads.
  int64_t countCrossing(int64_t cut, int64_t period) const {
    llvm::DenseSet<std::pair<uint64_t, unsigned>> crossing;
    int64_t end = std::min<int64_t>(cut + period, ops.size());
    for (int64_t number = cut; number < end; ++number)
      for (const Reference &operand : ops[number].operands)
        if (operand.kind == Reference::Kind::op &&
            static_cast<int64_t>(operand.number) < cut &&
            static_cast<int64_t>(operand.number) >= cut - period)
          crossing.insert({operand.number, operand.result});
    return static_cast<int64_t>(crossing.size());
  }

  std::vector<ComputingOp> ops;
};

struct NumberBlocks : impl::NumberBlocksBase<NumberBlocks> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        BlockFinder(function.getBody().front()).number();
  }
};

} // namespace
} // namespace parplan
