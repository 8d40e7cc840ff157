//===- PlanChoice.cpp - Which of several problems is planned --------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Planner/PlanChoice.h"

#include "parplan/Planner/SearchSpace.h"
#include "parplan/Support/Never.h"
#include "parplan/Support/Text.h"

#include <algorithm>
#include <chrono>
#include <cmath>

using namespace parplan;

/// Of the ascending `counts` those that a pipeline is compared with; the least
/// above, or the most there are, where none is in the range.
static std::vector<int64_t> getComparedCounts(llvm::ArrayRef<int64_t> counts,
                                              int64_t positions,
                                              bool isTraining) {
  constexpr int64_t most = 8;
  std::vector<int64_t> compared;
  for (int64_t count : counts)
    if ((!isTraining || count >= positions) && count <= most * positions)
      compared.push_back(count);
  if (compared.empty()) {
    const auto *above = llvm::lower_bound(counts, positions);
    compared.push_back(above == counts.end() ? counts.back() : *above);
  }
  return compared;
}

PlanCandidate PlanCandidate::getPlanned(int64_t plannedMicroBatches,
                                        const PlanningAnswer &answer) const {
  PlanCandidate planned = *this;
  if (isJoint())
    planned.microBatches = plannedMicroBatches;
  if (int64_t ranks = getExpertRanks(answer.mesh);
      expertRanks == any && ranks > 1)
    planned.expertRanks = ranks;
  return planned;
}

std::vector<CandidateRound>
parplan::listCandidates(llvm::ArrayRef<int64_t> counts,
                        llvm::ArrayRef<int64_t> orders, int64_t positions,
                        bool isTraining, llvm::ArrayRef<int64_t> experts) {
  std::vector<CandidateRound> rounds;
  auto add = [&](llvm::ArrayRef<int64_t> some, SearchEffort effort) {
    CandidateRound &round = rounds.emplace_back();
    for (int64_t count : some)
      for (int64_t zigzag : orders)
        for (int64_t ranks : experts)
          round.push_back({count, zigzag, effort, ranks});
  };
  std::vector<int64_t> first = {counts.front()};
  if (positions > 1)
    first = getComparedCounts(counts, positions, isTraining);
  add(first, SearchEffort::usual);
  for (int64_t count : counts)
    if (!llvm::is_contained(first, count))
      add(count, SearchEffort::usual);
  add(counts, SearchEffort::lastResorts);
  return rounds;
}

CandidateRound parplan::listJointCandidates(llvm::ArrayRef<int64_t> orders) {
  CandidateRound round;
  for (int64_t zigzag : orders)
    round.push_back({PlanCandidate::any, zigzag});
  return round;
}

std::optional<std::string> PlanChoice::describeLack() const {
  if (leastProgramBytes != unknown)
    return "the smallest that was lowered takes " +
           formatBytes(leastProgramBytes);
  if (tierRefusal)
    return tierRefusal;
  if (leastEstimateBytes != unknown)
    return "the smallest that was found needs " +
           formatBytes(leastEstimateBytes);
  if (leastBytes != unknown)
    return "every plan needs " + formatBytes(leastBytes) + " or more";
  return std::nullopt;
}

namespace {

/// A candidate that was searched.
struct Trial {
  PlanCandidate candidate;
  PlanResult found;
  double boundSeconds = std::numeric_limits<double>::infinity();
  int64_t budgetBytes = 0;
  /// With a joint search, whose plan is at hand.
  bool isCompared = false;
  /// What the last plan that was lowered seemed to need.
  int64_t loweredBytes = PlanChoice::unknown;
  int attempts = 0;
  bool isSmallest = false;
  /// Nothing more comes of it.
  bool isClosed = false;

