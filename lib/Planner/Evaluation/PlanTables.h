//===- PlanTables.h - Parts of plans on one mesh, by number -----*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
// Most ops of a plan are equal to others and spread like them, and so are the
// layouts of their values. The evaluator works on numbers of these; what a part
// is, takes and holds is computed once, by the same functions as without.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PLANTABLES_H
#define PARPLAN_LIB_PLANNER_PLANTABLES_H

#include "lib/Planner/Problem/Contents.h"
#include "lib/Planner/Problem/Phases.h"

#include "parplan/Planner/PlanCosts.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace parplan {

/// Seconds by what they are for.
struct WorkSeconds {
  double compute = 0, optimizer = 0, tensor = 0, data = 0;

  double getTotal() const { return compute + optimizer + tensor + data; }
  void add(const WorkSeconds &other, double times = 1) {
    compute += times * other.compute;
    optimizer += times * other.optimizer;
    tensor += times * other.tensor;
    data += times * other.data;
  }
};

/// What follows from a problem alone.
struct ProblemFacts {
  explicit ProblemFacts(const PlanningProblem &problem);

  Contents contents;
  std::vector<Phase> phases;
  /// Per value the op that makes it, or -1, and the value that replaces it, or
  /// -1.
  std::vector<int> producers, newValues;
  std::vector<int> segments;
  bool isTraining;
};

class PlanTables {
public:
  /// `costs` may be missing where nobody asks for seconds. All of them outlive
  /// the tables.
  PlanTables(const PlanningProblem &problem,
             std::shared_ptr<const ProblemFacts> facts, const Mesh &mesh,
             const PlanCosts *costs);

  const PlanningProblem &getProblem() const { return problem; }
  const ProblemFacts &getFacts() const { return *facts; }
  const Mesh &getMesh() const { return mesh; }
  const PlanCosts *getCosts() const { return costs; }

  int getNumber(const Sharding &layout);
  const Sharding &getLayout(int number) const { return layouts[number]; }

  /// An op as an assignment spreads it.
  struct Form {
    FactorAssignment assignment;
    /// What is illegal about it; if anything, nothing below is known.
    std::vector<std::string> faults;
    /// The layouts of operands and results.
    llvm::SmallVector<int, 3> uses;
    llvm::SmallVector<int, 1> made;
    /// `getInnerBytes`.
    int64_t innerBytes = 0;
  };
  int getForm(int op, const FactorAssignment &assignment);
  const Form &getForm(int number) const { return forms[number]; }

  /// Of an op with a form, as often as it runs in a step.
  struct OpSeconds {
    double own = 0, inner = 0;
  };
  OpSeconds getSeconds(int op, int form);

  /// The way of a value from a layout to another one.
  struct Change {
    const ReshardPath *path = nullptr;
    /// There is a path, and it gathers nothing that is to stay split.
    bool isFound = true, isAllowed = true;
    /// Largest block between two moves: it lives beside both ends.
    int64_t transientBytes = 0;
    /// Once: communication over data axes, over others, or computation for
    /// local moves.
    WorkSeconds seconds;
  };
  const Change &getChange(int value, int from, int to);

  /// Bytes of a value in a layout on one rank.
  int64_t getBytes(int value, int layout);

private:
  Form makeForm(int op, const FactorAssignment &assignment);

  const PlanningProblem &problem;
  std::shared_ptr<const ProblemFacts> facts;
  Mesh mesh;
  const PlanCosts *costs;
  ReshardCache reshards;

  struct LayoutHash {
    size_t operator()(const Sharding &layout) const {
      return hash_value(layout);
    }
  };
  std::unordered_map<Sharding, int, LayoutHash> numbers;
  std::deque<Sharding> layouts;
  /// By the hash of contents and assignment.
  std::unordered_map<size_t, llvm::SmallVector<int, 1>> formsOfHash;
  std::deque<Form> forms;
  /// The contents and seconds of a form; negative: nobody has asked.
  std::vector<int> contentsOfForms;
  std::vector<OpSeconds> secondsOfForms;
  llvm::DenseMap<uint64_t, int> changeNumbers;
  std::deque<Change> changes;
  /// Per contents of values and layout; -1: nobody has asked.
  std::vector<std::vector<int64_t>> bytes;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PLANTABLES_H
