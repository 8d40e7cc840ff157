//===- VerifyStages.cpp - Legality of stages and tiers --------------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "VerifyStages.h"

#include "Offload.h"
#include "StepTime.h"

#include "parplan/Pipeline/WaitingRooms.h"
#include "parplan/Planner/VisitSums.h"
#include "parplan/Support/Check.h"

#include <map>
#include <set>

using namespace parplan;

namespace {

class StageVerifier {
public:
  StageVerifier(const PlanningProblem &problem, const PlanningAnswer &answer,
                std::vector<std::string> &problems)
      : problem(problem), answer(answer), problems(problems),
        phases(getPhases(problem)), producers(problem.values.size(), -1) {
    for (auto [index, op] : llvm::enumerate(problem.ops))
      for (int result : op.results)
        producers[result] = static_cast<int>(index);
  }

  void verify() {
    size_t known = problems.size();
    verifyMesh();
    verifyShape();
    verifySizes();
    if (problems.size() > known)
      return;
    if (!answer.stages.empty()) {
      verifyRange();
      verifyEdges();
      verifyGroups();
      verifyClones();
    }
    verifyRelayed();
    verifyVisits();
    verifyRecomputed();
    verifyTiers();
  }

private:
  void fail(const std::string &constraint, const std::string &what) {
    problems.push_back(what + " (" + constraint + ")");
  }
  std::string describe(size_t op) const {
    return "operator '" + problem.ops[op].node + "' (" + problem.ops[op].type +
           ")";
  }

  void verifyMesh() {
    int axis = findPipelineAxis(answer.mesh);
    if (axis > 0)
      fail("P1", "the axis of the pipeline is not the outermost of the mesh");
    if (llvm::count_if(answer.mesh.getAxes(), [](const MeshAxis &other) {
          return other.role == AxisRole::pipeline;
        }) > 1)
      fail("P1", "the mesh has several axes of pipelines");
    int64_t size = axis < 0 ? 1 : answer.mesh.getAxis(axis).size;
    if (size != answer.getPositionCount())
      fail("P1", concat("the mesh has ", size, " positions, the schedule ",
                        answer.getPositionCount()));
    if (axis < 0)
      return;
    auto uses = [&](llvm::ArrayRef<int> axes) {
      return llvm::is_contained(axes, axis);
    };
    for (auto [value, rest] : llvm::zip_equal(problem.values, answer.rest))
      if (uses(rest.getUsedAxes()))
        fail("P1", "value '" + value.name + "' lies over the pipeline's axis");
    for (auto [index, assignment] : llvm::enumerate(answer.assignments))
      if (uses(assignment.storage) || uses(assignment.panels.axes) ||
          llvm::any_of(assignment.axes, uses))
        fail("P1", describe(index) + " is spread over the pipeline's axis");
  }

  void verifyShape() {
    if (!answer.pipeline)
      return;
    const ScheduleShape &shape = answer.pipeline->shape;
    if (auto refusal = getRefusal(shape))
      fail("P2", *refusal);
    else if (auto ofRoom = getRefusal(shape, answer.pipeline->room))
      fail("P2", *ofRoom);
    if (shape.microBatches != problem.microBatches)
      fail("P2", concat("the schedule has ", shape.microBatches,
                        " micro-batches, the step ", problem.microBatches));
    if (hasBackward(shape.kind) != isTraining(problem))
      fail("P2", "schedule " + printScheduleName(shape) +
                     (isTraining(problem) ? " has no backward passes"
                                          : " has backward passes"));
    if (static_cast<int64_t>(answer.pipeline->times.size()) !=
        shape.getStageCount())
      fail("P2", "the schedule has no time for every stage");
    size_t messages = answer.pipeline->latencies.size();
    if (messages > 0 &&
        static_cast<int64_t>(messages) + 1 != shape.getStageCount())
      fail("P2", "the schedule has no time for every message between stages");
  }

  void verifySizes() {
    auto check = [&](size_t size, size_t expected, const std::string &what) {
      if (size != 0 && size != expected)
        fail("P3",
             concat("the plan has ", what, " for ", size, " of ", expected));
    };
    check(answer.stages.size(), problem.ops.size(), "stages of operators");
    check(answer.relayed.size(), problem.ops.size(), "ways of messages");
    check(answer.perVisit.size(), problem.ops.size(), "visits of sums");
    check(answer.recomputed.size(), problem.ops.size(), "recomputation");
    check(answer.tiers.size(), problem.values.size(), "tiers of values");
    check(answer.inPieces.size(), problem.values.size(), "pieces of values");
    if (answer.stages.empty() != !answer.pipeline)
      fail("P3", answer.pipeline ? "the plan has a pipeline and no stages"
                                 : "the plan has stages and no pipeline");
  }

  void verifyRange() {
    int64_t count = answer.pipeline->shape.getStageCount();
    std::vector<bool> isUsed(count, false);
    for (size_t op = 0; op < problem.ops.size(); ++op) {
      int stage = answer.stages[op];
      if (stage < -1 || stage >= count)
        fail("P3", concat(describe(op), " is in stage ", stage, " of ", count));
      else if (stage >= 0 && isBeforeBackward(problem.ops[op].role))
        isUsed[stage] = true;
    }
    for (auto [stage, used] : llvm::enumerate(isUsed))
      if (!used)
        fail("P3", concat("stage ", stage, " has no operator"));
  }

  bool isOfBackward(size_t op) const {
    return phases[op] == Phase::inputGradient ||
           phases[op] == Phase::weightGradient;
  }

