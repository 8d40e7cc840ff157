//===- RunningPipeline.cpp - Schedules on the runtime ---------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "RunningPipeline.h"

#include "runtime/lib/engine.h"
#include "runtime/lib/thread_world.h"

#include <map>
#include <thread>

using namespace parplan;
using namespace parplan::test;

namespace {

constexpr int32_t kernels = 0, messages = 1;
constexpr int64_t rowBytes = sizeof(ToyModel::Row);

/// One thing that a position does, and for which events it waits before. Each
/// step sets an event when it is done.
struct Action {
  enum class Kind { pass, send, receive } kind;
  /// Indices into the passes of the position, or into the transfers.
  int64_t index;
  std::vector<int32_t> waits;
};

/// What one position does in a step, where its values lie, and what waits for
/// what: as the compiler lays it out.
class PositionPlan {
public:
  PositionPlan(const PipelineSchedule &schedule,
               const std::vector<StageEdge> &edges,
               const std::vector<Transfer> &transfers, int64_t position)
      : schedule(schedule), shape(schedule.shape), edges(edges),
        transfers(transfers), position(position),
        passes(schedule.passes[position]) {
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      offsets[{Value::sum, getStage(shape, position, chunk), 0}] = reserve();
    for (const Pass &pass : passes)
      if (pass.kind != PassKind::weightGradient)
        offsets[getResult(pass)] = reserve();
    size_t next = 0;
    for (size_t pass = 0; pass <= passes.size(); ++pass) {
      for (; next < transfers.size() && addTransfer(next, pass); ++next)
        continue;
      if (pass < passes.size())
        addPass(pass);
    }
    waitForNextStep();
  }

  const std::vector<Action> &getActions() const { return actions; }
  int64_t getArenaBytes() const { return arenaBytes; }
  int32_t getEventCount() const {
    return static_cast<int32_t>(passes.size() + transfers.size());
  }
  int32_t getEvent(const Action &action) const {
    return static_cast<int32_t>(action.kind == Action::Kind::pass
                                    ? action.index
                                    : static_cast<int64_t>(passes.size()) +
                                          action.index);
  }
  int64_t getSumOffset(int64_t stage) const {
    return offsets.at({Value::sum, stage, 0});
  }
  int64_t getMessageOffset(int64_t transfer) const {
    auto [from, to] = edges[transfers[transfer].edge];
    return transfers[transfer].source == position
               ? offsets.at({from < to ? Value::forward : Value::gradient, from,
                             transfers[transfer].microBatch})
               : received.at(transfer);
  }

  void run(const Pass &pass, char *arena) const {
    int64_t stage = getStage(shape, position, pass.chunk);
    auto at = [&](Value::Kind kind) {
      return reinterpret_cast<float *>(
          arena + offsets.at({kind, stage, pass.microBatch}));
    };
    auto *sum = reinterpret_cast<float *>(arena + getSumOffset(stage));
    switch (pass.kind) {
    case PassKind::forward:
      ToyModel::runForward(stage, pass.microBatch, read(pass, arena),
                           at(Value::forward));
      if (!hasBackward(shape.kind))
        ToyModel::addWeightGradient(at(Value::forward), at(Value::forward),
                                    sum);
      return;
    case PassKind::backward:
    case PassKind::inputGradient:
      ToyModel::runInputGradient(stage, at(Value::forward), read(pass, arena),
                                 at(Value::gradient));
      if (pass.kind == PassKind::inputGradient)
        return;
      [[fallthrough]];
    case PassKind::weightGradient:
      ToyModel::addWeightGradient(at(Value::forward), at(Value::gradient), sum);
    }
  }

private:
  struct Value {
    enum Kind { forward, gradient, sum } kind;
    int64_t stage, microBatch;
    auto operator<=>(const Value &other) const = default;
  };
  /// Where messages wait, and the last pass that reads the one there.
  struct Slot {
    int64_t offset;
    int64_t consumer;
  };

  int64_t reserve() {
    arenaBytes += 64;
    return arenaBytes - 64;
  }

  Value getResult(const Pass &pass) const {
    return {pass.kind == PassKind::forward ? Value::forward : Value::gradient,
            getStage(shape, position, pass.chunk), pass.microBatch};
  }

