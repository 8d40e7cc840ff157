//===- Operators.cpp - The operators of plan.json -------------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Report/Operators.h"

#include "lib/Report/InnerCalls.h"
#include "lib/Report/Layouts.h"
#include "parplan/Planner/Candidates.h"
#include "parplan/Planner/ClusterCosts.h"
#include "parplan/Planner/Evaluator.h"
#include "parplan/Planner/Servers.h"
#include "parplan/Planner/VisitSums.h"
#include "parplan/Support/Sizes.h"

#include "llvm/Support/Parallel.h"

using namespace parplan;

double parplan::getFlops(const PlanningOp &op) {
  double flops = 0;
  for (const WorkTerm &term : op.work.flops) {
    double product = term.coefficient;
    for (int factor : term.factors)
      product *= static_cast<double>(op.rule.factors[factor].size);
    flops += product;
  }
  return flops;
}

namespace {

/// The communication of a path that is walked `repeat` times per step.
void addCollectives(Json &list, const ReshardPath &path,
                    const PlanningValue &value, const Mesh &mesh,
                    int64_t repeat) {
  for (const Move &move : path.moves)
    if (!move.isLocal())
      list.push_back(
          {{"kind", stringifyCollectiveKind(getCollectiveKind(move.kind))},
           {"axes", nameAxes(move.axes, mesh)},
           {"bytes", move.sizeElements * value.elementBytes},
           {"count", repeat}});
}

/// Per op the one that decides for it: itself, or the leader of its group.
std::vector<size_t> findLeaders(const PlanningProblem &problem) {
  std::map<int64_t, size_t> leaderOf;
  for (auto [index, op] : llvm::enumerate(problem.ops))
    if (op.group >= 0 && op.isLeader)
      leaderOf[op.group] = index;
  std::vector<size_t> leaders;
  for (auto [index, op] : llvm::enumerate(problem.ops)) {
    auto leader = leaderOf.find(op.group);
    leaders.push_back(leader == leaderOf.end() ? index : leader->second);
  }
  return leaders;
}

/// The algorithm of an op by that of the leader of its group: the gradients of
/// a product follow it. With expert and tensor axes it is that of the tensor
/// axes, of which there are several.
Algorithm nameAlgorithm(const PlanningOp &leader,
                        const FactorAssignment &assignment, const Mesh &mesh) {
  Algorithm tensor = getTensorAlgorithm(leader, assignment, mesh);
  Algorithm algorithm = getAlgorithm(leader, assignment, mesh);
  return algorithm == Algorithm::expert && tensor != Algorithm::replicate
             ? tensor
             : algorithm;
}

/// The decision for one op, as `readAnswer` reads it back.
void addAssignment(Json &object, const PlanningOp &op,
                   const FactorAssignment &assignment, const Mesh &mesh) {
  Json factors = Json::object();
  for (auto [factor, axes] : llvm::zip_equal(op.rule.factors, assignment.axes))
    if (!axes.empty())
      factors[factor.name] = nameAxes(axes, mesh);
  object["factors"] = std::move(factors);
  if (!assignment.pending.empty()) {
    object["pending"] = nameAxes(assignment.pending, mesh);
    object["pending_operand"] = assignment.pendingOperand;
  }
  if (!assignment.storage.empty())
    object["stored"] = nameAxes(assignment.storage, mesh);
  if (assignment.panels.exists()) {
    Json panels = Json::object();
    panels[op.rule.factors[assignment.panels.factor].name] =
        nameAxes(assignment.panels.axes, mesh);
    object["panels"] = std::move(panels);
  }
}

/// What ranks of the mesh run and keep themselves: with servers they hand
/// gradients over as these are made, and reduce nothing.
struct WorkersPart {
  std::vector<bool> runs;
  std::vector<Sharding> rest;

  WorkersPart(const PlanningProblem &problem, const PlanningAnswer &answer)
      : runs(problem.ops.size(), !answer.servers), rest(answer.rest) {
    if (!answer.servers)
      return;
    WorkersProblem workers = getWorkersProblem(problem);
    PlanningAnswer own = getWorkersAnswer(workers, answer);
    for (int op : workers.ops)
      runs[op] = true;
    for (auto [value, layout] : llvm::zip_equal(workers.values, own.rest))
      rest[value] = layout;
  }
};

/// Rows are static, and enough for every expert to have every token, so that
/// none is ever dropped (S19). Nothing for ops that hand out no tokens.
void addExperts(Json &object, const PlanningProblem &problem,
                const PlanningOp &op) {
  auto hasExperts = [&](const TensorFactors &tensor) {
    return llvm::any_of(tensor, [&](const DimFactors &dim) {
      return llvm::is_contained(dim, op.expertFactor);
    });
  };
  bool handsOut = op.expertFactor >= 0 &&
                  llvm::none_of(op.rule.operands, hasExperts) &&
                  llvm::any_of(op.rule.results, hasExperts);
  if (op.experts == 0 && !handsOut)
    return;
  // [rows, tokens .., width]
  llvm::ArrayRef<int64_t> shape = problem.values[op.results.front()].shape;
  object["experts"] = {
      {"count",
       op.experts > 0 ? op.experts : op.rule.factors[op.expertFactor].size},
      {"rows", shape.front()},
      {"capacity", multiplySizes(shape.drop_front().drop_back())},
      {"drops_tokens", false}};
}

/// What an op takes in a step, as `predicted.breakdown_s` of the plan.
Json describeSeconds(const OpSeconds &seconds) {
  Json object = Json::object();
  auto add = [&](const char *what, double part) {
    if (part > 0)
      object[what] = part;
  };
  add("compute", seconds.compute);
  add("tensor_communication", seconds.tensorCommunication);
  add("data_communication", seconds.dataCommunication);
  add("optimizer", seconds.optimizer);
  return object;
}

/// What becomes of the results of an op until the backward pass.
std::string nameRecomputation(const PlanSummary &summary, size_t index) {
  if (summary.answer.isRecomputed(index))
    return "recompute";
  const PlanningOp &op = summary.problem.ops[index];
  bool waits =
      isBeforeBackward(op.role) && llvm::any_of(op.results, [&](int result) {
        return summary.answer.getTier(result) != MemoryTier::device;
      });
  return waits ? "offload" : "keep";
}

/// What one operator needs of all others is found once.
class OperatorDescriptions {
public:
  explicit OperatorDescriptions(const PlanSummary &summary)
      : summary(summary), problem(summary.problem), answer(summary.answer),
        mesh(answer.mesh), copies(getCopies(problem, answer)),
        leaders(findLeaders(problem)), visits(getVisitCounts(problem, answer)),
        part(problem, answer) {}

