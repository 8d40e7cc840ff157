//===- GivenPrices.h - Candidates whose plans have given prices -*- C++ -*-===//

#ifndef PARPLAN_TEST_UNIT_PLANNER_GIVENPRICES_H
#define PARPLAN_TEST_UNIT_PLANNER_GIVENPRICES_H

#include "parplan/Planner/PlanChoice.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace parplan::test {

inline constexpr SearchEffort resorts = SearchEffort::lastResorts;

/// A plan of a candidate: what it takes, what it seems to need, and what its
/// program needs.
struct Price {
  double seconds = 0;
  int64_t estimate = 0;
  int64_t program = 0;
};

/// Plans with given prices; a search finds the fastest that seems to fit.
class GivenPrices : public CandidateOracle {
public:
  struct Entry {
    std::vector<Price> plans;
    double leastSeconds = 0;
    /// Why nothing is found, where it is not memory.
    std::string refusal;
    /// Of every plan, where none is found for that.
    int64_t leastBytes = PlanChoice::unknown;
    /// Of the plans of a joint search.
    int64_t microBatches = 0;
    /// Nothing: as long as each plan.
    std::optional<double> lowerBoundSeconds = std::nullopt;
  };
  std::map<PlanCandidate, Entry> entries;
  std::vector<PlanCandidate> searched, lowered;
  std::vector<double> budgets;
  std::optional<std::string> tierRefusal;
  /// With what a usual joint search found, and with what one with updates on
  /// the host did.
  std::vector<PlanCandidate> compared, comparedWithHost;
  /// Stopped as soon as something was searched.
  bool isEnding = false;
  bool fails = false;
  /// Of every search.
  double searchSeconds = 0;

  void add(PlanCandidate candidate, std::vector<Price> plans) {
    entries[candidate].plans = std::move(plans);
  }

  bool prepare(const PlanCandidate &candidate) override {
    return entries.count(candidate) > 0;
  }

  PlanResult search(const PlanCandidate &candidate, int64_t limitBytes,
                    double seconds) override {
    searched.push_back(candidate);
    budgets.push_back(seconds);
    std::this_thread::sleep_for(std::chrono::duration<double>(searchSeconds));
    const Entry &entry = entries.at(candidate);
    PlanResult result;
    result.leastBytes = entry.leastBytes;
    if (!entry.refusal.empty()) {
      result.refusals = {entry.refusal};
      return result;
    }
    for (const Price &price : entry.plans) {
      result.smallestBytes = std::min(result.smallestBytes, price.estimate);
      result.boundWithoutLimitSeconds =
          std::min(result.boundWithoutLimitSeconds, price.seconds);
      if (price.estimate > limitBytes ||
          (result.answer && price.seconds >= result.evaluation.stepTimeSeconds))
        continue;
      result.answer.emplace();
      result.microBatches = entry.microBatches;
      result.evaluation.stepTimeSeconds = price.seconds;
      result.evaluation.peakBytes = price.estimate;
      double lower = entry.lowerBoundSeconds.value_or(price.seconds);
      result.certificate = {price.seconds, lower, lower == price.seconds, 1, 0};
    }
    return result;
  }

  std::vector<PlanCandidate> listCompared(const PlanCandidate &searchedJointly,
                                          const PlanResult &) override {
    return searchedJointly.effort == SearchEffort::usual ? compared
                                                         : comparedWithHost;
  }

  bool isStopped() const override { return isEnding && !searched.empty(); }

  std::optional<ProgramNeed> lower(const PlanCandidate &candidate,
                                   const PlanResult &plan) override {
    lowered.push_back(candidate);
    if (fails)
      return std::nullopt;
    for (const Price &price : entries[candidate].plans)
      if (price.estimate == plan.evaluation.peakBytes)
        return ProgramNeed{price.program, tierRefusal};
    ADD_FAILURE() << "a plan that nobody made";
    return std::nullopt;
  }

  double getLeastSeconds(const PlanCandidate &candidate,
                         double seconds) override {
    // Nobody makes the problem where there is no time for it.
    return seconds > 0 ? entries.at(candidate).leastSeconds : 0;
  }

  PlanChoice choose(llvm::ArrayRef<CandidateRound> rounds,
                    double seconds = 60) {
    return choosePlan(rounds, /*limitBytes=*/100, seconds, *this);
  }
};

} // namespace parplan::test

#endif // PARPLAN_TEST_UNIT_PLANNER_GIVENPRICES_H
