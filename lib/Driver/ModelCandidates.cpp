//===- ModelCandidates.cpp - The problems of a model ----------------------===//

#include "lib/Driver/ModelCandidates.h"

#include "lib/Driver/ForceRules.h"
#include "lib/Driver/IRDumper.h"
#include "lib/Driver/PlanModel.h"
#include "parplan/Planner/ProblemFile.h"
#include "parplan/Planner/SearchSpace.h"
#include "parplan/Support/Check.h"
#include "parplan/Support/DiagnosticCodes.h"
#include "passes/Order/Passes.h"

using namespace parplan;

/// Up to so many devices, each mesh is searched exactly by itself, as long as
/// the variables of the model take at most this part of a device: where memory
/// decides little, that takes less time than one search over all.
static constexpr int64_t mostSeparateGpus = 8, separateMemoryShare = 8;

/// Programs are written out micro-batch by micro-batch: one of more ops, over
/// all positions, takes more than two minutes and 6 GB to make.
static constexpr int64_t mostUnrolledOps = 4'500'000;

PlanChoice ModelCandidates::choose(SimplifiedModel model, DiagnosticEngine said,
                                   DiagnosticEngine &engine) {
  Stopwatch time;
  least = {model.microBatches};
  counts = {model.microBatches};
  if (request.microBatches == 0)
    counts = getMicroBatchCounts(model);
  std::vector<int64_t> orders = {1};
  if (hasCausalAttention(model.getMain()))
    llvm::append_range(orders, getSharers());
  Imported &imported = models[least.microBatches];
  imported.model = std::move(model);
  imported.engine = std::move(said);
  const std::optional<Frontend> &plain = finish(least).frontend;
  if (!plain) {
    reportImpossible(least, engine);
    return {};
  }
  first = &plain->graph.problem;
  if (!checkForceOnModel(options.force, options.gpus, plain->graph.problem,
                         plain->loopObstacle, options.modelPath, engine))
    return {};
  bool isSmall = options.gpus <= mostSeparateGpus &&
                 plain->graph.problem.getVariableBytes() <=
                     memoryLimitBytes / separateMemoryShare;
  // Bounds of a joint search know nothing of processors that ranks share.
  bool isJoint =
      options.force.isOfJointSearch() && !isSmall && costs.getSharing() == 1;
  // It says which numbers of micro-batches are too many for all.
  if (isJoint)
    (void)getJoint({PlanCandidate::any});
  std::vector<CandidateRound> rounds =
      listCandidates(counts, orders, options.force.pipelineSize.value_or(1),
                     request.training.has_value(), getExpertCandidates());
  // Other orders matter where ranks share a sequence, which few samples alone
  // are worth.
  if (isJoint)
    rounds.insert(rounds.begin(), listJointCandidates(/*orders=*/1));
  return choosePlan(rounds, memoryLimitBytes,
                    options.timeBudgetSeconds - time.getSeconds(), *this);
}

void ModelCandidates::refuse(const PlanChoice &choice,
                             llvm::function_ref<WaysOut()> findWays,
                             DiagnosticEngine &engine) {
  if (choice.isFault || engine.hasErrors())
    return;
  if (isStopped()) {
    engine.error(codes::interrupted, Location::inFile(options.modelPath))
        << "interrupted before a plan was found";
    return;
  }
  SearchEnd end = choice.isCutShort ? SearchEnd::timeOver : SearchEnd::allSeen;
  if (auto lack = choice.describeLack()) {
    reportNoPlanFits(options, memoryLimitBytes, *lack, end, findWays(), engine);
    return;
  }
  reportImpossible(least, engine);
  if (!engine.hasErrors())
    reportNoPlanPossible(options, finish(least).refusals, end, findWays(),
                         engine);
}

PlanResult ModelCandidates::search(const PlanCandidate &candidate,
                                   int64_t limitBytes, double seconds) {
  // Somebody who waits sees all candidates as one search.
  SearchControl control = options.control;
  SearchProgress seen = progress;
  if (control.listener)
    control.listener = [&](SearchProgress own) {
      progress.bestSeconds = std::min(seen.bestSeconds, own.bestSeconds);
      progress.explored = seen.explored + own.explored;
      options.control.report(progress);
    };
  if (candidate.isJoint())
    return searchJointly(candidate, limitBytes, seconds, control);
  Finished &finished = finish(candidate);
  // What others may be better than is not made beside the search.
  if (candidate.effort == SearchEffort::usual && hasNoRival(candidate))
    control.likely = [&](const PlanningAnswer &answer) {
      beginEarly(candidate.getPlanned(candidate.microBatches, answer), answer);
    };
  isLent = true;
  PlanResult result =
      searchPlan(*finished.frontend, options, cluster, costs, candidate,
                 limitBytes, seconds, control, finished.engine);
  endEarly(result.answer
               ? candidate.getPlanned(candidate.microBatches, *result.answer)
               : candidate,
           result.answer);
  isLent = false;
  if (!result.answer && finished.refusals.empty())
    finished.refusals = result.refusals;
  return result;
}