  int32_t getPassEvent(int64_t pass) const {
    return static_cast<int32_t>(pass);
  }
  int32_t getMessageEvent(int64_t transfer) const {
    return static_cast<int32_t>(static_cast<int64_t>(passes.size()) + transfer);
  }

  /// False if the transfer comes behind that pass. Others than the position's
  /// own do not concern it.
  bool addTransfer(size_t index, size_t pass) {
    const Transfer &transfer = transfers[index];
    auto number = static_cast<int64_t>(index);
    if (transfer.source == position) {
      if (transfer.sendBefore > static_cast<int64_t>(pass))
        return false;
      actions.push_back(
          {Action::Kind::send, number, {getPassEvent(transfer.producer)}});
    } else if (transfer.destination == position) {
      if (transfer.receiveBefore > static_cast<int64_t>(pass))
        return false;
      Action action{Action::Kind::receive, number, {}};
      Slot &slot = getFreeSlot(static_cast<int64_t>(pass));
      if (slot.consumer >= 0)
        action.waits.push_back(getPassEvent(slot.consumer));
      slot.consumer = transfer.consumer;
      received[number] = slot.offset;
      actions.push_back(action);
    }
    return true;
  }

  /// One whose message is read before that pass: so the wait for it goes back
  /// in the order of all.
  Slot &getFreeSlot(int64_t pass) {
    for (Slot &slot : slots)
      if (slot.consumer < pass)
        return slot;
    return slots.emplace_back(Slot{reserve(), -1});
  }

  void addPass(size_t index) {
    Action action{Action::Kind::pass, static_cast<int64_t>(index), {}};
    for (const auto &[transfer, offset] : received)
      if (transfers[transfer].consumer == static_cast<int64_t>(index))
        action.waits.push_back(getMessageEvent(transfer));
    actions.push_back(action);
  }

  /// Values are written again when what the step before did with them is done.
  void waitForNextStep() {
    std::map<int64_t, int64_t> lastConsumers;
    for (const Slot &slot : slots)
      lastConsumers[slot.offset] = slot.consumer;
    std::map<int64_t, bool> isFirst;
    for (Action &action : actions) {
      if (action.kind == Action::Kind::receive) {
        int64_t offset = received.at(action.index);
        if (isFirst.emplace(offset, true).second)
          action.waits.push_back(getPassEvent(lastConsumers[offset]));
      } else if (action.kind == Action::Kind::pass) {
        for (size_t index = 0; index < transfers.size(); ++index)
          if (transfers[index].source == position &&
              transfers[index].producer == action.index)
            action.waits.push_back(
                getMessageEvent(static_cast<int64_t>(index)));
      }
    }
  }

  /// What edges bring to a pass, in their order.
  std::vector<const float *> read(const Pass &pass, char *arena) const {
    int64_t stage = getStage(shape, position, pass.chunk);
    bool isBack = pass.kind != PassKind::forward;
    std::vector<const float *> found;
    for (size_t edge = 0; edge < edges.size(); ++edge) {
      auto [from, to] = edges[edge];
      if (to != stage || (from > to) != isBack)
        continue;
      int64_t offset = -1;
      if (getPosition(shape, from) == position) {
        offset = offsets.at(
            {isBack ? Value::gradient : Value::forward, from, pass.microBatch});
      } else {
        for (const auto &[transfer, own] : received)
          if (transfers[transfer].edge == static_cast<int64_t>(edge) &&
              transfers[transfer].microBatch == pass.microBatch)
            offset = own;
      }
      found.push_back(reinterpret_cast<const float *>(arena + offset));
    }
    return found;
  }

