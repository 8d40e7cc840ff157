//===- StubSpaces.cpp - Spaces of random plans ----------------------------===//

#include "StubSpaces.h"

#include "parplan/Pipeline/WaitingRooms.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace parplan;
using namespace parplan::test;

static constexpr double never = std::numeric_limits<double>::infinity();

BoundaryMatrix ListOracle::minimise(const Weights &weights, ModeSet modes) {
  BoundaryMatrix matrix{inCount, outCount,
                        std::vector<double>(inCount * outCount, never)};
  for (const BlockPlan &plan : plans)
    if ((modes >> plan.mode) & 1) {
      double &entry = matrix.costs[plan.in * outCount + plan.out];
      entry = std::min(entry, weights.get(plan.cost));
    }
  return matrix;
}

std::optional<BlockPlan> ListOracle::getPlan(const Weights &weights,
                                             ModeSet modes, int in, int out) {
  const BlockPlan *best = nullptr;
  for (const BlockPlan &plan : plans)
    if (((modes >> plan.mode) & 1) && plan.in == in && plan.out == out &&
        (!best || weights.get(plan.cost) < weights.get(best->cost)))
      best = &plan;
  return best ? std::optional(*best) : std::nullopt;
}

namespace {

constexpr double kibibyte = 1024;

class Draw {
public:
  explicit Draw(unsigned seed) : random(seed) {}
  int number(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  }
  double real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  }
  template <typename Type> Type oneOf(const std::vector<Type> &all) {
    return all[number(0, static_cast<int>(all.size()) - 1)];
  }

  BlockPlan plan(int in, int out) {
    BlockPlan plan;
    plan.in = in;
    plan.out = out;
    plan.cost.forward = real(1, 2);
    plan.cost.inputGradient = real(1, 2);
    plan.cost.weightGradient = real(0.5, 1.5);
    plan.cost.meeting = number(0, 1) * real(0, 1);
    plan.cost.ends = number(0, 1) * real(0, 1);
    plan.cost.permanentBytes = kibibyte * real(1, 4);
    plan.cost.savedBytes = kibibyte * real(1, 3);
    plan.cost.waitingBytes = kibibyte * real(1, 4);
    return plan;
  }

  /// Plans between all states; some of them also in modes that save memory for
  /// time.
  std::vector<BlockPlan> plans(int inCount, int outCount, int most) {
    std::vector<BlockPlan> all;
    for (int in = 0; in < inCount; ++in)
      for (int out = 0; out < outCount; ++out)
        for (int count = number(1, most); count > 0; --count) {
          all.push_back(plan(in, out));
          int mode = number(0, 2);
          if (mode == 0)
            continue;
          BlockPlan other = all.back();
          other.mode = mode;
          other.cost.inputGradient += real(0.2, 1);
          other.cost.savedBytes *= real(0.1, 0.6);
          all.push_back(other);
        }
    return all;
  }

private:
  std::mt19937 random;
};

/// The work of a step of so many micro-batches, as a multiple of that of one.
double getWork(const StubOptions &options, int64_t count) {
  return 1 + options.overheadOfParts * static_cast<double>(count - 1);
}

/// The bytes of a pass over a unit that no cost counts.
double getWorkBytes(const CostVector &cost) {
  return std::max(0.0, cost.waitingBytes - cost.savedBytes);
}

/// The same plan for smaller micro-batches.
BlockPlan divide(BlockPlan plan, int64_t count, const StubOptions &options) {
  auto parts = static_cast<double>(count);
  double overhead = getWork(options, count);
  for (double *seconds : {&plan.cost.forward, &plan.cost.inputGradient,
                          &plan.cost.weightGradient})
    *seconds *= overhead / parts;
  plan.cost.savedBytes /= parts;
  plan.cost.waitingBytes /= parts;
  return plan;
}

} // namespace

