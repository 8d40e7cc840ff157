//===- Traffic.cpp - What stages send each other --------------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "Traffic.h"

#include "StepTime.h"

#include "parplan/Planner/Evaluator.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace parplan;

namespace {

/// A value that its stage sends to others, directly.
struct SentValue {
  int value = 0;
  int op = 0;
  /// Of one reading position each.
  struct Reader {
    StageEdge edge;
    Phase phase = Phase::forward;
    int64_t bytes = 0;
  };
  std::vector<Reader> readers;

  std::vector<StageEdge> getEdges() const {
    std::vector<StageEdge> edges;
    for (const Reader &reader : readers)
      edges.push_back(reader.edge);
    return edges;
  }
  /// One way has one layout.
  int64_t getMostBytes() const {
    int64_t most = 0;
    for (const Reader &reader : readers)
      most = std::max(most, reader.bytes);
    return most;
  }
};

std::vector<SentValue> getSentValues(const NumberedPlan &plan,
                                     const Execution &execution,
                                     const ScheduleShape &shape) {
  std::vector<int64_t> copyBytes(execution.instances.size(), 0);
  for (const Execution::Copy &copy : execution.copies)
    copyBytes[copy.instance] += copy.bytes;
  std::map<int, std::map<int64_t, SentValue::Reader>> found;
  for (auto [number, instance] : llvm::enumerate(execution.instances)) {
    if (instance.sender < 0 || getPosition(shape, instance.sender) ==
                                   getPosition(shape, instance.stage))
      continue;
    Phase phase = execution.runs[instance.firstUse].phase;
    if (phase == Phase::start || phase == Phase::end ||
        isTiedGradient(execution, instance))
      continue;
    int64_t atRest = plan.getBytes(instance.value);
    SentValue::Reader reader;
    reader.edge = {instance.sender, instance.stage};
    reader.phase = phase;
    reader.bytes =
        instance.isReadAtRest ? atRest : std::min(atRest, copyBytes[number]);
    auto [known, isNew] = found[instance.value].try_emplace(
        getPosition(shape, instance.stage), reader);
    if (isNew)
      continue;
    // The first pass of the position that reads it has it: forward passes go
    // up, backward passes come down.
    SentValue::Reader &first = known->second;
    bool isForward = phase == Phase::forward;
    bool isEarlier =
        isForward != (first.phase == Phase::forward)
            ? isForward
            : isForward == (reader.edge.destination < first.edge.destination);
    int64_t bytes = std::max(first.bytes, reader.bytes);
    if (isEarlier)
      first = reader;
    first.bytes = bytes;
  }
  std::vector<SentValue> values;
  for (const auto &[value, readers] : found) {
    SentValue sent{value, plan.facts.producers[value], {}};
    for (const auto &[position, reader] : readers)
      sent.readers.push_back(reader);
    llvm::sort(sent.readers, [](const auto &first, const auto &second) {
      return first.edge.destination < second.edge.destination;
    });
    values.push_back(std::move(sent));
  }
  return values;
}

} // namespace

std::vector<StageTraffic> parplan::getTraffic(const NumberedPlan &plan,
                                              const Execution &execution) {
  const PlanningProblem &problem = plan.problem;
  const PlanningAnswer &answer = plan.answer;
  ScheduleShape shape = getShape(problem, answer);
  int64_t ranks = answer.mesh.getWorkerCount() / shape.positions;
  // Edges that differ in what becomes of their bytes are apart.
  std::map<std::tuple<int, int, int, Phase, int>, StageTraffic> sums;
  auto add = [&](const StageEdge &edge, const SentValue &sent, int64_t bytes,
                 int next) {
    int reader = -1;
    Phase phase = Phase::forward;
    for (const SentValue::Reader &own : sent.readers)
      if (getPosition(shape, own.edge.destination) ==
          getPosition(shape, edge.destination)) {
        reader = static_cast<int>(own.edge.destination);
        phase = own.phase;
      }
    int from = static_cast<int>(edge.source);
    int to = static_cast<int>(edge.destination);
    StageTraffic &sum = sums[{from, to, reader, phase, next}];
    const PlanningValue &value = problem.values[sent.value];
    int64_t piece = std::min(bytes, ceilDivide(value.getWholeBytes(), ranks));
    sum.from = from;
    sum.to = to;
    ++sum.messages;
    sum.bytes += bytes;
    sum.pieceBytes += piece;
    sum.reader = reader;
    sum.phase = phase;
    sum.next = next;
  };
  for (const SentValue &sent : getSentValues(plan, execution, shape)) {
    if (!answer.isRelayed(sent.op)) {
      for (const SentValue::Reader &reader : sent.readers)
        add(reader.edge, sent, reader.bytes, /*next=*/-1);
      continue;
    }
    std::vector<StageEdge> edges = getRelayEdges(shape, sent.getEdges());
    for (auto [index, edge] : llvm::enumerate(edges)) {
      // The next edge that starts at this position, whatever its stage.
      int next = -1;
      for (const StageEdge &later : llvm::ArrayRef(edges).drop_front(index + 1))
        if (next < 0 && getPosition(shape, later.source) ==
                            getPosition(shape, edge.destination))
          next = static_cast<int>(later.destination);
      add(edge, sent, sent.getMostBytes(), next);
    }
  }
  std::vector<StageTraffic> traffic;
  for (const auto &[key, sum] : sums)
    traffic.push_back(sum);
  return traffic;
}

