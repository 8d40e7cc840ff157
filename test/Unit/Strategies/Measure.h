//===- Measure.h - What a partitioned step does -----------------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TEST_UNIT_STRATEGIES_MEASURE_H
#define PARPLAN_TEST_UNIT_STRATEGIES_MEASURE_H

#include "Fraction.h"
#include "StepBuilder.h"

#include "parplan/CostModel/Collective.h"

#include <map>

namespace parplan {

/// Found by GoogleTest.
inline void PrintTo(CollectiveKind kind, std::ostream *stream) {
  *stream << stringifyCollectiveKind(kind);
}

} // namespace parplan

namespace parplan::test {

/// Communication of the rank that does most.
struct Traffic {
  /// By kind, in elements, in the counting of docs/cli.md.
  std::map<CollectiveKind, int64_t> elements;
  /// What a rank sends in the ring algorithm, on average over the group: a
  /// broadcast and a reduce as a pipelined chain, a send as its message.
  Fraction ring;

  bool operator==(const Traffic &other) const = default;
};

std::ostream &operator<<(std::ostream &stream, const Traffic &traffic);

/// Elements that a rank holds beyond what rests: at most at a time, in ops
/// before and in ops of the backward pass. These are the results of moves and
/// pending values; a view is none. What an all-reduce overwrites is not counted
/// beside what it makes, nor is what the function returns.
struct Copies {
  int64_t forward = 0, backward = 0;

  bool operator==(const Copies &other) const = default;
};

std::ostream &operator<<(std::ostream &stream, const Copies &copies);

/// A program of statements.
struct Scheduled {
  Traffic traffic;
  /// The most elements that its arrays take at a time, but for parameters,
  /// inputs, outputs and workspaces of kernels.
  int64_t activations = 0;
};

/// The program of one rank, from the partition phase.
class LocalProgram {
public:
  /// Partitions `step`. `fault` says what went wrong, if something did.
  LocalProgram(const Step &step, std::string &fault);

  /// Interprets the step on one rank and the program on all. Returns where
  /// they differ by more than `tolerance`, or nothing.
  std::string compare(const Step &step, double tolerance);

  /// Schedules the program. Elements have so many bytes.
  Scheduled schedule(int64_t elementBytes = 4);

  Copies getCopies();

  /// Elements of the local type of argument, result or parameter.
  int64_t getArgumentSize(unsigned index);
  int64_t getResultSize(unsigned index);
  /// Of the parameter itself, not of a state.
  int64_t getParameterSize(llvm::StringRef initializer);
  /// The largest sum of gradients over micro-batches.
  int64_t getGradientSumSize();

  std::string print();

private:
  mlir::func::FuncOp getMain();

  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_STRATEGIES_MEASURE_H
