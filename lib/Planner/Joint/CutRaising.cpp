//===- CutRaising.cpp - The least step within the memory ------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "CutRaising.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

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
            MemoryDual &dual, double freeBytes, double cutoff)
      : bound(bound), shape(shape), chain(chain), dual(dual),
        freeBytes(freeBytes), cutoff(cutoff) {}

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
            getLeastInFlight(shape, centre.position)};
  }

  double getMost(const PositionPart &part) const {
    double most = std::numeric_limits<double>::infinity();
    for (const Most &other : known)
      if (other.seconds < most && costsNoLess(chain, other.part, part))
        most = other.seconds;
    return most;
  }

  /// True if some centre costs more than was known.
  bool raise(const CutPath &path) {
    auto batches = static_cast<double>(shape.microBatches);
    std::vector<Centre> centres = getCentres(path);
    double worst = centres.empty() ? 0 : centres.front().getBound();
    bool isRaised = false;
    for (const Centre &centre : centres) {
      PositionPart part = getPart(centre);
      // What cannot cost more than the dearest one matters no more.
      double ignored = worst - centre.others, most = getMost(part);
      if (most <= ignored ||
          centre.seconds >= most * (1 - MemoryDual::tolerance))
        continue;
      MemoryDual::Result result =
          dual.solve(part, freeBytes, (cutoff - centre.others) / batches,
                     ignored / batches);
      known.push_back({std::move(part), result.most * batches});
      double seconds = result.value * batches;
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
  double freeBytes, cutoff;
  /// What parts cost at most, whatever the price.
  struct Most {
    PositionPart part;
    double seconds;
  };
  std::vector<Most> known;
};

} // namespace

CutPath parplan::raiseCut(CutBound &bound, const ScheduleShape &shape,
                          const UnitChain &chain, MemoryDual &dual,
                          double freeBytes, double cutoff) {
  return CutRaiser(bound, shape, chain, dual, freeBytes, cutoff).run();
}