  bool hasPlan() const { return !isClosed && found.answer; }
  /// The candidate that the plan is of.
  PlanCandidate getPlanned() const {
    return candidate.getPlanned(found.microBatches, *found.answer);
  }
  double getSeconds() const { return found.evaluation.stepTimeSeconds; }
  /// What is hardly faster than a joint plan is not worth its bound, which is
  /// the better one: such searches leave out as much themselves, and a little
  /// memory.
  double getRankedSeconds() const {
    constexpr double worth = 1.01;
    bool isWeaker = isCompared && !candidate.isJoint();
    return isWeaker ? worth * getSeconds() : getSeconds();
  }
};

/// Of equal times that in zig-zag order is better, in which no rank waits for
/// another. Sums in another order differ in their last digits.
bool isBetter(const Trial &trial, const Trial &other) {
  double seconds = trial.getRankedSeconds(), least = other.getRankedSeconds();
  if (std::abs(seconds - least) <= 1e-9 * seconds)
    return trial.candidate.zigzag > 1 && other.candidate.zigzag == 1;
  return seconds < least;
}

class Chooser {
public:
  Chooser(llvm::ArrayRef<CandidateRound> rounds, int64_t limitBytes,
          double seconds, CandidateOracle &oracle)
      : rounds(rounds.vec()), limitBytes(limitBytes), oracle(oracle),
        deadline(Clock::now() + toDuration(seconds)),
        timeOfBounds(toDuration(shareOfBounds * seconds)) {}

  PlanChoice run() {
    for (size_t number = 0; number < rounds.size(); ++number) {
      if (hasLooked() && getSecondsLeft() <= 0) {
        choice.isCutShort = true;
        break;
      }
      open(rounds[number]);
      while (Trial *trial = findNext()) {
        std::optional<ProgramNeed> need =
            oracle.lower(trial->getPlanned(), trial->found);
        choice.isFault = !need;
        if (!need)
          return std::move(choice);
        if (!need->refusal && need->peakBytes <= limitBytes) {
          take(*trial);
          return std::move(choice);
        }
        shrink(*trial, *need);
      }
      if (rounds[number].front().isJoint())
        bringLastResortsForward(number + 1);
      // With more micro-batches or last resorts only memory gets less.
      else if (!choice.describeLack())
        break;
    }
    return std::move(choice);
  }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr double leastOfSearch = 0.01;
  /// Of the time, for bounds of what was not searched.
  static constexpr double shareOfBounds = 0.05;

