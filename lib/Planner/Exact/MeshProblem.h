//===- MeshProblem.h - The planning problem on one mesh ---------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_MESHPROBLEM_H
#define PARPLAN_LIB_PLANNER_MESHPROBLEM_H

#include "parplan/Planner/CostNetwork.h"
#include "parplan/Planner/Decisions.h"
#include "parplan/Planner/Layouts.h"
#include "parplan/Planner/PlanCosts.h"
#include "parplan/Planner/PlanRequest.h"
#include "parplan/Planner/PlanningAnswer.h"

#include <map>
#include <utility>
#include <vector>

namespace parplan {

/// A set of copies of a value, as numbers of `ValueCopies::kinds`.
using CopySet = uint64_t;
constexpr size_t maxCopyKinds = 64;

/// The copies that readers of a value may need: a layout, for one of the kinds
/// of readers that may not share it. Layouts are numbers of a `LayoutTable`.
struct ValueCopies {
  struct Kind {
    int layout;
    int64_t bytes;
    CopyReader reader;
    int64_t repeat;
    /// First and last op that may read it.
    int firstUse, lastUse;
  };
  std::vector<Kind> kinds;

  /// Which kinds a decision's choices need.
  struct Reading {
    int decision;
    std::vector<CopySet> needs;
  };
  std::vector<Reading> readings;

  /// Per kind the set that stands for it where the value lies in the layout
  /// `rest`, which is `atRest`: nothing if that is its layout, else the first
  /// kind that shares its copy.
  std::vector<CopySet> getShares(int rest, const Sharding &atRest) const;
};

/// The union of the shares of a set.
CopySet unite(CopySet set, const std::vector<CopySet> &shares);

/// One choice for a value: its layout at rest, and the copies that are made of
/// it.
struct ValueChoice {
  int rest;
  CopySet copies;
};

/// The planning problem on one mesh as a cost network. Variables are decisions
/// (which assignments) and values (which layout at rest, which shared copies).
/// What replaces a variable shares the network's variable with it: they rest
/// alike.
class MeshProblem {
public:
  MeshProblem(const PlanningProblem &problem, const PlanRequest &request,
              const PlanSpace &space,
              std::vector<std::vector<FactorAssignment>> assignments,
              const PlanCosts &costs);

  /// A value has more layouts than the network can tell apart: nothing else may
  /// be asked.
  bool isTooRich() const { return tooRich; }

  /// Who waits for the search wants no more of it. A problem that was being
  /// made then is incomplete: nothing else may be asked.
  bool isStopped() const { return control.isStopped(); }

  const CostNetwork &getNetwork() const { return network; }
  const Mesh &getMesh() const { return mesh; }

  PlanningAnswer getAnswer(const std::vector<int> &choices) const;

  /// Bytes of parameters and states that every completion of a partial answer
  /// needs.
  int64_t getLeastParameterBytes(const std::vector<int> &choices) const;

  /// The same of the peak of every answer on one position, where everything is
  /// kept on the device.
  int64_t getLeastPeakBytes() const;

  /// What memory costs: `secondsPerByte` for every byte that is live while an
  /// op runs, times the weight of the op. Weights add up to one.
  struct Prices {
    double secondsPerByte = 0;
    std::vector<double> opWeights;
  };

  /// The network with prices added. Its best plans are smaller and slower.
  CostNetwork getNetwork(const Prices &prices) const;

  /// What is live while an op of a step of one micro-batch runs, as costs of
  /// the same variables, without `fixedBytes` and what reshards need while they
  /// run. Copies count for as long as any op may read them; or not at all: then
  /// no op has less.
  CostNetwork getLiveBytes(int op, bool countsCopies) const;

  /// `priced`, which is the network with `prices`, without choices of values
  /// that are no better than others whatever the ops do. The minimum stays.
  CostNetwork::Reduction dropDominatedLayouts(const CostNetwork &priced,
                                              const Prices &prices) const;

private:
  int getRest(size_t value, const std::vector<int> &choices) const;