bool ModelCandidates::hasNoRival(const PlanCandidate &candidate) const {
  return llvm::all_of(frontends, [&](const auto &entry) {
    auto [microBatches, zigzag, groups] = entry.first;
    return microBatches != candidate.microBatches ||
           (zigzag == candidate.zigzag && groups == getGroups(candidate)) ||
           !entry.second.frontend;
  });
}

/// Numbers of micro-batches around that of a plan, the nearest first.
static std::vector<int64_t> listNearest(llvm::ArrayRef<int64_t> counts,
                                        int64_t planned) {
  constexpr size_t most = 4;
  auto place = llvm::find(counts, planned) - counts.begin();
  std::vector<std::pair<int64_t, int64_t>> byDistance;
  for (auto [index, count] : llvm::enumerate(counts))
    byDistance.emplace_back(std::abs(static_cast<int64_t>(index) - place),
                            count);
  llvm::sort(byDistance);
  std::vector<int64_t> nearest;
  for (auto [distance, count] : llvm::ArrayRef(byDistance).take_front(most))
    nearest.push_back(count);
  return nearest;
}

bool ModelCandidates::isMemoryShort(const PlanResult &found) const {
  // Plans that memory cuts into many micro-batches, or keeps from meshes that
  // are faster, need not make anything again.
  constexpr double shareOfShortMemory = 0.75;
  if (options.force.recompute || options.force.offload || found.isCutShort)
    return false;
  // Nothing was found wrong but that no plan fits.
  return found.answer
             ? static_cast<double>(found.evaluation.peakBytes) >
                   shareOfShortMemory * static_cast<double>(memoryLimitBytes)
             : found.refusals.empty();
}

/// Whether variables take a good part of the memory, which they leave to other
/// plans where they are updated on the host.
bool ModelCandidates::mayMoveVariables() {
  constexpr double leastShare = 0.2;
  const PlanningProblem &problem = finish(least).frontend->graph.problem;
  return request.training && cluster.description.node.hostMemoryBytes > 0 &&
         static_cast<double>(problem.getVariableBytes()) >
             leastShare * static_cast<double>(memoryLimitBytes) *
                 static_cast<double>(options.gpus);
}

/// Where something is forced: meshes one by one, whose pipelines may be cut
/// inside of blocks, and whose plans are visited where memory is short. A
/// search of these has a pipeline only if one is forced. Where memory is short,
/// a joint search with updates on the host, if that may leave much of it; and
/// if some are there or memory still costs much, what else rests elsewhere.
std::vector<PlanCandidate>
ModelCandidates::listCompared(const PlanCandidate &joint,
                              const PlanResult &found) {
  // Twice what a joint search leaves out; and much more.
  constexpr double largeGap = 0.01, gapOfMemory = 0.1;
  std::vector<PlanCandidate> compared;
  bool isUsual = joint.effort == SearchEffort::usual;
  double gap = found.answer ? found.certificate.getGap() : 1;
  if (isUsual && found.answer && options.force.hasMoreThanCounts()) {
    int64_t positions = options.force.pipelineSize.value_or(1);
    int64_t ranks = getExpertRanks(found.answer->mesh);
    if (positions > 1 && found.answer->pipeline)
      compared.push_back(
          {found.microBatches, joint.zigzag, SearchEffort::usual, ranks});
    PlanCandidate ofBound = {found.boundMicroBatches, joint.zigzag,
                             SearchEffort::usual, ranks};
    if (gap > largeGap && found.boundPositions == positions &&
        !llvm::is_contained(compared, ofBound))
      compared.push_back(ofBound);
  }
  if (isUsual)
    plannedCount = found.answer ? found.microBatches : 0;
  if (isUsual && isMemoryShort(found) && mayMoveVariables()) {
    compared.push_back(
        {PlanCandidate::any, joint.zigzag, SearchEffort::updatesOnHost});
    return compared;
  }
  bool isLate = !isUsual && found.isCutShort;
  bool isOnHost = found.answer && !found.answer->tiers.empty();
  bool isDear = isOnHost || (isMemoryShort(found) && gap > gapOfMemory);
  int64_t planned = found.answer ? found.microBatches : plannedCount;
  // Without any plan they follow in any case.
  if (planned > 0 && isDear && !isLate)
    for (int64_t count : listNearest(counts, planned))
      for (int64_t ranks : getExpertCandidates())
        compared.push_back(
            {count, joint.zigzag, SearchEffort::lastResorts, ranks});
  return compared;
}