  static Clock::duration toDuration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(seconds));
  }

  double getSecondsLeft() const {
    if (oracle.isStopped())
      return 0;
    return std::chrono::duration<double>(deadline - Clock::now()).count();
  }

  /// Where memory keeps a joint search from a plan, what it leaves out are last
  /// resorts: cutting a step further alone helps hardly ever.
  void bringLastResortsForward(size_t next) {
    // It judges no plan where none can fit.
    bool isRefused = llvm::any_of(trials, [](const Trial &trial) {
      return trial.candidate.isJoint() &&
             (trial.found.isCutShort || !trial.found.refusals.empty());
    });
    if (isRefused && !choice.describeLack())
      return;
    std::stable_partition(rounds.begin() + static_cast<std::ptrdiff_t>(next),
                          rounds.end(), [](const CandidateRound &round) {
                            return round.front().effort ==
                                   SearchEffort::lastResorts;
                          });
  }

  /// Whether some candidate was searched that is searched in any case.
  bool hasLooked() const {
    return llvm::any_of(trials, [](const Trial &trial) {
      return !trial.candidate.isJoint() && !trial.isCompared;
    });
  }

  void search(Trial &trial, int64_t budgetBytes, double seconds) {
    trial.budgetBytes = budgetBytes;
    trial.found = oracle.search(trial.candidate, budgetBytes,
                                std::max(seconds, leastOfSearch));
    if (trial.found.answer)
      return;
    choice.isCutShort |= trial.found.isCutShort;
    choice.leastEstimateBytes =
        std::min(choice.leastEstimateBytes, trial.found.smallestBytes);
    choice.leastBytes = std::min(choice.leastBytes, trial.found.leastBytes);
  }

  /// Those of a round that are possible, as long as there is time.
  std::vector<PlanCandidate> prepare(const CandidateRound &round) {
    std::vector<PlanCandidate> possible;
    for (const PlanCandidate &candidate : round) {
      if (!possible.empty() && getSecondsLeft() <= 0) {
        choice.isCutShort = true;
        break;
      }
      if (candidate.microBatches >= impossibleCount)
        continue;
      if (oracle.prepare(candidate))
        possible.push_back(candidate);
      else if (candidate.zigzag == 1 && !candidate.isJoint())
        // Nor can it be cut into more.
        impossibleCount = candidate.microBatches;
    }
    return possible;
  }

  /// Searches candidates as long as there is time. Of several as much is left
  /// for what follows, of one what bounds of others take, and of a joint search
  /// what comparisons do, or another one, which knows what the first was told.
  void open(const CandidateRound &round) {
    std::vector<PlanCandidate> possible = prepare(round);
    bool isJoint = round.front().isJoint(), isAlone = possible.size() == 1;
    double rest = isJoint ? 0.25 : isAlone ? 0.1 : 1;
    for (auto [index, candidate] : llvm::enumerate(possible)) {
      double left = getSecondsLeft();
      if ((hasLooked() || candidate.isJoint()) && left <= 0) {
        choice.isCutShort = true;
        return;
      }
      double shares = static_cast<double>(possible.size() - index) + rest;
      tryCandidate(candidate, left / shares, /*isCompared=*/false);
      if (candidate.isJoint())
        compare(candidate, left - getSecondsLeft());
    }
  }

  /// Of a joint search that has taken so many seconds. Where that is another
  /// joint search, which may take as long as there is, it is compared, too.
  void compare(const PlanCandidate &joint, double jointSeconds) {
    constexpr double least = 10;
    for (const PlanCandidate &compared :
         oracle.listCompared(joint, trials.back().found)) {
      double left = getSecondsLeft();
      if (left <= 0)
        return;
      if (!oracle.prepare(compared))
        continue;
      double most = std::max(least, jointSeconds);
      tryCandidate(compared,
                   compared.isJoint() ? left / 2 : std::min(left / 2, most),
                   /*isCompared=*/true);
      if (compared.isJoint())
        compare(compared, left - getSecondsLeft());
    }
  }

  void tryCandidate(const PlanCandidate &candidate, double seconds,
                    bool isCompared) {
    Trial &trial = trials.emplace_back();
    trial.candidate = candidate;
    trial.isCompared = isCompared;
    search(trial, limitBytes, seconds);
    trial.boundSeconds = trial.found.boundWithoutLimitSeconds;
    if (!trial.hasPlan())
      return;
    trial.boundSeconds =
        std::min(trial.boundSeconds, trial.found.certificate.lowerBoundSeconds);
    choice.seconds[candidate] = trial.getSeconds();
  }

  /// The fastest plan; where nothing fits by its estimate, the smallest.
  Trial *findNext() {
    Trial *best = nullptr;
    for (Trial &trial : trials)
      if (trial.hasPlan() && (!best || isBetter(trial, *best)))
        best = &trial;
    if (best || oracle.isStopped())
      return best;
    for (Trial &trial : trials) {
      // No estimate is wrong by half. What other rounds have is smaller than
      // the plans that a joint search looks at.
      if (trial.isClosed || trial.candidate.isJoint() ||
          trial.found.smallestBytes >= trial.loweredBytes ||
          trial.found.smallestBytes / 2 > limitBytes)
        continue;
      if (!best || trial.found.smallestBytes < best->found.smallestBytes)
        best = &trial;
    }
    if (!best)
      return nullptr;
    best->isSmallest = true;
    search(*best, best->found.smallestBytes, getSecondsLeft());
    if (best->hasPlan())
      return best;
    best->isClosed = true;
    return findNext();
  }

  /// After a program that did not fit.
  void shrink(Trial &trial, const ProgramNeed &need) {
    constexpr int mostAttempts = 8, mostOfCompared = 3;
    if (need.refusal)
      choice.tierRefusal = need.refusal;
    else
      choice.leastProgramBytes =
          std::min(choice.leastProgramBytes, need.peakBytes);
    bool isAlone = llvm::none_of(trials, [&](const Trial &other) {
      return &other != &trial && other.hasPlan();
    });
    int most = trial.isCompared && !isAlone ? mostOfCompared : mostAttempts;
    trial.isClosed =
        need.refusal || trial.isSmallest || ++trial.attempts == most;
    if (trial.isClosed)
      return;
    // The next plan must be smaller, by the estimate too.
    trial.loweredBytes = trial.found.evaluation.peakBytes;
    int64_t excess = need.peakBytes - limitBytes;
    double seconds = getSecondsLeft();
    // There must be time for the next one.
    if (trial.candidate.isJoint() || trial.isCompared)
      seconds /= 2;
    search(trial,
           std::max<int64_t>(
               1, std::min(trial.budgetBytes - excess, trial.loweredBytes - 1)),
           seconds);
  }

  void take(Trial &trial) {
    choice.candidate = trial.getPlanned();
    choice.searched = trial.candidate;
    choice.plan = std::move(trial.found);
    SearchEffort effort = trial.candidate.effort;
    double bound = trial.candidate.isJoint() ? getJointBound(effort)
                   : trial.isCompared        ? getComparedBound()
                                             : getBound(effort);
    Certificate &certificate = choice.plan.certificate;
    if (certificate.upperBoundSeconds <= bound * (1 + 1e-9))
      return;
    certificate.lowerBoundSeconds =
        std::min(certificate.lowerBoundSeconds, bound);
    certificate.exact = false;
  }

  /// Of all that joint searches up to an effort look at. Orders that were not
  /// searched are outside: what is known of them without a search is less than
  /// that.
  double getJointBound(SearchEffort effort) const {
    double bound = std::numeric_limits<double>::infinity();
    for (const Trial &trial : trials)
      if (trial.candidate.isJoint() && trial.candidate.effort <= effort)
        bound = std::min(bound, trial.boundSeconds);
    return bound;
  }

  /// Of these and of what they were compared with.
  double getComparedBound() const {
    double bound = getJointBound(SearchEffort::lastResorts);
    for (const Trial &trial : trials)
      if (trial.isCompared)
        bound = std::min(bound, trial.boundSeconds);
    return bound;
  }

  /// Of all candidates up to an effort. A certificate of the search is about
  /// estimates of memory, and where it was made smaller about plans within
  /// that: neither bounds the others.
  double getBound(SearchEffort effort) {
    double bound = never;
    std::vector<PlanCandidate> counted;
    // What is counted, or cuts a step of that further.
    auto isOutside = [&](const PlanCandidate &candidate, bool isJointly) {
      return llvm::any_of(counted, [&](const PlanCandidate &other) {
        return candidate.zigzag == other.zigzag &&
               candidate.effort == other.effort &&
               (other.expertRanks == PlanCandidate::any ||
                candidate.expertRanks == other.expertRanks) &&
               (other.isJoint() ||
                (!isJointly &&
                 candidate.microBatches % other.microBatches == 0));
      });
    };
    for (const Trial &trial : trials) {
      // A joint search without a plan says nothing of others, and what it
      // bounds counts with it, but for what it was compared with.
      if (trial.candidate.isJoint() && trial.candidate.effort > effort)
        continue;
      if (trial.candidate.isJoint()
              ? trial.boundSeconds == never
              : !trial.isCompared && isOutside(trial.candidate, true))
        continue;
      bound = std::min(bound, trial.boundSeconds);
      counted.push_back(trial.candidate);
    }
    // The last search and programs that did not fit may have taken all of it.
    deadline = std::max(deadline, Clock::now() + timeOfBounds);
    for (const CandidateRound &round : rounds)
      for (const PlanCandidate &candidate : round) {
        if (candidate.effort > effort || candidate.isJoint() ||
            isOutside(candidate, false) ||
            candidate.microBatches >= impossibleCount)
          continue;
        bound = std::min(bound,
                         oracle.getLeastSeconds(candidate, getSecondsLeft()));
        counted.push_back(candidate);
      }
    return bound;
  }

  std::vector<CandidateRound> rounds;
  int64_t limitBytes;
  CandidateOracle &oracle;
  Clock::time_point deadline;
  Clock::duration timeOfBounds;
  std::vector<Trial> trials;
  /// A step cannot be cut into so many.
  int64_t impossibleCount = std::numeric_limits<int64_t>::max();
  PlanChoice choice;
};

} // namespace

PlanChoice parplan::choosePlan(llvm::ArrayRef<CandidateRound> rounds,
                               int64_t limitBytes, double seconds,
                               CandidateOracle &oracle) {
  return Chooser(rounds, limitBytes, seconds, oracle).run();
}
