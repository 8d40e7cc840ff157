//===- ExpertLoops.cpp - Raises a loop over experts -----------------------===//
//
// Part of parplan.
//
// Models that have experts with weights of their own add up, in a loop that
// exporters unroll, what each of them answers to all tokens:
//
//   %m = compare eq %choices, e                                  [t, k]
//   %g = reduce sum of (mul (cast %m), %weights) over k          [t, 1]
//   %y = .. products of %tokens with the weights of expert e ..  [t, d]
//   %sum = add %before, (mul %g, %y)                             [t, d]
//
// Or they gather the tokens of each expert, of which import makes a row for
// each choice of a token, [k t, d], and a sum over the choices.
//
// No rank can hold only some experts as long as each is ops of its own. Terms
// that differ in nothing but the number of their expert and in the initializers
// that they read become a dispatch of the tokens, products with the experts as
// batch, on stacks of the initializers, and a combine.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/ExpertParts.h"
#include "passes/Simplify/LaneBuilder.h"
#include "passes/Simplify/LoopSelection.h"
#include "passes/Simplify/Matching.h"
#include "passes/Simplify/Passes.h"

#include "parplan/Support/Check.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_RAISEEXPERTLOOPS
#include "passes/Simplify/Passes.h.inc"

namespace simplify {

namespace {

/// The only reader of the elements of `value`, through reshapes.
Operation *getOnlyReader(Value value) {
  while (value.hasOneUse()) {
    Operation *reader = *value.user_begin();
    if (!isa<ReshapeOp>(reader))
      return reader;
    value = reader->getResult(0);
  }
  return nullptr;
}

bool isSum(Operation *op) {
  return isa_and_nonnull<AddOp>(op) &&
         op->getOperand(0).getType() == op->getResult(0).getType() &&
         op->getOperand(1).getType() == op->getResult(0).getType() &&
         isa<FloatType>(getElementType(op->getResult(0)));
}

/// Not itself a term of a larger sum.
bool isWholeSum(Operation *op) {
  return isSum(op) && !isSum(getOnlyReader(op->getResult(0)));
}

/// What an unrolled loop adds up, in its order.
void collectTerms(Value value, bool isOuter, SmallVectorImpl<Value> &terms) {
  Value root = value;
  while (auto reshape = root.getDefiningOp<ReshapeOp>()) {
    if (!isOuter && !root.hasOneUse())
      break;
    root = reshape.getInput();
  }
  Operation *op = root.getDefiningOp();
  if (!isSum(op) || !(isOuter || root.hasOneUse())) {
    terms.push_back(value);
    return;
  }
  collectTerms(op->getOperand(0), /*isOuter=*/false, terms);
  collectTerms(op->getOperand(1), /*isOuter=*/false, terms);
}

/// One expert: its answer, and the gates of all terms that have it.
struct Expert {
  Value answer;
  int64_t number = 0, tokens = 0, repeats = 1;
  SmallVector<Gate, 1> gates;
};

/// Experts whose gates are equal, in the order of their numbers.
using Loop = SmallVector<Expert>;

/// Takes a sum apart into loops, whose experts stand in the order of their
/// numbers, and other terms.
struct Sum {
  explicit Sum(Operation *op) : op(op) {
    SmallVector<Value> terms;
    collectTerms(op->getResult(0), /*isOuter=*/true, terms);
    findLoops(terms);
  }

  /// The terms that belong to no expert of `raised`, in their order.
  SmallVector<Value> getRest(ArrayRef<Loop> raised) const {
    llvm::DenseSet<Value> answers;
    for (const Loop &loop : raised)
      for (const Expert &expert : loop)
        answers.insert(expert.answer);
    SmallVector<Value> rest;
    for (auto [term, answer] : owners)
      if (!answers.contains(answer))
        rest.push_back(term);
    return rest;
  }

  Operation *op;
  SmallVector<Loop> loops;

private:
  void findLoops(ArrayRef<Value> terms) {
    llvm::MapVector<Value, Expert> experts;
    for (Value term : terms) {
      std::optional<ExpertTerm> found = matchExpertTerm(term);
      if (found && !addTo(experts[found->answer], *found))
        found.reset();
      owners.push_back({term, found ? found->answer : Value()});
    }
    for (auto &[answer, expert] : experts) {
      auto *loop = llvm::find_if(loops, [&](const Loop &other) {
        return other[0].gates == expert.gates &&
               other[0].tokens == expert.tokens &&
               other[0].repeats == expert.repeats &&
               answer.getType() == other[0].answer.getType();
      });
      if (loop == loops.end())
        loop = &loops.emplace_back();
      loop->push_back(expert);
    }
    // A gate alone is no loop.
    llvm::erase_if(loops, [](const Loop &loop) { return loop.size() < 2; });
    for (Loop &loop : loops)
      llvm::sort(loop, [](const Expert &one, const Expert &other) {
        return one.number < other.number;
      });
  }

