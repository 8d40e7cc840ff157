//===- ScheduleShapeTest.cpp - Names, placements, refusals ----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "TestShapes.h"

#include "parplan/Pipeline/Timeline.h"

#include <gmock/gmock.h>

using namespace parplan;
using namespace parplan::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

TEST(ScheduleShape, namesAreReadBack) {
  EXPECT_THAT(getScheduleNames(),
              ElementsAre("gpipe", "1f1b", "1f1b-eager", "interleaved:2",
                          "zb-h1", "zb-h2", "zb-v", "v-half", "v-min",
                          "forward-only"));
  for (const std::string &name : getTestNames()) {
    std::optional<ScheduleName> parsed = parseScheduleName(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(printScheduleName(parsed->kind, parsed->chunks), name);
  }
  EXPECT_EQ(parseScheduleName("zb-v")->chunks, 2);
  EXPECT_EQ(parseScheduleName("interleaved:12")->chunks, 12);
  EXPECT_EQ(parseScheduleName("interleaved:1")->chunks, 1);
  EXPECT_EQ(parseScheduleName("forward-only:3")->chunks, 3);
  for (std::string_view name :
       {"", "interleaved", "interleaved:", "interleaved:0", "interleaved:x",
        "interleaved:-2", "1f1b:1", "zb-v:2", "zbv", "1F1B", " 1f1b"})
    EXPECT_FALSE(parseScheduleName(name)) << name;
}

TEST(ScheduleShape, loopAndVee) {
  ScheduleShape loop = makeShape("interleaved:2", 3, 6);
  ScheduleShape vee = makeShape("zb-v", 3, 6);
  std::vector<int64_t> loopPositions, veePositions, veeChunks;
  for (int64_t stage = 0; stage != 6; ++stage) {
    loopPositions.push_back(getPosition(loop, stage));
    veePositions.push_back(getPosition(vee, stage));
    veeChunks.push_back(getChunk(vee, stage));
  }
  EXPECT_THAT(loopPositions, ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(veePositions, ElementsAre(0, 1, 2, 2, 1, 0));
  EXPECT_THAT(veeChunks, ElementsAre(0, 0, 0, 1, 1, 1));
  for (const ScheduleShape &shape : {loop, vee})
    for (int64_t stage = 0; stage != 6; ++stage)
      EXPECT_EQ(
          getStage(shape, getPosition(shape, stage), getChunk(shape, stage)),
          stage);
}

TEST(ScheduleShape, orders) {
  auto print = [](std::string_view name, int64_t positions,
                  int64_t microBatches) {
    return printSchedule(
        makeSchedule(makeShape(name, positions, microBatches)));
  };
  EXPECT_EQ(print("gpipe", 2, 2), "0: F0 F1 B0 B1\n"
                                  "1: F0 F1 B0 B1\n");
  EXPECT_EQ(print("1f1b", 2, 3), "0: F0 F1 B0 F2 B1 B2\n"
                                 "1: F0 B0 F1 B1 F2 B2\n");
  // One position runs one micro-batch after the other.
  EXPECT_EQ(print("1f1b", 1, 3), "0: F0 B0 F1 B1 F2 B2\n");
  EXPECT_EQ(print("interleaved:2", 2, 2),
            "0: F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0\n"
            "1: F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 B0.0 B1.0\n");
  EXPECT_EQ(print("zb-h1", 2, 3), "0: F0 F1 BI0 BW0 F2 BI1 BW1 BI2 BW2\n"
                                  "1: F0 BI0 F1 BI1 BW0 F2 BI2 BW1 BW2\n");
}

TEST(ScheduleShape, picture) {
  ScheduleShape shape = makeShape("1f1b", 2, 2);
  PipelineSchedule schedule = makeSchedule(shape);
  EXPECT_EQ(drawTimeline(schedule, simulate(schedule, getEqualTimes(shape)), 9),
            "0 |FF..DD.DD\n"
            "1 |.FDDFDD..\n");
}

TEST(ScheduleShape, whatCannotBeIsRefused) {
  using Kind = ScheduleKind;
  EXPECT_EQ(getRefusal(makeShape("1f1b", 4, 1), std::nullopt), std::nullopt);
  EXPECT_EQ(getRefusal(makeShape("1f1b", 4, 1), 4), std::nullopt);
  EXPECT_EQ(getRefusal(makeShape("interleaved:4", 2, 7), 8), std::nullopt);
  struct {
    ScheduleShape shape;
    const char *help;
  } cases[] = {
      {makeShape("1f1b", 0, 4), "possible: pp=1"},
      {makeShape("1f1b", 2, 0), "possible: micro-batches=1"},
      {makeShape("interleaved:1", 2, 4),
       "schedule=1f1b or schedule=interleaved:2"},
      {makeShape("zb-v", 1, 4), "possible: pp=2 or schedule=1f1b"},
      {{Kind::oneForwardOneBackward, 2, 4, 3},
       "possible: schedule=interleaved:3"},
      {{Kind::zbV, 2, 4, 3}, "possible: schedule=zb-v"},
      {{Kind::forwardOnly, 2, 4, 0}, "possible: schedule=forward-only"},
  };
  for (const auto &[shape, help] : cases)
    EXPECT_THAT(getRefusal(shape), Optional(HasSubstr(help)));
}

TEST(ScheduleShape, moreStagesThanPartsNameTheNearest) {
  auto refuse = [](std::string_view name, int64_t positions,
                   int64_t mostStages) {
    return getRefusal(makeShape(name, positions, 8), mostStages);
  };
  struct {
    const char *name;
    int64_t positions, mostStages;
    const char *help;
  } cases[] = {
      {"1f1b", 9, 6, "possible: pp=6,schedule=1f1b"},
      {"interleaved:4", 2, 6, "possible: pp=2,schedule=interleaved:3"},
      {"interleaved:2", 4, 6, "possible: pp=3,schedule=interleaved:2"},
      {"zb-v", 4, 6, "possible: pp=3,schedule=zb-v"},
      {"zb-v", 4, 3, "possible: pp=3,schedule=1f1b"},
      {"interleaved:2", 4, 1, "possible: pp=1,schedule=1f1b"},
  };
  for (const auto &[name, positions, mostStages, help] : cases)
    EXPECT_THAT(refuse(name, positions, mostStages), Optional(HasSubstr(help)));
  // What is named can be.
  for (const std::string &name : getTestNames())
    for (int64_t positions = 2; positions != 12; ++positions)
      for (int64_t mostStages = 1; mostStages != 16; ++mostStages) {
        std::optional<std::string> refusal =
            refuse(name, positions, mostStages);
        if (!refusal)
          continue;
        size_t at = refusal->find("possible: pp=");
        ASSERT_NE(at, std::string::npos) << *refusal;
        std::string nearest = refusal->substr(at + 13);
        size_t comma = nearest.find(",schedule=");
        ASSERT_NE(comma, std::string::npos) << *refusal;
        EXPECT_EQ(getRefusal(makeShape(nearest.substr(comma + 10),
                                       std::stol(nearest), 8),
                             mostStages),
                  std::nullopt)
            << *refusal;
      }
}
