//===- CutBound.h - The least step over all cuts ----------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_CUTBOUND_H
#define PARPLAN_LIB_PLANNER_CUTBOUND_H

#include "RaisedPlaces.h"

#include "lib/Planner/Units/AskedOracles.h"

#include "parplan/Planner/ScheduleBounds.h"

#include <map>

namespace parplan {

/// Blocks per chunk of every position, and what the step takes at least.
struct CutPath {
  double seconds = std::numeric_limits<double>::infinity();
  std::vector<int64_t> counts;
};

/// Bounds the steps of a schedule over all cuts of a chain. Of every cut some
/// position as centre bounds the step (`StepBound`); the cut whose worst centre
/// is least bounds all of them. Centres are priced without memory until
/// somebody raises their value.
class CutBound {
public:
  enum class Effort {
    /// What a centre works, whatever the schedule.
    work,
    /// The bounds of a centre that all positions share.
    shared,
    /// All of them, and what the first position does before meeting by the
    /// blocks that it has.
    all,
  };
  struct Options {
    Meeting meeting = Meeting::always;
    double leastMessageSeconds = 0;
    Effort effort = Effort::shared;
    /// Prices are what follows from those that oracles were asked for.
    bool isOfKnown = false;
  };

  CutBound(const UnitChain &chain, const ScheduleShape &shape,
           AskedOracles &oracles, const Options &options);

  /// The best cut of those with at most `cutoff` seconds; none: every cut takes
  /// longer.
  CutPath find(double cutoff);

  /// Bounds with a position as centre, and the weights of its chunks divided by
  /// the number of micro-batches.
  struct Form {
    StepBound bound;
    std::vector<Weights> weights;
  };
  const std::vector<Form> &getForms(int64_t position) const {
    return forms[position];
  }
  /// What a centre costs at least with its part of the cut, in its weights.
  double getCentre(int64_t position, size_t form, int64_t before,
                   int64_t count) const;
  void raiseCentre(int64_t position, size_t form, int64_t before, int64_t count,
                   double value);
  /// What is added to a centre in the bound of the step, in the cut that was
  /// found last.
  double getOthers(int64_t position, size_t form, int64_t before,
                   int64_t count) const;

  /// What a position may have in cuts of at most `cutoff` seconds: blocks per
  /// chunk of the positions before it, and with its own.
  struct Place {
    int64_t before = 0, end = 0;
  };
  /// Per position the places that some cut may have, and perhaps others.
  std::vector<std::vector<Place>> getPlaces(double cutoff);

  /// Per number of blocks per chunk what the first positions cost that have so
  /// many together. Differences are what is between two cuts.
  using CutSums = std::vector<double>;
  /// By the weights of each chunk.
  const CutSums &getCutSums(const std::vector<Weights> &weights);

private:
  using Prefix = std::vector<double>;
  struct Sums {
    const CutSums *before = nullptr, *centre = nullptr, *behind = nullptr;
    /// Of the first position besides, whatever the centre; null: nothing.
    const CutSums *ofFirst = nullptr;
    double constant = 0;
  };
  /// What a bound counts of the first position besides `before`.
  const CutSums *getSumsOfFirst(const StepBound &bound);
  double getOfFirst(const Sums &sum) const {
    return sum.ofFirst ? (*sum.ofFirst)[blocksOfFirst] : 0;
  }
  double getPrice(int type, const Weights &weights);
  const Prefix &getPrefix(const Weights &weights);
  /// The most blocks per chunk of a position within `cutoff`.
  int64_t getMostBlocks(double cutoff) const;
  /// Their sum is the bound of the step with a centre, without what is raised:
  /// what depends on the blocks before it, and on those until its end.
  double getFrom(const Sums &sum, int64_t before) const;
  double getUntil(const Sums &sum, int64_t end) const;
  /// The bound of the step with a centre.
  double getBound(int64_t position, int64_t before, int64_t count) const;
  /// Per position and number of blocks before it what it and those behind it
  /// take at least, and where its own blocks end then. Infinity: longer than
  /// the cutoff.
  struct Completions {
    std::vector<std::vector<double>> seconds;
    std::vector<std::vector<int64_t>> ends;
  };
  /// Of all positions but the first.
  Completions getCompletions(double cutoff) const;
  void complete(int64_t position, int64_t most, double cutoff,
                Completions &all) const;
  CutPath getEqual();

  const UnitChain &chain;
  ScheduleShape shape;
  AskedOracles &oracles;
  Options options;
  int64_t perChunk = 0;
  /// The least that a centre costs for each block.
  double leastPerBlock = 0;
  std::vector<std::vector<Form>> forms;
  std::vector<std::vector<Sums>> sums;
  std::map<Components, Prefix> prefixes;
  std::map<std::vector<double>, CutSums> cutSums;
  /// How many per chunk the first position has.
  int64_t blocksOfFirst = 0;
  /// It is asked how many those are.
  bool asksFirst = false;
  /// By form.
  RaisedPlaces raised;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_CUTBOUND_H
