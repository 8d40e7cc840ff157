//===- ModelCandidates.h - The problems of a model --------------*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_MODELCANDIDATES_H
#define PARPLAN_DRIVER_MODELCANDIDATES_H

#include "lib/Driver/ModelSteps.h"
#include "lib/Driver/Planning.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/PlanChoice.h"

#include <thread>

namespace parplan {

/// The problems of a model, one for each number of micro-batches, each order of
/// its sequence and each number of groups of its experts. Each is imported and
/// finished once.
class ModelCandidates : public CandidateOracle {
public:
  ModelCandidates(mlir::MLIRContext &context, const CompileOptions &options,
                  const FrontendOptions &request, const Cluster &cluster,
                  int64_t memoryLimitBytes)
      : context(context), options(options), request(request), cluster(cluster),
        memoryLimitBytes(memoryLimitBytes),
        costModel(cluster, getPrecision(options)), costs(costModel) {}

  /// Chooses among the candidates of a model, whose first import is `first`, of
  /// which `said` was said. Reports what is wrong with the model.
  PlanChoice choose(SimplifiedModel first, DiagnosticEngine said,
                    DiagnosticEngine &engine);

  /// Reports why nothing was chosen; `findWays`: what would do.
  void refuse(const PlanChoice &choice, llvm::function_ref<WaysOut()> findWays,
              DiagnosticEngine &engine);

  bool prepare(const PlanCandidate &candidate) override {
    return finish(getSmallest(candidate)).frontend.has_value();
  }
  PlanResult search(const PlanCandidate &candidate, int64_t limitBytes,
                    double seconds) override;
  std::vector<PlanCandidate> listCompared(const PlanCandidate &joint,
                                          const PlanResult &found) override;
  /// There is no program: the estimate of memory is taken for it.
  std::optional<ProgramNeed> lower(const PlanCandidate &,
                                   const PlanResult &plan) override {
    return ProgramNeed{plan.evaluation.peakBytes, std::nullopt};
  }
  /// A search has a plan of a candidate and goes on. Until `endEarly` the
  /// models of candidates are lent to whoever works beside it.
  virtual void beginEarly(const PlanCandidate &, const PlanningAnswer &) {}
  /// It has ended with a plan, or with none: nobody uses the models any more.
  virtual void endEarly(const PlanCandidate &,
                        const std::optional<PlanningAnswer> &) {}
  double getLeastSeconds(const PlanCandidate &candidate,
                         double seconds) override;
  bool isStopped() const override { return options.control.isStopped(); }

  /// In which order the sequence lies; nothing where ranks could not share it.
  std::optional<SequenceSummary> describe(const PlanChoice &choice);

  /// With what was said of it.
  Frontend take(const PlanCandidate &candidate, DiagnosticEngine &engine);

  double getImportSeconds() const { return importSeconds; }

protected:
  struct Imported {
    std::optional<SimplifiedModel> model;
    DiagnosticEngine engine;
  };

  struct Finished {
    /// Nothing where a step cannot be cut or ordered so.
    std::optional<Frontend> frontend;
    DiagnosticEngine engine;
    /// In zig-zag order: ranks could share the sequence; what does not allow
    /// that it lies so.
    bool isShared = false;
    std::optional<std::string> obstacle;
    /// Why no plan was found.
    std::vector<std::string> refusals;
  };

  /// The options of the frontend for a candidate.
  FrontendOptions getOptions(const PlanCandidate &candidate) const;
  /// In how many groups experts of its step lie.
  int64_t getGroups(const PlanCandidate &candidate) const;
  const std::optional<SimplifiedModel> &
  simplify(const PlanCandidate &candidate);
  Finished &finish(const PlanCandidate &candidate);
  /// The same for whoever they are lent to.
  Finished &finishLent(const PlanCandidate &candidate);

  mlir::MLIRContext &context;
  const CompileOptions &options;
  const FrontendOptions &request;
  const Cluster &cluster;
  int64_t memoryLimitBytes;
  CostModel costModel;
  ClusterCosts costs;

private:
  /// Whether a step that is cut so has no other order, as far as that was asked
  /// for. Without a pipeline other numbers of micro-batches are not compared.
  bool hasNoRival(const PlanCandidate &candidate) const;
  /// The one of a joint candidate with the fewest micro-batches.
  PlanCandidate getSmallest(PlanCandidate candidate) const {
    if (candidate.isJoint())
      candidate.microBatches = least.microBatches;
    return candidate;
  }
  PlanResult searchJointly(const PlanCandidate &candidate, int64_t limitBytes,
                           double seconds, const SearchControl &control);
  /// A search over all numbers of micro-batches in one order, with updates on
  /// the host or without.
  struct Joint {
    std::unique_ptr<ModelSteps> steps;
    StepProblems problems;
    std::unique_ptr<JointPlanner> planner;
  };
  Joint &getJoint(const PlanCandidate &candidate);
  /// The same, whose imports are counted.
  StepProblems getCounted(StepProblems problems);
  /// Ranks of experts that are candidates of their own, as their steps differ;
  /// `any` alone, if none do.
  std::vector<int64_t> getExpertCandidates() const;
  /// Whether memory limits what a joint search finds, and not time, and nothing
  /// of what needs less of it is forced.
  bool isMemoryShort(const PlanResult &found) const;
  bool mayMoveVariables();
  /// The numbers of ranks that may go round with a sequence, but one.
  std::vector<int64_t> getSharers() const;
  /// What was said of a candidate.
  void reportImpossible(const PlanCandidate &candidate,
                        DiagnosticEngine &engine);

  /// The first one.
  PlanCandidate least;
  std::vector<int64_t> counts;
  SearchProgress progress;
  /// By the number of micro-batches; the order, and the groups of experts.
  std::map<int64_t, Imported> models;
  std::map<std::tuple<int64_t, int64_t, int64_t>, Finished> frontends;
  /// The problem of the first candidate, from when it is known until models
  /// are taken.
  const PlanningProblem *first = nullptr;
  std::map<PlanCandidate, Joint> joints;
  /// Of the plan of the last one without updates on the host; 0: it had none.
  int64_t plannedCount = 0;
  void countImport(double seconds);
  /// Of the thread that plans: what others import meanwhile takes it none.
  double importSeconds = 0;
  std::thread::id planner = std::this_thread::get_id();
  bool isLent = false;
};

} // namespace parplan

#endif // PARPLAN_DRIVER_MODELCANDIDATES_H
