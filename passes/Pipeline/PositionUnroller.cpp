//===- PositionUnroller.cpp - The programs of all positions ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipeline/PositionUnroller.h"

#include "parplan/Pipeline/Visits.h"
#include "parplan/Support/Check.h"
#include "passes/Partition/ShardingAccess.h"

#include "mlir/IR/Threading.h"

using namespace mlir;

namespace parplan {

/// A sum whose terms lie on several positions, as its sharding says.
static bool isPendingOver(Operation *op, AxisListAttr axes) {
  ShardingAttr sharding =
      isa<SumOp>(op) ? getSharding(op->getResult(0)) : ShardingAttr();
  return sharding && llvm::is_contained(sharding.getPartial().getNames(),
                                        axes.getNames().front());
}

PositionUnroller::PositionUnroller(func::FuncOp step, const PipelineCut &cut,
                                   const StepSegments *segments)
    : step(step), cut(cut), segments(segments), count(cut.shape.microBatches),
      body(step.getBody().front()), schedule(cut.makeSchedule()),
      timeline(simulate(schedule, cut.times, cut.latencies)),
      kinds(findPassKinds(step, splitsBackward(cut.shape.kind))),
      freeOps(findFreeOps(step)) {}

void PositionUnroller::run() {
  classify();
  findVisitSums();
  createWriters();
  writePrologue();
  sendBeforeTable();
  std::vector<StageEdge> edges = collectEdges();
  std::vector<Transfer> transfers = orderTransfers(schedule, timeline, edges);
  groupOpposite(schedule, edges, cut.latencies, transfers);
  for (auto &writer : writers)
    writer->setNumbering(true);
  // In the table each position writes its own program alone.
  parallelFor(step.getContext(), 0, writers.size(), [&](size_t position) {
    writeTable(static_cast<int64_t>(position), transfers);
  });
  for (auto &writer : writers)
    writer->setNumbering(false);
  writeEnd();
  finish();
}

//===----------------------------------------------------------------------===//
// What runs where
//===----------------------------------------------------------------------===//

bool PositionUnroller::isInTable(Operation *op) const {
  if (!getStage(op) || !(runsPerMicroBatch(op) || isa<AccumulateOp>(op)))
    return false;
  return !segments || segments->getSegment(op) == segments->getCount() - 1;
}

bool PositionUnroller::isInPrologue(Operation *op) const {
  return segments && getStage(op) &&
         segments->getSegment(op) < segments->getCount() - 1;
}

PositionUnroller::PassKey PositionUnroller::getPass(Operation *op) const {
  Operation *maker =
      isa<AccumulateOp>(op) ? op->getOperand(0).getDefiningOp() : op;
  auto kind = kinds.find(maker);
  return {*getStage(op),
          kind == kinds.end() ? PassKind::forward : kind->second};
}

int64_t PositionUnroller::getHome(Operation *op) const {
  auto found = homes.find(op);
  return found != homes.end() ? found->second.front() : cut.getPosition(op);
}

void PositionUnroller::classify() {
  for (Operation &op : body.without_terminator())
    orders[&op] = static_cast<int64_t>(orders.size());
  findHomes();
  for (Operation &op : body.without_terminator()) {
    if (isInTable(&op)) {
      passOps[getPass(&op)].push_back(&op);
    } else if (!runsPerMicroBatch(&op) && !freeOps.contains(&op) &&
               !isInPrologue(&op) && segments &&
               segments->getSegment(&op) == segments->getCount() - 1) {
      if (auto place = findPlace(&op)) {
        places[&op] = *place;
        onceOps[*place].push_back(&op);
      } else {
        endOps.push_back(&op);
      }
    }
  }
}

void PositionUnroller::findHomes() {
  llvm::DenseMap<Operation *, llvm::SmallSetVector<int64_t, 4>> readers;
  auto followsUpdate = [&](Operation &op) {
    return llvm::any_of(op.getOperands(), [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return maker && homes.contains(maker);
    });
  };
  for (Operation &op : body.without_terminator())
    if (getStage(&op) && !isa<OptimizerUpdateOp>(op))
      for (ParameterOp parameter : getParameters(op.getOperands()))
        readers[parameter].insert(cut.getPosition(&op));
  for (Operation &op : body.without_terminator()) {
    if (!getStage(&op))
      continue;
    if (auto update = dyn_cast<OptimizerUpdateOp>(op)) {
      llvm::SmallSetVector<int64_t, 4> found;
      for (ParameterOp parameter : getParameters(update.getParameter()))
        for (int64_t position : readers.lookup(parameter))
          found.insert(position);
      if (found.empty())
        found.insert(cut.getPosition(&op));
      homes[&op] = found;
    } else if (followsUpdate(op)) {
      for (Value operand : op.getOperands())
        if (Operation *maker = operand.getDefiningOp();
            maker && homes.contains(maker)) {
          llvm::SmallSetVector<int64_t, 4> same = homes[maker];
          homes[&op] = same;
          break;
        }
    }
  }
}

std::optional<std::pair<int64_t, size_t>>
PositionUnroller::findPlace(Operation *op) {
  auto own = homes.find(op);
  if (!getStage(op) || (own != homes.end() && own->second.size() > 1))
    return std::nullopt;
  int64_t home = getHome(op);
  std::optional<size_t> last;
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    if (!maker || freeOps.contains(maker))
      continue;
    if (!getStage(maker) || getHome(maker) != home)
      return std::nullopt;
    if (isInPrologue(maker))
      continue;
    auto place = places.find(maker);
    if (place != places.end()) {
      last = std::max(last.value_or(0), place->second.second);
      continue;
    }
    if (!isa<AccumulateOp>(maker))
      return std::nullopt;
    auto [stage, kind] = getPass(maker);
    Pass wanted{kind, count - 1, getChunk(cut.shape, stage)};
    const std::vector<Pass> &passes = schedule.passes[home];
    auto pass = llvm::find(passes, wanted);
    PARPLAN_CHECK(pass != passes.end(), "the table lacks a pass");
    last =
        std::max(last.value_or(0), static_cast<size_t>(pass - passes.begin()));
  }
  if (!last)
    return std::nullopt;
  return std::pair(home, *last);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void PositionUnroller::createWriters() {
  Builder builder(step.getContext());
  for (int64_t position = 0; position < cut.shape.positions; ++position) {
    writers.push_back(std::make_unique<ProgramWriter>(step, count));
    func::FuncOp function = writers.back()->getFunction();
    function.setSymName("stage" + std::to_string(position));
    function->setAttr(attributes::position,
                      builder.getI64IntegerAttr(position));
  }
}

void PositionUnroller::writePrologue() {
  std::map<int, SmallVector<Operation *>> ofSegments;
  for (Operation &op : body.without_terminator())
    if (isInPrologue(&op))
      ofSegments[segments->getSegment(&op)].push_back(&op);
  for (const auto &[segment, ops] : ofSegments)
    for (int64_t index = 0; index < count; ++index)
      for (Operation *op : ops) {
        int64_t home = getHome(op);
        bool isRepeated = runsPerMicroBatch(op) || isa<AccumulateOp>(op);
        if (!isRepeated && index < count - 1)
          continue;
        require(op->getOperands(), home, index, /*sends=*/true);
        if (isRepeated)
          writers[home]->write(op, index);
        else
          writers[home]->writeOnce(op);
      }
}

void PositionUnroller::sendBeforeTable() {
  for (Operation &op : body.without_terminator()) {
    if (!isInTable(&op) && !places.contains(&op))
      continue;
    int64_t home = getHome(&op);
    for (Value value : getStagedSources(op.getOperands())) {
      Operation *maker = value.getDefiningOp();
      if (!maker || !isInPrologue(maker))
        continue;
      int64_t first = runsPerMicroBatch(maker) ? 0 : count - 1;
      for (int64_t index = first; index < count; ++index)
        require(value, home, index, /*sends=*/true);
    }
  }
}

void PositionUnroller::writeTable(int64_t position,
                                  ArrayRef<Transfer> transfers) {
  size_t passCount = schedule.passes[position].size();
  std::vector<std::vector<const Transfer *>> before(passCount + 1);
  for (const Transfer &transfer : transfers) {
    if (transfer.source == position)
      before[transfer.sendBefore].push_back(&transfer);
    if (transfer.destination == position)
      before[transfer.receiveBefore].push_back(&transfer);
  }
  for (size_t pass = 0; pass <= passCount; ++pass) {
    for (const Transfer *transfer : before[pass]) {
      Value value = edgeValues[transfer->edge];
      if (transfer->source == position)
        send(value, position, transfer->destination, transfer->microBatch)
            .setWithNext(transfer->withNext);
      else
        receive(value, transfer->source, position, transfer->microBatch)
            .setWithNext(transfer->withNext);
    }
    if (pass < passCount)
      writePass(position, pass);
  }
}

void PositionUnroller::writePass(int64_t position, size_t index) {
  const Pass &pass = schedule.passes[position][index];
  int64_t stage = parplan::getStage(cut.shape, position, pass.chunk);
  std::vector<Operation *> ops;
  if (auto found = passOps.find({stage, pass.kind}); found != passOps.end())
    ops = found->second;
  if (auto found = onceOps.find({position, index}); found != onceOps.end())
    llvm::append_range(ops, found->second);
  llvm::sort(ops, [&](Operation *left, Operation *right) {
    return getOrder(left) < getOrder(right);
  });
  for (Operation *op : ops) {
    if (endsOfVisits.contains(op) && !visitPasses[position][index].isLast)
      continue;
    require(op->getOperands(), position, pass.microBatch, /*sends=*/false);
    if (isInTable(op))
      writers[position]->write(op, pass.microBatch);
    else
      writers[position]->writeOnce(op);
    addToVisit(op, position, index);
  }
}

void PositionUnroller::findVisitSums() {
  for (int64_t position = 0; position < cut.shape.positions; ++position) {
    std::vector<VisitPass> &passes =
        visitPasses.emplace_back(schedule.passes[position].size(), VisitPass());
    for (const Visit &visit : findVisits(schedule, position))
      for (size_t number = 0; number < visit.passes.size(); ++number)
        passes[visit.passes[number]] = {number == 0 ? -1
                                                    : visit.passes[number - 1],
                                        number + 1 == visit.passes.size()};
  }
  auto isOfVisits = [&](PassKind kind) {
    return kind == PassKind::backward || kind == PassKind::weightGradient;
  };
  for (auto sum : body.getOps<AccumulateOp>()) {
    std::optional<VisitSum> found = findVisitSum(sum);
    if (!found || !isInTable(sum))
      continue;
    // All of it runs in the passes that make visits.
    Operation *maker = found->leaf.getDefiningOp();
    PassKey pass = getPass(maker);
    if (!isInTable(maker) || !isOfVisits(pass.second) ||
        llvm::any_of(found->ops, [&](Operation *op) {
          return !isInTable(op) || getPass(op) != pass;
        }))
      continue;
    visitLeaves.insert(found->leaf);
    endsOfVisits.insert(found->ops.begin(), found->ops.end());
  }
}

void PositionUnroller::addToVisit(Operation *op, int64_t position,
                                  size_t index) {
  int64_t previous = visitPasses[position][index].previous;
  if (previous < 0)
    return;
  ProgramWriter &writer = *writers[position];
  const std::vector<Pass> &passes = schedule.passes[position];
  for (OpResult result : op->getResults())
    if (visitLeaves.contains(result))
      writer.addUp(result, passes[previous].microBatch,
                   passes[index].microBatch);
}

void PositionUnroller::writeOwnPart(Operation *op, int64_t position) {
  ProgramWriter &writer = *writers[position];
  OpBuilder &builder = writer.getBuilder();
  SmallVector<Value> terms;
  for (Value term : op->getOperands()) {
    SmallVector<Value> sources = getStagedSources(term);
    int64_t home =
        sources.empty() ? 0 : getHome(sources.front().getDefiningOp());
    if (home != position)
      continue;
    require(term, position, count - 1, /*sends=*/false);
    terms.push_back(writer.lookup(term, count - 1));
  }
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Operation *own = nullptr;
  if (terms.empty())
    own = builder.create<ConstantOp>(
        op->getLoc(), DenseElementsAttr::get(
                          type, builder.getZeroAttr(type.getElementType())));
  else
    own = builder.create<SumOp>(op->getLoc(), type, terms);
  own->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  writer.define(op->getResult(0), own->getResult(0), std::nullopt);
}

void PositionUnroller::writeEnd() {
  for (Operation *op : endOps) {
    SmallVector<int64_t> positions;
    if (auto own = homes.find(op); own != homes.end())
      positions.assign(own->second.begin(), own->second.end());
    else if (getStage(op))
      positions.push_back(getHome(op));
    else
      llvm::append_range(positions, llvm::seq(cut.shape.positions));
    for (int64_t position : positions) {
      if (isPendingOver(op, cut.axes)) {
        writeOwnPart(op, position);
        continue;
      }
      require(op->getOperands(), position, count - 1, /*sends=*/true);
      Operation *copy = writers[position]->writeOnce(op);
      if (!getStage(op))
        copies.push_back(copy);
    }
  }
}

int64_t PositionUnroller::getPositionOfSources(Value value) const {
  for (Value source : getStagedSources(value))
    if (Operation *maker = source.getDefiningOp())
      return getHome(maker);
  return 0;
}

void PositionUnroller::finish() {
  std::vector<SmallVector<unsigned>> results(cut.shape.positions);
  for (OpOperand &operand : body.getTerminator()->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    Operation *maker = operand.get().getDefiningOp();
    SmallVector<int64_t> positions;
    if (auto own = homes.find(maker); maker && own != homes.end())
      positions.assign(own->second.begin(), own->second.end());
    else if (maker && getStage(maker))
      positions.push_back(getHome(maker));
    else if (llvm::is_contained(endOps, maker))
      llvm::append_range(positions, llvm::seq(cut.shape.positions));
    else
      positions.push_back(getPositionOfSources(operand.get()));
    bool isBatched = step.getResultAttr(index, attributes::batchDim) != nullptr;
    for (int64_t position : positions) {
      for (int64_t number = isBatched ? 0 : count - 1; number < count; ++number)
        require(operand.get(), position, number, /*sends=*/true);
      results[position].push_back(index);
    }
  }
  for (auto [writer, own] : llvm::zip_equal(writers, results))
    writer->finish(own);
  for (Operation *copy : llvm::reverse(copies))
    if (copy->use_empty() && !isa<CollectiveOpInterface>(copy))
      copy->erase();
  for (auto &writer : writers)
    writer->eraseUnusedArguments();
}

} // namespace parplan
