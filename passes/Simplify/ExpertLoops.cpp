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

#include "passes/Simplify/ExpertLanes.h"
#include "passes/Simplify/Matching.h"
#include "passes/Simplify/Passes.h"

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

class LoopRaiser {
public:
  LoopRaiser(func::FuncOp function, InitializerStacks &stacks)
      : function(function), stacks(stacks), rewriter(function.getContext()) {
    for (auto parameter : function.getOps<ParameterOp>())
      readers[parameter.getInitializerAttr()].push_back(parameter);
  }

  void run() {
    SmallVector<Operation *> sums;
    for (Operation &op : function.getBody().front())
      if (isWholeSum(&op))
        sums.push_back(&op);
    for (Operation *sum : sums)
      raise(sum);
  }

private:
  void raise(Operation *sum) {
    Value result = sum->getResult(0);
    SmallVector<Value> terms, rest;
    collectTerms(result, /*isOuter=*/true, terms);
    SmallVector<Loop> loops = findLoops(terms, rest);
    rewriter.begin(sum);
    SmallVector<Value> parts;
    for (Loop &loop : loops)
      parts.push_back(build(loop, sum));
    if (parts.empty())
      return;
    Value total;
    for (Value part : llvm::concat<Value>(rest, parts)) {
      rewriter.setOrigin(sum);
      part = toShape(part, getShape(result), rewriter);
      total = total ? rewriter.create<AddOp>(total, part) : part;
    }
    result.replaceAllUsesWith(total);
  }

  /// The loops whose terms are among `terms`, and the other terms.
  SmallVector<Loop> findLoops(ArrayRef<Value> terms,
                              SmallVectorImpl<Value> &rest) {
    llvm::MapVector<Value, Expert> experts;
    SmallVector<std::pair<Value, Value>> owners;
    for (Value term : terms) {
      std::optional<ExpertTerm> found = matchExpertTerm(term);
      if (found) {
        Expert &expert = experts[found->answer];
        if (expert.answer &&
            (expert.number != found->expert || expert.tokens != found->tokens ||
             expert.repeats != found->repeats)) {
          found.reset();
        } else {
          expert.answer = found->answer;
          expert.number = found->expert;
          expert.tokens = found->tokens;
          expert.repeats = found->repeats;
          expert.gates.push_back(found->gate);
        }
      }
      owners.push_back({term, found ? found->answer : Value()});
    }
    SmallVector<Loop> loops, complete;
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
    llvm::DenseSet<Value> raised;
    for (Loop &loop : loops)
      if (isComplete(loop)) {
        for (Expert &expert : loop)
          raised.insert(expert.answer);
        complete.push_back(loop);
      }
    for (auto [term, answer] : owners)
      if (!raised.contains(answer))
        rest.push_back(term);
    return complete;
  }

  /// Several equal experts, numbered from 0.
  bool isComplete(Loop &loop) {
    llvm::sort(loop, [](const Expert &one, const Expert &other) {
      return one.number < other.number;
    });
    for (auto [index, expert] : llvm::enumerate(loop))
      if (expert.number != static_cast<int64_t>(index))
        return false;
    auto hasWeights = [](const Gate &gate) {
      return !gate.weights.empty() || !gate.scales.empty();
    };
    ArrayRef<Gate> gates = loop[0].gates;
    if (loop.size() < 2 ||
        (llvm::any_of(gates, hasWeights) && !llvm::all_of(gates, hasWeights)))
      return false;
    LaneMatcher matcher(loop[0].tokens, loop[0].repeats, stacks, readers);
    return matcher.match(getAnswers(loop)) != nullptr;
  }

  static SmallVector<Value> getAnswers(const Loop &loop) {
    SmallVector<Value> answers;
    for (const Expert &expert : loop)
      answers.push_back(expert.answer);
    return answers;
  }

  Value build(const Loop &loop, Operation *sum) {
    LaneMatcher matcher(loop[0].tokens, loop[0].repeats, stacks, readers);
    Lanes *lanes = matcher.match(getAnswers(loop));
    ExpertRouting routing =
        buildRouting(loop[0].gates, loop[0].tokens / loop[0].repeats, rewriter);
    Value answers = LaneBuilder(routing, stacks, rewriter).build(lanes);
    SmallVector<int64_t> shape{static_cast<int64_t>(loop.size())};
    llvm::append_range(shape, routing.tokens);
    shape.push_back(1);
    for (int64_t size : lanes->getRest())
      shape.back() *= size;
    answers = toShape(answers, shape, rewriter);
    rewriter.setOrigin(sum);
    rewriter.setOnnxOp("MoE");
    return rewriter.create<MoeCombineOp>(answers, routing.experts,
                                         routing.weights,
                                         /*first_expert=*/Value());
  }

  func::FuncOp function;
  InitializerStacks &stacks;
  Rewriter rewriter;
  InitializerReaders readers;
};

struct RaiseExpertLoops : impl::RaiseExpertLoopsBase<RaiseExpertLoops> {
  void runOnOperation() override {
    InitializerStacks stacks(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      LoopRaiser(function, stacks).run();
      eraseUnused(function.getBody().front());
    }
  }
};

} // namespace
} // namespace simplify

} // namespace parplan
