//===- PlanChoice.h - Which of several problems is planned ------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_PLANCHOICE_H
#define PARPLAN_PLANNER_PLANCHOICE_H

#include "parplan/Planner/Solver.h"

#include <compare>
#include <map>

namespace parplan {

/// How a step is cut, how its sequences lie, and how hard a plan of that is
/// looked for.
struct PlanCandidate {
  /// `any`: the search chooses it, and whether there is a pipeline.
  int64_t microBatches = 1;
  static constexpr int64_t any = 0;
  /// In zig-zag order over so many ranks; 1: in the model's order.
  int64_t zigzag = 1;
  SearchEffort effort = SearchEffort::usual;
  /// Ranks of experts; `any`: the search chooses them. Of a plan `any` are as
  /// many as are forced, or one.
  int64_t expertRanks = any;

  bool isJoint() const { return microBatches == any; }
  /// With what a plan says of what was open.
  PlanCandidate getPlanned(int64_t plannedMicroBatches,
                           const PlanningAnswer &answer) const;
  auto operator<=>(const PlanCandidate &) const = default;
};

/// Candidates that are compared with each other.
using CandidateRound = std::vector<PlanCandidate>;

/// Rounds, each for where nothing of those before fits. `counts` ascend;
/// `orders` begins with the model's; `experts` are ranks of experts. A step has
/// as few micro-batches as fit. In a pipeline more of them make the bubble
/// smaller and products less efficient: there numbers from `positions` (of a
/// forward pass, from the least) to eight times as many are compared, and the
/// others follow. The last round has the last resorts of all numbers.
std::vector<CandidateRound>
listCandidates(llvm::ArrayRef<int64_t> counts, llvm::ArrayRef<int64_t> orders,
               int64_t positions, bool isTraining,
               llvm::ArrayRef<int64_t> experts = PlanCandidate::any);

/// A round that stands before these: one search over all numbers of
/// micro-batches and positions in each order. Whatever keeps it from a plan,
/// the other rounds follow; where it is memory, last resorts first.
CandidateRound listJointCandidates(llvm::ArrayRef<int64_t> orders);

/// What a program needs, which is known only when it is there.
struct ProgramNeed {
  int64_t peakBytes = 0;
  /// Why no other plan of the candidate helps: another tier or a server is too
  /// small.
  std::optional<std::string> refusal;
};

/// Whoever knows the problems of candidates.
class CandidateOracle {
public:
  virtual ~CandidateOracle() = default;

  /// Makes the problem of a candidate; false where a step cannot be cut or
  /// ordered so. The others are asked of what is prepared.
  virtual bool prepare(const PlanCandidate &candidate) = 0;
  /// The plan of a search within so many bytes a device, or what it lacks. Of
  /// a candidate of any number of micro-batches, that number, too.
  virtual PlanResult search(const PlanCandidate &candidate, int64_t limitBytes,
                            double seconds) = 0;
  /// What the plan of a joint search, or its lack of one, is compared with:
  /// what such a search does not look at. Another joint search has half of the
  /// time that is left, and is compared itself; others as long as the joint
  /// search took, and no less than ten seconds.
  virtual std::vector<PlanCandidate>
  listCompared(const PlanCandidate & /*joint*/, const PlanResult & /*found*/) {
    return {};
  }
  /// Makes the program of a plan of a candidate, whose number of micro-batches
  /// is that of the plan. Nothing after a fault that ends everything.
  virtual std::optional<ProgramNeed> lower(const PlanCandidate &candidate,
                                           const PlanResult &plan) = 0;
  /// Seconds that every plan of a candidate takes, known without a search; 0
  /// where so much time does not suffice.
  virtual double getLeastSeconds(const PlanCandidate &candidate,
                                 double seconds) = 0;
  /// The choice is to end as if its time were over.
  virtual bool isStopped() const { return false; }
};

/// The candidate whose program fits, or what all of them lack.
struct PlanChoice {
  std::optional<PlanCandidate> candidate;
  /// How `candidate` was searched: jointly, perhaps.
  std::optional<PlanCandidate> searched;
  /// Of `candidate`, with a certificate for all candidates.
  PlanResult plan;
  /// The fastest that the first search found of every candidate.
  std::map<PlanCandidate, double> seconds;
  /// Lowering failed.
  bool isFault = false;

  /// The least memory over all candidates: of programs, by estimates of plans,
  /// of what every plan needs.
  static constexpr int64_t unknown = std::numeric_limits<int64_t>::max();
  int64_t leastProgramBytes = unknown;
  int64_t leastEstimateBytes = unknown;
  int64_t leastBytes = unknown;
  std::optional<std::string> tierRefusal;
  /// Time was over before all was searched that may have a plan.
  bool isCutShort = false;

  /// What memory lacks; nothing where nothing was refused for it.
  std::optional<std::string> describeLack() const;
};

/// Searches the candidates of a round, and lowers the fastest plan. How much
/// memory a program takes is an estimate before: of a plan whose program is too
/// large another is searched with that much less, and the fastest is lowered
/// again, of whatever candidate; where every estimate is too large, the plans
/// with the smallest ones are. The first program that fits is the choice.
///
/// The lower bound is that of all candidates, whatever estimates say; what was
/// not searched counts with its least time. Outside of it are last resorts as
/// long as something else fits, and multiples of a number of micro-batches that
/// counts. The bound of a search over any number is one of all of them, of
/// plans that fit by their estimate; where its plan is the choice, other orders
/// are outside too. Where one that is compared with it is 1 % faster, that is
/// the choice, and the bound is the least of both.
///
/// `seconds` are for all searches together; the first candidate is searched in
/// any case, what a joint plan is compared with has what `listCompared` says,
/// and where the program of a joint search is too large that
/// search has some seconds more.
PlanChoice choosePlan(llvm::ArrayRef<CandidateRound> rounds, int64_t limitBytes,
                      double seconds, CandidateOracle &oracle);

} // namespace parplan

#endif // PARPLAN_PLANNER_PLANCHOICE_H
