//===- ModelSteps.cpp - A model's step by its micro-batches ---------------===//

#include "lib/Driver/ModelSteps.h"

#include "lib/Driver/IRDumper.h"

using namespace parplan;

ModelSteps::ModelSteps(const SimplifiedModel &model, FrontendOptions options,
                       std::vector<int64_t> counts,
                       std::optional<PlanningProblem> given)
    : options(std::move(options)), known(std::move(given)),
      globalBatch(model.globalBatch),
      batchSymbol(model.model.info->batchSymbol),
      scaled(model.globalBatch, std::move(counts),
             /*isFree=*/!batchSymbol.empty(),
             [this](int64_t count, int64_t samples) {
               return extract(count, samples);
             }) {}

ModelSteps::ModelSteps(const ModelSteps &other, int64_t groups)
    : options(other.options), globalBatch(other.globalBatch),
      batchSymbol(other.batchSymbol),
      scaled(globalBatch, other.scaled.getCounts(),
             /*isFree=*/!batchSymbol.empty(),
             [this](int64_t count, int64_t samples) {
               return extract(count, samples);
             }) {
  options.expertGroups = groups;
}

StepProblems ModelSteps::getOwn() {
  return {scaled.getCounts(),
          [this](int64_t count) { return scaled.get(count); },
          StepProblems::Parts{scaled.getCounts(), [this](int64_t count) {
                                return scaled.getPart(count);
                              }}};
}

StepProblems ModelSteps::getProblems() {
  StepProblems problems = getOwn();
  problems.inGroups = [this](int64_t groups) {
    if (groups == options.expertGroups)
      return getOwn();
    std::unique_ptr<ModelSteps> &own = grouped[groups];
    if (!own)
      own.reset(new ModelSteps(*this, groups));
    return own->getOwn();
  };
  return problems;
}

/// What is wrong with a step says who imports it to be planned alone. In a
/// context of its own, whose diagnostics are this step's.
std::optional<PlanningProblem> ModelSteps::extract(int64_t count,
                                                   int64_t samples) const {
  bool isOfBatch = count * samples == globalBatch;
  if (known && isOfBatch && known->microBatches == count)
    return known;
  std::unique_ptr<mlir::MLIRContext> context =
      makeContext(/*hasThreads=*/false);
  FrontendOptions step = options;
  step.microBatches = count;
  if (!batchSymbol.empty()) {
    step.import.dims.erase(batchSymbol);
    step.import.globalBatch = count * samples;
  }
  DiagnosticEngine ignored;
  IRDumper silent("", ignored);
  std::optional<SimplifiedModel> model =
      simplifyModel(*context, step, silent, ignored);
  if (!model)
    return std::nullopt;
  std::optional<Frontend> frontend =
      finishFrontend(std::move(*model), step, silent, ignored);
  if (!frontend || frontend->orderObstacle)
    return std::nullopt;
  return std::move(frontend->graph.problem);
}
