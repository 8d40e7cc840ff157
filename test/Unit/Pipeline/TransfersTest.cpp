//===- TransfersTest.cpp - Which orders of messages complete --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestShapes.h"

#include "parplan/Pipeline/Transfers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

using namespace parplan;
using namespace parplan::test;
using testing::HasSubstr;
using testing::Optional;

namespace {

struct Messages {
  explicit Messages(const ScheduleShape &shape)
      : schedule(makeSchedule(shape)),
        timeline(simulate(schedule, getEqualTimes(shape))),
        edges(getChainEdges(shape)),
        transfers(orderTransfers(schedule, timeline, edges)) {}

  bool completesInOrder(int64_t depth) const {
    return completes(issueInOrder(schedule.shape, transfers), transfers, edges,
                     depth);
  }
  bool completesAtUse(bool isGrouped, int64_t depth) const {
    return completes(issueAtUse(schedule, transfers, isGrouped), transfers,
                     edges, depth);
  }

  PipelineSchedule schedule;
  Timeline timeline;
  std::vector<StageEdge> edges;
  std::vector<Transfer> transfers;
};

} // namespace

TEST(Transfers, thereAreAsManyAsBoundariesNeed) {
  for (const std::string &name : getTestNames())
    for (int64_t positions : {2, 3, 4, 8})
      for (int64_t microBatches : {1, 3, 8, 17}) {
        ScheduleShape shape = makeShape(name, positions, microBatches);
        Messages messages(shape);
        // The turn of a vee needs none.
        int64_t boundaries =
            shape.getStageCount() - 1 - (isVee(shape.kind) ? 1 : 0);
        int64_t ways = hasBackward(shape.kind) ? 2 : 1;
        EXPECT_EQ(static_cast<int64_t>(messages.transfers.size()),
                  ways * microBatches * boundaries)
            << describe(shape);
      }
}

TEST(Transfers, totalOrderNeedsNoBuffer) {
  for (const std::string &name : getTestNames())
    for (int64_t positions : {2, 3, 4, 6, 8})
      for (int64_t microBatches = 1; microBatches <= 24; ++microBatches) {
        ScheduleShape shape = makeShape(name, positions, microBatches);
        Messages messages(shape);
        EXPECT_TRUE(messages.completesInOrder(0)) << describe(shape);
        EXPECT_EQ(verifyTransfers(messages.schedule, messages.edges,
                                  messages.transfers),
                  std::nullopt)
            << describe(shape);
      }
}

/// Buffers per channel without which calls at their use deadlock; none where
/// the number of micro-batches is too small to say.
struct Depths {
  int64_t oneByOne, grouped;
};
static std::optional<Depths> getDepths(const ScheduleShape &shape) {
  int64_t batches = shape.microBatches, positions = shape.positions;
  switch (shape.kind) {
  case ScheduleKind::gpipe:
  case ScheduleKind::forwardOnly:
    // Messages go one way at a time.
    return Depths{0, 0};
  case ScheduleKind::interleaved: {
    if (batches < 2 * positions)
      return batches < positions ? std::nullopt : std::optional(Depths{1, 0});
    // More the further the groups of micro-batches exceed p.
    int64_t groups = batches / positions;
    int64_t excess = (batches + groups - 1) / groups - positions;
    return Depths{1 + excess, std::max<int64_t>(1, excess)};
  }
  case ScheduleKind::zbH2:
  case ScheduleKind::zbV:
  case ScheduleKind::vHalf:
    return batches < 2 * positions ? std::nullopt : std::optional(Depths{1, 1});
  default:
    return batches < 2 * positions ? std::nullopt : std::optional(Depths{1, 0});
  }
}

TEST(Transfers, calledWhereTheyAreUsedTheyNeedBuffers) {
  for (const std::string &name : getTestNames())
    for (int64_t positions : {4, 8})
      for (int64_t microBatches = 3; microBatches <= 32; ++microBatches) {
        ScheduleShape shape = makeShape(name, positions, microBatches);
        SCOPED_TRACE(describe(shape));
        Messages messages(shape);
        std::optional<Depths> depths = getDepths(shape);
        if (!depths) {
          EXPECT_TRUE(messages.completesAtUse(/*isGrouped=*/false, 1));
          EXPECT_TRUE(messages.completesAtUse(/*isGrouped=*/true, 1));
          continue;
        }
        auto check = [&](bool isGrouped, int64_t least) {
          EXPECT_TRUE(messages.completesAtUse(isGrouped, least));
          if (least != 0) {
            EXPECT_FALSE(messages.completesAtUse(isGrouped, least - 1));
          }
        };
        check(/*isGrouped=*/false, depths->oneByOne);
        check(/*isGrouped=*/true, depths->grouped);
      }
}

TEST(Transfers, waitingMessages) {
  auto count = [](std::string_view name, int64_t positions,
                  int64_t microBatches) {
    Messages messages(makeShape(name, positions, microBatches));
    int64_t most = 0;
    for (int64_t position = 0; position != positions; ++position)
      most = std::max(most, countWaitingMessages(messages.schedule,
                                                 messages.timeline, position));
    return most;
  };
  for (auto [positions, microBatches] : {std::pair(4, 16), std::pair(8, 32)}) {
    EXPECT_EQ(count("gpipe", positions, microBatches), 1);
    for (std::string_view name : {"1f1b", "zb-h1", "zb-h2"})
      EXPECT_EQ(count(name, positions, microBatches), 2) << name;
    for (std::string_view name : {"1f1b-eager", "zb-v", "v-half"})
      EXPECT_EQ(count(name, positions, microBatches), 3) << name;
    for (std::string_view name : {"interleaved:2", "interleaved:4"})
      EXPECT_EQ(count(name, positions, microBatches), 4) << name;
  }
}

