//===- ProblemSource.h - What a search is told of a model -------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PROBLEMSOURCE_H
#define PARPLAN_LIB_PLANNER_PROBLEMSOURCE_H

#include "ReplicaModels.h"
#include "SourceSteps.h"

#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/FindPlan.h"
#include "parplan/Planner/UnitOracles.h"

#include <functional>
#include <map>

namespace parplan {

class SourceModel;

/// The spaces of a request: per number of positions every mesh of one position
/// and every cut of its tensor axes.
class ProblemSource : public SpaceSource {
public:
  ProblemSource(const StepProblems &problems, const PlanRequest &request,
                const PlanCosts &costs, const FindPlanOptions &options);
  ~ProblemSource();

  std::vector<int64_t> getCounts() const override {
    return steps.getCounts().vec();
  }
  int getSpaceCount() const override { return static_cast<int>(spaces.size()); }
  SpaceInfo getInfo(int space) const override;
  std::vector<ScheduleShape> getShapes(int space) const override;
  double getLeastMessageSeconds(int space, int64_t count) override;
  LeastModel getLeastOfAll(int space, int64_t count) override;
  LeastModel getLeast(int space, int64_t count) override;
  double getLeastShare(int space, int64_t fewer, int64_t count) override;
  double getUnspreadBytes(int space, int64_t count) override;
  double getKeptBytes(int space, int64_t count) override;
  std::vector<Seed> getSeeds(double memoryLimitBytes) override;
  std::vector<Place> getNeighbours(Place place) override;
  bool prepare(int space, int64_t count, Next next) override;
  void prepareLater(int space, int64_t count, Next next) override;
  void dropLater() override { background.dropLater(); }
  std::unique_ptr<SpaceModel> make(int space, int64_t count) override;
  std::unique_ptr<SpaceModel> makeRelaxed(int space, int64_t count,
                                          bool isOfKnown) override;
  std::unique_ptr<SpaceModel> makeOfVariables(int space,
                                              int64_t count) override;
  void forEach(size_t count, llvm::function_ref<void(size_t)> work) override {
    background.forEach(count, work);
  }

  /// Nothing is asked any more.
  void end() { background.end(); }

  /// There are meshes that the options leave out.
  bool leavesOut = false;
  /// Why nothing is searched.
  std::vector<std::string> refusals;

private:
  struct Space {
    int64_t positions = 1;
    PlanSpace space;
    /// Those of its groups of experts.
    SourceSteps *steps = nullptr;
  };

  /// Those of plans on a mesh.
  SourceSteps &getStepsOn(const Mesh &mesh);
  /// Null: there is none.
  SourceStep *getReplicaStep(int space, int64_t count);
  void addRefusal(const std::string &refusal);
  /// The model that `make` will give. Null: the space is impossible.
  SourceModel *begin(int space, int64_t count);
  std::pair<const void *, std::function<void()>>
  getWork(int space, int64_t count, Next next);
  PlanRequest getRequestOf(int64_t positions) const;
  bool isWanted(const PlanSpace &space) const;
  int64_t getSeedCount(int space, int64_t replicas, double memoryLimitBytes);
  bool isPossible(const Space &space, SourceStep &step) const;

  PlanRequest request;
  const PlanCosts &costs;
  FindPlanOptions options;
  /// Makes the steps; ends in the destructor, before what it works on.
  Background background;
  /// With one group of experts, or as many as are forced.
  SourceSteps steps;
  /// Others, by the number of groups.
  struct Grouped {
    Grouped(StepProblems of, const PlanRequest &request, const PlanCosts &costs,
            Background &background)
        : problems(std::move(of)), steps(problems, request, costs, background) {
    }
    StepProblems problems;
    SourceSteps steps;
  };
  std::map<int64_t, Grouped> grouped;
  const StepProblems &problems;
  std::vector<Space> spaces;
  /// Models that have not been given away, by space and count.
  std::map<std::pair<int, int64_t>, std::unique_ptr<SourceModel>> begun;
  /// Oracles of models that were asked for, by space and count.
  std::map<std::pair<int, int64_t>, std::shared_ptr<UnitOracles>> asked;
  KnownMeshes meshes;
  ReplicaModels replicas;
  int64_t blocks = 0;
  bool trains = false;
  Meeting meeting = Meeting::always;
};

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PROBLEMSOURCE_H