class StubSource::Model : public SpaceModel {
public:
  Model(const Space &space, int64_t count, const StubOptions &options)
      : space(space), meeting(options.meeting) {
    auto getPlans = [&](const std::vector<BlockPlan> &plans) {
      std::vector<BlockPlan> divided;
      for (const BlockPlan &plan : plans)
        divided.push_back(divide(plan, count, options));
      return divided;
    };
    oracles.emplace_back(1, space.states, getPlans(space.head));
    oracles.emplace_back(space.states, space.states, getPlans(space.block));
    oracles.emplace_back(space.states, 1, getPlans(space.tail));
    for (ListOracle &oracle : oracles)
      oracle.work = [](const BlockPlan &plan) {
        return getWorkBytes(plan.cost);
      };
  }

  std::vector<SearchUnit> getUnits() override {
    return {{&oracles[0], 1, true},
            {&oracles[1], space.blocks, false},
            {&oracles[2], 1, true}};
  }
  double getFixedBytes() const override { return 0.5 * kibibyte; }
  double getLatency(int, int state) const override {
    return space.latencies[state];
  }

  JudgedPlan judge(const std::vector<BlockPlan> &plans,
                   const StageChoice &stages, double limit) override {
    const ScheduleShape &shape = stages.shape;
    bool meets = getMeeting(meeting, shape) == Meeting::always;
    JudgedPlan judged;
    for (size_t unit = 1; unit < plans.size(); ++unit)
      if (plans[unit - 1].out != plans[unit].in)
        judged.refusal = "states of neighbours differ";
    StageTimes times(shape.getStageCount(), PassTimes{0, 0, 0});
    std::vector<double> saved(shape.getStageCount(), 0), waiting = saved;
    std::vector<double> latencies;
    std::vector<double> permanent(shape.positions, getFixedBytes()),
        transient(shape.positions, 0), beforeMeeting(shape.positions, 0),
        ends(shape.positions, 0);
    for (int64_t stage = 0; stage < shape.getStageCount(); ++stage) {
      int64_t at = getPosition(shape, stage);
      bool isLast = stage + 1 == shape.getStageCount();
      int end =
          isLast ? static_cast<int>(plans.size()) : stages.cuts[stage + 1];
      for (int unit = stages.cuts[stage]; unit < end; ++unit) {
        const CostVector &cost = plans[unit].cost;
        times[stage].forwardSeconds += cost.forward;
        times[stage].inputGradientSeconds += cost.inputGradient;
        times[stage].weightGradientSeconds += cost.weightGradient;
        saved[stage] += cost.savedBytes;
        waiting[stage] += cost.waitingBytes;
        permanent[at] += cost.permanentBytes;
        beforeMeeting[at] += cost.meeting;
        ends[at] += cost.ends;
        // A unit at a time.
        transient[at] = std::max(transient[at], getWorkBytes(cost));
      }
      if (!isLast)
        latencies.push_back(getLatency(end - 1, plans[end - 1].out));
    }
    if (latencies.empty())
      latencies.push_back(0);
    auto getSeconds = [&](const PipelineSchedule &schedule) {
      Timeline timeline = simulate(schedule, times, latencies, meets ? 1 : 5);
      double last = meets || shape.positions == 1 ? 0 : timeline.periodSeconds;
      double atEnds = 0;
      for (int64_t at = 0; at < shape.positions; ++at) {
        double before =
            timeline.passes[at].back().endSeconds + beforeMeeting[at];
        bool counts = meets || shape.positions == 1;
        if (counts)
          last = std::max(last, before);
        atEnds = std::max(atEnds, ends[at] + (counts ? 0 : beforeMeeting[at]));
      }
      return last + atEnds;
    };
    WaitingRoom room;
    if (splitsBackward(shape.kind)) {
      for (auto [kept, left] : llvm::zip_equal(saved, waiting)) {
        PassBytes &bytes = room.stages.emplace_back();
        bytes.saved = bytes.forward = static_cast<int64_t>(std::ceil(kept));
        bytes.waiting = bytes.weightGradient =
            static_cast<int64_t>(std::ceil(left));
        bytes.inputGradient = std::max(bytes.saved, bytes.waiting);
      }
      for (int64_t at = 0; at < shape.positions; ++at)
        room.positionBytes.push_back(static_cast<int64_t>(
            std::clamp(limit - permanent[at] - transient[at], 0.0, 1e12)));
      room = chooseRoom(shape, times, latencies, room, getSeconds);
    }
    PipelineSchedule schedule = makeSchedule(shape, times, latencies, room);
    double worst = 0;
    for (int64_t at = 0; at < shape.positions; ++at) {
      double live = 0, peak = 0;
      for (const Pass &pass : schedule.passes[at]) {
        int64_t stage = getStage(shape, at, pass.chunk);
        if (pass.kind == PassKind::forward)
          live += saved[stage];
        peak = std::max(peak, live);
        if (pass.kind == PassKind::backward ||
            pass.kind == PassKind::inputGradient)
          live -= saved[stage];
        if (pass.kind == PassKind::inputGradient)
          live += waiting[stage];
        peak = std::max(peak, live);
        if (pass.kind == PassKind::weightGradient)
          live -= waiting[stage];
      }
      double bytes = permanent[at] + peak + transient[at];
      judged.evaluation.positionPeakBytes.push_back(
          static_cast<int64_t>(std::ceil(bytes)));
      worst = std::max(worst, bytes);
    }
    judged.evaluation.stepTimeSeconds = getSeconds(schedule);
    exactBytes = worst;
    judged.excessBytes =
        static_cast<int64_t>(std::ceil(std::max(worst - limit, -1e18)));
    return judged;
  }

