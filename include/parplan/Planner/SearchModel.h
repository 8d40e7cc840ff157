//===- SearchModel.h - What a search for plans asks of models ---*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
// The search knows a model as a chain of units, each with an oracle, and no
// more. Tests search over lists of random plans.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_SEARCHMODEL_H
#define PARPLAN_PLANNER_SEARCHMODEL_H

#include "parplan/Pipeline/Timeline.h"
#include "parplan/Planner/BlockOracle.h"
#include "parplan/Planner/PlanningAnswer.h"

#include <memory>
#include <optional>
#include <string>

namespace parplan {

/// `count` equal units one behind the other. What neighbours say of the
/// boundary between them are the same states.
struct SearchUnit {
  BlockOracle *oracle = nullptr;
  int64_t count = 1;
  /// In the first or the last stage whatever the cuts; every other unit may be
  /// the first of a stage. Only at the ends of the chain.
  bool isEnd = false;
};

/// A schedule, and where it cuts a chain of units.
struct StageChoice {
  ScheduleShape shape;
  /// Per virtual stage its first unit instance; ends of the chain included, so
  /// the first one is 0.
  std::vector<int> cuts;
};

/// A plan of the search, with its price by someone who is not the search.
struct JudgedPlan {
  PlanningAnswer answer;
  PlanEvaluation evaluation;
  /// Beyond what the rank with most of it may have; 0 or less: it fits.
  int64_t excessBytes = 0;
  /// Other reasons why it cannot be.
  std::optional<std::string> refusal;
};

/// A problem on one mesh (or with one set of cuts of its tensor axes) and for
/// one number of micro-batches.
class SpaceModel {
public:
  virtual ~SpaceModel() = default;

  virtual std::vector<SearchUnit> getUnits() = 0;
  /// Of every rank whatever the plan.
  virtual double getFixedBytes() const = 0;
  /// Seconds of a message across the boundary behind a unit instance in a
  /// state.
  virtual double getLatency(int instance, int state) const = 0;
  /// Nothing new is likely to be asked: what is kept only to answer that sooner
  /// may go.
  virtual void forget() {}
  /// Plans of the same states and modes in which units agree about what they
  /// share beyond their boundaries, where each oracle chose for itself;
  /// weights are those of the units.
  virtual std::vector<BlockPlan> agree(std::vector<BlockPlan> plans,
                                       llvm::ArrayRef<Weights> /*weights*/) {
    return plans;
  }
  /// One plan per unit instance, in order; of neighbours the states agree. A
  /// rank has so many bytes.
  virtual JudgedPlan judge(const std::vector<BlockPlan> &plans,
                           const StageChoice &stages, double limitBytes) = 0;
};

/// How much a space offers: the less, the earlier it gives a plan.
enum class SpaceWidth {
  /// Ops are split over their batch alone.
  data,
  /// Over the usual axes, and tensor axes within a node.
  plain,
  any,
};

/// One mesh with the cuts of its tensor axes, as the search sees it.
struct SpaceInfo {
  int64_t positions = 1;
  SpaceWidth width = SpaceWidth::plain;
  Meeting meeting = Meeting::always;
  /// Ways of keeping activations that plans may have.
  ModeSet modes = allModes;
  std::string name;
};

class SpaceSource {
public:
  virtual ~SpaceSource() = default;

  /// Numbers of micro-batches that a step may have, ascending.
  virtual std::vector<int64_t> getCounts() const = 0;
  virtual int getSpaceCount() const = 0;
  virtual SpaceInfo getInfo(int space) const = 0;
  /// The schedules that are searched. Their `microBatches` is set by the
  /// search.
  virtual std::vector<ScheduleShape> getShapes(int space) const = 0;
  /// What a message from a position to the next one takes at least, whatever
  /// the plan.
  virtual double getLeastMessageSeconds(int /*space*/, int64_t /*count*/) {
    return 0;
  }

  /// A unit of the model that `make` would give: what every plan of it costs at
  /// least, component by component, by its mode.
  struct LeastUnit {
    struct Mode {
      int number = 0;
      CostVector cost;
    };
    std::vector<Mode> modes;
    int64_t count = 1;
    bool isEnd = false;
  };
  /// All of them, and the bytes of every rank whatever the plan. No units: the
  /// space is impossible.
  struct LeastModel {
    std::vector<LeastUnit> units;
    double fixedBytes = 0;
  };
  /// Of all spaces with as many positions, at once known; and of one space.
  virtual LeastModel getLeastOfAll(int space, int64_t count) = 0;
  virtual LeastModel getLeast(int space, int64_t count) = 0;

  /// A model whose bounds of seconds are bounds of what `make` would give, and
  /// which says nothing of bytes; it takes less time because spaces share most
  /// of it; or, in next to no time, one of what was made before, with lower
  /// bounds. Null: there is none.
  virtual std::unique_ptr<SpaceModel>
  makeRelaxed(int /*space*/, int64_t /*count*/, bool /*isOfKnown*/) {
    return nullptr;
  }

  /// A model whose bounds of seconds and of permanent bytes are bounds of what
  /// `make` would give: the least that ops take, and what parameters, their
  /// gradients and states cost. Null: there is none.
  virtual std::unique_ptr<SpaceModel> makeOfVariables(int /*space*/,
                                                      int64_t /*count*/) {
    return nullptr;
  }

  /// About what a rank has of parameters and states if no replica stores but a
  /// piece of its own: `makeOfVariables` says much where that does not fit.
  virtual double getUnspreadBytes(int /*space*/, int64_t /*count*/) {
    return 0;
  }

  /// A step of `count` micro-batches works at least this share of what one of
  /// `fewer` does, whatever both choose. 0: nothing is known.
  virtual double getLeastShare(int /*space*/, int64_t /*fewer*/,
                               int64_t /*count*/) {
    return 0;
  }

  /// About what a rank needs that keeps everything: where a search begins.
  virtual double getKeptBytes(int /*space*/, int64_t /*count*/) { return 0; }

  /// Configurations that are worth a plan before anything is known of any: what
  /// people choose.
  struct Seed {
    int space = 0;
    ScheduleShape shape;
    /// From what seems best; seeds are in this order.
    double distance = 0;
  };
  virtual std::vector<Seed> getSeeds(double /*memoryLimitBytes*/) { return {}; }
  struct Place {
    int space = 0;
    int64_t microBatches = 1;
  };
  /// What people would try after one, because it differs little.
  virtual std::vector<Place> getNeighbours(Place /*place*/) { return {}; }

  /// What of a space is likely to be asked for next.
  enum class Next {
    /// A relaxed model of its own, unless one that was made before will do.
    perhapsRelaxed,
    relaxed,
    least,
    variables,
    model,
  };
  /// What takes long of that may be begun by another thread; answers stay the
  /// same. False: nothing more is begun now.
  virtual bool prepare(int /*space*/, int64_t /*count*/, Next /*next*/) {
    return false;
  }
  /// The same when other threads have nothing else to do, and no more behind
  /// `dropLater`.
  virtual void prepareLater(int /*space*/, int64_t /*count*/, Next /*next*/) {}
  virtual void dropLater() {}
  /// Null: the space is impossible.
  virtual std::unique_ptr<SpaceModel> make(int space, int64_t count) = 0;

  /// Does the work of every number below `count`, perhaps in several threads.
  virtual void forEach(size_t count, llvm::function_ref<void(size_t)> work) {
    for (size_t number = 0; number < count; ++number)
      work(number);
  }
};

} // namespace parplan

#endif // PARPLAN_PLANNER_SEARCHMODEL_H
