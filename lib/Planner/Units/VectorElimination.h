//===- VectorElimination.h - Minima of a network, call after call ---------===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_VECTORELIMINATION_H
#define PARPLAN_LIB_PLANNER_VECTORELIMINATION_H

#include "VectorNetwork.h"

#include <optional>

namespace parplan {

/// The minimum of a network under weights, for every choice of some variables.
/// Everything that does not depend on the weights is done once: the order, the
/// shapes of tables, where each vector goes. A call multiplies vectors by
/// weights and adds and compares numbers.
class VectorElimination {
public:
  /// `fixed` are the variables that stay, in the order of `minimise`. Nullopt
  /// where a table would have more than `tableLimit` entries.
  static std::optional<VectorElimination> make(const VectorNetwork &network,
                                               llvm::ArrayRef<int> fixed,
                                               int64_t tableLimit);

  /// Per combination of the fixed variables, the last fastest; infinite where
  /// nothing is allowed. The array is overwritten by the next call.
  llvm::ArrayRef<double> minimise(const Components &weights);

  /// Completes `places`, in which the fixed variables are set, with the choices
  /// that reach the minimum of the last call.
  void complete(std::vector<int> &places) const;

  /// Additions of a call, and vectors that it multiplies at most.
  int64_t getEntryCount() const { return entryCount; }
  int64_t getVectorCount() const { return vectorCount; }

private:
  /// A table lies with its lanes, the choices of the last of its variables,
  /// next to each other; their number is rounded up, and the rest is infinite.
  static constexpr int lanes = 8;

  struct Table {
    /// Ordered by when they are eliminated, latest last: the lanes.
    std::vector<int> variables;
    std::vector<int64_t> strides;
    int64_t offset = 0;

    /// 0: the table is the same for all choices of the variable.
    int64_t getStride(int variable) const;
  };
  /// The vectors of a factor, component by component, and where their least
  /// product goes: to a table that nothing else writes, so that what does not
  /// change from call to call stays there.
  struct Source {
    std::vector<int> components;
    std::vector<double> values;
    /// Vectors, rounded up.
    int count = 0;
    /// Per entry its first vector, one more, and its least product.
    std::vector<int> starts;
    std::vector<double> least;
    /// The rows of the table: where each begins, and the entry that what it has
    /// in its lanes is counted from.
    struct Row {
      int64_t place = 0;
      int entry = 0;
    };
    std::vector<Row> rows;
    std::vector<int> ofLanes;
  };
  /// The sum of tables, or its minimum over a variable.
  struct Bucket {
    /// -1: no minimum is taken.
    int variable = -1;
    int choiceCount = 1;
    struct Input {
      int64_t offset = 0;
      /// Per outer loop, and of the variable.
      std::vector<int64_t> strides;
      int64_t ofVariable = 0;
    };
    /// The variables that stay, but for the lanes, outermost first.
    std::vector<int> counts;
    /// Inputs with lanes and without.
    std::vector<Input> wide, narrow;
    Input output;
    int vectorCount = 1;
    std::vector<Table> tables;
  };

  void layOut(Table &table);
  void addSource(const VectorFactor &factor, const Table &table);
  void addBucket(int variable, std::vector<Table> tables, Table &made);
  void run(const Bucket &bucket);

  /// Per variable its size, and its place in the order of elimination.
  std::vector<int> sizes, ranks;
  std::vector<Source> sources;
  std::vector<Bucket> buckets;
  std::vector<int> fixed;
  Table result;
  std::vector<double> memory, products, answer;
  /// Of the last call, whose tables are still there.
  std::optional<Components> asked;
  int64_t memorySize = 0, entryCount = 0, vectorCount = 0;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_VECTORELIMINATION_H