PlanResult ModelCandidates::searchJointly(const PlanCandidate &candidate,
                                          int64_t limitBytes, double seconds,
                                          const SearchControl &control) {
  Stopwatch time;
  Joint &joint = getJoint(candidate);
  isLent = true;
  PlanResult result = joint.planner->search(
      limitBytes, seconds - time.getSeconds(), control,
      [&](int64_t microBatches, const PlanningAnswer &answer) {
        beginEarly(candidate.getPlanned(microBatches, answer), answer);
      });
  PlanCandidate planned = candidate;
  if (result.answer)
    planned = candidate.getPlanned(result.microBatches, *result.answer);
  endEarly(planned, result.answer);
  isLent = false;
  if (!result.answer)
    return result;
  // Models whose steps grow in another way with the batch are left to the other
  // candidates.
  const Finished &finished = finish(planned);
  auto difference =
      finished.frontend
          ? findDifference(finished.frontend->graph.problem,
                           *joint.problems.getInGroups(getGroups(planned))
                                .get(result.microBatches)
                                ->get())
          : std::optional<std::string>("it cannot be cut so");
  if (!difference)
    return result;
  PlanResult refused;
  refused.refusals = {
      "a step of " + std::to_string(result.microBatches) +
      " micro-batches is not what the search took it for: " + *difference};
  return refused;
}

ModelCandidates::Joint &
ModelCandidates::getJoint(const PlanCandidate &candidate) {
  Joint &joint = joints[candidate];
  if (joint.planner)
    return joint;
  FrontendOptions ofOrder = request;
  ofOrder.zigzag = candidate.zigzag;
  ofOrder.expertGroups = getGroups(candidate);
  const Finished &smallest = finish(getSmallest(candidate));
  std::optional<PlanningProblem> known;
  if (smallest.frontend)
    known = smallest.frontend->graph.problem;
  joint.steps = std::make_unique<ModelSteps>(
      *models.at(least.microBatches).model, std::move(ofOrder), counts,
      std::move(known));
  StepProblems &problems = joint.problems =
      getCounted(joint.steps->getProblems());
  if (std::optional<StepProblem> step = problems.get(counts.front())) {
    auto ops = static_cast<int64_t>(step->getAlike().ops.size());
    while (counts.size() > 1 && counts.back() * ops > mostUnrolledOps)
      counts.pop_back();
    problems.counts = counts;
  }
  joint.planner = std::make_unique<JointPlanner>(problems, options, cluster,
                                                 costs, candidate.effort);
  return joint;
}

StepProblems ModelCandidates::getCounted(StepProblems problems) {
  problems.get = [this, make = std::move(problems.get)](int64_t count) {
    Stopwatch time;
    std::optional<StepProblem> problem = make(count);
    countImport(time.getSeconds());
    return problem;
  };
  if (problems.inGroups)
    problems.inGroups = [this,
                         make = std::move(problems.inGroups)](int64_t groups) {
      StepProblems others = getCounted(make(groups));
      others.counts = counts;
      return others;
    };
  return problems;
}

std::vector<int64_t> ModelCandidates::getExpertCandidates() const {
  std::vector<int64_t> ranks = getExpertSizes(
      *first, getRequest(options, cluster, /*memoryLimitBytes=*/0));
  int64_t groups = getGroups(least);
  bool areOneStep = llvm::all_of(ranks, [&](int64_t count) {
    return getGroups({least.microBatches, 1, SearchEffort::usual, count}) ==
           groups;
  });
  return areOneStep ? std::vector<int64_t>{PlanCandidate::any} : ranks;
}

int64_t ModelCandidates::getGroups(const PlanCandidate &candidate) const {
  PlanRequest asked = getRequest(options, cluster, /*memoryLimitBytes=*/0);
  if (candidate.expertRanks == PlanCandidate::any || !first)
    return asked.expertSize.value_or(1);
  return getExpertGroups(*first, asked, candidate.expertRanks);
}