  /// Any thread may ask, with reshards of its own.
  Json describe(size_t index, ReshardCache &reshards) const {
    const PlanningOp &op = problem.ops[index];
    const FactorAssignment &assignment = answer.assignments[index];
    Json inputs = Json::array(), outputs = Json::array(),
         collectives = Json::array();
    for (size_t position = 0; position < op.operands.size(); ++position)
      addOperand(index, position, reshards, inputs, collectives);
    for (size_t position = 0; position < op.results.size(); ++position)
      addResult(index, position, reshards, outputs, collectives);
    for (const PanelCall &call : getInnerCalls(problem, op, assignment, mesh))
      collectives.push_back({{"kind", stringifyCollectiveKind(call.kind)},
                             {"axes", nameAxes(call.axes, mesh)},
                             {"bytes", call.bytes},
                             {"count", call.count * getRepeat(problem, op)}});
    size_t leader = leaders[index];
    Algorithm algorithm =
        nameAlgorithm(problem.ops[leader], answer.assignments[leader], mesh);
    Json object = {{"node", op.node},
                   {"index", op.nodeIndex},
                   {"op", op.type},
                   {"role", stringifyOpRole(op.role).str()},
                   {"stage", answer.getStage(index)},
                   {"algorithm", stringifyAlgorithm(algorithm).str()}};
    addAssignment(object, op, assignment, mesh);
    addExperts(object, problem, op);
    if (answer.isRelayed(index))
      object["relayed"] = true;
    if (answer.isPerVisit(index))
      object["per_visit"] = true;
    object["inputs"] = std::move(inputs);
    object["outputs"] = std::move(outputs);
    object["recompute"] = nameRecomputation(summary, index);
    object["flops"] = getFlops(op);
    object["repeat"] = getRepeat(problem, op);
    object["collectives"] = std::move(collectives);
    if (!summary.opSeconds.empty())
      object["breakdown_s"] = describeSeconds(summary.opSeconds[index]);
    return object;
  }

private:
  int64_t countMoves(int value, int64_t repeat) const {
    return visits[value] > 0 ? visits[value] : repeat;
  }

  void addOperand(size_t index, size_t position, ReshardCache &reshards,
                  Json &inputs, Json &collectives) const {
    const PlanningOp &op = problem.ops[index];
    int operand = op.operands[position];
    const PlanningValue &value = problem.values[operand];
    Sharding use = getUseSharding(op.rule, answer.assignments[index],
                                  static_cast<int>(position));
    inputs.push_back(describeValue(value, use, mesh));
    // A copy belongs to the first operand that reads it.
    bool repeated = llvm::is_contained(
        llvm::ArrayRef(op.operands).take_front(position), operand);
    for (const ValueCopy &copy : copies[operand])
      if (!repeated && copy.firstUse == static_cast<int>(index) &&
          value.kind != ValueKind::constant && part.runs[index])
        addCollectives(
            collectives,
            reshards.get(value.shape, answer.rest[operand], copy.layout), value,
            mesh, countMoves(operand, copy.repeat));
  }

  void addResult(size_t index, size_t position, ReshardCache &reshards,
                 Json &outputs, Json &collectives) const {
    const PlanningOp &op = problem.ops[index];
    int result = op.results[position];
    const PlanningValue &value = problem.values[result];
    outputs.push_back(describeValue(value, answer.rest[result], mesh));
    if (answer.isGatheredAgain(result))
      outputs.back()["gathered_again"] = true;
    if (answer.getTier(result) != MemoryTier::device)
      outputs.back()["tier"] = nameTier(answer.getTier(result));
    Sharding made = getMadeSharding(op.rule, answer.assignments[index],
                                    static_cast<int>(position));
    addCollectives(collectives,
                   reshards.get(value.shape, made, part.rest[result]), value,
                   mesh, countMoves(result, getResultRepeat(problem, op)));
  }

  const PlanSummary &summary;
  const PlanningProblem &problem;
  const PlanningAnswer &answer;
  const Mesh &mesh;
  std::vector<std::vector<ValueCopy>> copies;
  std::vector<size_t> leaders;
  std::vector<int64_t> visits;
  WorkersPart part;
};

} // namespace

Json parplan::describeOperators(const PlanSummary &summary) {
  OperatorDescriptions descriptions(summary);
  std::vector<Json> operators(summary.problem.ops.size());
  // Parts search paths of reshards again that others have: more of them than
  // most machines have use for are no gain.
  constexpr size_t parts = 4;
  llvm::parallelFor(0, parts, [&](size_t number) {
    ReshardCache reshards(summary.answer.mesh);
    size_t end = operators.size() * (number + 1) / parts;
    for (size_t index = operators.size() * number / parts; index < end; ++index)
      operators[index] = descriptions.describe(index, reshards);
  });
  return Json(std::move(operators));
}