  void verifyEdges() {
    for (size_t op = 0; op < problem.ops.size(); ++op) {
      int stage = answer.stages[op];
      if (stage < 0 || phases[op] == Phase::end)
        continue;
      for (int operand : problem.ops[op].operands) {
        int producer = producers[operand];
        int source = producer < 0 ? -1 : answer.stages[producer];
        if (source < 0)
          continue;
        bool isBack = isOfBackward(producer) && isOfBackward(op);
        if (isBack ? stage > source : stage < source)
          fail("P4", concat(describe(op), " in stage ", stage, " reads what ",
                            describe(producer), " makes in stage ", source,
                            isBack ? ": gradients go back"
                                   : ": the model goes forward"));
      }
    }
  }

  /// Gradients are where their forward op is, updates where the first reader of
  /// their parameter is.
  void verifyGroups() {
    std::map<int64_t, size_t> leaders;
    std::vector<int> lowest(problem.values.size(), -1);
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      if (op.group >= 0 && op.isLeader)
        leaders[op.group] = index;
      int stage = answer.stages[index];
      if (stage >= 0 && isBeforeBackward(op.role))
        for (int operand : op.operands)
          if (problem.values[operand].kind == ValueKind::parameter)
            lowest[operand] =
                lowest[operand] < 0 ? stage : std::min(lowest[operand], stage);
    }
    for (auto [index, op] : llvm::enumerate(problem.ops)) {
      int stage = answer.stages[index];
      if (op.group >= 0 && isOfBackward(index)) {
        int expected = answer.stages[leaders.at(op.group)];
        if (expected >= 0 && stage != expected)
          fail("P5",
               concat(describe(index), " in stage ", stage,
                      " is a gradient of ", describe(leaders.at(op.group)),
                      " in stage ", expected));
      }
      for (int result : op.results) {
        int variable = problem.values[result].updates;
        if (variable >= 0 && lowest[variable] >= 0 && stage >= 0 &&
            stage != lowest[variable])
          fail("P5", concat(describe(index), " in stage ", stage,
                            " updates a parameter that stage ",
                            lowest[variable], " reads first"));
      }
    }
  }

  void verifyClones() {
    for (size_t op = 0; op < problem.ops.size(); ++op) {
      if (answer.stages[op] >= 0 || phases[op] == Phase::end)
        continue;
      for (int operand : problem.ops[op].operands)
        if (int producer = producers[operand];
            producer >= 0 && answer.stages[producer] >= 0)
          fail("P6", describe(op) +
                         " is in every stage that reads it, and reads what " +
                         describe(producer) + " makes in one");
    }
  }

  void verifyRelayed() {
    for (size_t op = 0; op < problem.ops.size(); ++op)
      if (answer.isRelayed(op) &&
          (answer.stages.empty() || answer.stages[op] < 0 ||
           phases[op] == Phase::start || phases[op] == Phase::end))
        fail("P14", describe(op) + " is in no stage from which passes could "
                                   "hand its results on");
  }

  void verifyVisits() {
    std::vector<int> sums = findVisitSums(problem, answer);
    for (size_t op = 0; op < problem.ops.size(); ++op)
      if (answer.isPerVisit(op) &&
          !llvm::is_contained(sums, static_cast<int>(op)))
        fail("P15", describe(op) + " is no sum of gradients that an "
                                   "interleaved schedule could reduce once "
                                   "per visit");
  }

  void verifyRecomputed() {
    bool trains = isTraining(problem);
    for (size_t op = 0; op < problem.ops.size(); ++op) {
      if (!answer.isRecomputed(op))
        continue;
      if (problem.ops[op].role != OpRole::forward ||
          problem.ops[op].accumulates || !problem.ops[op].perMicroBatch ||
          !trains)
        fail("P7", describe(op) +
                       " is no operator of a forward pass of micro-batches, "
                       "and cannot be computed again");
    }
  }

  void verifyTiers() {
    for (auto [index, value] : llvm::enumerate(problem.values)) {
      MemoryTier tier = answer.getTier(index);
      if (tier == MemoryTier::device)
        continue;
      bool isVariable = value.kind == ValueKind::parameter ||
                        value.kind == ValueKind::state || value.updates >= 0;
      if (!isVariable &&
          (value.kind != ValueKind::activation || tier != MemoryTier::host))
        fail("P8", "value '" + value.name + "' cannot rest in the tier '" +
                       stringifyMemoryTier(tier).str() + "'");
      if (value.updates >= 0 &&
          problem.values[value.updates].kind == ValueKind::state &&
          answer.getTier(value.updates) != tier)
        fail("P8",
             "value '" + value.name + "' replaces a state in another tier");
    }
    std::vector<bool> possible = findUpdatedPieces(problem, answer);
    for (auto [index, value] : llvm::enumerate(problem.values))
      if (answer.restsInPieces(index) && (possible.empty() || !possible[index]))
        fail("P16", "value '" + value.name +
                        "' is not updated off the device in pieces that "
                        "nothing else reads, and cannot rest in them");
  }

  const PlanningProblem &problem;
  const PlanningAnswer &answer;
  std::vector<std::string> &problems;
  std::vector<Phase> phases;
  std::vector<int> producers;
};

} // namespace

void parplan::verifyStages(const PlanningProblem &problem,
                           const PlanningAnswer &answer,
                           std::vector<std::string> &problems) {
  StageVerifier(problem, answer, problems).verify();
}