TEST(Transfers, skipEdgesAndSeveralTensorsKeepTheirOrder) {
  ScheduleShape shape = makeShape("1f1b", 4, 6);
  PipelineSchedule schedule = makeSchedule(shape);
  Timeline timeline = simulate(schedule, getEqualTimes(shape));
  // Two values from stage 0 to 1, one from 0 past 1 and 2 to 3, and back.
  std::vector<StageEdge> edges = {{0, 1}, {0, 1}, {1, 2}, {2, 3}, {0, 3},
                                  {3, 2}, {2, 1}, {1, 0}, {3, 0}};
  std::vector<Transfer> transfers = orderTransfers(schedule, timeline, edges);
  EXPECT_EQ(transfers.size(), edges.size() * 6);
  EXPECT_EQ(verifyTransfers(schedule, edges, transfers), std::nullopt);
  // Values of one producer for one reader follow each other.
  EXPECT_EQ(transfers[0].edge, 0);
  EXPECT_EQ(transfers[1].edge, 1);
  EXPECT_EQ(transfers[2].edge, 4);
}

TEST(Transfers, oppositeNeighboursAreGroupedWhereTheyMeetOnTheLink) {
  ScheduleShape shape = makeShape("1f1b", 2, 4);
  auto group = [&](const StageTimes &times, double latency) {
    PipelineSchedule schedule = makeSchedule(shape, times, latency);
    std::vector<StageEdge> edges = getChainEdges(shape);
    std::vector<Transfer> transfers =
        orderTransfers(schedule, simulate(schedule, times, latency), edges);
    groupOpposite(schedule, edges, latency, transfers);
    EXPECT_EQ(verifyTransfers(schedule, edges, transfers), std::nullopt);
    EXPECT_TRUE(completes(issueInOrder(shape, transfers), transfers, edges,
                          /*depth=*/0));
    int64_t groups = 0;
    for (const Transfer &transfer : transfers)
      groups += transfer.withNext;
    return groups;
  };
  // F of the first position ends half a second before B of the second one.
  StageTimes times = {{1, 1, 1}, {0.5, 0.5, 0.5}};
  EXPECT_EQ(group(times, /*latency=*/0), 0);
  EXPECT_GT(group(times, /*latency=*/1), 0);
  // With one micro-batch nothing comes back before all has been sent.
  shape.microBatches = 1;
  EXPECT_EQ(group(times, /*latency=*/0.5), 0);
}

TEST(Transfers, aGroupIsOneThereAndOneBack) {
  ScheduleShape shape = makeShape("1f1b", 2, 4);
  PipelineSchedule schedule = makeSchedule(shape);
  std::vector<StageEdge> edges = getChainEdges(shape);
  std::vector<Transfer> transfers =
      orderTransfers(schedule, simulate(schedule, getEqualTimes(shape)), edges);
  // Both go from position 0 to position 1.
  transfers[0].withNext = true;
  EXPECT_EQ(verifyTransfers(schedule, edges, transfers),
            "the message of micro-batch 0 from stage 0 to stage 1 is issued "
            "with one that is not its way back");
}

TEST(Transfers, zeroSecondsBreakNoOrder) {
  for (const std::string &name : getTestNames())
    for (int64_t positions : {1, 2, 4})
      for (int64_t microBatches : {1, 3, 8}) {
        ScheduleShape shape = makeShape(name, positions, microBatches);
        if (getRefusal(shape))
          continue;
        StageTimes times(shape.getStageCount(), {0, 0, 0});
        EXPECT_EQ(verifySchedule(makeSchedule(shape, times), times),
                  std::nullopt)
            << describe(shape);
      }
}

TEST(Transfers, whatDoesNotMatchIsRefused) {
  Messages good(makeShape("1f1b", 2, 4));
  auto verify = [&](const std::function<void(std::vector<Transfer> &)> &edit) {
    std::vector<Transfer> transfers = good.transfers;
    edit(transfers);
    return verifyTransfers(good.schedule, good.edges, transfers);
  };
  EXPECT_EQ(verify([](auto &) {}), std::nullopt);
  EXPECT_THAT(verify([](auto &all) { all.pop_back(); }),
              Optional(HasSubstr("there is no message of micro-batch 3")));
  EXPECT_THAT(verify([](auto &all) { all.push_back(all.back()); }),
              Optional(HasSubstr("is there twice")));
  EXPECT_THAT(verify([](auto &all) { all[0].edge = 7; }),
              Optional(HasSubstr("no edge asks for")));
  EXPECT_THAT(verify([](auto &all) { all[0].consumer = 3; }),
              Optional(HasSubstr("not between its positions and passes")));
  EXPECT_THAT(verify([](auto &all) { all[0].sendBefore = 0; }),
              Optional(HasSubstr("is sent before it is made")));
  EXPECT_THAT(verify([](auto &all) { ++all[0].receiveBefore; }),
              Optional(HasSubstr("is received after it is used")));
  EXPECT_THAT(verify([](auto &all) { std::swap(all[1], all[2]); }),
              Optional(HasSubstr("stands against the total order")));
}