  const PipelineSchedule &schedule;
  const ScheduleShape &shape;
  const std::vector<StageEdge> &edges;
  const std::vector<Transfer> &transfers;
  int64_t position;
  const std::vector<Pass> &passes;
  std::vector<Action> actions;
  std::map<Value, int64_t> offsets;
  std::vector<Slot> slots;
  /// Where transfers that come here are received.
  std::map<int64_t, int64_t> received;
  int64_t arenaBytes = 0;
};

/// Enqueues one step.
void enqueueStep(runtime::Rank &rank, const PositionPlan &plan,
                 const PipelineSchedule &schedule,
                 const std::vector<Transfer> &transfers) {
  const std::vector<Action> &actions = plan.getActions();
  runtime::Communicator &pair = rank.communicator(0);
  auto getStream = [&](const Action &action) -> runtime::Stream & {
    return rank.stream(action.kind == Action::Kind::pass ? kernels : messages);
  };
  auto isGrouped = [&](size_t index) {
    return actions[index].kind != Action::Kind::pass &&
           transfers[actions[index].index].withNext;
  };
  auto issue = [&](const Action &action) {
    runtime::Stream &stream = getStream(action);
    if (action.kind == Action::Kind::pass) {
      const Pass &pass = schedule.passes[rank.rank()][action.index];
      stream.enqueue(
          [&plan, &pass, arena = rank.at<char>(0)] { plan.run(pass, arena); });
      return;
    }
    const Transfer &transfer = transfers[action.index];
    int64_t offset = plan.getMessageOffset(action.index);
    if (action.kind == Action::Kind::send)
      pair.send(stream, {{offset, rowBytes}}, runtime::ElementType::Float32,
                static_cast<int>(transfer.destination), rank.at<float>(offset),
                ToyModel::width);
    else
      pair.receive(stream, {{offset, rowBytes}}, runtime::ElementType::Float32,
                   static_cast<int>(transfer.source), rank.at<float>(offset),
                   ToyModel::width);
  };
  for (size_t first = 0, end; first < actions.size(); first = end) {
    end = first + (isGrouped(first) ? 2 : 1);
    runtime::Stream &stream = getStream(actions[first]);
    for (size_t index = first; index < end; ++index)
      for (int32_t event : actions[index].waits)
        rank.wait(event, stream);
    if (end - first == 2)
      pair.beginGroup(stream);
    for (size_t index = first; index < end; ++index)
      issue(actions[index]);
    if (end - first == 2)
      pair.endGroup(stream);
    for (size_t index = first; index < end; ++index)
      rank.record(plan.getEvent(actions[index]), stream);
  }
}

} // namespace

std::vector<float> test::runOnRuntime(const PipelineSchedule &schedule,
                                      const std::vector<StageEdge> &edges,
                                      const std::vector<Transfer> &transfers,
                                      int64_t steps) {
  const ScheduleShape &shape = schedule.shape;
  auto count = static_cast<int>(shape.positions);
  std::vector<PositionPlan> plans;
  std::vector<runtime::Stage> stages(count);
  for (int position = 0; position < count; ++position) {
    const PositionPlan &plan =
        plans.emplace_back(schedule, edges, transfers, position);
    stages[position].arenaBytes = plan.getArenaBytes();
    stages[position].streamCount = messages + 1;
    stages[position].eventCount = plan.getEventCount();
  }
  const runtime::Axis mesh[] = {{"pp0", count}};
  const int32_t axes[] = {0};
  const runtime::CommunicatorEntry communicators[] = {{"pp0", axes, messages}};
  runtime::Program program = {};
  program.name = "random pipeline";
  program.mesh = mesh;
  program.communicators = communicators;
  program.stages = {stages.data(), static_cast<int64_t>(stages.size())};
  program.pipelineAxis = 0;

  std::vector<float> sums(shape.getStageCount() * ToyModel::width);
  runtime::ThreadHub hub(count);
  auto work = [&](int position) {
    runtime::ThreadWorld world(hub, position);
    std::unique_ptr<runtime::EngineRank> rank =
        runtime::createRank(program, world, {});
    const PositionPlan &plan = plans[position];
    for (int64_t step = 0; step < steps; ++step)
      enqueueStep(*rank, plan, schedule, transfers);
    rank->synchronize();
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      int64_t stage = getStage(shape, position, chunk);
      rank->download(plan.getSumOffset(stage), &sums[stage * ToyModel::width],
                     rowBytes);
    }
  };
  std::vector<std::thread> threads;
  for (int position = 0; position < count; ++position)
    threads.emplace_back(work, position);
  for (std::thread &thread : threads)
    thread.join();
  return sums;
}
