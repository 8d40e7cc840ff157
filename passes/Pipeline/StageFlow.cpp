//===- StageFlow.cpp - Stages and passes of the ops of a step -------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipeline/StageFlow.h"

#include "parplan/Pipeline/WaitingRooms.h"
#include "passes/Partition/ShardingAccess.h"
#include "passes/Pipeline/StepSegments.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace parplan {

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

static LogicalResult verifyStages(func::FuncOp function, int64_t count) {
  bool sound = true;
  for (Operation &op : function.getBody().front())
    if (std::optional<int64_t> stage = getStage(&op);
        stage && *stage >= count) {
      sound = false;
      op.emitOpError("is of stage ") << *stage << " of " << count;
    }
  return success(sound);
}

static LogicalResult readPassTable(func::FuncOp function, PipelineCut &cut) {
  auto table = function->getAttrOfType<ArrayAttr>(attributes::passTable);
  if (!table)
    return success();
  std::vector<std::string> positions;
  for (auto passes : table.getAsRange<StringAttr>())
    positions.push_back(passes.getValue().str());
  cut.table = parseSchedule(cut.shape, positions);
  if (!cut.table)
    return function.emitError("has a word in ")
           << attributes::passTable << " that is no pass";
  if (std::optional<std::string> problem =
          verifySchedule(*cut.table, cut.times, cut.latencies))
    return function.emitError(*problem);
  return success();
}

static WaitingRoom readRoom(func::FuncOp function) {
  auto read = [&](StringRef name) -> ArrayRef<int64_t> {
    auto bytes = function->getAttrOfType<DenseI64ArrayAttr>(name);
    return bytes ? bytes.asArrayRef() : ArrayRef<int64_t>();
  };
  WaitingRoom room;
  room.positionBytes = read(attributes::roomBytes).vec();
  ArrayRef<int64_t> bytes = read(attributes::passBytes);
  for (; bytes.size() >= 5; bytes = bytes.drop_front(5))
    room.stages.push_back({bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]});
  return room;
}

FailureOr<std::optional<PipelineCut>> readPipelineCut(func::FuncOp function) {
  auto text = function->getAttrOfType<StringAttr>(attributes::pipelineSchedule);
  if (!text)
    return std::optional<PipelineCut>();
  MeshOp mesh = getOnlyMesh(function->getParentOp());
  MeshAxisAttr axis = mesh ? getPipelineAxis(mesh) : MeshAxisAttr();
  if (!axis)
    return function.emitError("has a schedule, and no pipeline axis in its "
                              "mesh");
  std::optional<ScheduleName> name = parseScheduleName(text.getValue().str());
  if (!name)
    return function.emitError("there is no schedule ") << text;
  PipelineCut cut;
  cut.shape = {name->kind, axis.getSize(), 1, name->chunks};
  if (auto count =
          function->getAttrOfType<IntegerAttr>(attributes::microBatches))
    cut.shape.microBatches = count.getInt();
  if (std::optional<std::string> refusal = getRefusal(cut.shape))
    return function.emitError(*refusal);
  auto seconds =
      function->getAttrOfType<DenseF64ArrayAttr>(attributes::passSeconds);
  int64_t count = cut.shape.getStageCount();
  if (!seconds || seconds.size() != 3 * count)
    return function.emitError("needs ")
           << attributes::passSeconds << " of " << count << " stages";
  for (int64_t stage = 0; stage < count; ++stage)
    cut.times.push_back(
        {seconds[3 * stage], seconds[3 * stage + 1], seconds[3 * stage + 2]});
  if (auto messages = function->getAttrOfType<DenseF64ArrayAttr>(
          attributes::boundarySeconds)) {
    if (messages.size() != count - 1)
      return function.emitError("needs ")
             << attributes::boundarySeconds << " of " << count - 1
             << " boundaries";
    cut.latencies = Latencies(std::vector<double>(messages.asArrayRef()));
  }
  cut.room = readRoom(function);
  if (std::optional<std::string> refusal = getRefusal(cut.shape, cut.room))
    return function.emitError(*refusal);
  if (failed(readPassTable(function, cut)))
    return failure();
  MLIRContext *context = function.getContext();
  cut.axes =
      AxisListAttr::get(context, {StringAttr::get(context, axis.getName())});
  if (failed(verifyStages(function, count)))
    return failure();
  return std::optional(cut);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

llvm::DenseSet<Operation *> findFreeOps(func::FuncOp function) {
  llvm::DenseSet<Operation *> freeOps;
  auto isFree = [&](Value value) {
    if (Operation *maker = value.getDefiningOp())
      return freeOps.contains(maker);
    return function.getArgAttr(cast<BlockArgument>(value).getArgNumber(),
                               attributes::schedule) != nullptr;
  };
  for (Operation &op : function.getBody().front().without_terminator())
    if (!isa<AccumulateOp, OptimizerUpdateOp>(op) &&
        llvm::all_of(op.getOperands(), isFree))
      freeOps.insert(&op);
  return freeOps;
}

SmallVector<Value> getStagedSources(ValueRange values) {
  llvm::SetVector<Value> reached(values.begin(), values.end());
  SmallVector<Value> sources;
  for (size_t next = 0; next < reached.size(); ++next) {
    Value value = reached[next];
    Operation *maker = value.getDefiningOp();
    if (!maker || getStage(maker))
      sources.push_back(value);
    else
      reached.insert(maker->operand_begin(), maker->operand_end());
  }
  return sources;
}

SmallVector<ParameterOp> getParameters(ValueRange values) {
  llvm::SetVector<Value> reached(values.begin(), values.end());
  SmallVector<ParameterOp> parameters;
  for (size_t next = 0; next < reached.size(); ++next) {
    Operation *maker = reached[next].getDefiningOp();
    if (!maker || getStage(maker))
      continue;
    if (auto parameter = dyn_cast<ParameterOp>(maker))
      parameters.push_back(parameter);
    reached.insert(maker->operand_begin(), maker->operand_end());
  }
  return parameters;
}

llvm::DenseMap<Operation *, PassKind> findPassKinds(func::FuncOp function,
                                                    bool split) {
  llvm::DenseMap<Operation *, PassKind> kinds;
  Block &body = function.getBody().front();
  auto isOfKind = [&](Operation *op, PassKind kind) {
    auto known = kinds.find(op);
    return known != kinds.end() && known->second == kind;
  };
  for (Operation &op : body.without_terminator()) {
    if (!runsPerMicroBatch(&op))
      continue;
    bool isBackward =
        !isBeforeBackward(getReader(&op).role) ||
        llvm::any_of(op.getOperands(), [&](Value operand) {
          return isOfKind(operand.getDefiningOp(), PassKind::backward);
        });
    kinds[&op] = isBackward ? PassKind::backward : PassKind::forward;
  }
  if (!split)
    return kinds;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (!isOfKind(&op, PassKind::backward))
      continue;
    bool servesInputs = getRole(&op) == roles::inputGradient ||
                        llvm::any_of(op.getUsers(), [&](Operation *user) {
                          return isOfKind(user, PassKind::inputGradient) ||
                                 getStage(user) != getStage(&op);
                        });
    kinds[&op] =
        servesInputs ? PassKind::inputGradient : PassKind::weightGradient;
  }
  return kinds;
}

} // namespace parplan
