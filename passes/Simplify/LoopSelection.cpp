//===- LoopSelection.cpp - Which loops over experts are raised ------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Simplify/LoopSelection.h"

using namespace mlir;

namespace parplan::simplify {

void LoopSelection::add(ArrayRef<Value> answers, Operation *sum,
                        const StackUses &uses) {
  loops.push_back({llvm::to_vector(answers), sum, uses});
}

SmallVector<Operation *>
LoopSelection::settle(const InitializerReaders &readers) {
  SmallVector<Operation *> dropped;
  // Who is dropped reads its initializers one by one, which others may stack.
  for (bool isSettled = false; !isSettled;) {
    isSettled = true;
    llvm::DenseSet<OpOperand *> uses;
    for (const Candidate &loop : loops)
      uses.insert(loop.uses.uses.begin(), loop.uses.uses.end());
    llvm::DenseMap<Attribute, ArrayAttr> stackOf;
    auto isAlone = [&](Attribute member, ArrayAttr stack) {
      bool isStacked = llvm::all_of(readers.lookup(member), [&](Operation *op) {
        return llvm::all_of(
            op->getUses(), [&](OpOperand &use) { return uses.contains(&use); });
      });
      return isStacked &&
             stackOf.try_emplace(member, stack).first->second == stack;
    };
    llvm::erase_if(loops, [&](const Candidate &loop) {
      bool stays = true;
      for (ArrayAttr stack : loop.uses.stacks)
        for (Attribute member : stack)
          stays &= isAlone(member, stack);
      if (!stays)
        dropped.push_back(loop.sum);
      isSettled &= stays;
      return !stays;
    });
  }
  return dropped;
}

bool LoopSelection::contains(ArrayRef<Value> answers) const {
  return llvm::any_of(loops, [&](const Candidate &loop) {
    return ArrayRef(loop.answers) == answers;
  });
}

} // namespace parplan::simplify
