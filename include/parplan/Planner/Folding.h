//===- Folding.h - Equal blocks of a problem, once --------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// Models repeat their blocks. A folding finds the blocks of a problem that are
// equal and puts ops and values that play the same part in them into classes.
// What is decided per class costs what the same decisions cost op by op, so a
// search over classes works on one block in place of 1,024.
//
// Example: x -> [norm, matmul, add] x 4 -> loss. The forward pass has one run
// of four blocks; the three ops of a block are three classes of four, and their
// gradients are more. The value between two blocks is one class of four, of
// which the next block reads three and the loss one (`Reading`).
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_FOLDING_H
#define PARPLAN_PLANNER_FOLDING_H

#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanningAnswer.h"

#include <optional>
#include <string>
#include <vector>

namespace parplan {

/// What a problem may be folded by.
struct FoldingOptions {
  /// Per op; ops with different labels are never of one class (what was forced
  /// by name). Empty: all are equal.
  std::vector<int64_t> labels = {};
  /// A block of fewer forward ops is joined with the next ones until it has as
  /// many: equal products in a row want to be row and column parallel in turn.
  int64_t leastBlockOps = 6;
};

/// Which ops and values of a problem are decided together, and what that
/// costs. Holds for every problem that obeys `verifyProblem`:
///
/// * F1. Members of an op class differ in node and block alone; members of a
///   value class in name alone, and in which variable they replace.
/// * F2. Ops of one decision are members of one decision class, at the same
///   place, and read and make the same values of the decision.
/// * F3. A result is of the class of its op's class and its position.
/// * F4. Every value that is read is counted in exactly one reading.
/// * F5. Forward ops of one class are in different blocks of one run, and at
///   the same place of their block. Ops outside of blocks are alone.
struct Folding {
  /// Equal blocks, each of which reads what the one before it made.
  struct Run {
    int firstBlock = 0;
    int blockCount = 0;
  };
  struct Block {
    int run = 0;
    /// Forward ops in program order; of a run, class by class the same.
    std::vector<int> ops;
  };
  struct OpClass {
    /// The first member in program order.
    int representative = 0;
    int64_t count = 0;
  };
  struct ValueClass {
    int representative = 0;
    int64_t count = 0;
    /// The class with whose layout at rest it lies: of what replaces variables
    /// that of the variables, else its own.
    int restClass = 0;
  };
  struct DecisionClass {
    /// The number of a decision of `getDecisions`.
    int representative = 0;
    int64_t count = 0;
    /// The classes of its ops, in program order; the leader is one of them.
    std::vector<int> members;
    int leader = 0;
  };
  struct Use {
    int opClass = 0;
    /// Of operands that are always read in one layout the first one.
    int operand = 0;

    bool operator==(const Use &other) const = default;
  };
  /// Members of a value class that have the same readers, in order of first
  /// use: they have the same copies.
  struct Reading {
    int valueClass = 0;
    int64_t count = 0;
    std::vector<Use> uses;
  };

  std::vector<Run> runs;
  /// In program order.
  std::vector<Block> blocks;
  /// Per op its block, or -1. Gradients are with their forward op, sums and
  /// updates with what they read.
  std::vector<int> blockOfOp;

  std::vector<int> classOfOp, classOfValue, classOfDecision;
  std::vector<OpClass> ops;
  std::vector<ValueClass> values;
  std::vector<DecisionClass> decisions;
  std::vector<Reading> readings;
};

/// Folds a problem that obeys `verifyProblem`. Takes time in proportion to its
/// size, whatever repeats in it.
Folding foldProblem(const PlanningProblem &problem,
                    const FoldingOptions &options = {});

/// Checks F1 to F5, and that counts and numbers agree. Returns what is
/// violated, or nullopt.
std::optional<std::string> verifyFolding(const PlanningProblem &problem,
                                         const Folding &folding);

/// One decision for all members of a class.
struct FoldedAnswer {
  Mesh mesh;
  /// Per class of ops.
  std::vector<FactorAssignment> assignments;
  /// Per class of values; read where it is its own `restClass`.
  std::vector<Sharding> rest;
};

/// The plan of the whole problem. It is legal if and only if every class, every
/// pair of a class and what it reads or makes, is.
PlanningAnswer expandAnswer(const Folding &folding, const FoldedAnswer &answer);

/// The decisions of the representatives of a plan that is equal in all members
/// of every class; nullopt for others.
std::optional<FoldedAnswer> foldAnswer(const Folding &folding,
                                       const PlanningAnswer &answer);

/// `getLayoutSeconds` of the expanded plan, in time in proportion to the
/// classes. The plan is legal.
double getFoldedSeconds(const PlanningProblem &problem, const Folding &folding,
                        const FoldedAnswer &answer, const PlanCosts &costs);

} // namespace parplan

#endif // PARPLAN_PLANNER_FOLDING_H