  void addPrices(const Prices &prices, bool countsCopies,
                 CostNetwork &priced) const;
  double getPathSeconds(size_t value, int from, int to) {
    return layouts.getSeconds(forms[value], from, to);
  }
  std::vector<CopySet> getShares(const ValueCopies &copies, size_t value,
                                 int rest) const {
    return copies.getShares(restLayouts[value][rest], rests[value][rest]);
  }

  void addDecisions();
  void addValues();
  ValueCopies getCopies(size_t value);
  struct ValueTables;
  struct MakingTables;
  const ValueTables &getTables(size_t value, const ValueCopies &copies);
  void addChoices(size_t value, const ValueCopies &copies, ValueTables &made);
  void addReadings(size_t value, const ValueCopies &copies, ValueTables &made);
  void addMaking(size_t value);
  /// Bytes of each kind of copy of a value, and behind them of the value at
  /// rest, times the weights of the ops while they are live.
  std::vector<double> getLiveBytes(size_t value, int rest,
                                   llvm::ArrayRef<double> weightBefore) const;
  /// Kernels that read it may compute it: bounds count no bytes of it.
  bool mayBeFused(size_t value) const;
  /// The seconds from what a choice of the maker makes to a layout at rest.
  double getMakingSeconds(size_t value, size_t choice, int rest,
                          const Prices &prices) const;
  /// How much longer that takes at most to another layout: row by row the one
  /// before.
  std::vector<double> getMostAdded(size_t value, const Prices &prices) const;

  const PlanningProblem &problem;
  const Mesh &mesh;
  const PlanCosts &costs;
  const SearchControl &control;
  LayoutTable layouts;
  Decisions decisions;
  std::vector<std::vector<FactorAssignment>> assignments;
  std::vector<std::vector<Sharding>> rests;
  /// Per value its form, and the numbers of `rests`.
  std::vector<int> forms;
  std::vector<std::vector<int>> restLayouts;
  bool tooRich = false;
  CostNetwork network;
  /// Per op and choice what it holds while it runs (`getInnerBytes`).
  std::vector<std::vector<int64_t>> innerBytes;
  /// Per value its variable and the choices of that.
  std::vector<int> variableOf;
  std::vector<std::vector<ValueChoice>> valueChoices;
  std::vector<std::vector<int64_t>> restBytes;
  std::vector<int64_t> leastBytes;
  /// Per value the first and last op while it is live.
  std::vector<std::pair<int, int>> liveRanges;
  struct Reader {
    int op;
    int position;
  };
  std::vector<std::vector<Reader>> readers;
  /// Per value the op that makes it and the position, or -1.
  std::vector<Reader> writers;
  /// What a choice of a maker's decision makes, with its bytes and the seconds
  /// to each layout at rest.
  struct Making {
    int layout;
    int64_t bytes;
    std::vector<double> seconds;
  };
  /// What values have in common that lie and are made alike, as those of equal
  /// blocks do: per choice of the maker's decision, and as a pair of both.
  struct MakingTables {
    std::vector<Making> makings;
    CostTable seconds = nullptr;
  };
  /// What those have in common that lie and are read alike: their choices, and
  /// the pair with each decision that reads them.
  struct ValueTables {
    std::vector<ValueChoice> choices;
    CostTable seconds = nullptr;
    std::vector<CostTable> readings;
  };
  /// Per value, null: nothing makes it.
  std::vector<const MakingTables *> makings;
  /// By all that tables depend on.
  using TablesKey = std::vector<int64_t>;
  std::map<TablesKey, ValueTables> valueTables;
  std::map<TablesKey, MakingTables> makingTables;
  std::vector<ValueCopies> valueCopies;
  /// Per value the one that replaces it, or the number of values.
  std::vector<size_t> replacements;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_MESHPROBLEM_H
