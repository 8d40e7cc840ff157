//===- MemoryDual.h - What a position costs within its memory ---*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_MEMORYDUAL_H
#define PARPLAN_LIB_PLANNER_MEMORYDUAL_H

#include "PeakMoments.h"

#include "lib/Planner/Units/AskedOracles.h"

namespace parplan {

/// The part of a chain that a position has, per chunk, and what counts there.
struct PositionPart {
  std::vector<UnitRange> ranges;
  /// Prices of time; and of what waits for its weight gradient, where that
  /// hides time (`DraftEstimator::getWaitingPrices`).
  std::vector<Weights> weights;
  /// Whose bytes are limited.
  Moment moment;

  /// What a unit of a chunk has then.
  double getBytes(size_t chunk, const CostVector &cost) const {
    return moment.getBytes(chunk, cost);
  }
};

/// Whatever memory there is, the best price gives the first no less than the
/// second.
bool costsNoLess(const UnitChain &chain, const PositionPart &one,
                 const PositionPart &other);

/// Bounds the weighted cost of a position whose bytes are limited: with a price
/// per byte, every plan that fits costs at least the priced minimum of each
/// unit alone less the price of the whole memory (Lagrange). That holds for any
/// price; the best one is where the cheapest plans just fit.
class MemoryDual {
public:
  MemoryDual(const UnitChain &chain, AskedOracles &oracles)
      : chain(chain), oracles(oracles) {}

  struct Result {
    /// Infinity: no plan fits for certain.
    double value = 0;
    /// No price gives more.
    double most = std::numeric_limits<double>::infinity();
    /// The price per byte that gives it.
    double price = 0;
    /// Nothing but time decides.
    bool isFree = false;
  };

  /// How close `value` comes to `most`, as a share, unless it stops before.
  static constexpr double tolerance = 2e-4;

  /// Within so many bytes. Stops where the value is `enough`, or cannot be more
  /// than is `ignored`.
  Result solve(const PositionPart &part, double freeBytes, double enough,
               double ignored = 0);

  /// Per chunk what the plans cost that are cheapest at a price per byte.
  std::vector<CostVector> getCosts(const PositionPart &part, double price);

  /// Of nothing at all.
  static Weights getNoWeights();
  /// What is allowed at a price: without one of any bytes, everything but the
  /// fastest only adds time.
  ModeSet getModes(const PositionPart &part, double price) const;
  /// The weights of a chunk with a price per byte.
  static Weights addPrice(Weights weights, double price,
                          const PositionPart &part, size_t chunk);

private:
  struct Line {
    double value = 0, cost = 0, bytes = 0;
  };
  Line evaluate(const PositionPart &part, double freeBytes, double price);
  Line evaluateLeastBytes(const PositionPart &part);
  Line sum(const PositionPart &part,
           llvm::function_ref<Weights(size_t)> getWeights, ModeSet modes);

  using Family = std::vector<double>;
  static Family getFamily(const PositionPart &part);

  const UnitChain &chain;
  AskedOracles &oracles;
  /// The last price that was better than those before it: a first one for
  /// positions with other weights.
  double likely = 0;
  /// Prices that were tried for positions with the same weights.
  std::map<Family, std::vector<double>> tried;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_MEMORYDUAL_H
