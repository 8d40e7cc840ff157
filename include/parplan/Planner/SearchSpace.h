//===- SearchSpace.h - Meshes, assignments and layouts ----------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_PLANNER_SEARCHSPACE_H
#define PARPLAN_PLANNER_SEARCHSPACE_H

#include "parplan/Planner/Decisions.h"
#include "parplan/Planner/PlanRequest.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace parplan {

/// The meshes that the request allows, most data-parallel first. A context axis
/// that is not forced is considered where the batch has fewer samples than
/// there are ranks, and an expert axis (of the most ranks that experts allow)
/// where there are experts.
std::vector<Mesh> getMeshes(const PlanningProblem &problem,
                            const PlanRequest &request);

/// `mesh` with `positions` of a pipeline as the outermost axis.
Mesh addPipelineAxis(const Mesh &mesh, int64_t positions);

/// What is searched, in this order: every mesh with 1D tensor parallelism, then
/// every mesh with each cut of its tensor axes besides (and 1D over all of
/// them). A plan has algorithms of one cut and of 1D, unless nodes are forced
/// to algorithms of several: then it has all cuts for these. A forced tensor
/// kind is the only one.
std::vector<PlanSpace> getSpaces(const PlanningProblem &problem,
                                 const PlanRequest &request);

/// The number of experts of the largest mixture, 1 without one.
int64_t getExpertCount(const PlanningProblem &problem);

/// Sizes of expert axes that are tried: what is forced, else 1 and the most
/// ranks of one position of the pipeline that can have experts of their own.
std::vector<int64_t> getExpertSizes(const PlanningProblem &problem,
                                    const PlanRequest &request);

/// In how many groups experts lie in the step whose plans have so many ranks of
/// experts: as many as ranks where tokens have fewer rows then, else each
/// expert is a group, of which all steps are equal. `problem` is the step with
/// as many groups as ranks are forced, or one; if it has a row for every
/// expert, so has every step, and the answer is one.
int64_t getExpertGroups(const PlanningProblem &problem,
                        const PlanRequest &request, int64_t expertRanks);

/// The ranks of the expert axes of a mesh.
int64_t getExpertRanks(const Mesh &mesh);

/// True where some attention is over a sequence that context axes could split.
bool hasContext(const PlanningProblem &problem);

/// Sizes of context axes that are tried: what is forced, else 1 and, where the
/// batch has fewer samples than there are ranks or a node is forced to use
/// them, more; of the ranks of one position of the pipeline.
std::vector<int64_t> getContextSizes(const PlanningProblem &problem,
                                     const PlanRequest &request);

/// The assignments of every op that the request allows in a space: forced
/// algorithms and the ZeRO stage applied. Ops of one decision have equally
/// many, choice for choice. An op for which the forced algorithm is impossible
/// keeps all, unless it was forced by name; then `refusal` says so, and
/// likewise of parameters that the stage cannot spread.
std::vector<std::vector<FactorAssignment>>
getAllowedAssignments(const PlanningProblem &problem,
                      const PlanRequest &request, const PlanSpace &space,
                      std::optional<std::string> &refusal);
/// With `getDecisions` and `findFirstEqual` of the problem.
std::vector<std::vector<FactorAssignment>> getAllowedAssignments(
    const PlanningProblem &problem, const Decisions &decisions,
    llvm::ArrayRef<int> firstEqual, const PlanRequest &request,
    const PlanSpace &space, std::optional<std::string> &refusal);

/// The layouts at rest that are considered for every value: as made, completed,
/// and as any op reads it; where that op is a product on a grid, also spread
/// over the axes of the grid that this lacks, and parameters spread over whole
/// grids (of a forced grid those alone). Inputs lie by `getLoadedSharding`.
/// What replaces a variable has the candidates of the variable, in their order.
/// In stage 3 parameters that are not trained are stored, too.
std::vector<std::vector<Sharding>> getRestCandidates(
    const PlanningProblem &problem, const PlanRequest &request,
    const PlanSpace &space,
    const std::vector<std::vector<FactorAssignment>> &assignments);

/// The ZeRO stage of each parameter, by what a plan does with it: 3, it is
/// stored at rest; 2, its gradients are stored while they are added up; 1, its
/// update is; 0. What was forced names it only where the plan leaves that open:
/// with one micro-batch 1 and 2 are the same plan, a parameter that is not
/// trained has no gradient for 0 to 2 to differ in, and a scalar has nothing to
/// spread.
std::map<int, int> getZeroStages(const PlanningProblem &problem,
                                 const PlanningAnswer &answer,
                                 std::optional<int> forced);

/// Says which trained parameter with dimensions a forced stage cannot spread:
/// no allowed assignment of its update, or of what adds up its gradients, is
/// stored.
std::optional<std::string>
findUnspreadParameter(const PlanningProblem &problem, int stage,
                      llvm::ArrayRef<std::vector<FactorAssignment>> allowed);

} // namespace parplan

#endif // PARPLAN_PLANNER_SEARCHSPACE_H