  double exactBytes = 0;

private:
  const Space &space;
  Meeting meeting;
  std::vector<ListOracle> oracles;
};

StubSource::StubSource(unsigned seed, const StubOptions &options)
    : options(options) {
  Draw draw(seed);
  counts = {2};
  for (int64_t count : {4, 6})
    if (draw.number(0, 1) == 1)
      counts.push_back(count);
  int spaceCount = draw.number(1, options.mostSpaces);
  int blocks = draw.number(1, options.mostBlocks);
  for (int index = 0; index < spaceCount; ++index) {
    Space space;
    space.blocks = blocks;
    space.positions = draw.number(1, std::min(blocks, 3));
    space.states = draw.number(1, options.mostStates);
    space.head = draw.plans(1, space.states, 1);
    space.block = draw.plans(space.states, space.states, options.mostPlans);
    space.tail = draw.plans(space.states, 1, 1);
    for (int state = 0; state < space.states; ++state)
      space.latencies.push_back(draw.number(0, 1) * draw.real(0, 0.3));
    spaces.push_back(std::move(space));
  }
  // With nothing that waits, and with all that may.
  double leastBytes = search(0).leastBytes;
  memoryLimitBytes =
      draw.real(leastBytes * 0.98, search(never).bytesOfFastest * 1.02);
}

SpaceInfo StubSource::getInfo(int space) const {
  SpaceInfo info;
  info.positions = spaces[space].positions;
  info.meeting = options.meeting;
  info.name = "space " + std::to_string(space);
  return info;
}

std::vector<ScheduleShape> StubSource::getShapes(int space) const {
  int64_t positions = spaces[space].positions;
  if (positions == 1)
    return {{ScheduleKind::oneForwardOneBackward, 1, 1, 1}};
  std::vector<ScheduleShape> shapes;
  for (ScheduleKind kind : options.kinds) {
    int64_t chunks = getRequiredChunks(kind);
    shapes.push_back({kind, positions, 1, chunks == 0 ? 2 : chunks});
  }
  return shapes;
}

double StubSource::getLeastMessageSeconds(int space, int64_t /*count*/) {
  return *llvm::min_element(spaces[space].latencies);
}

