//===- PositionMessages.cpp - What positions send to each other -----------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipeline/PositionUnroller.h"

#include "parplan/Pipeline/Skips.h"
#include "parplan/Support/Check.h"
#include "passes/Partition/ShardingAccess.h"

using namespace mlir;

namespace parplan {

/// The edges of a value that goes to each of its readers along `direct`, or, as
/// the plan says, from stage to stage.
static std::vector<StageEdge> getWay(const ScheduleShape &shape, Value value,
                                     const std::vector<StageEdge> &direct) {
  return value.getDefiningOp()->hasAttr(attributes::relay)
             ? getRelayEdges(shape, direct)
             : direct;
}

std::vector<StageEdge> PositionUnroller::collectEdges() {
  // Per value and reading position the stages that read it.
  struct Readers {
    std::vector<int64_t> forward, backward;
  };
  // A value is its op and the number of the result.
  using ValueKey = std::pair<int64_t, unsigned>;
  std::map<std::pair<ValueKey, int64_t>, Readers> found;
  std::map<ValueKey, Value> values;
  auto read = [&](Operation *op, PassKey pass) {
    int64_t position = getPosition(cut.shape, pass.first);
    for (Value value : getStagedSources(op->getOperands())) {
      Operation *maker = value.getDefiningOp();
      if (!maker || !isInTable(maker) || isa<AccumulateOp>(maker) ||
          getHome(maker) == position)
        continue;
      ValueKey key(getOrder(maker), cast<OpResult>(value).getResultNumber());
      values[key] = value;
      Readers &readers = found[{key, position}];
      (pass.second == PassKind::forward ? readers.forward : readers.backward)
          .push_back(pass.first);
    }
  };
  for (auto &[pass, ops] : passOps)
    for (Operation *op : ops)
      read(op, pass);
  // Of each value those to later stages and those to earlier ones.
  std::map<ValueKey, std::array<std::vector<StageEdge>, 2>> direct;
  for (auto &[key, readers] : found) {
    int64_t source = *getStage(values.at(key.first).getDefiningOp());
    auto [stages, isBack] = readers.forward.empty()
                                ? std::pair(readers.backward, true)
                                : std::pair(readers.forward, false);
    // The first pass that reads it.
    int64_t first =
        isBack ? *llvm::max_element(stages) : *llvm::min_element(stages);
    direct[key.first][first < source].push_back({source, first});
  }
  std::vector<StageEdge> edges;
  for (auto &[key, ways] : direct)
    for (const std::vector<StageEdge> &way : ways)
      for (const StageEdge &edge : getWay(cut.shape, values.at(key), way)) {
        edges.push_back(edge);
        edgeValues.push_back(values.at(key));
      }
  return edges;
}

SendOp PositionUnroller::send(Value value, int64_t source, int64_t destination,
                              int64_t index) {
  Operation *maker = value.getDefiningOp();
  ProgramWriter &writer = *writers[source];
  OpBuilder &builder = writer.getBuilder();
  auto op = builder.create<SendOp>(maker->getLoc(), writer.lookup(value, index),
                                   destination, cut.axes);
  copyOrigin(maker, op);
  for (StringRef name : {attributes::stage, attributes::perMicroBatch,
                         attributes::recompute, attributes::relay})
    op->removeAttr(name);
  if (runsPerMicroBatch(maker))
    op->setAttr(attributes::microBatch, builder.getI64IntegerAttr(index));
  return op;
}

ReceiveOp PositionUnroller::receive(Value value, int64_t source,
                                    int64_t destination, int64_t index) {
  Operation *maker = value.getDefiningOp();
  ProgramWriter &writer = *writers[destination];
  OpBuilder &builder = writer.getBuilder();
  bool isOfMicroBatch = runsPerMicroBatch(maker);
  auto op = builder.create<ReceiveOp>(maker->getLoc(), value.getType(), source,
                                      cut.axes);
  copyOrigin(maker, op);
  for (StringRef name : {attributes::stage, attributes::perMicroBatch,
                         attributes::recompute, attributes::relay})
    op->removeAttr(name);
  if (TypeAttr global =
          getGlobalType(maker, cast<OpResult>(value).getResultNumber()))
    op->setAttr(attributes::globalType, global);
  if (ShardingAttr sharding = getSharding(value))
    op->setAttr(attributes::shardings, builder.getArrayAttr({sharding}));
  if (isOfMicroBatch)
    op->setAttr(attributes::microBatch, builder.getI64IntegerAttr(index));
  writer.define(value, op.getResult(),
                isOfMicroBatch ? std::optional(index) : std::nullopt);
  return op;
}

void PositionUnroller::require(ValueRange operands, int64_t position,
                               int64_t index, bool sends) {
  ProgramWriter &writer = *writers[position];
  for (Value value : operands) {
    if (writer.has(value, index))
      continue;
    Operation *maker = value.getDefiningOp();
    if (getStage(maker)) {
      PARPLAN_CHECK(sends, "position ", position, " was not sent a ",
                    std::string_view(maker->getName().getStringRef()),
                    " of stage ", *getStage(maker));
      int64_t home = getHome(maker);
      send(value, home, position, index);
      receive(value, home, position, index);
      continue;
    }
    require(maker->getOperands(), position, index, sends);
    if (runsPerMicroBatch(maker))
      writer.write(maker, index);
    else
      writer.writeOnce(maker, /*front=*/freeOps.contains(maker));
  }
}

} // namespace parplan