  /// False for an answer that is that of several experts.
  static bool addTo(Expert &expert, const ExpertTerm &term) {
    if (expert.answer &&
        (expert.number != term.expert || expert.tokens != term.tokens ||
         expert.repeats != term.repeats))
      return false;
    expert.answer = term.answer;
    expert.number = term.expert;
    expert.tokens = term.tokens;
    expert.repeats = term.repeats;
    expert.gates.push_back(term.gate);
    return true;
  }

  /// Per term the answer in it; null without an expert.
  SmallVector<std::pair<Value, Value>> owners;
};

SmallVector<Value> getAnswers(const Loop &loop) {
  SmallVector<Value> answers;
  for (const Expert &expert : loop)
    answers.push_back(expert.answer);
  return answers;
}

bool isNumberedFromZero(const Loop &loop) {
  for (auto [index, expert] : llvm::enumerate(loop))
    if (expert.number != static_cast<int64_t>(index))
      return false;
  return true;
}

class LoopRaiser {
public:
  LoopRaiser(func::FuncOp function, InitializerStacks &stacks,
             const InitializerReaders &readers)
      : function(function), stacks(stacks), readers(readers),
        rewriter(function.getContext()) {}

  void run() {
    SmallVector<Operation *> sums;
    for (Operation &op : function.getBody().front())
      if (isWholeSum(&op))
        sums.push_back(&op);
    for (Operation *sum : sums)
      for (const Loop &loop : Sum(sum).loops)
        look(loop, sum);
    for (Operation *sum : selection.settle(readers))
      warn(sum, "something else reads an initializer of theirs, too");
    for (Operation *sum : sums)
      raise(sum);
  }

private:
  void warn(Operation *op, StringRef reason) {
    emitWarning(op->getLoc(), "experts stay a loop: ") << reason;
  }

  void look(const Loop &loop, Operation *sum) {
    if (!isNumberedFromZero(loop))
      return warn(sum, "they are not numbered from 0 on");
    LaneMatcher matcher(loop[0].tokens, loop[0].repeats, stacks);
    if (matcher.match(getAnswers(loop)))
      return selection.add(getAnswers(loop), sum, matcher.getUses());
    const LaneObstacle &obstacle = matcher.getObstacle();
    warn(obstacle.op ? obstacle.op : sum, obstacle.reason);
  }

  void raise(Operation *op) {
    Sum sum(op);
    llvm::erase_if(sum.loops, [&](const Loop &loop) {
      return !selection.contains(getAnswers(loop));
    });
    if (sum.loops.empty())
      return;
    SmallVector<Value> terms = sum.getRest(sum.loops);
    rewriter.begin(op);
    for (const Loop &loop : sum.loops)
      terms.push_back(build(loop, op));
    Value result = op->getResult(0), total;
    for (Value term : terms) {
      rewriter.setOrigin(op);
      term = toShape(term, getShape(result), rewriter);
      total = total ? rewriter.create<AddOp>(total, term) : term;
    }
    result.replaceAllUsesWith(total);
  }

  Value build(const Loop &loop, Operation *sum) {
    LaneMatcher matcher(loop[0].tokens, loop[0].repeats, stacks);
    Lanes *lanes = matcher.match(getAnswers(loop));
    PARPLAN_CHECK(lanes, "a loop over experts does not match any more");
    ExpertRouting routing =
        buildRouting(loop[0].gates, loop[0].tokens / loop[0].repeats,
                     getElementType(loop[0].answer), rewriter);
    auto expertCount = static_cast<int64_t>(loop.size());
    Value answers =
        LaneBuilder(routing, expertCount, stacks, rewriter).build(lanes);
    SmallVector<int64_t> shape{expertCount};
    llvm::append_range(shape, routing.tokens);
    shape.push_back(1);
    for (int64_t size : lanes->getRest())
      shape.back() *= size;
    answers = toShape(answers, shape, rewriter);
    rewriter.setOrigin(sum);
    rewriter.setOnnxOp("MoE");
    return rewriter.create<MoeCombineOp>(answers, routing.experts,
                                         routing.weights,
                                         /*first_expert=*/Value(),
                                         /*groups=*/DenseI64ArrayAttr());
  }

  func::FuncOp function;
  InitializerStacks &stacks;
  const InitializerReaders &readers;
  Rewriter rewriter;
  LoopSelection selection;
};

struct RaiseExpertLoops : impl::RaiseExpertLoopsBase<RaiseExpertLoops> {
  void runOnOperation() override {
    InitializerStacks stacks(getOperation());
    InitializerReaders readers;
    getOperation().walk([&](ParameterOp parameter) {
      readers[parameter.getInitializerAttr()].push_back(parameter);
    });
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      LoopRaiser(function, stacks, readers).run();
      eraseUnused(function.getBody().front());
    }
  }
};

} // namespace
} // namespace simplify

} // namespace parplan