double ModelCandidates::getLeastSeconds(const PlanCandidate &candidate,
                                        double seconds) {
  if (seconds <= 0)
    return 0;
  const Finished &finished = finish(candidate);
  return finished.frontend
             ? parplan::getLeastSeconds(*finished.frontend, options, cluster,
                                        costs, candidate, seconds)
             : std::numeric_limits<double>::infinity();
}

std::optional<SequenceSummary>
ModelCandidates::describe(const PlanChoice &choice) {
  const PlanCandidate &chosen = *choice.searched;
  int64_t count = getSmallest(chosen).microBatches;
  std::optional<std::string> obstacle;
  bool isShared = false;
  for (const auto &[key, finished] : frontends) {
    bool isOfCount = std::get<0>(key) == count;
    isShared |= isOfCount && finished.isShared;
    if (isOfCount && !obstacle)
      obstacle = finished.obstacle;
  }
  if (!isShared)
    return std::nullopt;
  return describeSequence(chosen, choice.seconds, obstacle);
}

Frontend ModelCandidates::take(const PlanCandidate &candidate,
                               DiagnosticEngine &engine) {
  Finished &finished = finish(candidate);
  first = nullptr;
  engine.append(std::move(models.at(candidate.microBatches).engine));
  engine.append(std::move(finished.engine));
  return std::move(*finished.frontend);
}

FrontendOptions
ModelCandidates::getOptions(const PlanCandidate &candidate) const {
  FrontendOptions step = request;
  step.microBatches = candidate.microBatches;
  step.zigzag = candidate.zigzag;
  step.expertGroups = getGroups(candidate);
  return step;
}

const std::optional<SimplifiedModel> &
ModelCandidates::simplify(const PlanCandidate &candidate) {
  auto [place, isNew] = models.try_emplace(candidate.microBatches);
  Imported &imported = place->second;
  if (isNew) {
    Stopwatch time;
    IRDumper silent("", imported.engine);
    imported.model =
        simplifyModel(context, getOptions(candidate), silent, imported.engine);
    countImport(time.getSeconds());
  }
  return imported.model;
}

void ModelCandidates::countImport(double seconds) {
  if (std::this_thread::get_id() == planner)
    importSeconds += seconds;
}

ModelCandidates::Finished &
ModelCandidates::finish(const PlanCandidate &candidate) {
  PARPLAN_CHECK(!isLent, "models are used beside whoever has them");
  return finishLent(candidate);
}

ModelCandidates::Finished &
ModelCandidates::finishLent(const PlanCandidate &candidate) {
  auto [place, isNew] = frontends.try_emplace(
      {candidate.microBatches, candidate.zigzag, getGroups(candidate)});
  Finished &finished = place->second;
  const std::optional<SimplifiedModel> &simplified = simplify(candidate);
  if (!isNew || !simplified)
    return finished;
  if (candidate.zigzag > 1) {
    PlanCandidate inOrder = candidate;
    inOrder.zigzag = 1;
    const Finished &plain = finishLent(inOrder);
    finished.isShared =
        plain.frontend &&
        llvm::is_contained(
            getContextSizes(plain.frontend->graph.problem, options, cluster),
            candidate.zigzag);
    if (!finished.isShared)
      return finished;
  }
  Stopwatch time;
  IRDumper silent("", finished.engine);
  finished.frontend = finishFrontend(simplified->clone(), getOptions(candidate),
                                     silent, finished.engine);
  countImport(time.getSeconds());
  if (finished.frontend && finished.frontend->orderObstacle) {
    finished.obstacle = std::move(finished.frontend->orderObstacle);
    finished.frontend.reset();
  }
  return finished;
}

std::vector<int64_t> ModelCandidates::getSharers() const {
  const std::optional<ServerChoice> &servers = options.force.servers;
  int64_t ranks = servers ? servers->workers : options.gpus;
  std::vector<int64_t> sharers;
  for (int64_t count = 2; count <= ranks; ++count)
    if (ranks % count == 0)
      sharers.push_back(count);
  return sharers;
}

void ModelCandidates::reportImpossible(const PlanCandidate &candidate,
                                       DiagnosticEngine &engine) {
  Finished &finished = finish(candidate);
  engine.append(std::move(models.at(candidate.microBatches).engine));
  engine.append(std::move(finished.engine));
}
