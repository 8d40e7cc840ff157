//===- CutRaising.cpp - The least step within the memory ------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "CutRaising.h"

#include "WaitingBound.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace parplan;

namespace {

/// A position as centre, with one of its bounds.
struct Centre {
  int64_t position = 0, before = 0, count = 0;
  size_t form = 0;
  /// Of the centre, and of what is beside it in the bound.
  double seconds = 0, others = 0;

  double getBound() const { return seconds + others; }
};

class CutRaiser {
public:
  CutRaiser(CutBound &bound, const ScheduleShape &shape, const UnitChain &chain,
            MemoryDual &dual, double freeBytes, double cutoff,
            bool countsWaiting)
      : bound(bound), shape(shape), chain(chain), dual(dual),
        waiting(shape, dual, freeBytes), freeBytes(freeBytes), cutoff(cutoff),
        countsWaiting(countsWaiting) {}

  CutPath run() {
    while (true) {
      CutPath path = bound.find(cutoff);
      if (!raise(path))
        return path;
    }
  }

private:
  /// The dearest first.
  std::vector<Centre> getCentres(const CutPath &path) const {
    std::vector<Centre> centres;
    Centre centre;
    for (int64_t count : path.counts) {
      centre.count = count;
      size_t forms = bound.getForms(centre.position).size();
      for (centre.form = 0; centre.form < forms; ++centre.form) {
        centre.seconds =
            bound.getCentre(centre.position, centre.form, centre.before, count);
        centre.others =
            bound.getOthers(centre.position, centre.form, centre.before, count);
        centres.push_back(centre);
      }
      ++centre.position;
      centre.before += count;
    }
    llvm::stable_sort(centres, [](const Centre &one, const Centre &other) {
      return one.getBound() > other.getBound();
    });
    return centres;
  }

  PositionPart getPart(const Centre &centre) const {
    return {chain.getContent(shape, centre.before, centre.count),
            bound.getForms(centre.position)[centre.form].weights,
            getFirstBackward(shape, centre.position)};
  }

  double getMost(const PositionPart &part) const {
    double most = std::numeric_limits<double>::infinity();
    for (const Most &other : known)
      if (other.seconds < most && costsNoLess(chain, other.part, part))
        most = other.seconds;
    return most;
  }

  /// What the centre costs within its memory; 0: no more than is known, or than
  /// is ignored.
  double getSeconds(const Centre &centre, double ignored) {
    auto batches = static_cast<double>(shape.microBatches);
    double enough = (cutoff - centre.others) / batches;
    PositionPart part = getPart(centre);
    int64_t mostWaiting =
        bound.getForms(centre.position)[centre.form].bound.mostWaiting;
    if (mostWaiting > 0 && !countsWaiting)
      return 0;
    if (mostWaiting > 0) {
      auto [it, isNew] = knownWaiting.try_emplace(
          {centre.position, centre.form, centre.before, centre.count}, 0);
      if (isNew)
        it->second = waiting.find(centre.position, part, mostWaiting, enough,
                                  ignored / batches) *
                     batches;
      return it->second;
    }
    double most = getMost(part);
    if (most <= ignored || centre.seconds >= most * (1 - MemoryDual::tolerance))
      return 0;
    MemoryDual::Result result =
        dual.solve(part, freeBytes, enough, ignored / batches);
    known.push_back({std::move(part), result.most * batches});
    return result.value * batches;
  }

  /// True if some centre costs more than was known.
  bool raise(const CutPath &path) {
    std::vector<Centre> centres = getCentres(path);
    double worst = centres.empty() ? 0 : centres.front().getBound();
    bool isRaised = false;
    for (const Centre &centre : centres) {
      // What cannot cost more than the dearest one matters no more.
      double seconds = getSeconds(centre, worst - centre.others);
      if (seconds <= centre.seconds)
        continue;
      bound.raiseCentre(centre.position, centre.form, centre.before,
                        centre.count, seconds);
      isRaised = true;
      worst = std::max(worst, centre.others + seconds);
      if (worst > cutoff)
        break;
    }
    return isRaised;
  }

  CutBound &bound;
  const ScheduleShape &shape;
  const UnitChain &chain;
  MemoryDual &dual;
  WaitingBound waiting;
  double freeBytes, cutoff;
  bool countsWaiting;
  /// What parts cost at most, whatever the price.
  struct Most {
    PositionPart part;
    double seconds;
  };
  std::vector<Most> known;
  /// By position, form, blocks before and own ones. What was ignored once is
  /// raised no more, which leaves a lower bound.
  std::map<std::tuple<int64_t, size_t, int64_t, int64_t>, double> knownWaiting;
};

} // namespace

CutPath parplan::raiseCut(CutBound &bound, const ScheduleShape &shape,
                          const UnitChain &chain, MemoryDual &dual,
                          double freeBytes, double cutoff, bool countsWaiting) {
  return CutRaiser(bound, shape, chain, dual, freeBytes, cutoff, countsWaiting)
      .run();
}
