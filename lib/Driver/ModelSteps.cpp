//===- ModelSteps.cpp - A model's step by its micro-batches ---------------===//

#include "lib/Driver/ModelSteps.h"

#include "lib/Driver/IRDumper.h"

using namespace parplan;

ModelSteps::ModelSteps(mlir::MLIRContext &context, const SimplifiedModel &model,
                       FrontendOptions options, std::vector<int64_t> counts)
    : context(context), options(std::move(options)),
      batchSymbol(model.model.info->batchSymbol),
      scaled(model.globalBatch, std::move(counts),
             /*isFree=*/!batchSymbol.empty(),
             [this](int64_t count, int64_t samples) {
               return extract(count, samples);
             }) {}

StepProblems ModelSteps::getProblems() {
  return {scaled.getCounts(),
          [this](int64_t count) { return scaled.get(count); },
          StepProblems::Parts{scaled.getCounts(), [this](int64_t count) {
                                return scaled.getPart(count);
                              }}};
}

/// What is wrong with a step says who imports it to be planned alone.
std::optional<PlanningProblem> ModelSteps::extract(int64_t count,
                                                   int64_t samples) {
  FrontendOptions step = options;
  step.microBatches = count;
  if (!batchSymbol.empty()) {
    step.import.dims.erase(batchSymbol);
    step.import.globalBatch = count * samples;
  }
  DiagnosticEngine ignored;
  IRDumper silent("", ignored);
  std::optional<SimplifiedModel> model =
      simplifyModel(context, step, silent, ignored);
  if (!model)
    return std::nullopt;
  std::optional<Frontend> frontend =
      finishFrontend(std::move(*model), step, silent, ignored);
  if (!frontend || frontend->orderObstacle)
    return std::nullopt;
  return std::move(frontend->graph.problem);
}