SpaceSource::LeastModel StubSource::getLeast(int space, int64_t count) {
  auto getLeastOf = [&](const std::vector<BlockPlan> &plans, int64_t units,
                        bool isEnd) {
    LeastUnit unit{{}, units, isEnd};
    for (const BlockPlan &plan : plans) {
      CostVector other = divide(plan, count, options).cost;
      auto known = llvm::find_if(unit.modes, [&](const auto &mode) {
        return mode.number == plan.mode;
      });
      if (known == unit.modes.end()) {
        unit.modes.push_back({plan.mode, other});
        continue;
      }
      for (auto member : {&CostVector::forward, &CostVector::inputGradient,
                          &CostVector::weightGradient, &CostVector::meeting,
                          &CostVector::ends, &CostVector::permanentBytes,
                          &CostVector::savedBytes, &CostVector::waitingBytes})
        known->cost.*member = std::min(known->cost.*member, other.*member);
    }
    return unit;
  };
  const Space &own = spaces[space];
  return {{getLeastOf(own.head, 1, true),
           getLeastOf(own.block, own.blocks, false),
           getLeastOf(own.tail, 1, true)}};
}

double StubSource::getLeastShare(int /*space*/, int64_t fewer, int64_t count) {
  return std::min(1.0, getWork(options, count) / getWork(options, fewer));
}

std::unique_ptr<SpaceModel> StubSource::make(int space, int64_t count) {
  return std::make_unique<Model>(spaces[space], count, options);
}

StubSource::Exhaustive StubSource::search(double limitBytes) {
  Exhaustive best{never, never, 0};
  for (int space = 0; space < getSpaceCount(); ++space)
    for (int64_t count : counts)
      for (ScheduleShape shape : getShapes(space)) {
        shape.microBatches = count;
        const Space &own = spaces[space];
        int64_t perChunk = own.blocks / shape.chunks;
        if (own.blocks % shape.chunks != 0 || perChunk < shape.positions)
          continue;
        Model model(own, count, options);
        std::vector<SearchUnit> units = model.getUnits();
        std::vector<const std::vector<BlockPlan> *> lists;
        for (const SearchUnit &unit : units)
          for (int64_t time = 0; time < unit.count; ++time)
            lists.push_back(&static_cast<ListOracle *>(unit.oracle)->plans);
        // All plans of a cut.
        std::vector<BlockPlan> chosen;
        StageChoice stages{shape, {}};
        std::function<void()> choose = [&] {
          if (chosen.size() == lists.size()) {
            JudgedPlan judged = model.judge(chosen, stages, limitBytes);
            double seconds = judged.evaluation.stepTimeSeconds;
            best.leastBytes = std::min(best.leastBytes, model.exactBytes);
            if (model.exactBytes <= limitBytes && seconds < best.seconds) {
              best.seconds = seconds;
              best.bytesOfFastest = model.exactBytes;
            }
            return;
          }
          for (const BlockPlan &plan : *lists[chosen.size()]) {
            if (!chosen.empty() && plan.in != chosen.back().out)
              continue;
            chosen.push_back(plan);
            choose();
            chosen.pop_back();
          }
        };
        // All cuts: equally many blocks in all chunks of a position.
        std::vector<int64_t> perPosition;
        std::function<void(int64_t)> cut = [&](int64_t left) {
          auto number = static_cast<int64_t>(perPosition.size());
          if (number + 1 < shape.positions) {
            for (int64_t own = 1; own < left; ++own) {
              perPosition.push_back(own);
              cut(left - own);
              perPosition.pop_back();
            }
            return;
          }
          perPosition.push_back(left);
          stages.cuts = {0};
          int unit = 1;
          for (int64_t stage = 0; stage + 1 < shape.getStageCount(); ++stage) {
            unit += static_cast<int>(perPosition[getPosition(shape, stage)]);
            stages.cuts.push_back(unit);
          }
          choose();
          perPosition.pop_back();
        };
        cut(perChunk);
      }
  return best;
}
