//===- SequenceOrder.cpp - In which order a causal sequence lies ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/SequenceOrder.h"

#include "lib/Driver/IRDumper.h"
#include "parplan/Planner/ClusterCosts.h"
#include "passes/Order/Passes.h"

using namespace parplan;

namespace {

/// Plans a model in one order after the other. What fails here is left to the
/// road that reports it.
class OrderPlanner {
public:
  OrderPlanner(const CompileOptions &given, const OrderSearch &search,
               size_t orderCount, OrderedModel &best)
      : options(given), search(search), best(best),
        model(search.cluster, getPrecision(given)), costs(model) {
    options.timeBudgetSeconds =
        search.seconds / static_cast<double>(orderCount + 1);
  }

  /// Keeps the frontend if its order is the best so far.
  void plan(Frontend frontend, int64_t zigzag) {
    if (frontend.orderObstacle)
      return choice.addObstacle(*frontend.orderObstacle);
    DiagnosticEngine ignored;
    PlanLack lack;
    std::optional<Plan> plan =
        makePlan(frontend, options, search.cluster, /*modelSha256=*/"", costs,
                 search.memoryLimitBytes, &lack, ignored, search.effort);
    if (!plan)
      return choice.addLack(lack.boundSeconds);
    if (choice.addPlan(zigzag, plan->evaluation.stepTimeSeconds,
                       plan->certificate.lowerBoundSeconds)) {
      best.frontend = std::move(frontend);
      best.plan = std::move(plan);
    }
  }

  const OrderChoice &getChoice() const { return choice; }

private:
  CompileOptions options;
  const OrderSearch &search;
  OrderedModel &best;
  CostModel model;
  ClusterCosts costs;
  OrderChoice choice;
};

} // namespace

/// `model` in zig-zag order over so many ranks, or in its own; not dumped.
static std::optional<Frontend> finishInOrder(const SimplifiedModel &model,
                                             FrontendOptions request,
                                             int64_t zigzag,
                                             DiagnosticEngine &engine) {
  request.zigzag = zigzag;
  IRDumper dumper("", engine);
  return finishFrontend(model.clone(), request, dumper, engine);
}

std::optional<OrderedModel>
parplan::orderSequence(SimplifiedModel model, const CompileOptions &options,
                       const FrontendOptions &request,
                       const OrderSearch &search, IRDumper &dumper,
                       DiagnosticEngine &engine) {
  auto finish = [&](int64_t zigzag) -> std::optional<OrderedModel> {
    FrontendOptions ordered = request;
    ordered.zigzag = zigzag;
    std::optional<Frontend> frontend =
        finishFrontend(std::move(model), ordered, dumper, engine);
    if (!frontend)
      return std::nullopt;
    return OrderedModel{std::move(*frontend), {}, {}};
  };
  if (!options.planPath.empty()) {
    std::optional<OrderedModel> given = finish(request.zigzag);
    if (!given || !confirmOrder(given->frontend, options.planPath, engine))
      return std::nullopt;
    if (request.zigzag > 1)
      given->order = {request.zigzag, ""};
    return given;
  }
  if (!hasCausalAttention(model.getMain()))
    return finish(/*zigzag=*/1);

  std::optional<Frontend> plain =
      finishInOrder(model, request, /*zigzag=*/1, engine);
  if (!plain)
    return std::nullopt;
  std::vector<int64_t> sizes =
      getContextSizes(plain->graph.problem, options, search.cluster);
  llvm::erase(sizes, 1);
  if (sizes.empty())
    return finish(/*zigzag=*/1);

  OrderedModel best;
  OrderPlanner planner(options, search, sizes.size() + 1, best);
  planner.plan(std::move(*plain), /*zigzag=*/1);
  for (int64_t ranks : sizes) {
    DiagnosticEngine ignored;
    if (std::optional<Frontend> frontend =
            finishInOrder(model, request, ranks, ignored))
      planner.plan(std::move(*frontend), ranks);
  }
  best.order = planner.getChoice().getOrder();
  best.othersBoundSeconds = planner.getChoice().getOthersBound();
  // Phases are dumped of the model that is planned.
  if (!best.plan || dumper.isActive()) {
    std::optional<OrderedModel> chosen = finish(best.order->zigzag);
    if (!chosen)
      return std::nullopt;
    best.frontend = std::move(chosen->frontend);
  }
  return best;
}
