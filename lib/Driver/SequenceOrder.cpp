//===- SequenceOrder.cpp - In which order a causal sequence lies ----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/SequenceOrder.h"

#include "lib/Driver/IRDumper.h"
#include "lib/Driver/Planning.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Support/Text.h"
#include "passes/Simplify/Zigzag.h"

#include <chrono>
#include <cmath>

using namespace parplan;

namespace {

/// Prices the orders one after the other. What fails here is left to the road
/// that reports it.
class OrderChooser {
public:
  OrderChooser(const CompileOptions &given, const Cluster &cluster,
               int64_t memoryLimitBytes, size_t orderCount)
      : options(given), cluster(cluster), memoryLimitBytes(memoryLimitBytes),
        model(cluster, getPrecision(given)), costs(model) {
    options.timeBudgetSeconds /= static_cast<double>(orderCount + 1);
  }

  void price(const Frontend &frontend, int64_t zigzag) {
    DiagnosticEngine ignored;
    Clock::time_point start = Clock::now();
    std::optional<Plan> plan =
        makePlan(frontend.graph.problem, options, cluster, /*modelSha256=*/"",
                 costs, memoryLimitBytes, /*smallestBytes=*/nullptr, ignored);
    if (!plan) {
      // A search that was cut short proves nothing.
      std::chrono::duration<double> spent = Clock::now() - start;
      if (spent.count() >= options.timeBudgetSeconds)
        choice.othersBoundSeconds = 0;
      return;
    }
    double seconds = plan->evaluation.stepTimeSeconds;
    double bound = plan->certificate.lowerBoundSeconds;
    double weighed = seconds * (zigzag == 1 ? 1 + tie : 1);
    if (weighed >= least) {
      choice.othersBoundSeconds = std::min(choice.othersBoundSeconds, bound);
      // The least of the zig-zag orders is worth a word.
      if (choice.getZigzag() == 1 && seconds < leastOther) {
        leastOther = seconds;
        choice.order->reason =
            "in zig-zag order over " + std::to_string(zigzag) +
            " ranks a step would take " + formatSeconds(seconds);
      }
      return;
    }
    choice.othersBoundSeconds = std::min(choice.othersBoundSeconds, leastBound);
    least = weighed;
    leastBound = bound;
    choice.order = SequenceSummary{zigzag, zigzag == 1 ? noOther : ""};
  }

  void skip(const std::string &obstacle) {
    if (choice.getZigzag() == 1 && std::isinf(leastOther))
      choice.order->reason = obstacle;
  }

  SequenceChoice choice{SequenceSummary{1, noOther}};

private:
  /// What the cost model cannot tell apart. Of such orders the one is taken in
  /// which no rank waits for another.
  static constexpr double tie = 5e-3;
  using Clock = std::chrono::steady_clock;
  static constexpr const char *noOther = "no plan with another order was found";

  CompileOptions options;
  const Cluster &cluster;
  int64_t memoryLimitBytes;
  CostModel model;
  ClusterCosts costs;
  double least = std::numeric_limits<double>::infinity();
  double leastBound = std::numeric_limits<double>::infinity();
  /// Of the slower orders, which are all zig-zag.
  double leastOther = std::numeric_limits<double>::infinity();
};

} // namespace

static SequenceChoice
chooseOrder(mlir::MLIRContext &context, const CompileOptions &options,
            const FrontendOptions &request, const Frontend &frontend,
            const Cluster &cluster, int64_t memoryLimitBytes) {
  std::vector<int64_t> sizes =
      getContextSizes(frontend.graph.problem, options, cluster);
  llvm::erase(sizes, 1);
  if (sizes.empty() || !hasCausalAttention(frontend.getMain()))
    return {};
  OrderChooser chooser(options, cluster, memoryLimitBytes, sizes.size() + 1);
  chooser.price(frontend, /*zigzag=*/1);
  for (int64_t ranks : sizes) {
    FrontendOptions trial = request;
    trial.zigzag = ranks;
    DiagnosticEngine ignored;
    IRDumper dumper("", ignored);
    std::optional<Frontend> permuted =
        runFrontend(context, trial, dumper, ignored);
    if (permuted && permuted->orderObstacle)
      chooser.skip(*permuted->orderObstacle);
    else if (permuted)
      chooser.price(*permuted, ranks);
  }
  return std::move(chooser.choice);
}

SequenceChoice parplan::orderSequence(
    mlir::MLIRContext &context, const CompileOptions &options,
    const FrontendOptions &request, const Cluster &cluster,
    int64_t memoryLimitBytes, IRDumper &dumper,
    std::optional<Frontend> &frontend, DiagnosticEngine &engine) {
  if (!options.planPath.empty()) {
    if (!confirmOrder(*frontend, options.planPath, engine))
      frontend.reset();
    if (request.zigzag == 1)
      return {};
    return {SequenceSummary{request.zigzag, ""}};
  }
  SequenceChoice choice = chooseOrder(context, options, request, *frontend,
                                      cluster, memoryLimitBytes);
  if (choice.getZigzag() > 1) {
    FrontendOptions ordered = request;
    ordered.zigzag = choice.getZigzag();
    frontend = runFrontend(context, ordered, dumper, engine);
  }
  return choice;
}