std::vector<SkipChoice> parplan::priceSkips(const PlanningProblem &problem,
                                            const PlanningAnswer &answer) {
  std::vector<SkipChoice> choices;
  if (!answer.pipeline)
    return choices;
  const ScheduleShape &shape = answer.pipeline->shape;
  OwnTables tables(problem, answer);
  std::vector<SentValue> values =
      getSentValues(tables.get(), getExecution(tables.get()), shape);
  llvm::erase_if(values, [&](const SentValue &sent) {
    // From every stage or to the next one there is one way.
    std::vector<StageEdge> edges = sent.getEdges();
    return answer.getStage(sent.op) < 0 || getRelayEdges(shape, edges) == edges;
  });
  if (values.empty())
    return choices;
  PipelineSchedule schedule =
      makeSchedule(shape, answer.pipeline->times, answer.pipeline->latencies);
  Timeline timeline =
      simulate(schedule, answer.pipeline->times, answer.pipeline->latencies);
  auto add = [&](SkipPrice &sum, const std::vector<StageEdge> &edges,
                 int64_t bytes) {
    SkipPrice price = priceSkips(schedule, timeline, edges, bytes,
                                 answer.pipeline->latencies);
    if (sum.sentBytes.empty())
      sum = price;
    else
      sum.add(price);
  };
  for (const SentValue &sent : values) {
    // Results of one op go one way.
    auto known = llvm::find_if(choices, [&](const SkipChoice &choice) {
      return choice.op == sent.op;
    });
    if (known == choices.end())
      known = choices.insert(choices.end(), SkipChoice{sent.op, {}, {}});
    for (const SentValue::Reader &reader : sent.readers)
      add(known->direct, {reader.edge}, reader.bytes);
    add(known->relay, getRelayEdges(shape, sent.getEdges()),
        sent.getMostBytes());
  }
  return choices;
}

void parplan::chooseWays(const PlanningProblem &problem,
                         PlanningAnswer &answer) {
  answer.relayed.clear();
  for (const SkipChoice &choice : priceSkips(problem, answer)) {
    if (!isRelayCheaper(choice.direct, choice.relay))
      continue;
    answer.relayed.resize(problem.ops.size(), false);
    answer.relayed[choice.op] = true;
  }
}

void parplan::relayUntilFits(const PlanningProblem &problem,
                             const PlanCosts &costs, PlanningAnswer &answer,
                             int64_t limitBytes) {
  // Each is tried with a look at the whole plan.
  constexpr size_t mostTries = 16;
  int64_t bytes = getPeakBytes(problem, answer);
  if (bytes <= limitBytes)
    return;
  auto getSaved = [](const SkipChoice &choice) {
    return choice.direct.getMostWaitingBytes() -
           choice.relay.getMostWaitingBytes();
  };
  std::vector<SkipChoice> choices = priceSkips(problem, answer);
  llvm::erase_if(choices, [&](const SkipChoice &choice) {
    return answer.isRelayed(choice.op) || getSaved(choice) <= 0;
  });
  llvm::stable_sort(choices, [&](const auto &first, const auto &second) {
    return getSaved(first) > getSaved(second);
  });
  if (choices.size() > mostTries)
    choices.resize(mostTries);
  for (const SkipChoice &choice : choices) {
    PlanningAnswer handing = answer;
    handing.relayed.resize(problem.ops.size(), false);
    handing.relayed[choice.op] = true;
    setPipelineTimes(problem, costs, handing);
    int64_t own = getPeakBytes(problem, handing);
    if (own >= bytes)
      continue;
    answer = std::move(handing);
    bytes = own;
    if (bytes <= limitBytes)
      return;
  }
}
