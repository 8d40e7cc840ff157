//===- UnitRuns.cpp - When ops of a unit run and what they read -----------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "UnitRuns.h"

#include "llvm/ADT/STLExtras.h"

using namespace parplan;

namespace {

class RunBuilder {
public:
  RunBuilder(const UnitSample &sample, const UnitRemaking &remaking,
             UnitRuns &runs)
      : sample(sample), problem(sample.problem), remaking(remaking),
        runs(runs) {}

  void add(int op) {
    if (isBackward(sample.phases[op]))
      for (int operand : problem.ops[op].operands)
        remake(operand);
    addRun({op, false, sample.phases[op]});
  }

private:
  void remake(int value) {
    int maker = sample.values[value].maker;
    if (maker < 0 || !remaking.recomputed[maker] || runs.isRemade[value])
      return;
    for (int operand : problem.ops[maker].operands)
      remake(operand);
    addRun({maker, true, Phase::inputGradient});
  }

  void addRun(const UnitRuns::Run &run) {
    const PlanningOp &op = problem.ops[run.op];
    bool isLate = run.isRemade || isBackward(run.phase);
    for (auto [position, operand] : llvm::enumerate(op.operands)) {
      CopyReader reader = getCopyReader(op);
      if (run.isRemade)
        reader.role = OpRole::inputGradient;
      auto &reads =
          isLate && runs.isRemade[operand] ? runs.remadeReadsOf : runs.readsOf;
      reads[operand].push_back(
          {run.op, static_cast<int>(position), run.phase, reader});
    }
    if (run.isRemade)
      for (int result : op.results)
        runs.isRemade[result] = true;
    runs.all.push_back(run);
  }

  const UnitSample &sample;
  const PlanningProblem &problem;
  const UnitRemaking &remaking;
  UnitRuns &runs;
};

} // namespace

UnitRuns::UnitRuns(const UnitSample &sample, int kind,
                   const UnitRemaking &remaking)
    : readsOf(sample.values.size()), remadeReadsOf(sample.values.size()),
      isRemade(sample.values.size(), false) {
  RunBuilder builder(sample, remaking, *this);
  const UnitSample::Range &range = sample.kinds[kind];
  for (int op = range.firstOp; op < range.endOp; ++op)
    builder.add(op);
  for (auto *lists : {&readsOf, &remadeReadsOf})
    for (std::vector<UnitRead> &reads : *lists)
      llvm::stable_sort(reads, [](const UnitRead &one, const UnitRead &other) {
        return one.phase < other.phase;
      });
}
